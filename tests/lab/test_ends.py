# SPDX-License-Identifier: Apache-2.0
"""How campaigns end: beside tools that hang, links that are down, hosts that stay away."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from tests.lab.test_campaign import CHANGES, HANG_LIMIT_S, Bench, Impatient, await_event, bench, until
from tests.lab.test_lost import await_phase, carrier

__all__ = ["bench"]

pytestmark = pytest.mark.lab

GRO = "generic-receive-offload"
ASKED_S = 2.0
BUSY_S = 2.0
"""what a busy machine may add"""

LINK_WAIT = ("", "linewatt", "40", "data0")
"""how its command line ends"""

GIVEN_S = 15.0
"""to see it end late"""

SCRIPT = """#!/bin/bash
{how}
exec {tool} "$@"
"""
HANGS = 'trap "" INT TERM; while :; do sleep 1; done'


def in_place_of(bench: Bench, name: str, how: str, back: ExitStack) -> str:
    """On h2 a tool does something else first; the tool itself."""
    where = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    assert where is not None
    real = str(Path(where).resolve())
    itself, fake = shutil.copy(real, bench.tmp / f"{name}-itself"), bench.tmp / name
    fake.write_text(SCRIPT.format(how=how, tool=itself))
    fake.chmod(0o755)
    bench.mount(2, fake, real, back)
    return str(itself)


def running(bench: Bench, *words: str) -> list[int]:
    """Processes on h2 with these words one after the other, as they are numbered here."""
    namespace = bench.lab.hosts[1].namespace
    done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=True)
    return [int(pid) for pid in done.stdout.split() if "\0".join(words) in command_line(pid)]


def command_line(pid: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""


def ended(bench: Bench, process: subprocess.Popen[str], *words: str) -> bool:
    """End what still hangs; whether nothing does and linewatt has ended, too."""
    left = running(bench, *words)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not left and process.poll() is not None


@pytest.mark.parametrize(
    ("tool", "when"),
    [pytest.param("iperf3", "--version", marks=pytest.mark.full), ("ethtool", "-K")],
)
def test_a_tool_that_hangs_and_ignores_being_asked_is_gone_two_seconds_after_ctrl_c(
    bench: Bench, tool: str, when: str
) -> None:
    with ExitStack() as back:
        in_place_of(bench, tool, f'[ "$1" = {when} ] && {{ {HANGS}; }}', back)
        process = bench.start("run", bench.campaign(settings={"gro": True}))
        hangs = f"/{tool}", when
        until(lambda: bool(running(bench, *hangs)) or process.poll() is not None, 60, f"{tool} {when}")
        assert running(bench, *hangs), process.communicate()
        start_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            until(lambda: not running(bench, *hangs), GIVEN_S, "the tool to be gone")
            took_s = time.monotonic() - start_s
        finally:
            until(lambda: ended(bench, process, *hangs), HANG_LIMIT_S, "linewatt to end")
    assert took_s < ASKED_S + BUSY_S


@pytest.mark.full
def test_a_wait_for_a_link_is_gone_two_seconds_after_ctrl_c(bench: Bench) -> None:
    begun = bench.tmp / "begun"
    with ExitStack() as back:
        in_place_of(bench, "ethtool", f'[ "$1" = -K ] && {{ touch {begun}; sleep 1; }}', back)
        process = bench.start("run", bench.campaign(settings={"gro": True}))
        until(begun.exists, 60, "the change")
        carrier(bench, 2, "down")
        try:
            until(lambda: bool(running(bench, *LINK_WAIT)), 60, "the wait for the link")
            first = set(running(bench, *LINK_WAIT))
            start_s = time.monotonic()
            process.send_signal(signal.SIGINT)
            until(lambda: not first & set(running(bench, *LINK_WAIT)), GIVEN_S, "the wait to be gone")
            took_s = time.monotonic() - start_s
        finally:
            carrier(bench, 2, "up")
        process.communicate(timeout=HANG_LIMIT_S)
    assert took_s < ASKED_S + BUSY_S


def test_a_host_that_stays_away_before_anything_is_measured_leaves_nothing_to_resume(bench: Bench) -> None:
    process = bench.start("run", bench.campaign(idle={"seconds": 3}, trials=1, **CHANGES), kind=Impatient)
    await_phase(process, "idle window")
    management = bench.lab.hosts[1].management_link
    subprocess.run(["ip", "link", "set", management, "down"], check=True)
    try:
        out, err = process.communicate(timeout=HANG_LIMIT_S)
    finally:
        subprocess.run(["ip", "link", "set", management, "up"], check=True)
    bench.until_nothing_runs()
    bench.restore()
    assert process.returncode == 1
    assert "h2: gone (" in out
    assert "nothing was measured" in out
    assert "linewatt resume" not in out + err, "there is nothing to go on with"
    assert list(bench.results.iterdir()) == []


def test_a_state_directory_that_is_removed_in_mid_run_ends_it_with_hosts_as_they_were(bench: Bench) -> None:
    before = bench.on_host(2, "cat", "/sys/class/net/data0/mtu")
    process = bench.start("run", bench.campaign(factors={"mtu": [1400, 1300]}, trials=4))
    await_event(process, "trial_stored")
    shutil.rmtree(bench.tmp / "state")
    out, err = process.communicate(timeout=HANG_LIMIT_S)
    now = bench.on_host(2, "cat", "/sys/class/net/data0/mtu")
    for number in (1, 2):
        bench.on_host(number, "ip", "link", "set", "data0", "mtu", before)
    assert now == before
    assert process.returncode == 1, out[-300:] + err
    assert "was removed while its campaign runs" in err
    assert {trial["status"] for trial in bench.trials()} == {"done"}


def test_a_run_whose_undo_fails_on_one_host_ends_with_1_and_has_put_back_the_other(bench: Bench) -> None:
    once = bench.tmp / "once"
    how = f'[ "$1" = -K ] && {{ [ -e {once} ] && {{ echo "no such luck" >&2; exit 75; }}; touch {once}; }}'
    with ExitStack() as back:
        itself = in_place_of(bench, "ethtool", how, back)
        before = gro(bench, 1), gro(bench, 2)
        turned = before[0] != "on"
        process = bench.start("run", bench.campaign(trials=1, settings={"gro": turned}))
        out, err = process.communicate(timeout=HANG_LIMIT_S)
        after = gro(bench, 1), gro(bench, 2)
        bench.on_host(2, itself, "-K", "data0", "gro", before[1])
    assert after[0] == before[0], "h1 is put back"
    assert after[1] != before[1], "as was planted"
    assert process.returncode == 1, out[-300:] + err
    assert "h2" in err + out
    assert "Traceback" not in err
    bench.restore()


def gro(bench: Bench, number: int) -> str:
    return bench.on_host(number, "sh", "-c", f"ethtool -k data0 | grep ^{GRO}").split()[1]


def as_soak(file: Path) -> Path:
    """The same campaign as one long load."""
    document = {**json.loads(file.read_text()), "soak": "10s"}
    for of_trials in ("trials", "window", "idle"):
        del document[of_trials]
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize(
    "kind", [lambda file: file, pytest.param(as_soak, marks=pytest.mark.full)], ids=["trials", "soak"]
)
def test_a_congestion_control_that_there_is_not_is_told_before_anything_is_changed(
    bench: Bench, kind: Callable[[Path], Path]
) -> None:
    control = "net.ipv4.tcp_congestion_control"
    before = bench.settings(control)
    settings = {"mtu": 1400, "sysctl": {control: "bbr9"}}
    done = bench.run("run", kind(bench.campaign(settings=settings)), status=2)
    assert "there is no congestion control 'bbr9'; its kernel has " in done.stderr
    assert bench.settings(control) == before
    assert "nothing to restore" in bench.restore()
