# SPDX-License-Identifier: Apache-2.0
"""A change that takes its time, under every way to end a run; and two controllers that want one host."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.lab.test_campaign import GONE_LIMIT_S, HANG_LIMIT_S, Bench, await_event, end, rest_of, until

from linewatt.campaign.reading.file import load_campaign
from linewatt.hosts.journal.journal import Entry, Journal, journal_path

pytestmark = pytest.mark.lab

SLOW_S = 4
ON: dict[str, object] = {"settings": {"gro": True}}
"""off on a new veth"""

SLOW = {
    "ends when asked": 'begin; sleep {slow}; land "$@"',
    "ignores being asked": 'trap "" INT TERM; begin; sleep {slow}; land "$@"',
    "cannot be ended": 'setsid bash -c \'"$0" landing "$@"\' "$0" "$@" & wait',
}
"""what ``ethtool -K`` does on a host; the last is as one that is in the kernel: a leash cannot reach it"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PAIRED = [*zip(SIGNALS, SLOW, strict=True)][1:]
"""each signal and each way once, with the test of a resume that is stopped; the other pairs are left to `make
test-all`"""
PAIRS = [
    pytest.param(
        number, how, id=f"{number.name}-{how}", marks=() if (number, how) in PAIRED else pytest.mark.full
    )
    for number in SIGNALS
    for how in SLOW
]

SCRIPT = """#!/bin/bash
begin() {{ echo "$*" >>{marks}/begun; }}
land() {{ {real} "$@"; status=$?; echo "$*" >>{marks}/landed; exit "$status"; }}
if [ "$1" = landing ]; then shift; begin "$@"; sleep {slow}; land "$@"; fi
[ "$1" = -K ] && {{ [ -e {marks}/begun ] && [ ! -e {marks}/always ] || {{ {how}; }}; }}
exec {real} "$@"
"""


class SlowBench(Bench):
    """The second host's ``ethtool -K`` is slow the first time."""

    def __init__(self, lab: Any, tmp: Path, how: str) -> None:
        super().__init__(lab, tmp)
        self.marks = tmp / "marks"
        self.marks.mkdir()
        real = tmp / "ethtool-itself"
        tool = shutil.which("ethtool", path="/usr/sbin:/sbin:/usr/bin")
        assert tool is not None
        self.tool = str(Path(tool).resolve())
        shutil.copy(self.tool, real)
        self.fake = tmp / "ethtool"
        self.fake.write_text(
            SCRIPT.format(marks=self.marks, real=real, slow=SLOW_S, how=SLOW[how].format(slow=SLOW_S))
        )
        self.fake.chmod(0o755)
        self.real = str(real)

    def features(self) -> list[str]:
        return [self.on_host(number, self.real, "-k", "data0") for number in (1, 2)]

    def until_begun(self, process: subprocess.Popen[str]) -> None:
        """The command's own end bounds the wait, too: one that failed before says why."""
        begun = self.marks / "begun"
        until(lambda: begun.exists() or process.poll() is not None, HANG_LIMIT_S, "the slow change to begin")
        assert begun.exists(), process.communicate()

    def writers(self) -> list[str]:
        """Processes of the slow tool that are still there."""
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = file.read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if str(self.fake) in words or self.tool in words or self.real in words:
                found.append(" ".join(words))
        return found


@pytest.fixture
def slow(lab2: Any, tmp_path: Path) -> Iterator[Callable[[str], SlowBench]]:
    """``slow(how)``: the lab's hosts, the second with a slow ethtool; all is to be as it was at the end."""
    benches: list[tuple[SlowBench, list[str]]] = []
    with ExitStack() as back:

        def make(how: str) -> SlowBench:
            one = SlowBench(lab2, tmp_path, how)
            benches.append((one, one.features()))
            one.mount(2, one.fake, one.tool, back)
            return one

        yield make
        for one, _ in benches:
            until(lambda one=one: one.writers() == [], 2 * SLOW_S + GONE_LIMIT_S, "the slow tool to end")  # type: ignore[misc]
    for one, before in benches:
        assert one.features() == before


@pytest.mark.parametrize(("number", "how"), PAIRS)
def test_a_change_that_is_being_written_is_undone_and_does_not_land_later(
    slow: Callable[[str], SlowBench], how: str, number: signal.Signals
) -> None:
    bench = slow(how)
    before = bench.features()
    process = bench.start("run", bench.campaign(trials=1, **ON))
    bench.until_begun(process)
    process.send_signal(number)
    if number == signal.SIGKILL:
        process.communicate(timeout=HANG_LIMIT_S)
        said = bench.restore()
    else:
        _, said = end(process, 130)
    assert "Traceback" not in said
    until(lambda: bench.writers() == [], 2 * SLOW_S + GONE_LIMIT_S, "the slow tool to end")
    assert bench.features() == before
    assert "nothing to restore" in bench.restore()
    assert (bench.marks / "landed").exists() == (how == "cannot be ended")


def test_ctrl_c_while_resume_puts_back_its_first_part_does_not_stop_that(
    slow: Callable[[str], SlowBench],
) -> None:
    bench = slow("ends when asked")
    before = bench.features()
    process = bench.start("run", bench.campaign(trials=2, rate="20M", **ON))
    await_event(process, "trial_started", 1)
    process.kill()
    process.communicate()
    assert bench.features() != before
    begun = bench.marks / "begun"
    (bench.marks / "always").touch()
    begun.unlink()
    again = bench.start("resume", "last")
    bench.until_begun(again)
    again.send_signal(signal.SIGINT)
    end(again, 130)
    assert bench.features() == before
    assert "nothing to restore" in bench.restore()


LONG: dict[str, object] = {"window": {"seconds": 8, "omit": 0.5, "tail": 0.5}, "trials": 1}
"""still runs when another controller has waited its grace for a holder that may be ending"""

UNTIL_ENDED = {"seconds": 60, "omit": 0.5, "tail": 0.5}
"""runs on until the test ends it, however busy the machine is"""


class Two:
    """Two controllers with states of their own and the same hosts."""

    def __init__(self, lab: Any, tmp: Path) -> None:
        self.benches = []
        for name in ("a", "b"):
            (tmp / name).mkdir()
            self.benches.append(Bench(lab, tmp / name))

    def mtus(self) -> list[str]:
        return [self.benches[0].on_host(number, "cat", "/sys/class/net/data0/mtu") for number in (1, 2)]


@pytest.fixture
def two(lab2: Any, tmp_path: Path) -> Iterator[Two]:
    one = Two(lab2, tmp_path)
    before = one.mtus()
    yield one
    one.benches[0].until_nothing_runs()
    assert one.mtus() == before


def test_a_second_controller_of_any_state_is_refused_in_one_line_and_changes_nothing(two: Two) -> None:
    first, second = two.benches
    mtu = {"mtu": 1400}
    file = first.campaign(name="ours", settings=mtu, trials=1, rate="20M", window=UNTIL_ENDED)
    process = first.start("run", file)
    await_event(process, "trial_started", 1)
    refused = second.run("run", second.campaign(name="theirs", settings={"mtu": 1300}), status=1)
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("linewatt: h1: in use by ")
    assert " (ours, since 20" in last
    assert not second.results.exists(), "it was refused before anything was stored"
    assert "nothing to restore" in second.restore()
    assert two.mtus() == ["1400", "1400"]
    second.environment = first.environment
    refused = second.run("run", file, status=1)
    assert re.search("in use by |is at work on it", refused.stderr.splitlines()[-1])
    assert "Traceback" not in refused.stderr
    process.send_signal(signal.SIGINT)
    end(process, 130)
    assert "nothing to restore" in first.restore()


@pytest.mark.full
def test_a_controller_that_waits_runs_after_the_first_one(two: Two) -> None:
    first, second = two.benches
    window = {"seconds": 20, "omit": 0.5, "tail": 0.5}  # longer than a busy machine takes to begin another
    settings = {"mtu": 1400}
    process = first.start("run", first.campaign(name="ours", settings=settings, trials=1, window=window))
    await_event(process, "trial_started", 1)
    waiting = second.start("run", "--wait", second.campaign(name="theirs", trials=1))
    phase = await_event(waiting, "phase")
    while "waiting for " not in phase["text"]:
        phase = await_event(waiting, "phase")
    assert phase["text"].startswith("h1: waiting for ")
    assert " (ours, since " in phase["text"]
    end(process, 0)
    end(waiting, 0)
    (trial,) = second.trials()
    assert trial["status"] == "done"


@pytest.mark.full
def test_of_two_runs_of_one_state_directory_at_once_one_runs(two: Two) -> None:
    first, second = two.benches
    second.environment = first.environment
    file = first.campaign(settings={"mtu": 1400}, **LONG)
    running = [bench.start("run", file) for bench in two.benches]
    ended = [(process.communicate(timeout=HANG_LIMIT_S), process.returncode) for process in running]
    assert sorted(status for _, status in ended) == [0, 1]
    (lost,) = [err for (_, err), status in ended if status == 1]
    assert "in use by " in lost or "is at work on it" in lost
    assert "Traceback" not in lost
    assert "nothing to restore" in first.restore()


@pytest.mark.full
def test_restore_on_a_host_in_use_is_exit_code_1_and_with_wait_puts_it_back_afterwards(two: Two) -> None:
    first, second = two.benches
    killed = first.start("run", first.campaign(name="ours", settings={"mtu": 1400}))
    await_event(killed, "trial_started", 1)
    killed.kill()
    killed.communicate()
    window = {"seconds": 20, "omit": 0.5, "tail": 0.5}  # longer than two restores wait before they say so
    process = second.start("run", second.campaign(name="theirs", trials=1, window=window))
    await_event(process, "trial_started", 1)
    assert "h1: in use by " in first.restore(status=1)
    waiting = forked.Forked(
        ["restore", "--wait"],
        env=first.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stderr is not None
    assert any("waiting for " in line for line in waiting.stderr)
    end(process, 0)
    assert waiting.wait(HANG_LIMIT_S) == 0


def await_line(lines: Iterable[str], wanted: str) -> None:
    """Read what a running command says up to a line with these words; its own end bounds the wait."""
    assert any(wanted in line for line in lines), f"the command ended without {wanted!r}"


def test_run_and_restore_wait_for_a_host_in_use_only_where_asked_to(two: Two) -> None:
    """Both without the load of another campaign: its lock on the host is enough."""
    first, second = two.benches
    key = "net.ipv4.tcp_slow_start_after_idle"
    before = first.on_host(1, "sysctl", "-n", key)
    changed = str(1 - int(before))
    journal = Journal(journal_path(first.tmp / "state", "20260101-000000-ours"), create=True)
    journal.begin([load_campaign(first.campaign()).hosts["h1"]])
    journal.intend([Entry(1, "h1", "sysctl", key, before, changed)])
    journal.close()
    first.on_host(1, "sysctl", "-qw", f"{key}={changed}")
    holds = ["flock", "/sys/class/net", "bash", "-c", "echo held; read -r _"]
    inside = ["ip", "netns", "exec", first.lab.hosts[0].namespace]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*inside, *holds], **pipes) as holder:
        assert holder.stdout is not None
        await_line(holder.stdout, "held")
        assert "h1: in use by " in first.restore(status=1)
        assert first.on_host(1, "sysctl", "-n", key) == changed
        words = ["restore", "--wait"]
        restoring = forked.Forked(words, env=first.environment, stderr=subprocess.PIPE, text=True)
        running = second.start("run", "--wait", second.campaign())
        assert running.stdout is not None
        await_line(running.stdout, "h1: waiting for ")
        running.send_signal(signal.SIGINT)
        _, said = rest_of(running, HANG_LIMIT_S)
        assert running.returncode == 130, said
        assert restoring.stderr is not None
        await_line(restoring.stderr, "h1: waiting for ")
    said = restoring.stderr.read()
    assert restoring.wait(HANG_LIMIT_S) == 0, said
    assert first.on_host(1, "sysctl", "-n", key) == before
