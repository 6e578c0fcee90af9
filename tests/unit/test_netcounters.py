# SPDX-License-Identifier: Apache-2.0
"""netcounters: the script over trees of kernel files (tests/captures/netcounters), and the parser."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.sensors.netcounters import (
    NSTAT_NAMES,
    Netcounters,
    NetcountersConfig,
    command,
    record_time_s,
)

CAPTURES = Path(__file__).parents[1] / "captures" / "netcounters"
CASES = sorted(path.name for path in CAPTURES.iterdir())
SENSOR = Netcounters()
SOFTNET = ("processed", "dropped", "time_squeeze", "received_rps", "flow_limit")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def records(argv: list[str], count: int) -> list[str]:
    """The first records of the streaming process, which is then terminated."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        lines = [line for _, line in zip(range(count), process.stdout, strict=False)]
        process.terminate()
    return lines


def one_record(root: Path, device: str = "eth0") -> str:
    return records(command(device, 60, str(root)), 1)[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(CAPTURES / "6.18" / "root", tmp_path / "root")
    return tmp_path / "root"


@needs_bash
@pytest.mark.parametrize("case", CASES)
def test_each_tree_gives_what_nstat_and_the_files_say(case: str) -> None:
    expected: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    values = SENSOR.parse(one_record(CAPTURES / case / "root"))
    kept = {name: value for name, value in expected["nstat"].items() if name in NSTAT_NAMES}
    wanted = {f"nstat.{name}": value for name, value in kept.items()}
    wanted |= {f"nic.{name}": value for name, value in expected["nic"].items()}
    for column in SOFTNET:
        for cpu, row in expected["softnet"].items():
            wanted[f"softnet.{cpu}.{column}"] = row[column]
        wanted[f"softnet.{column}"] = sum(row[column] for row in expected["softnet"].values()) % 2**32
    assert expected["origin"]
    assert values == wanted


@needs_bash
def test_the_cpu_number_of_a_row_is_the_kernels_own_where_it_says(tree: Path) -> None:
    row = "0000000{} 00000001 00000000 0 0 0 0 0 0 00000000 00000000 00000000 {:08x} 00000000 00000000\n"
    (tree / "proc/net/softnet_stat").write_text(row.format(1, 0) + row.format(3, 130))
    values = SENSOR.parse(one_record(tree))
    assert values["softnet.cpu0.processed"] == 1
    assert values["softnet.cpu130.processed"] == 3
    assert values["softnet.dropped"] == 2


@needs_bash
@pytest.mark.parametrize("columns", [9, 10, 11, 13, 15])
def test_kernels_with_fewer_columns_have_fewer_channels_but_no_wrong_ones(tree: Path, columns: int) -> None:
    words = [f"{number + 1:08x}" for number in range(columns)]
    (tree / "proc/net/softnet_stat").write_text(" ".join(words) + "\n")
    values = SENSOR.parse(one_record(tree))
    assert values["softnet.time_squeeze"] == 3
    assert values.get("softnet.received_rps") == (10 if columns >= 10 else None)
    assert values.get("softnet.flow_limit") == (11 if columns >= 11 else None)


@needs_bash
def test_a_host_of_256_cpus_is_one_line_too(tree: Path) -> None:
    row = "00000002 00000001 0 0 0 0 0 0 0 0 0 0 {:08x} 0 0\n"
    (tree / "proc/net/softnet_stat").write_text("".join(row.format(cpu) for cpu in range(256)))
    values = SENSOR.parse(one_record(tree))
    assert values["softnet.processed"] == 512
    assert values["softnet.cpu255.dropped"] == 1


@needs_bash
@pytest.mark.parametrize(
    ("gone", "group"),
    [("sys/class/net/eth0", "nic"), ("proc/net/softnet_stat", "softnet"), ("proc/net", "nstat")],
)
def test_a_missing_file_leaves_its_channels_out_and_says_so(tree: Path, gone: str, group: str) -> None:
    path = tree / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    record = one_record(tree)
    assert not [name for name in SENSOR.parse(record) if name.startswith(f"{group}.")]
    assert group in SENSOR.reasons(record)


@needs_bash
def test_whole_trees_give_no_reasons() -> None:
    assert SENSOR.reasons(one_record(CAPTURES / "6.18" / "root")) == {}


@needs_bash
def test_new_rows_while_it_runs_do_not_shift_names(tree: Path) -> None:
    argv = command("eth0", 0.1, str(tree))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        before = SENSOR.parse(process.stdout.readline())
        for name in ("snmp", "netstat"):
            path = tree / "proc/net" / name
            head, *rest = path.read_text().splitlines()
            path.write_text(
                "\n".join([f"{head.split()[0]} Sctp", f"{head.split()[0]} 5", head, *rest]) + "\n"
            )
        six = tree / "proc/net/snmp6"
        six.write_text("Ip6Brand\t5\n" + six.read_text())
        process.stdout.readline()
        after = SENSOR.parse(process.stdout.readline())
        process.terminate()
    assert after == before


@needs_bash
def test_readings_come_on_time_and_do_not_drift() -> None:
    lines = records(command("lo", 0.2), 8)
    times = [record_time_s(line) for line in lines]
    assert times[-1] - times[0] == pytest.approx(7 * 0.2, abs=0.05)
    for before, after in pairwise(times):
        assert after - before == pytest.approx(0.2, abs=0.15)


@needs_bash
def test_bash_without_a_clock_of_its_own_asks_date() -> None:
    argv = command("lo", 0.2)
    argv[2] = "unset EPOCHREALTIME\n" + argv[2]
    times = [record_time_s(line) for line in records(argv, 3)]
    assert times[2] - times[0] == pytest.approx(0.4, abs=0.15)


@needs_bash
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_and_leaves_no_child(sent: signal.Signals) -> None:
    argv = command("lo", 60)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        process.send_signal(sent)
        assert process.wait(timeout=5) != 0
    assert children == ""


@needs_bash
def test_it_ends_when_nobody_reads_it() -> None:
    with subprocess.Popen(command("lo", 0.1), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=5) != 0


@needs_bash
def test_a_reading_costs_less_than_a_hundredth_of_a_second() -> None:
    def used_s() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start_s = used_s()
    records(command("lo", 0.1), 1)
    middle_s = used_s()
    records(command("lo", 0.1), 11)
    assert (used_s() - middle_s - (middle_s - start_s)) / 10 < 0.010


@needs_bash
def test_nothing_from_a_campaign_is_run_by_the_shell(tree: Path, tmp_path: Path) -> None:
    device = f"$(touch {tmp_path}/bad);`touch {tmp_path}/bad`"
    one_record(tree, device)
    assert not (tmp_path / "bad").exists()


def test_the_device_and_the_interval_are_arguments_of_a_constant_script() -> None:
    host = HostSpec(name="dut", address="local", data="eth7")
    argv = SENSOR.command(NetcountersConfig(interval_s=0.5), host)
    assert argv[:2] == ["bash", "-c"]
    assert argv[4:7] == ["", "eth7", "500000"]
    assert "eth7" not in argv[2]
    with pytest.raises(ValidationError):
        NetcountersConfig(interval_s=0)


RECORD = (
    "linewatt-netcounters 1 1000000|nic rx_bytes=5 rx_dropped=|softnet 0a 1 2 3 4 5;|nstat TcpInSegs=7|end 1"
)


def test_a_counter_that_could_not_be_read_is_none() -> None:
    assert SENSOR.parse(RECORD) == {
        "nic.rx_bytes": 5,
        "nic.rx_dropped": None,
        "softnet.processed": 10,
        "softnet.dropped": 1,
        "softnet.time_squeeze": 2,
        "softnet.received_rps": 3,
        "softnet.flow_limit": 4,
        "softnet.cpu5.processed": 10,
        "softnet.cpu5.dropped": 1,
        "softnet.cpu5.time_squeeze": 2,
        "softnet.cpu5.received_rps": 3,
        "softnet.cpu5.flow_limit": 4,
        "nstat.TcpInSegs": 7,
    }


@given(st.integers(1, len(RECORD)))
def test_a_cut_record_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(RECORD[: len(RECORD) - max(cut, 2)])


@given(st.text())
def test_no_text_gives_anything_but_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        SENSOR.parse(text)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_the_sum_over_cpus_wraps_like_each_of_them(totals: list[int]) -> None:
    rows = "".join(f"{total:08x} 0 0 0 0 {cpu:x};" for cpu, total in enumerate(totals))
    values = SENSOR.parse(f"linewatt-netcounters 1 1|softnet {rows}|end 1")
    assert values["softnet.processed"] == sum(totals) % 2**32


def test_channels_say_what_they_count_and_where_they_wrap() -> None:
    kinds = {
        name: SENSOR.channel(name)
        for name in ("nic.rx_bytes", "nic.rx_dropped", "softnet.cpu3.dropped", "softnet.dropped")
    }
    assert [(one.unit, one.scope, one.bits) for one in kinds.values()] == [
        ("B", "nic:data", 64),
        ("count", "nic:data", 64),
        ("count", "cpu:3", 32),
        ("count", "host", 32),
    ]
    assert SENSOR.channel("nstat.IpExtInOctets").unit == "B"
    assert {channel.kind for channel in kinds.values()} == {"counter"}
    for wrong in ("nic", "softnet.cpu1.cpu", "nstat.a b", "cpu0.idle_ratio"):
        with pytest.raises(ParseError, match="no channel"):
            SENSOR.channel(wrong)
