# SPDX-License-Identifier: Apache-2.0
"""Hosts, links and sensors that go away in mid-campaign, and come back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_campaign import (
    CHANGES,
    HANG_LIMIT_S,
    LONG,
    Bench,
    Impatient,
    await_event,
    await_warning,
    connection_pids,
    end,
    until,
    warnings,
)

from linewatt.features.lab import system

pytestmark = pytest.mark.lab

SYSCTL = "net.ipv4.tcp_rmem"


@pytest.fixture
def bench(plain_lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(plain_lab2, tmp_path)
    before = one.settings(SYSCTL)
    yield one
    one.until_nothing_runs()
    one.assert_put_back(SYSCTL, before)
    assert "nothing to restore" in one.restore()


def await_phase(process: subprocess.Popen[str], beginning: str) -> None:
    """Read events until one says that this begins."""
    while not str(await_event(process, "phase")["text"]).startswith(beginning):
        pass


def cut_off(bench: Bench, number: int) -> None:
    """The connections of a host end, as when its sshd is restarted."""
    for pid in connection_pids(bench, number):
        os.kill(pid, signal.SIGKILL)


def pids_of(bench: Bench, number: int, tool: str) -> list[int]:
    """Processes of a tool on a host."""
    namespace = bench.lab.hosts[number - 1].namespace
    done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
    return [int(pid) for pid in done.stdout.split() if _name(pid) == tool]


def _name(pid: str) -> str | None:
    """A process's name; None of one that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return None


def carrier(bench: Bench, number: int, state: str) -> None:
    """What a switch does to a port: the host keeps its addresses, and has no carrier."""
    switch = bench.lab.namespaces[0]
    port = bench.lab.hosts[number - 1].switch_port
    subprocess.run(["ip", "-n", switch, "link", "set", port, state], check=True)


@pytest.mark.full
@pytest.mark.parametrize("number", [1, 2])
def test_a_host_lost_in_an_idle_window_is_connected_again_and_the_campaign_goes_on(
    bench: Bench, number: int
) -> None:
    process = bench.start("run", bench.campaign(idle={"seconds": 2}, **CHANGES))
    await_phase(process, "idle window")
    cut_off(bench, number)
    last = await_event(process, "ended")
    _, err = end(process, 0)
    assert (last["done"], last["failed"], last["pending"]) == (2, 0, 0)
    assert "Traceback" not in err


def test_a_controller_that_was_stopped_for_too_long_says_that_it_was(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(trials=1, idle={"seconds": 1}, **CHANGES))
    await_phase(process, "idle window")
    os.kill(process.pid, signal.SIGSTOP)
    try:
        until(lambda: not connection_pids(bench, 1), 30, "h1 to end the connections of a silent controller")
    finally:
        os.kill(process.pid, signal.SIGCONT)
    said = await_warning(process)
    last = await_event(process, "ended")
    end(process, 0)
    assert "no heartbeat was sent for" in said
    assert (last["done"], last["failed"], last["pending"]) == (1, 0, 0)


SLOW = """#!/bin/bash
[ "$1" = -K ] && sleep 2
exec {tool} "$@"
"""


@pytest.mark.full
def test_a_host_lost_while_it_is_changed_is_connected_again_and_changed(bench: Bench) -> None:
    """Its connections end in the two seconds that a write takes."""
    where = shutil.which("ethtool", path=system.search_path())
    assert where is not None
    tool, script = shutil.copy(where, bench.tmp / "ethtool-itself"), bench.tmp / "ethtool"
    script.write_text(SLOW.format(tool=tool))
    script.chmod(0o755)
    gro = bench.on_host(2, "sh", "-c", "ethtool -k data0 | grep ^generic-receive-offload").split()[1]
    with ExitStack() as back:
        bench.mount(2, script, where, back)
        turned = "off" if gro == "on" else "on"
        process = bench.start("run", bench.campaign(trials=1, settings={"gro": turned}))
        until(lambda: any("-K" in one for one in _writers(bench, 2)), 60, "a write on h2")
        cut_off(bench, 2)
        last = await_event(process, "ended")
        end(process, 0)
        until(lambda: not _writers(bench, 2), 60, "the write that was cut off to end")
    assert (last["done"], last["failed"], last["pending"]) == (1, 0, 0)
    assert bench.on_host(2, "sh", "-c", "ethtool -k data0 | grep ^generic-receive-offload").split()[1] == gro


def _writers(bench: Bench, number: int) -> list[str]:
    """What runs ethtool on a host, or is about to."""
    return [" ".join(_argv(pid)) for pid in pids_of(bench, number, "ethtool")]


@pytest.mark.full
def test_a_host_that_stays_away_ends_the_campaign_with_the_way_on(bench: Bench) -> None:
    """Its sshd listens no more; what was measured is kept, and resume does the rest once it is back."""
    file = bench.campaign(trials=3, window=LONG, tests=["tcp", "udp-1500"], **CHANGES)
    process = bench.start("run", file, kind=Impatient)
    await_event(process, "trial_started", 2)
    management = bench.lab.hosts[1].management_link
    try:
        subprocess.run(["ip", "link", "set", management, "down"], check=True)
        while "linewatt resume" not in (said := await_warning(process)):
            pass
        assert said.startswith("h2: gone (")
        last = await_event(process, "ended")
        end(process, 1)
    finally:
        subprocess.run(["ip", "link", "set", management, "up"], check=True)
    assert last["pending"] == 4
    assert [trial["status"] for trial in bench.trials()] == ["done", "failed"]
    bench.until_nothing_runs()
    bench.restore()
    bench.run("resume", "last", status=1)
    assert [trial["status"] for trial in bench.trials()] == ["done", "failed", *["done"] * 4]


def test_an_mpstat_that_died_is_started_again_and_its_trial_names_the_cause(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(trials=3, window=LONG))
    await_event(process, "trial_started", 2)
    until(lambda: bool(pids_of(bench, 2, "mpstat")), 60, "mpstat to run on h2")
    for pid in pids_of(bench, 2, "mpstat"):
        os.kill(pid, signal.SIGKILL)
    end(process, 0)
    first, second, third = (trial["receiver"] for trial in bench.trials())
    assert second["cpu_cores"] is None
    assert None not in (first["cpu_cores"], third["cpu_cores"])
    why = second["reasons"]["cpu_cores"]
    assert "it ended with status 137" in why
    assert "mpstat" in bench.run("show", "last", "--json").stdout


@pytest.mark.parametrize("tool", [pytest.param("mpstat", marks=pytest.mark.full), "netcounters"])
def test_a_sensor_that_hangs_is_started_again_and_its_trial_names_the_cause(bench: Bench, tool: str) -> None:
    """Stopped with its parent, as in a frozen cgroup: to a parent that looks a stopped child has ended."""
    process = bench.start("run", bench.campaign(trials=3, window=LONG))
    await_event(process, "trial_started", 2)
    hung = sensors(bench, 2, tool)
    assert len(hung) == 1
    parent = int(Path(f"/proc/{hung[0]}/stat").read_text().rpartition(")")[2].split()[1])
    for pid in (parent, *hung):
        os.kill(pid, signal.SIGSTOP)
    out, err = process.communicate(timeout=HANG_LIMIT_S)
    assert process.returncode == 0, err
    told = warnings(out)
    assert [text.startswith(f"h2: {tool} has been silent for ") for text in told] == [True], told
    trials = bench.trials()
    if tool == "mpstat":
        assert [trial["receiver"]["cpu_cores"] is None for trial in trials] == [False, True, False]
        assert "; it has been silent for " in trials[1]["receiver"]["reasons"]["cpu_cores"]
    else:
        receivers = [trial["receiver"] for trial in trials]
        assert receivers[1]["counters"].get("nic.rx_bytes") is None
        for receiver in receivers:  # a slow machine reads others late, too, and says so
            is_read = receiver["counters"].get("nic.rx_bytes") is not None
            assert is_read != ("nic.rx_bytes" in receiver["reasons"])
        silent = [
            [flag["evidence"].startswith("it has been silent for ") for flag in trial["flags"]]
            for trial in trials
        ]
        assert [any(flags) for flags in silent] == [False, True, False]
        assert sum(silent[1]) == 1
    assert hung[0] not in sensors(bench, 2, tool)


@pytest.mark.full
@pytest.mark.parametrize("tool", ["mpstat", "netcounters"])
def test_a_sensor_that_dies_in_an_idle_window_is_started_again(bench: Bench, tool: str) -> None:
    process = bench.start("run", bench.campaign(idle={"seconds": 2}, window=LONG))
    await_phase(process, "idle window")
    found = sensors(bench, 1, tool)
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    end(process, 0)
    assert [trial["status"] for trial in bench.trials()] == ["done", "done"]
    for trial in bench.trials():
        assert trial["sender"]["cpu_cores"] is not None
        assert trial["sender"]["counters"]["nic.tx_bytes"] > 0


def sensors(bench: Bench, number: int, tool: str) -> list[int]:
    """Processes of a sensor on a host."""
    if tool == "mpstat":
        return pids_of(bench, number, tool)
    return [pid for pid in pids_of(bench, number, "bash") if _argv(pid)[3:4] == [f"linewatt-{tool}"]]


def _argv(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []


@pytest.mark.parametrize("test", ["tcp", pytest.param("udp-1500", marks=pytest.mark.full)])
def test_a_trial_whose_link_was_down_for_a_moment_has_failed_and_says_so(bench: Bench, test: str) -> None:
    process = bench.start("run", bench.campaign(tests=[test], window={**LONG, "seconds": 4}, rate="100M"))
    await_event(process, "trial_started", 1)
    until(lambda: bool(pids_of(bench, 2, "iperf3")), 60, "iperf3 to run on h2")
    await_event(process, "throughput")
    await_event(process, "throughput")  # by now a slow host, too, has read its counters once
    try:
        carrier(bench, 2, "down")
    finally:
        carrier(bench, 2, "up")
    end(process, 1)
    first, second = bench.trials()
    assert (first["status"], second["status"]) == ("failed", "done")
    assert "h2: the carrier of its data interface data0 changed" in first["reason"]
    assert first["throughput_bps"] is None


@pytest.mark.full
def test_a_link_that_stays_down_is_named_by_its_trial_and_by_the_next(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(trials=2, window={**LONG, "seconds": 2}, rate="100M"))
    await_event(process, "trial_started", 1)
    await_event(process, "throughput")
    try:
        carrier(bench, 2, "down")
        last, _ = end(process, 1)
    finally:
        carrier(bench, 2, "up")
    assert (last["done"], last["failed"]) == (0, 2)
    first, second = (str(trial["reason"]) for trial in bench.trials())
    assert first.startswith("h2: the carrier of its data interface data0 changed once in mid-trial")
    assert second.startswith("h2: its data interface data0 was ")
    assert "iperf3" in second, "what the load itself said is told beside it"
    assert json.loads((bench.result / "manifest.json").read_text())["trials_planned"] == 2
