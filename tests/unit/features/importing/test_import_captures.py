# SPDX-License-Identifier: Apache-2.0
"""``linewatt import DIR``: what people measured by hand becomes a result, from captures of real tools."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.conftest import Run

from linewatt.analysis.comparison.matching import identity
from linewatt.errors import InvalidInput
from linewatt.features.importing.captures.measured_folder import Whole, manifest_of, read_folder
from linewatt.features.importing.captures.options import Options
from linewatt.loads.iperf3.parser import load_end, other_end
from linewatt.missing import Missing
from linewatt.model import EndResult, Role, Window
from linewatt.store.raw import raw_texts
from linewatt.store.read import load_result

CAPTURES = Path(__file__).resolve().parents[3] / "captures"
IMPORTS = CAPTURES / "imports"
TWO = IMPORTS / "two-hosts"
MORE = IMPORTS / "more"


def folder(into: Path, *files: str, of: Path = MORE) -> Path:
    """A folder with some of the files of another; ``a:b`` is the file ``a`` under the name ``b``."""
    for name in files:
        source, _, target = name.partition(":")
        path = into / (target or source)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(of / source, path)
    return into


def imported(path: Path, **options: Any) -> Whole:
    return read_folder(path, (), Options(**options))


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        imported(path, **options)
    said = str(caught.value)
    assert len(said.splitlines()) == 1
    return said


@pytest.fixture(scope="module")
def two() -> Whole:
    return imported(TWO)


def end_of(whole: Whole, role: Role, at: int = 0) -> EndResult:
    end = whole.trials[at].trial.end(role)
    assert end is not None
    return end


def cores_of(whole: Whole, role: Role) -> list[float | None]:
    return [end_of(whole, role, at).cpu_cores for at in range(len(whole.trials))]


def document(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_files_that_overlap_are_instances_and_runs_behind_one_another_are_trials(two: Whole) -> None:
    trials = [one.trial for one in two.trials]
    assert [(one.number, one.repetition, one.status) for one in trials] == [(n, n, "done") for n in (1, 2, 3)]
    (case,) = {one.case for one in trials}
    assert (case.test, case.sender, case.receiver, case.direction) == ("tcp", "gen", "dut", "forward")
    assert (case.instances, case.streams, case.rate_bps, case.family) == (2, 1, 400e6, "ipv4")
    assert [len(one.instances) for one in trials] == [2, 2, 2]


def test_goodput_is_what_the_receivers_own_file_counted(two: Whole) -> None:
    for one in two.trials:
        trial = one.trial
        assert trial.window is not None
        for instance in trial.instances:
            name = f"server-{trial.number}-{instance.instance + 1}.json"
            ends = load_end(document(TWO / "dut" / name)).intervals
            whole_bps = 8 * sum(end.transferred_bytes for end in ends) / ends[-1].end_s
            assert instance.throughput_bps == pytest.approx(whole_bps, rel=0.01)
        assert trial.throughput_bps == pytest.approx(sum(i.throughput_bps for i in trial.instances))


def test_cpu_of_both_ends_is_that_of_the_intervals_beside_the_load(two: Whole) -> None:
    """Averaged by hand over the lines of mpstat at ``dut`` that lie wholly in the window."""
    lines = (TWO / "dut" / "mpstat.txt").read_text().splitlines()
    busy = {line.split()[0]: 2 - 2 * float(line.split()[-1]) / 100 for line in lines if "all " in line}
    for one in two.trials:
        window, receiver = one.trial.window, one.trial.receiver
        assert window is not None
        assert receiver is not None
        own = [
            cores
            for stamp, cores in busy.items()
            if stamp[0].isdigit() and window.start_s + 1 < _of_day(stamp) + 0.5 < window.end_s
        ]
        assert len(own) >= 4
        assert receiver.cpu_cores == pytest.approx(sum(own) / len(own), abs=0.1)
        assert one.trial.sender is not None
        assert one.trial.sender.cpu_cores is not None


def _of_day(stamp: str) -> float:
    hours, minutes, seconds = (int(part) for part in stamp.split(":"))
    return 1795564800 + 3600 * hours + 60 * minutes + seconds


def _whole_pairs() -> list[str]:
    """Captures of a test that both ends finished."""
    folders = [one for one in (CAPTURES / "iperf3").iterdir() if len([*one.glob("*.json")]) == 3]
    ends = ("client", "server")
    texts_of = {one.name: "".join((one / f"{end}.json").read_text() for end in ends) for one in folders}
    return sorted(name for name, text in texts_of.items() if '"error"' not in text and '"end"' in text)


@pytest.mark.parametrize("name", _whole_pairs())
def test_what_an_end_was_told_agrees_with_the_others_own_file(name: str) -> None:
    path = CAPTURES / "iperf3" / name
    client, server = (document(path / f"{end}.json") for end in ("client", "server"))
    told = other_end(client)
    if isinstance(told, Missing):
        assert "sum_" in told.reason
        assert client["start"]["test_start"]["protocol"] == "UDP"
        return
    own = load_end(server)
    assert told.is_sender is own.is_sender
    counted = sum(one.transferred_bytes for one in own.intervals)
    # intervals end before the last bytes are counted
    assert sum(one.transferred_bytes for one in told.intervals) == pytest.approx(counted, rel=0.03)
    assert isinstance(other_end(server), Missing)


def codes(whole: Whole) -> set[str]:
    return {flag.code for one in whole.trials for flag in one.trial.flags}


def test_what_nobody_read_of_hosts_is_told_and_no_check_of_it_is_claimed(two: Whole, run: Run) -> None:
    (flag,) = [one for one in two.trials[0].trial.flags if one.code == "settings-unknown"]
    assert "MTU, offloads" in flag.evidence
    run("import", str(TWO))
    shown = run("show")[1]
    assert "throughput: no doubt found by the files alone" in shown
    assert "3 of 3 trials done" in shown
    assert "Imported from two-hosts: not measured by linewatt" in shown


def test_of_a_clients_file_alone_goodput_is_what_the_receiver_told_it(tmp_path: Path) -> None:
    whole = imported(folder(tmp_path, "gen/client-udp.json"))
    (made,) = whole.trials
    told = document(MORE / "gen" / "client-udp.json")["end"]["sum_received"]
    trial = made.trial
    assert trial.throughput_bps == pytest.approx(8 * told["bytes"] / told["seconds"], rel=1e-6)
    assert trial.packets == pytest.approx(told["packets"], abs=1)
    assert trial.lost_packets == told["lost_packets"]
    sent = document(MORE / "gen" / "client-udp.json")["end"]["sum_sent"]
    assert trial.offered_bps == pytest.approx(8 * sent["bytes"] / sent["seconds"], rel=1e-3)
    (flag,) = [one for one in trial.flags if one.code == "told-by-the-other-end"]
    assert "the count of the receiver comes from gen/client-udp.json: end.sum_received" in flag.evidence
    assert "load-versions-differ" not in codes(whole), "the receiver's version is not told"
    assert {"udp-loss", "cpu-missing"} <= codes(whole)


def test_both_files_of_a_test_and_one_of_them_tell_the_same_goodput(tmp_path: Path) -> None:
    both = imported(folder(tmp_path / "both", "gen/client-udp.json", "dut/server-udp.json"))
    alone = imported(folder(tmp_path / "client", "gen/client-udp.json"))
    server = imported(folder(tmp_path / "server", "dut/server-udp.json"))
    rates = [one.trials[0].trial.throughput_bps for one in (both, alone, server)]
    assert rates[1] == pytest.approx(rates[0], rel=0.02)
    assert rates[2] == pytest.approx(rates[0], rel=0.02)
    assert server.trials[0].trial.offered_bps is None
    lost = [one.trials[0].trial.lost_ratio for one in (both, alone, server)]
    assert lost == pytest.approx([lost[0]] * 3, abs=0.002)
    assert all("udp-loss" in codes(one) for one in (both, alone, server))


def test_the_servers_output_in_a_clients_file_has_its_intervals(tmp_path: Path) -> None:
    (made,) = imported(folder(tmp_path, "gen/client-reverse.json")).trials
    trial = made.trial
    assert (trial.case.direction, trial.case.receiver) == ("reverse", "gen")
    assert trial.case.sender != "gen"
    (flag,) = [one for one in trial.flags if one.code == "told-by-the-other-end"]
    assert flag.evidence.endswith("server_output_json")
    names = {name for series in made.series for name in series.channels}
    assert {"instance0.sender.throughput_bps", "instance0.receiver.throughput_bps"} <= names
    rtts_s = [
        sample.value
        for series in made.series
        for sample in series.samples
        if sample.channel == "instance0.sender.rtt_s"
    ]
    server = document(tmp_path / "gen" / "client-reverse.json")["server_output_json"]
    streams = [interval["streams"][0] for interval in server["intervals"]]
    assert len(rtts_s) == 3
    assert rtts_s == pytest.approx([stream["rtt"] / 1e6 for stream in streams if not stream["omitted"]])


def test_a_server_that_is_ended_behind_its_tests_keeps_them(tmp_path: Path) -> None:
    """``iperf3 -s --json`` runs until Ctrl-C, and says so in a last document."""
    folder(tmp_path, "gen/client-udp.json", "dut/server-udp.json")
    path = tmp_path / "dut" / "server-udp.json"
    tests = path.read_text()
    start = {name: document(path)["start"][name] for name in ("version", "system_info")}
    last = {
        "start": {"connected": [], **start},
        "intervals": [],
        "end": {},
        "error": "interrupt - the server",
    }
    path.write_text(tests + json.dumps(last))
    (made,) = imported(tmp_path).trials
    assert made.trial.status == "done"
    assert "told-by-the-other-end" not in {flag.code for flag in made.trial.flags}
    path.write_text(json.dumps(last))
    assert "iperf3 says 'interrupt - the server', and no test began" in refusal(tmp_path)


def test_a_test_that_a_client_could_not_begin_is_not_passed_over(tmp_path: Path) -> None:
    folder(tmp_path, "gen/client-udp.json")
    path = tmp_path / "gen" / "client-udp.json"
    refused = (CAPTURES / "iperf3" / "3.12-connection-refused" / "client.json").read_text()
    path.write_text(path.read_text() + refused)
    assert "no test began" in refusal(tmp_path)


def waited_for(into: Path, version: str) -> Path:
    """A server of this version: 1.4 cores of its host are busy, of which it counts 0.05 as its own."""
    folder(into, "gen/client.json", "dut/server.json", of=IMPORTS / "watts")
    path = into / "dut" / "server.json"
    found = document(path)
    found["start"]["version"] = version
    found["end"]["cpu_utilization_percent"]["host_total"] = 5.0
    path.write_text(json.dumps(found))
    row = re.compile(r"^(\S+ +(?:all|\d) +).*\d$", re.MULTILINE)
    text = (IMPORTS / "watts" / "dut" / "mpstat.txt").read_text()
    used = "0.00 0.00 60.00 0.00 0.00 10.00 0.00 0.00 0.00 30.00"
    (into / "dut" / "mpstat.txt").write_text(row.sub(rf"\g<1>{used}", text))
    return into


def test_cpu_time_of_a_server_that_counts_what_it_waited_makes_no_load_foreign(tmp_path: Path) -> None:
    """Before 3.10 it is counted from when the server began to listen, which may be an hour before."""
    new = imported(waited_for(tmp_path / "new", "iperf 3.10"))
    assert end_of(new, "receiver").load_cpu_cores == 0.05
    assert "foreign-load" in codes(new)
    old = imported(waited_for(tmp_path / "old", "iperf 3.9"))
    assert end_of(old, "receiver").cpu_cores == pytest.approx(1.4)
    assert end_of(old, "receiver").load_cpu_cores is None
    assert end_of(old, "receiver").foreign_cores is None
    assert "foreign-load" not in codes(old)
    assert end_of(old, "sender").load_cpu_cores == pytest.approx(0.0192, abs=1e-4), "a client counts its test"


def test_cpu_time_that_a_server_of_no_known_version_told_is_not_taken(tmp_path: Path) -> None:
    waited_for(tmp_path, "iperf 3.9")
    (tmp_path / "dut" / "server.json").unlink()
    path = tmp_path / "gen" / "client.json"
    found = document(path)
    found["end"]["cpu_utilization_percent"]["remote_total"] = 5.0
    path.write_text(json.dumps(found))
    whole = imported(tmp_path)
    assert end_of(whole, "receiver").load_cpu_cores is None
    assert "foreign-load" not in codes(whole)


def test_iperf3s_own_warm_up_is_no_part_of_the_window(tmp_path: Path) -> None:
    (made,) = imported(folder(tmp_path, "gen/client-reverse.json")).trials
    start = document(MORE / "gen" / "client-reverse.json")["start"]
    assert start["test_start"]["omit"] == 1
    window = made.trial.window
    assert window is not None
    assert window.start_s == pytest.approx(start["timestamp"]["timesecs"] + 1 + 0.6)
    assert window.seconds == pytest.approx(3, abs=0.1)


def test_without_the_receivers_count_there_is_no_throughput(tmp_path: Path) -> None:
    found = document(MORE / "gen" / "client-udp.json")
    del found["end"]["sum_received"]
    path = tmp_path / "gen" / "client.json"
    path.parent.mkdir()
    path.write_text(json.dumps(found))
    whole = imported(tmp_path)
    trial = whole.trials[0].trial
    assert trial.throughput_bps is None
    assert trial.offered_bps == pytest.approx(100e6, rel=0.01)
    (flag,) = [one for one in trial.flags if one.code == "receiver-not-known"]
    assert "sum_received is missing" in flag.evidence


def test_whole_seconds_beside_a_short_load_make_cpu_doubtful_until_enough_is_left_out(two: Whole) -> None:
    (flag, *_) = [one for one in two.trials[0].trial.flags if one.code == "stamps-too-coarse"]
    assert "only to ± 1.1 s" in flag.evidence
    assert "--omit 2.1 --tail 2.1" in flag.advice
    assert "stamps-too-coarse" not in codes(imported(TWO, omit_s=2.1, tail_s=2.1))


def test_a_host_without_a_file_of_the_load_is_taken_to_have_the_clients_clock_and_that_is_told(
    tmp_path: Path, two: Whole
) -> None:
    assert "clock-assumed" not in codes(two)
    whole = imported(folder(tmp_path, "gen/client-udp.json", "dut/sar.txt"))
    assert [one.where for one in whole.trials[0].trial.flags if one.code == "clock-assumed"] == ["dut"]


def test_stamps_without_a_zone_are_read_as_utc_and_that_is_told(two: Whole) -> None:
    assert "zone-assumed" in codes(two)
    from linewatt.features.importing.captures.stamps import zone_of

    assert "zone-assumed" not in codes(imported(TWO, zone=zone_of("UTC")))


def test_stamps_of_another_zone_are_refused_with_the_zone_that_would_fit(tmp_path: Path) -> None:
    from linewatt.features.importing.captures.stamps import zone_of

    folder(tmp_path, "gen/client-1-1.json", "dut/server-1-1.json", of=TWO)
    text = (TWO / "dut" / "mpstat.txt").read_text()
    (tmp_path / "dut" / "mpstat.txt").write_text(text.replace("\n22:", "\n17:"))
    said = refusal(tmp_path)
    assert "dut/mpstat.txt: has readings from 2026-11-25 17:46:" in said
    assert "--timezone -05:00 would make them one" in said
    whole = imported(tmp_path, zone=zone_of("-05:00"))
    receiver = end_of(whole, "receiver")
    assert receiver.cpu_cores == pytest.approx(2.0, abs=0.1)
    assert end_of(whole, "sender").cpu_cores is None
    assert "zone-assumed" not in codes(whole)


def test_a_clock_that_is_off_is_put_right_by_the_load_of_its_own_host(tmp_path: Path, two: Whole) -> None:
    """``dut`` was an hour behind: its iperf3 and its mpstat say so alike."""
    shutil.copytree(TWO, tmp_path / "w")
    for path in (tmp_path / "w" / "dut").iterdir():
        if path.suffix == ".json":
            found = document(path)
            found["start"]["timestamp"]["timesecs"] -= 3600
            path.write_text(json.dumps(found))
        else:
            path.write_text(path.read_text().replace("\n22:", "\n21:"))
    whole = imported(tmp_path / "w")
    assert cores_of(whole, "receiver") == pytest.approx(cores_of(two, "receiver"))
    assert whole.trials[0].trial.clock["dut"][0] == pytest.approx(-3600)


@pytest.mark.parametrize("readings", ["sar.txt", "sadf.json", "sar-u.txt"])
def test_sar_tells_cpu_use_as_text_and_as_sadfs_json(tmp_path: Path, readings: str) -> None:
    whole = imported(folder(tmp_path, "gen/client-udp.json", "dut/server-udp.json", f"dut/{readings}"))
    receiver = end_of(whole, "receiver")
    assert receiver.cpu_cores == pytest.approx(2.0, abs=0.05), "both CPUs were busy with others' work"
    assert (receiver.hottest is None) == (readings == "sar-u.txt"), "which has the host as a whole only"
    assert ("zone-assumed" in codes(whole)) == (readings != "sadf.json"), "which says that it is UTC"


@pytest.mark.parametrize("name", ["sar.txt", "sar-u.txt"])
def test_one_reading_that_stands_for_the_rest_of_a_window_is_told_whichever_tool_it_is_of(
    tmp_path: Path, name: str
) -> None:
    """A clock that is set forward by half a minute makes a second of sar one of 31 s."""
    folder(tmp_path, "gen/client-udp.json", "dut/server-udp.json", f"dut/{name}")
    assert "host-stood-still" not in codes(imported(tmp_path))
    path = tmp_path / "dut" / name
    stamp = re.compile(r"^22:47:(\d\d)", re.MULTILINE)
    path.write_text(
        stamp.sub(
            lambda match: match[0] if int(match[1]) < 30 else f"22:48:{int(match[1]) - 30:02d}",
            path.read_text(),
        )
    )
    (flag,) = [one for one in imported(tmp_path).trials[0].trial.flags if one.code == "host-stood-still"]
    assert (
        "for 31.0 s (usually one every 1.0 s): the host stalled, its tool was stopped, or its clock"
        in flag.evidence
    )


def test_a_share_of_all_cpus_is_doubtful_where_some_may_be_offline(tmp_path: Path) -> None:
    """sysstat's number of CPUs is of all that the kernel has: booted with nosmt, half of them are offline."""
    whole = imported(folder(tmp_path / "u", "gen/client-udp.json", "dut/server-udp.json", "dut/sar-u.txt"))
    (flag,) = [one for one in whole.trials[0].trial.flags if one.code == "cpus-assumed"]
    assert flag.where == "dut"
    assert "a share of 2 CPUs" in flag.evidence
    each = imported(folder(tmp_path / "a", "gen/client-udp.json", "dut/server-udp.json", "dut/sar.txt"))
    assert "cpus-assumed" not in codes(each)
    path = tmp_path / "u" / "dut" / "sar-u.txt"
    path.write_text(path.read_text().replace("(2 CPU)", "(1 CPU)"))
    assert "cpus-assumed" not in codes(imported(tmp_path / "u")), "one that runs mpstat is online"


@pytest.mark.parametrize("name", ["mpstat.txt", "mpstat.json"])
def test_cpus_that_are_offline_use_none_where_the_others_make_up_the_whole(
    tmp_path: Path, two: Whole, name: str
) -> None:
    shutil.copytree(TWO, tmp_path / "w")
    role: Role = "receiver" if name.endswith("txt") else "sender"
    path = tmp_path / "w" / ("dut" if role == "receiver" else "gen") / name
    text = path.read_text()
    more = text.replace("(2 CPU)", "(4 CPU)").replace('"number-of-cpus": 2', '"number-of-cpus": 4')
    assert more != text
    path.write_text(more)
    assert cores_of(imported(tmp_path / "w"), role) == pytest.approx(cores_of(two, role))
    rows = [
        line for line in more.splitlines() if not re.match(r"[\d:]+ +1 ", line) and '"cpu": "1"' not in line
    ]
    path.write_text("\n".join(rows).replace("},\n\t\t\t\t\t]", "}\n\t\t\t\t\t]"))
    assert set(cores_of(imported(tmp_path / "w"), role)) == {None}, "one that is not told of is busy"


def test_mpstats_json_that_was_ended_early_is_read_as_far_as_it_goes(tmp_path: Path, two: Whole) -> None:
    """A terminated mpstat before 12.7.8 leaves its JSON open."""
    shutil.copytree(TWO, tmp_path / "w")
    path = tmp_path / "w" / "gen" / "mpstat.json"
    text = path.read_text()
    path.write_text(text[: text.rindex("\t\t\t\t\t]") + len("\t\t\t\t\t]\n\t\t\t\t}")])
    again = imported(tmp_path / "w")
    assert cores_of(again, "sender") == pytest.approx(cores_of(two, "sender"))


def test_readings_that_end_before_the_window_does_are_no_cpu_use(tmp_path: Path) -> None:
    shutil.copytree(TWO, tmp_path / "w")
    path = tmp_path / "w" / "dut" / "mpstat.txt"
    text = path.read_text()
    path.write_text(text[: text.index("\n22:47:08")])
    whole = imported(tmp_path / "w")
    assert [one is None for one in cores_of(whole, "receiver")] == [False, True, True]
    assert "mpstat" in end_of(whole, "receiver", 1).reasons["cpu_cores"]
    assert "cpu-missing" in {flag.code for flag in whole.trials[1].trial.flags}


def test_a_test_that_failed_is_a_failed_trial_with_iperf3s_words(tmp_path: Path) -> None:
    interrupted = CAPTURES / "iperf3" / "3.12-client-interrupted"
    folder(tmp_path, "client.json:gen/client.json", "server.json:dut/server.json", of=interrupted)
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text().replace("Linux host ", f"Linux {path.parent.name} "))
    (made,) = imported(tmp_path).trials
    assert made.trial.status == "failed"
    assert "interrupt" in str(made.trial.reason)
    assert made.trial.throughput_bps is None


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda at: None, "no file to import in it"),
        (lambda at: (at / "x").write_text(""), "x: is empty"),
        (lambda at: (at / "x").write_text("{"), "x: its JSON is cut off or damaged"),
        (
            lambda at: (at / "x").write_text("{}"),
            "x: is JSON that import does not know; it reads iperf3 --json",
        ),
        (
            lambda at: (at / "x").write_text("[" * 100_000),
            "x: is text that import does not know; it reads iperf3 --json",
        ),
        (lambda at: (at / "x").write_text('{"a":' * 100_000), "nests values too deeply"),
        (
            lambda at: (at / "notes.md").write_text("# what I did\n"),
            "notes.md: is text that import does not know",
        ),
        (lambda at: (at / "x").write_bytes(b"\x1f\x8b\x08\x00"), "x: damaged: its gzip data end too early"),
        (
            lambda at: (at / "x").write_bytes(b"\xff" + os.urandom(4096)),
            "x: is binary data that import does not know",
        ),
        (lambda at: (at / "x").symlink_to("/etc/passwd"), "x: is a symbolic link, and none is followed"),
        (lambda at: (at / "gen").symlink_to("/etc"), "gen: is a symbolic link"),
        (lambda at: os.mkfifo(at / "x"), "x: is not a regular file"),
        (lambda at: (at / "a\nb").write_text("x"), "a name that cannot be shown"),
        (lambda at: (at / "a/b/c/d").mkdir(parents=True), "folders go too deep"),
        (lambda at: shutil.copy(TWO / "gen" / "mpstat.json", at), "no file of a load among them"),
        (lambda at: folder(at, "gen/client-udp.json", "gen/client-udp.json:gen/b.json"), "the same test"),
        (lambda at: folder(at, "gen/client-udp.json", "dut/server-udp.json:gen/b.json"), "calls itself"),
        (lambda at: folder(at, "gen/client-udp.json", "dut/sar.txt", "dut/sadf.json"), "what sar said of"),
        (lambda at: folder(at, "gen/client-udp.json:a b/c.json"), "'a b' is not a name of a host"),
    ],
)  # fmt: skip
def test_a_folder_that_is_damaged_hostile_or_mixed_is_refused_in_one_line(
    make: Any, said: str, run: Run
) -> None:
    Path("in").mkdir()
    make(Path("in"))
    code, out, err = run("import", "in")
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not Path("results").exists()


def test_files_are_bounded_in_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from linewatt.features.importing.captures import folder as limits

    monkeypatch.setattr(limits, "MOST_FILES", 11)
    assert "more than 11 files" in refusal(TWO)
    monkeypatch.setattr(limits, "MOST_FILES", 100)
    monkeypatch.setattr(limits, "MOST_BYTES", 30_000)
    assert "the files together are larger" in refusal(TWO)
    monkeypatch.setattr(limits, "MOST_FILE_BYTES", 5_000)
    assert "is larger than" in refusal(TWO)


def test_options_that_are_wrong_are_refused(run: Run) -> None:
    for option, said in (
        (("--omit", "-1"), "--omit -1"),
        (("--omit", "4", "--tail", "3"), "--omit and --tail leave"),
        (("--timezone", "Mars/Olympus"), "no such time zone"),
        (("--host", "gen"), "write NAME=FILE"),
        (("--host", "gen=nothing.json"), "no such file is imported"),
        (("--network", "a b"), "--network"),
    ):
        code, _, err = run("import", str(TWO), *option)
        assert code == 2, option
        assert said in err
        assert len(err.strip().splitlines()) == 1
    assert not Path("results").exists()


def test_options_of_files_are_not_for_tables_and_bundles(run: Run) -> None:
    Path("t.csv").write_text("instances,throughput_gbps\n1,2\n")
    code, _, err = run("import", "t.csv", "--omit", "1")
    assert code == 2
    assert "--omit: a table is imported" in err


def test_files_in_one_folder_have_their_host_by_what_they_say_or_as_it_is_named(tmp_path: Path) -> None:
    folder(tmp_path, "gen/client-udp.json:c.json", "dut/server-udp.json:s.json")
    (made,) = imported(tmp_path).trials
    assert (made.trial.case.sender, made.trial.case.receiver) == ("gen", "dut")
    (made,) = imported(tmp_path, hosts={"c.json": "left", "s.json": "right"}).trials
    assert (made.trial.case.sender, made.trial.case.receiver) == ("left", "right")


def test_what_is_skipped_is_not_read(run: Run) -> None:
    shutil.copytree(TWO, "in")
    Path("in/notes.md").write_text("mine")
    Path("in/.hidden").write_text("mine")
    assert run("import", "in")[0] == 2
    assert run("import", "in", "--skip", "*.md")[0] == 0


def test_the_result_is_like_any_other(run: Run) -> None:
    """Every command that takes a result works on it, or refuses in one line."""
    code, out, _ = run("import", str(TWO), "--name", "hand", "--omit", "2.2", "--tail", "2.2", "--json")
    assert code == 0
    said = json.loads(out)
    assert (said["trials"], said["trials_failed"], said["files"]) == (3, 0, 14)
    assert said["formats"] == {"mpstat": 2, "iperf3": 12}
    assert run("import", str(TWO), "--name", "again", "--omit", "2.2", "--tail", "2.2")[0] == 0
    one, two = said["id"], next(path.name for path in Path("results").glob("*-again"))
    for words, code in (
        (("list",), 0),
        (("show", one), 0),
        (("show", one, "--full"), 0),
        (("show", one, "--detail", "--trials"), 0),
        (("show", one, "--json", "--trials"), 0),
        (("show", one, "--csv", "--trials"), 0),
        (("report", one, "-o", "r.html"), 0),
        (("report", one, "-o", "r.md"), 0),
        (("compare", one, two), 4),
        (("history",), 0),
        (("verify", one), 0),
        (("analyze", one), 0),
        (("export", one, "--bundle", "-o", "b.tar.zst"), 0),
        (("rederive", one), 2),
        (("resume", one), 1),
    ):
        found, out, err = run(*words)
        assert found == code, (words, out, err)
        if code in (1, 2):
            assert len(err.strip().splitlines()) == 1
            assert "imported from two-hosts" in err
    page = Path("r.html").read_text()
    assert "Imported files" in page
    assert "gen/client-1-1.json: iperf3 of gen" in page
    assert "The table that was imported" not in page
    assert json.loads(run("show", one, "--json")[1])["imported_from"] == "two-hosts"


def test_a_bundle_of_it_is_whole_and_its_files_make_the_same_trials_again(run: Run, tmp_path: Path) -> None:
    run("import", str(TWO))
    first = next(Path("results").iterdir())
    assert run("export", first.name, "--bundle", "-o", "b.tar.zst")[0] == 0
    assert run("import", "b.tar.zst", "--results", "other")[0] == 0
    originals = raw_texts(Path("other") / first.name / "raw" / "imported")
    assert originals.keys() == {path.relative_to(TWO).as_posix() for path in TWO.rglob("*") if path.is_file()}
    for name, text in originals.items():
        path = tmp_path / "two-hosts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert run("import", str(tmp_path / "two-hosts"), "--results", "again")[0] == 0
    again = load_result(next(Path("again").iterdir()))
    assert again.trials == load_result(first).trials


def test_what_tools_wrote_and_samples_are_beside_each_trial(run: Run) -> None:
    from linewatt.store.samples import read_channels

    run("import", str(TWO))
    result = next(Path("results").iterdir())
    raw = raw_texts(result / "trials" / "00002" / "raw")
    assert json.loads(raw["dut/iperf3-server-0.json"]) == document(TWO / "dut" / "server-2-1.json")
    assert {"gen/mpstat.jsonl", "dut/mpstat.jsonl"} <= raw.keys()
    channels = read_channels(result / "trials" / "00002" / "samples.parquet")
    assert ("dut", "mpstat", "cpu1.idle_ratio") in channels
    assert ("dut", "iperf3", "instance1.receiver.throughput_bps") in channels
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["campaign"]["window_s"] == 7
    assert manifest["hosts"]["dut"]["facts"]["tools"]["iperf3"] == "iperf 3.12"
    assert len(manifest["imported_files"]) == 14


WATTS = IMPORTS / "watts"
LOAD = ("gen/client.json", "dut/server.json")


@pytest.mark.parametrize(
    ("log", "scope", "channels", "whole_w"),
    [
        ("sdr.log:dut/bmc.log", "psu-out:PSU1", 6, 224),
        ("dcmi.log:dut/bmc.log", "system:DCMI", 1, 241),
    ],
)
def test_readings_of_a_bmc_behind_stamps_are_watts_of_the_window(
    tmp_path: Path, log: str, scope: str, channels: int, whole_w: float
) -> None:
    """sdr behind ``date -Is``, DCMI behind ``date``; what whole supplies give is summed as of any BMC."""
    from linewatt.analysis.power.totals import Total, power_of_system

    whole = imported(folder(tmp_path, *LOAD, log, of=WATTS), omit_s=2.2, tail_s=2.2)
    receiver = end_of(whole, "receiver")
    assert len(receiver.power) == channels
    assert {one.source for one in receiver.power} == {"ipmitool"}
    assert scope in {one.scope for one in receiver.power}
    total = power_of_system(receiver.power)
    assert isinstance(total, Total)
    assert total.power_w == pytest.approx(whole_w, abs=1)
    assert all("step and tolerance" in one.method for one in receiver.power)


def bmc_that_says(into: Path, watts: str, state: str) -> Whole:
    """The trial of the capture, with these watts and this state in each reading of DCMI."""
    text = (WATTS / "dcmi.log").read_text().replace(": " + " " * 18 + "241 Watts", f": {watts} Watts")
    log = folder(into, *LOAD, of=WATTS) / "dut" / "bmc.log"
    log.write_text(text.replace("241 Watts", f"{watts} Watts").replace(" activated", f" {state}"))
    return imported(into, omit_s=2.2, tail_s=2.2)


def test_watts_of_a_power_reading_that_is_not_activated_are_doubtful_and_its_state_is_named(
    tmp_path: Path,
) -> None:
    """phosphor-host-ipmid says so and measures nevertheless."""
    whole = bmc_that_says(tmp_path, "360", "deactivated")
    (power,) = end_of(whole, "receiver").power
    assert power.power_w == pytest.approx(360)
    (flag,) = [one for one in whole.trials[0].trial.flags if one.code == "power-not-activated"]
    assert flag.evidence == "dut/bmc.log: state of the BMC's power reading: deactivated"
    assert "power-not-activated" not in codes(bmc_that_says(tmp_path, "360", "activated"))


def test_watts_are_held_to_an_end_of_the_load_that_is_nearer_than_stamps_tell(tmp_path: Path) -> None:
    log = folder(tmp_path, *LOAD, of=WATTS) / "dut" / "bmc.log"
    start_s = json.loads((WATTS / "gen" / "client.json").read_text())["start"]["timestamp"]["timesecs"]
    for first_s, watts in ((0.25, 201), (3.25, None)):
        stamps = [start_s + first_s + at for at in range(60)]
        log.write_text("".join(f"{one}\nSys Power | 201.000 | Watts | ok\n" for one in stamps))
        (power,) = end_of(imported(tmp_path), "receiver").power
        assert power.power_w == (watts and pytest.approx(watts))


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("deactivated", "reads 0 W, which no host draws (power reading deactivated)"),
        ("activated", "reads 0 W, which no host draws"),
    ],
)
def test_0_w_of_a_host_is_no_reading_and_says_so(tmp_path: Path, state: str, why: str) -> None:
    whole = bmc_that_says(tmp_path, "0", state)
    (power,) = end_of(whole, "receiver").power
    assert (power.power_w, power.reason) == (None, why)
    assert "power-missing" in codes(whole)


def test_a_listing_without_any_watts_names_the_sensors_that_it_has(tmp_path: Path) -> None:
    log = folder(tmp_path, *LOAD, of=WATTS) / "dut" / "bmc.log"
    log.write_text("1764111548\nPower Supply 1 | na | Watts | na\nFAN1 | 6200.000 | RPM | ok\n")
    assert (
        "dut/bmc.log: holds readings of ipmitool, none of them in watts; sensors are Power Supply 1, FAN1"
        in refusal(tmp_path)
    )


def test_sensors_that_are_not_the_systems_are_named_where_its_watts_are_missing(tmp_path: Path) -> None:
    """HP's "Power Supply 1" does not say which side of the supply it is."""
    from linewatt.analysis.power.totals import power_of_system

    log = folder(tmp_path, *LOAD, of=WATTS) / "dut" / "bmc.log"
    stamps = [one for one in (WATTS / "dcmi.log").read_text().splitlines() if " UTC 20" in one]
    log.write_text("".join(f"{one}\nPower Supply 1   | 115 Watts         | ok\n" for one in stamps))
    receiver = end_of(imported(tmp_path, omit_s=2.2, tail_s=2.2), "receiver")
    assert [(one.scope, one.power_w) for one in receiver.power] == [("other:Power Supply 1", 115)]
    assert power_of_system(receiver.power) == Missing(
        "no source of system power is named; read were ipmitool Power Supply 1, whose names do not say that "
        "they are the system, or which side of a supply"
    )


def test_a_gap_in_the_readings_of_a_bmc_is_no_watts_with_that_reason(tmp_path: Path) -> None:
    whole = imported(folder(tmp_path, *LOAD, "dut/bmc.log", of=WATTS), omit_s=2.2, tail_s=2.2)
    receiver = end_of(whole, "receiver")
    assert {one.power_w for one in receiver.power} == {None}
    assert receiver.power[0].reason == "no reading for 3.9 s"
    assert "power-missing" in codes(whole)


def test_readings_of_a_bmc_without_a_stamp_are_refused_with_what_to_do(tmp_path: Path) -> None:
    said = refusal(folder(tmp_path, *LOAD, "elist.txt:dut/bmc.log", of=WATTS))
    assert "dut/bmc.log: holds readings of ipmitool without a time; write a stamp before each reading" in said


def test_readings_of_a_bmc_that_say_no_host_need_one(tmp_path: Path) -> None:
    assert "ipmitool does not say of which host it is" in refusal(
        folder(tmp_path, *LOAD, "sdr.log", of=WATTS)
    )
    assert end_of(imported(tmp_path, hosts={"sdr.log": "dut"}), "receiver").power


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1795647547", (1795647547.0, 1.0, True)),
        ("1795647547.023506999", (1795647547.023507, 1e-9, True)),
        ("2026-11-25T22:59:07+00:00", (1795647547.0, 1.0, True)),
        ("2026-11-25T23:59:07.5+01:00", (1795647547.5, 0.1, True)),
        ("2026-11-25 22:59:07Z", (1795647547.0, 1.0, True)),
        ("2026-11-25 22:59:07", (1795647547.0, 1.0, False)),
        ("Wed Nov 25 22:59:07 UTC 2026", (1795647547.0, 1.0, True)),
        ("Wed Nov 25 10:59:07 PM CET 2026", (1795647547.0, 1.0, False)),
        ("Wed Nov  4 22:59:07 +01 2026", (1793829547.0, 1.0, True)),
        ("PSU1 | 1 Watts | ok", None),
        ("12:00:00", None),
    ],
)
def test_lines_of_date_are_stamps(line: str, expected: tuple[float, float, bool] | None) -> None:
    from linewatt.features.importing.captures.stamps import stamp_line

    found = stamp_line(line)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_date_in_the_order_of_any_locale_is_one_of_several_days() -> None:
    from datetime import date

    from linewatt.features.importing.captures.stamps import days_of

    assert days_of("11/25/26") == (date(2026, 11, 25), date(2011, 12, 13))[:1]
    assert set(days_of("11/12/26")) == {date(2026, 11, 12), date(2026, 12, 11), date(2011, 12, 26)}
    assert days_of("2026-11-25") == (date(2026, 11, 25),)
    assert days_of("25.11.2026") == (date(2026, 11, 25),)


def test_times_of_day_go_on_at_midnight_and_go_back_nowhere_else() -> None:
    from linewatt.errors import ParseError
    from linewatt.features.importing.captures.stamps import time_of_day_s, unwrapped

    assert list(unwrapped([86399.0, 0.0, 1.0])) == [86399.0, 86400.0, 86401.0]
    with pytest.raises(ParseError, match="go back by 2 s"):
        list(unwrapped([10.0, 8.0]))
    assert time_of_day_s("12:00:01 AM") == 1
    assert time_of_day_s("11:59:59 PM") == 86399


def at_that_time(into: Path, seconds: int) -> Path:
    """A test of 9 s as if it had run then; turbostat's file is of another machine and year."""
    for name in LOAD:
        found = document(WATTS / name)
        found["start"]["timestamp"]["timesecs"] = seconds
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found))
    return folder(into, "dut/turbostat.txt", of=IMPORTS / "turbostat")


def test_turbostats_watts_are_the_mean_of_its_intervals_over_the_window(tmp_path: Path) -> None:
    """Intervals end at …66.874 and 71.882 and have 6.68 and 6.49 W; the window is from 63.6 to 69.6."""
    whole = imported(at_that_time(tmp_path, 1737461861), omit_s=2, tail_s=1)
    (window,) = {one.trial.window for one in whole.trials}
    assert window is not None
    receiver = end_of(whole, "receiver")
    watts = {one.scope: one for one in receiver.power}
    assert watts.keys() == {"package:all", "core:all"}
    end_s = 1737461866.874134
    part = (end_s - window.start_s) / window.seconds
    assert 0.3 < part < 0.7
    assert watts["package:all"].power_w == pytest.approx(part * 6.68 + (1 - part) * 6.49, abs=0.02)
    assert watts["package:all"].method.startswith("RAPL")
    assert "stamps-too-coarse" in codes(whole), "intervals of 5 s reach beyond a load of 9 s"


def test_turbostat_without_times_is_refused_with_what_to_do(tmp_path: Path) -> None:
    at_that_time(tmp_path, 1737461861)
    path = tmp_path / "dut" / "turbostat.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line.partition("\t")[2] or line for line in lines))
    assert "dut/turbostat.txt: holds readings of turbostat without a time; run turbostat" in refusal(tmp_path)


def test_turbostats_summary_alone_says_the_same(tmp_path: Path) -> None:
    """As ``--Summary --show`` prints it: the names once, then a line an interval, without CPUs."""
    whole = imported(at_that_time(tmp_path, 1737461861))
    path = tmp_path / "dut" / "turbostat.txt"
    rows = [line.split("\t") for line in path.read_text().splitlines() if "\t-\t-\t" in line]
    table = "".join(f"{row[0]}\t{row[30]}\n" for row in rows)
    path.write_text(f"Time_Of_Day_Seconds\tPkgWatt\n{table}")
    again = imported(tmp_path)
    one, two = (end_of(each, "receiver").power[0] for each in (whole, again))
    assert (two.scope, two.power_w) == (one.scope, one.power_w)


def test_a_file_of_turbostat_of_another_time_is_refused(tmp_path: Path) -> None:
    said = refusal(at_that_time(tmp_path, 1795647545))
    assert "dut/turbostat.txt: has readings from 2025-01-21 12:17:" in said


EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "import.md"


def test_the_example_of_the_document_runs_and_gives_what_it_says(run: Run) -> None:
    text = EXAMPLE.read_text()
    lines = [line for line in text.splitlines() if line.startswith("linewatt import tests/")]
    assert len(lines) == 1
    Path("tests").symlink_to(EXAMPLE.parents[1] / "tests")
    code, out, err = run(*lines[0].split()[1:])
    assert code == 0, err
    assert out.strip().endswith("-two-hosts")
    block = text.partition("```text\n")[2].partition("```")[0].splitlines()
    assert len(block) == 9
    assert block == run("show")[1].splitlines()[:9]


def test_an_import_is_compared_with_what_was_measured_only_where_the_same_was_asked(run: Run) -> None:

    from tests.compare_factories import compared, made, runs

    run("import", str(TWO))
    mine = load_result(next(Path("results").iterdir()))
    case = mine.trials[0].case
    campaigns: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({"window_s": 7.0, "omit_s": 0.0}, None),
        ({"window_s": 60.0, "omit_s": 5.0}, "window of 7 s in A, 60 s in B"),
        (
            {"window_s": 7.0, "omit_s": 0.0, "settings": {"iperf3.window": "512K"}},
            "options of iperf3: none in A, iperf3.window=512K in B",
        ),
    )
    for campaign, said in campaigns:
        window = Window(1e9, 1e9 + campaign["window_s"])
        trials = [replace(one, window=window) for one in runs(case)]
        found = compared(mine, made("m", trials, campaign=campaign))
        assert found.rows
        refused = {row.verdict.words for row in found.rows if row.outcome == "refused"}
        assert bool(refused) == (said is not None), refused
        assert all(str(said) in words for words in refused)
    unpaced = compared(mine, made("m", runs(replace(case, rate_bps=None))))
    assert {row.outcome for row in unpaced.rows} == {"refused"}
    assert "400 Mbps in A, unlimited in B" in unpaced.rows[0].verdict.words


FLENT = IMPORTS / "flent" / "tcp_1up_noping.flent.gz"


def test_a_stream_of_flent_is_a_trial_of_netperf_with_what_the_receiver_counted() -> None:
    """flent itself says 939.47 Mbit/s (``MEAN_VALUE``), and what the receiver got in 30.2 s."""
    whole = imported(FLENT)
    (made,) = whole.trials
    trial = made.trial
    assert (trial.case.test, trial.case.load, trial.case.instances) == ("tcp", "netperf", 1)
    assert (trial.case.sender, trial.case.receiver) == ("tohojo-testbed-40g-1", "10.70.2.2")
    assert trial.throughput_bps == pytest.approx(8 * 3545931904 / 30.2, rel=1e-3)
    assert trial.throughput_bps == pytest.approx(939.47e6, rel=1e-3)
    (flag,) = [one for one in trial.flags if one.code == "told-by-the-other-end"]
    assert "netperf's BYTES_RECVD" in flag.evidence
    assert trial.started_s == pytest.approx(1712427979.93 - 0.212, abs=0.02)


def test_what_flent_noted_of_its_host_is_read_and_said_to_be_missing_of_the_other() -> None:
    whole = imported(FLENT)
    assert whole.trials[0].trial.retransmits == 82
    facts = manifest_of(whole, "m", "s", Options())["hosts"]["tohojo-testbed-40g-1"]["facts"]
    assert (facts["nic"]["speed_bps"], facts["nic"]["driver"]) == (10e9, "mlx5_core")
    assert facts["nic"]["offloads"]["tcp-segmentation-offload"] == "off"
    assert facts["sysctl"] == {"net.ipv4.tcp_congestion_control": "cubic"}
    (flag,) = [one for one in whole.trials[0].trial.flags if one.code == "settings-unknown"]
    missing = "MTU, offloads of 10.70.2.2, the rate of the line of 10.70.2.2, governor and other settings"
    assert flag.evidence.startswith(f"not in the files: {missing}")


def test_a_count_of_a_whole_test_is_not_that_of_a_part_of_it() -> None:
    (made,) = imported(FLENT, omit_s=5.0).trials
    assert made.trial.retransmits is None


def test_cpu_stats_of_flent_are_those_of_each_end() -> None:
    raw = json.loads(gzip.decompress(FLENT.read_bytes()))["raw_values"]
    whole = imported(FLENT)
    for role, name in (("sender", "cpu_stats_127.0.0.1"), ("receiver", "cpu_stats_10.70.2.2")):
        loads = [8 * one["load"] for one in raw[name]]
        end = end_of(whole, "sender" if role == "sender" else "receiver")
        assert end.cpu_cores == pytest.approx(sum(loads) / len(loads), rel=0.02)
        assert end.hottest is None
    assert [flag.where for flag in whole.trials[0].trial.flags if flag.code == "clock-assumed"] == [
        "10.70.2.2"
    ]


def test_an_upload_of_an_older_flent_has_no_throughput(tmp_path: Path) -> None:
    found = json.loads(gzip.decompress(FLENT.read_bytes()))
    del found["metadata"]["SERIES_META"]["TCP upload"]["BYTES_RECVD"]
    (tmp_path / "x.flent.gz").write_bytes(gzip.compress(json.dumps(found).encode()))
    whole = imported(tmp_path)
    assert whole.trials[0].trial.throughput_bps is None
    assert whole.trials[0].trial.offered_bps == pytest.approx(939e6, rel=0.01)
    (flag,) = [one for one in whole.trials[0].trial.flags if one.code == "receiver-not-known"]
    assert "BYTES_RECVD is missing" in flag.evidence


def test_a_result_of_a_load_that_linewatt_does_not_run_is_shown_and_compared(run: Run) -> None:
    for name in ("one", "two"):
        assert run("import", str(FLENT), "--name", name)[0] == 0
    one, two = sorted(path.name for path in Path("results").iterdir())
    for words, code in (
        (("show", one), 0),
        (("show", one, "--full"), 0),
        (("show", one, "--json", "--trials"), 0),
        (("report", one, "-o", "r.html"), 0),
        (("compare", one, two), 4),
        (("history",), 0),
        (("list",), 0),
        (("verify", one), 0),
        (("analyze", one), 0),
        (("rederive", one), 2),
    ):
        found, out, err = run(*words)
        assert found == code, (words, out, err)
    assert "939" in run("show", one)[1]
    assert "Effects of the factors" not in run("show", one, "--full")[1]


def moved(path: Path, into: Path, **changes: Any) -> Path:
    """A file of a test with another beginning, cookie or port."""
    found = document(path)
    start = found["start"]
    start["timestamp"]["timesecs"] += changes.get("later_s", 0)
    start["cookie"] = changes.get("cookie", start["cookie"])
    start["connecting_to"]["port"] = changes.get("port", start["connecting_to"]["port"])
    start["test_start"] |= changes.get("asked", {})
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text(json.dumps(found))
    return into


ONE = TWO / "gen" / "client-1-1.json"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"later_s": 4, "port": 9}, "overlap for 3.0 s of 7.0 s"),
        ({"later_s": 2}, "ran at one port of"),
        ({"port": 9, "asked": {"num_streams": 2}}, "were not asked the same: streams"),
    ],
)
def test_tests_that_are_no_instances_of_one_trial_and_no_two_trials_are_refused(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    moved(ONE, tmp_path / "gen" / "a.json")
    moved(ONE, tmp_path / "gen" / "b.json", cookie="another", **changes)
    assert said in refusal(tmp_path)


def test_tests_at_one_port_behind_one_another_are_two_trials(tmp_path: Path) -> None:
    moved(ONE, tmp_path / "gen" / "a.json")
    moved(ONE, tmp_path / "gen" / "b.json", cookie="another", later_s=6)
    trials = [one.trial for one in imported(tmp_path).trials]
    assert [(one.case.instances, one.repetition) for one in trials] == [(1, 1), (1, 2)]


def test_options_that_differ_between_trials_are_a_factor_and_those_alike_are_settings(tmp_path: Path) -> None:
    from linewatt.features.importing.captures.measured_folder import manifest_of

    for at, size in enumerate((0, 524288)):
        path = moved(ONE, tmp_path / "gen" / f"{at}.json", cookie=f"c{at}", later_s=20 * at)
        found = document(path)
        found["start"] |= {"sock_bufsize": size, "tcp_mss": 1400}
        path.write_text(json.dumps(found))
    whole = imported(tmp_path)
    assert [dict(one.trial.case.factors) for one in whole.trials] == [
        {"iperf3.window": "default"},
        {"iperf3.window": "512K"},
    ]
    campaign = manifest_of(whole, "x", "x", Options())["campaign"]
    assert campaign["factors"] == {"iperf3.window": ["default", "512K"]}
    assert campaign["settings"] == {"iperf3.mss": "1400"}


def test_a_test_of_bytes_is_another_case_than_any_campaigns_and_a_rate_that_is_not_told_is_said(
    tmp_path: Path,
) -> None:
    moved(ONE, tmp_path / "gen" / "a.json", asked={"duration": 0, "bytes": 1000000})
    old = folder(
        tmp_path / "old" / "gen", "client.json", of=CAPTURES / "iperf3" / "3.5-tcp-rate-limited"
    ).parent
    assert dict(imported(tmp_path / "gen").trials[0].trial.case.factors) == {"until": "1000000 bytes"}
    (unknown,) = imported(old).trials
    assert unknown.trial.case.factors == (), "it is a plain result, of which something is not known"
    (said,) = (one.evidence for one in unknown.trial.flags if one.code == "settings-unknown")
    assert said.endswith(", and whether a rate was asked for")
    assert "rate was asked" not in str(imported(TWO).trials[0].trial.flags)


def test_datagrams_that_the_kernel_cuts_and_joins_are_another_case(tmp_path: Path) -> None:
    """``--gsro`` of iperf3 3.21: a mean over both is of neither, and no campaign has it."""
    udp = MORE / "gen" / "client-udp.json"
    moved(udp, tmp_path / "gen" / "a.json", asked={"gso": 0, "gro": 0})
    moved(udp, tmp_path / "gen" / "b.json", cookie="b", later_s=20, asked={"gso": 1, "gro": 1})
    cases = [one.trial.case for one in imported(tmp_path).trials]
    assert [dict(one.factors) for one in cases] == [{}, {"gso": "on", "gro": "on"}]


def test_an_instance_that_ran_for_no_time_is_a_failed_trial(tmp_path: Path) -> None:
    path = moved(ONE, tmp_path / "gen" / "a.json")
    found = document(path)
    for interval in found["intervals"]:
        for stream in interval["streams"]:
            stream |= {"start": 0, "end": 0}
    path.write_text(json.dumps(found))
    (made,) = imported(tmp_path).trials
    assert (made.trial.status, made.trial.reason) == ("failed", "it ran for no time")


def test_names_of_files_reach_no_terminal_as_they_are_and_no_path(run: Run) -> None:
    Path("in/gen").mkdir(parents=True)
    shutil.copy(ONE, "in/gen/\u202egnp.json")
    code, _, err = run("import", "in")
    assert code == 2
    assert "\u202e" not in err
    shutil.move("in/gen/\u202egnp.json", "in/gen/..json")
    shutil.copy(ONE, "in/gen/a b'c.json")
    assert run("import", "in")[0] == 0
    assert raw_texts(next(Path("results").iterdir()) / "raw" / "imported").keys() == {"gen/a b'c.json"}


def test_its_figures_are_those_that_derive_gives_of_what_stands_in_the_files(run: Run) -> None:
    """By hand: bytes of the server's intervals, lines of mpstat, and watts out of both supplies."""
    folder(Path("in"), *LOAD, "dut/mpstat.txt", "sdr.log:dut/bmc.log", of=WATTS)
    assert run("import", "in", "--omit", "2", "--tail", "2")[0] == 0
    (trial,) = load_result(next(Path("results").iterdir())).trials
    assert trial.window is not None
    ends = load_end(document(WATTS / "dut" / "server.json")).intervals
    zero_s = document(WATTS / "gen" / "client.json")["start"]["timestamp"]["timesecs"] + 0.6
    inside = [
        one
        for one in ends
        if zero_s + one.start_s > trial.window.start_s - 0.05
        and zero_s + one.end_s < trial.window.end_s + 0.05
    ]
    assert len(inside) >= 3
    bps = 8 * sum(one.transferred_bytes for one in inside) / (inside[-1].end_s - inside[0].start_s)
    busy = [
        200 - 2 * float(line.split()[-1])
        for line in (WATTS / "dut" / "mpstat.txt").read_text().splitlines()
        if "all " in line
        and line[0].isdigit()
        and trial.window.start_s + 1 <= _of_day(line.split()[0]) + 0.5 <= trial.window.end_s
    ]
    assert len(busy) >= 3
    row = f"1,{bps},{sum(busy) / len(busy)},{2 * 112}"
    Path("hand.csv").write_text(f"instances,throughput_bps,remote_cpu_pct,psu_out_w\n{row}\n")
    (derived,) = json.loads(run("derive", "hand.csv", "--json")[1])["rows"]
    (case,) = json.loads(run("show", "--json")[1])["cases"]
    assert case["throughput_bps_mean"] == pytest.approx(bps, rel=0.02)
    mbps_per_core = case["efficiency_receiver_bps_per_core_mean"] / 1e6
    assert mbps_per_core == pytest.approx(derived["mbps_per_core"], rel=0.02)
    mbps_per_w = case["receiver_system_mbps_per_w_mean"]
    assert mbps_per_w == pytest.approx(derived["system_mbps_per_w"], rel=0.02)


def test_a_twelve_hour_clock_and_decimal_commas_are_read_as_any(tmp_path: Path, two: Whole) -> None:
    """As mpstat writes in other locales: the date's order, AM and PM, 12,34."""
    shutil.copytree(TWO, tmp_path / "w")
    path = tmp_path / "w" / "dut" / "mpstat.txt"
    text = re.sub(r"^22:(\d\d:\d\d) ", r"10:\1 PM ", path.read_text(), flags=re.MULTILINE)
    path.write_text(re.sub(r"(\d)\.(\d\d)\b", r"\1,\2", text).replace("11/25/26", "25.11.2026"))
    assert cores_of(imported(tmp_path / "w"), "receiver") == pytest.approx(cores_of(two, "receiver"))


def test_whether_an_imported_load_sent_without_a_copy_is_not_known_and_hinders_no_comparison() -> None:
    (made,) = imported(FLENT).trials
    assert made.trial.case.zerocopy is None
    assert made.trial.case.parameters["zerocopy"] is None
    campaign = replace(made.trial.case, zerocopy=False)
    assert identity(made.trial.case, None) == identity(campaign, None)
    assert identity(made.trial.case, None) != identity(replace(campaign, zerocopy=True), None)
