# SPDX-License-Identifier: Apache-2.0
"""The bench's own arithmetic: verdicts, table, cutting by hand, exact CPU time. No wall time is asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench import __main__ as program
from bench import byhand, capacity, cgroup, growth, hosts96, own_cpu, wire
from bench.effort import Effort
from bench.rows import (
    Measurement,
    MeasurementFailed,
    Peer,
    Row,
    Target,
    as_dict,
    markdown,
    median_interval,
    of_a_part,
    quantile,
    table,
)

from linewatt.hosts import leash
from linewatt.hosts.base import HostSpec
from linewatt.sensors.registry import SENSORS
from linewatt.store import raw


def test_a_median_on_the_edge_of_its_target_meets_it() -> None:
    target = Target(at_least=0.99, at_most=1.01)
    assert Row("throughput", "ratio", (1.01,), target).verdict == "met"
    assert Row("throughput", "ratio", (0.99,), target).verdict == "met"
    assert Row("throughput", "ratio", (1.02, 0.5, 1.03), target).verdict == "not met here"
    assert Row("throughput", "ratio", (0.98,), target).verdict == "not met here"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.999, 0.998, 1.0, 1.001, 0.997, 1.002, 0.5, 0.996, 1.003], "met"),
        ([0.97, 0.96, 0.98, 0.95, 0.94, 0.97, 0.96, 0.98, 1.0], "not met here"),
        ([0.9, 1.1, 1.0, 0.95, 1.05, 0.99, 1.01, 0.85, 1.15], "cannot tell here"),
        ([1.0, 1.0, 1.0, 1.0, 1.0], "cannot tell here"),
    ],
)
def test_noise_across_the_edge_of_a_target_gives_no_verdict(values: list[float], verdict: str) -> None:
    target = Target(at_least=0.99, at_most=1.01)
    assert Row("throughput", "ratio", tuple(values), target, by_interval=True).verdict == verdict


def test_interval_of_the_median_has_the_ranks_of_the_sign_test() -> None:
    assert median_interval(range(1, 6)) is None
    assert median_interval(range(1, 7)) == (1, 6)
    assert median_interval(range(1, 11)) == (2, 9)
    assert median_interval(range(1, 17)) == (4, 13)
    assert median_interval(range(1, 26)) == (8, 18)


def test_a_row_without_a_target_has_no_verdict() -> None:
    assert Row("sshd", "percent", (0.1,)).verdict == ""


def test_ratio_is_of_medians() -> None:
    row = Row("plan", "s", (0.4, 0.5, 9.0), peer=Peer("python", (0.1, 0.1, 0.2)))
    assert row.ratio == pytest.approx(5.0)


def test_a_peer_of_zero_gives_no_ratio() -> None:
    assert Row("plan", "s", (0.4,), peer=Peer("python", (0.0,))).ratio is None


def test_a_row_without_values_is_a_failed_measurement() -> None:
    with pytest.raises(MeasurementFailed, match="there are no values"):
        Row("plan", "s", ())
    with pytest.raises(MeasurementFailed, match="there are no values"):
        Row("plan", "s", (1.0,), peer=Peer("python", ()))


def test_what_the_controller_costs_anyway_comes_off_the_half_core_that_hosts_may_use() -> None:
    found = capacity.cost({48: 0.1 + 48 * 0.004, 8: 0.1 + 8 * 0.004})
    assert found.fixed == pytest.approx(0.1)
    assert found.each == pytest.approx(0.004)
    assert found.hosts == pytest.approx(100), "not the 125 of 0.5 ÷ 0.004"


@pytest.mark.parametrize(
    ("cores", "words"),
    [
        ({8: 0.1, 48: 0.1}, "48 hosts cost the controller no more CPU than 8"),
        ({8: 0.2, 48: 0.1}, "0.100 and 0.200 cores"),
        ({8: 0.7, 48: 0.9}, "uses 0.660 cores before it has a host"),
    ],
)
def test_a_cost_that_no_number_of_hosts_follows_from_fails_in_words(
    cores: dict[int, float], words: str
) -> None:
    with pytest.raises(MeasurementFailed, match=words):
        capacity.cost(cores)


def test_meters_of_every_host_of_a_lab_are_read_once_a_second(tmp_path: Path) -> None:
    inventory = tmp_path / "lab.yaml"
    inventory.write_text(
        'all:\n  hosts:\n    h1:\n      linewatt_power: {"bmc": {"driver": "ipmi", "port": 623}}\n'
        '    h2:\n      linewatt_data: "data0"\n      linewatt_power: {"bmc": {"driver": "ipmi"}}\n'
    )
    made = json.loads(capacity.read_each_second(inventory, tmp_path).read_text())["all"]["hosts"]
    assert made["h1"]["linewatt_power"] == {"bmc": {"driver": "ipmi", "port": 623, "interval_s": 1.0}}
    assert made["h2"] == {
        "linewatt_data": "data0",
        "linewatt_power": {"bmc": {"driver": "ipmi", "interval_s": 1.0}},
    }


def test_quantile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(1, 49)]
    assert quantile(values, 0.95) == 46
    assert quantile(values, 0.5) == 24
    assert quantile(values, 1.0) == 48
    assert quantile([7.0], 0.5) == 7


def test_table_says_what_failed_and_what_was_missed() -> None:
    rows = (Row("start", "s", (0.5, 2.0, 3.0), Target(at_most=1.0), note="first reading included"),)
    lines = list(
        table(
            [
                Measurement("edges", rows, 0.1, 3.0),
                Measurement("hosts96", (), None, 3.0, failure="no trial is done"),
            ]
        )
    )
    assert "≤ 1 s" in lines[2]
    assert "2.000 [0.500 to 3.000] s" in lines[2]
    assert lines[2].endswith("not met here")
    assert lines[3].endswith("failed")
    assert lines[4:] == [
        "edges: what is no part of the bench used 0.10 cores meanwhile",
        "edges, start: first reading included",
        "hosts96 FAILED: no trial is done",
    ]


def test_the_table_of_the_docs_has_a_row_for_each_figure_and_one_for_what_failed() -> None:
    beside = Peer("iperf3 | by hand", (0.25,))
    rows = (
        Row("start", "s", (0.5, 2.0, 3.0), Target(at_most=1.0), beside),
        Row("CPU", "percent", (0.5,), Target(at_most=1.0)),
    )
    done = [
        Measurement("edges", rows, 0.1, 3.0),
        Measurement("hosts96", (), None, 3.0, failure="no trial\nis done"),
    ]
    assert list(markdown(done)) == [
        "| what | target | measured | beside it | verdict |",
        "| --- | --- | --- | --- | --- |",
        "| start | ≤ 1 s | 2.000 [0.500 to 3.000] s | iperf3 \\| by hand 0.250 s: 8 × | **not met here** |",
        "| CPU | ≤ 1 % | 0.50 % |  | met |",
        "| `hosts96` | | failed: no trial is done | | |",
    ]


def test_json_keys_carry_the_unit() -> None:
    row = Row("start", "s", (0.5, 2.0), Target(at_most=1.0), Peer("by hand", (0.25,)))
    (found,) = as_dict(Measurement("edges", (row,), 0.1, 3.0))["rows"]
    assert found["median_s"] == 1.25
    assert found["target_max_s"] == 1.0
    assert found["target_min_s"] is None
    assert found["values_s"] == [0.5, 2.0]
    assert found["peer_median_s"] == 0.25
    assert found["ratio"] == 5.0
    assert found["verdict"] == "not met here"


def _document(step_s: float, count: int, late_s: float = 0.0) -> dict[str, Any]:
    """Intervals that carry 1, 2, 3 … bytes, each of them ``late_s`` later than the one before."""
    return {
        "intervals": [
            {
                "sum": {
                    "start": at * (step_s + late_s),
                    "end": (at + 1) * (step_s + late_s),
                    "bytes": at + 1,
                }
            }
            for at in range(count)
        ]
    }


def test_by_hand_the_same_part_of_the_run_is_taken() -> None:
    assert byhand.throughput_bps(_document(1.0, 8), 1, 5) == pytest.approx(8 * (2 + 3 + 4 + 5 + 6) / 5)


def test_intervals_that_end_a_little_late_still_count_whole() -> None:
    taken = byhand.throughput_bps(_document(0.2, 20, late_s=0.0005), 1, 2)
    assert taken == pytest.approx(8 * sum(range(6, 16)) / (10 * 0.2005))


def test_intervals_that_leave_part_of_the_window_out_are_no_throughput() -> None:
    with pytest.raises(MeasurementFailed, match=r"cover 2\.00 s of 5 s"):
        byhand.throughput_bps(_document(1.0, 3), 1, 5)


def test_commands_by_hand_are_those_of_the_first_trial(tmp_path: Path) -> None:
    client = ["taskset", "-c", "0", "iperf3", "--client", "198.19.1.2", "--port", "6201", "--time", "7"]
    server = ["taskset", "-c", "1", "iperf3", "--server", "--port", "6201"]
    pack = raw.raw_pack_of(tmp_path / "trials" / "00001" / "raw")
    pack.parent.mkdir(parents=True)
    listed = [{"host": "h2", "argv": server}, {"host": "h1", "argv": client}]
    pack.write_bytes(raw.pack_raw("raw", {"commands.json": json.dumps(listed)}))
    found = byhand.commands_of(tmp_path, {"h1": "lw1-h1", "h2": "lw1-h2"})
    assert found == byhand.Commands(tuple(server), tuple(client), "lw1-h2", "lw1-h1")
    assert (found.port, found.seconds) == (6201, 7.0)


def test_exact_cpu_time_comes_from_cgroup_1_where_both_are_mounted() -> None:
    both = (
        "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
    )
    assert cgroup.hierarchy(both) == (Path("/sys/fs/cgroup/cpu,cpuacct"), True)
    assert cgroup.hierarchy("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n") == (Path("/sys/fs/cgroup"), False)
    with pytest.raises(MeasurementFailed, match="no cgroup"):
        cgroup.hierarchy("tmpfs /tmp tmpfs rw 0 0\n")


@pytest.mark.parametrize(
    ("file", "text", "nanoseconds"),
    [("cpuacct.usage", "{}000\n", True), ("cpu.stat", "usage_usec {}\nuser_usec 1\n", False)],
)
def test_a_group_reads_both_versions(tmp_path: Path, file: str, text: str, nanoseconds: bool) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "cgroup.procs").write_text("")
    (own / file).write_text(text.format(1_500_000))
    (tmp_path / file).write_text(text.format(9_500_000))
    group = cgroup.Group(own, tmp_path, nanoseconds=nanoseconds)
    assert group.look().used_s == 1.5
    assert group.others_s() == 8.0


def test_a_process_goes_back_to_the_group_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "user.slice").mkdir()
    assert cgroup.home(tmp_path, "4:memory:/other\n0::/user.slice\n") == tmp_path / "user.slice"
    assert cgroup.home(tmp_path, "0::/../outside\n") == tmp_path
    (tmp_path / "cpuacct.usage").touch()
    assert cgroup.home(tmp_path, "0::/\n2:cpu,cpuacct:/user.slice\n") == tmp_path / "user.slice"


def test_parts_of_the_cpu_time_sum_to_the_whole() -> None:
    before = cgroup.CpuTime(100.0, 1.0, {10: 0.5, 11: 0.2, 12: 0.1})
    after = cgroup.CpuTime(110.0, 1.1, {10: 0.53, 11: 0.22, 13: 0.01})
    names = {10: "sshd", 11: "mpstat", 13: "mpstat"}
    parts = own_cpu.split(before, after, names)
    assert parts == pytest.approx({"sshd": 0.3, "mpstat": 0.3, "short-lived children": 0.4})
    assert sum(parts.values()) == pytest.approx(own_cpu.percent(before, after))


def test_every_process_linewatt_starts_on_a_host_has_a_name() -> None:
    spec = HostSpec("h1", "198.18.1.1", "data0")
    labels = own_cpu.Labels({"h1": spec})
    assert labels.of(leash.anchor(1.5)) == "heartbeat"
    assert labels.of(leash.leashed(["sleep", "9"], held=False, root=False)) == "leashes"
    assert labels.of(["sshd: root@notty"]) == "sshd"
    assert labels.of(["sleep", "9"]) == "sleep"
    for name, sensor in SENSORS.items():
        assert labels.of(sensor.command(sensor.Config(), spec)) == name


def test_skew_is_the_distance_to_the_first_start() -> None:
    starts = [5.0 + at / 1000 for at in range(100)]
    assert hosts96.distance(starts, 0.95) == pytest.approx(0.094)
    assert hosts96.distance([3.0], 1.0) == 0


def _syn(options: bytes = b"") -> bytes:
    """198.19.1.1:40000 opens a connection to 198.19.1.2:6201."""
    ethernet = bytes(12) + b"\x08\x00"
    ip = bytes([0x45 + len(options) // 4]) + bytes(8) + b"\x06" + bytes(2)
    ip += bytes([198, 19, 1, 1, 198, 19, 1, 2]) + options
    return ethernet + ip + (40000).to_bytes(2, "big") + (6201).to_bytes(2, "big") + bytes(16)


@pytest.mark.parametrize("options", [b"", bytes(8)])
def test_a_frame_on_the_wire_says_who_opens_a_connection(options: bytes) -> None:
    assert wire.opening_of(_syn(options)) == ("198.19.1.1", "198.19.1.2", 40000, 6201)


def test_a_start_is_the_first_connection_of_a_client_in_its_round() -> None:
    watcher = wire.Watcher()
    for line in (
        "1000100000000 198.19.1.1 198.19.1.2 40000 6201",
        "1000100020000 198.19.1.1 198.19.1.2 40000 6201",  # the same SYN on another port of the switch
        "1000300000000 198.19.1.1 198.19.1.2 40001 6201",  # its data connection
        "1000200000000 198.19.1.3 198.19.1.4 40000 6201",
        "1008000000000 198.19.1.1 198.19.1.2 40002 6233",  # the next round
    ):
        watcher.take(line)
    assert len(watcher.openings()) == 4
    assert wire.firsts(watcher.openings(), 1000.0, 1006.0) == [1000.1, 1000.2]
    assert wire.firsts(watcher.openings(), 1007.0, 1013.0) == [1008.0]


def test_an_unknown_measurement_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["thruput"])
    assert ended.value.code == 2
    assert "no measurement called thruput; there are: startup" in capsys.readouterr().err


@pytest.mark.parametrize(("fails", "status"), [(False, 0), (True, 1)])
def test_only_a_failed_measurement_fails_the_bench(
    fails: bool, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(effort: Effort) -> list[Row]:
        assert effort is Effort.WHOLE
        if fails:
            raise MeasurementFailed("no trial is done")
        return [Row("far too slow", "s", (9.0,), Target(at_most=1.0))]

    monkeypatch.setattr(program, "MEASUREMENTS", {"edges": (measure, 1)})
    monkeypatch.setattr(program, "USUAL", ("edges",))
    monkeypatch.setattr(program, "interrupt_once", lambda: None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert program.main(["--json", str(tmp_path / "bench.json")]) == status
    document = json.loads((tmp_path / "bench.json").read_text())
    assert document["schema_version"] == 1
    assert document["measurements"][0]["failure"] == (
        "MeasurementFailed: no trial is done" if fails else None
    )


def test_a_part_of_what_a_target_is_of_meets_none() -> None:
    (row,) = of_a_part([Row("list of 100 results", "s", (0.1,), Target(at_most=0.3), Peer("stat", (0.01,)))])
    assert row.verdict == ""
    assert row.peer is not None


@pytest.mark.parametrize(
    ("costs", "power"),
    [
        ([1.0, 2.0, 4.0], 1.0),
        ([10.0 + 1.0, 10.0 + 4.0, 10.0 + 16.0], 2.0),  # the same for all sizes is no growth
        ([5.0, 5.0, 5.0], None),
        ([5.0, 6.0, 5.5], None),
    ],
)
def test_growth_is_the_power_of_what_is_added(costs: list[float], power: float | None) -> None:
    found = growth.exponent(costs)
    assert found == (None if power is None else pytest.approx(power))


def test_without_names_the_bench_measures_what_users_wait_for_and_all_is_everything() -> None:
    assert program._chosen([], Effort.WHOLE) == program.USUAL
    assert program._chosen([], Effort.SMOKE) == program.USUAL_SMOKE
    assert program._chosen(["startup", "all"], Effort.QUICK) == tuple(program.MEASUREMENTS)
    assert program._chosen(["startup"], Effort.SMOKE) == ["startup"]
    assert set(program.USUAL) | set(program.USUAL_SMOKE) < set(program.MEASUREMENTS)


def test_an_effort_has_its_own_amount() -> None:
    assert [effort.of(7, 3, 1) for effort in Effort] == [7, 3, 1]
