# SPDX-License-Identifier: Apache-2.0
"""Which other processes used a host's CPUs between two readings: the real script, and what is made of it."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from linewatt.engine.live.host_queries import compared
from linewatt.engine.live.processes import (
    MOST,
    SCRIPT,
    TICKS_HZ,
    ProcessTimes,
    ThreadTime,
    busiest,
    command,
    parse,
)
from linewatt.engine.live.readback import ReadBack, read_back
from linewatt.errors import ParseError
from linewatt.hosts.base import HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.model import OtherProcess

NAMED = b"a) S 1\n2 \x1b[2J("
"""a name that looks like fields of proc(5), with the end of a line and what a terminal obeys"""
_BUSY = f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, {NAMED!r}, 0, 0, 0)
print(os.getpid(), flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    begun = time.monotonic()
    while time.monotonic() - begun < 0.01: pass
    time.sleep(0.01)
"""
SHOWN = "a) S 1 2 \\x1b[2J("

STRANGER = ThreadTime(41, 900, 50, 1, False, "stress-ng")
EARLY = ProcessTimes(100.0, (STRANGER,))


def late(*threads: ThreadTime) -> ProcessTimes:
    return ProcessTimes(110.0, threads)


@contextmanager
def busy(*within: str) -> Iterator[int]:
    """A process that has run; within ``setsid -f`` it is no child of this one, as whatever linewatt did not
    start."""
    with subprocess.Popen([*within, sys.executable, "-c", _BUSY], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        try:
            _wait_for_cpu_time(pid)
            yield pid
        finally:
            os.kill(pid, signal.SIGKILL)


def _wait_for_cpu_time(pid: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
        if int(fields[11]) + int(fields[12]) > 5:
            return
        time.sleep(0.02)
    raise AssertionError("it did not run")


def read_by(awk: str, *ours: int) -> ProcessTimes:
    script = SCRIPT.replace("awk -v", f"{awk} -v")
    done = subprocess.run(
        ["bash", "-c", script, "linewatt", *map(str, ours)],
        capture_output=True,
        check=True,
        timeout=30,
        start_new_session=True,
    )
    assert not done.stderr
    return parse(done.stdout.decode())


@pytest.mark.parametrize("awk", ["mawk", "gawk", "busybox awk"])
def test_a_process_is_read_whatever_its_name_is_and_ones_own_are_left_out(awk: str) -> None:
    if shutil.which(awk.split()[0]) is None:
        pytest.skip(f"needs {awk}")
    with busy("setsid", "-f") as pid, busy() as child:
        threads = {one.tid: one for one in read_by(awk).threads}
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    assert threads[pid].name == SHOWN
    assert threads[pid].ticks >= 5
    assert 0 <= uptime_s - threads[pid].began / TICKS_HZ < 60
    assert threads[pid].cpu in os.sched_getaffinity(0)
    assert not threads[pid].kernel
    assert child not in threads


def test_a_process_in_a_namespace_of_process_numbers_is_not_the_kernels() -> None:
    """The second one there is not kthreadd, as it is on a whole machine."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    inside = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    script = f"{sys.executable} -c {shlex.quote(_BUSY)} >/dev/null & sleep 0.5; {SCRIPT}"
    done = subprocess.run([*inside, "bash", "-c", script], capture_output=True, timeout=30, check=True)
    (process,) = [one for one in parse(done.stdout.decode()).threads if one.name == SHOWN]
    assert (process.tid, process.kernel) == (2, False)


def test_threads_of_the_kernel_are_told_from_processes() -> None:
    if not Path("/proc/2/comm").read_text().startswith("kthreadd"):
        pytest.skip("needs the process numbers of a whole machine")
    names = {one.name for one in read_by("awk").threads if one.kernel}
    assert any(name.startswith("kworker/") for name in names)


def test_what_linewatt_started_on_another_connection_is_left_out_by_its_process_id() -> None:
    with busy("setsid", "-f") as pid:
        assert pid in {one.tid for one in read_by("awk").threads}
        assert pid not in {one.tid for one in read_by("awk", pid).threads}


def test_the_read_back_tells_what_others_used_between_two_reads() -> None:
    host = LocalHost(HostSpec("here", "local", "lo"))
    with busy("setsid", "-f") as pid:
        early = asyncio.run(read_back(host, [], [], {}, ours=[]))
        time.sleep(0.5)
        tail = asyncio.run(read_back(host, [], [], {}, ours=[]))
    assert early.processes is not None
    both = compared(tail, early)
    named = {one.tid: one for one in both.other_processes}
    assert named[pid].name == SHOWN.replace("\\x1b", "\u241b"), "its picture, as of all that enters"
    assert 0.02 < named[pid].cores < 1.05
    assert both.processes is None
    assert both.before is not None
    assert both.before.processes is None


def test_without_a_read_before_the_window_nobody_is_named() -> None:
    alone = compared(ReadBack(1.0, processes=late(STRANGER)), None)
    assert (alone.processes, alone.other_processes) == (None, ())


def test_use_is_what_was_added_between_the_reads() -> None:
    (used,) = busiest(EARLY, late(replace(STRANGER, ticks=550)))
    assert used == OtherProcess("stress-ng", 41, (1,), 0.5)
    (moved,) = busiest(EARLY, late(replace(STRANGER, ticks=550, cpu=3)))
    assert moved.cpus == (1, 3)


def test_a_thread_that_was_not_there_or_had_used_nothing_before_has_all_of_its_time_in_the_window() -> None:
    (fresh,) = busiest(EARLY, late(replace(STRANGER, tid=42, ticks=200)))
    assert fresh.cores == pytest.approx(0.2)
    (again,) = busiest(EARLY, late(replace(STRANGER, began=10_500, ticks=200)))
    assert again.cores == pytest.approx(0.2), "another process that was given the same number"


def test_the_busiest_are_kept_and_those_that_did_next_to_nothing_are_not() -> None:
    many = [replace(STRANGER, tid=100 + at, ticks=10 * (at + 1)) for at in range(30)]
    kept = busiest(EARLY, late(*many))
    assert len(kept) == MOST
    assert kept[0].tid == 129
    assert busiest(EARLY, late(replace(STRANGER, ticks=54))) == (), "4 ticks in 10 s"
    assert busiest(None, EARLY) == busiest(EARLY, None) == ()
    assert busiest(late(), EARLY) == (), "the host was started again meanwhile"


@pytest.mark.parametrize(
    "text", ["", "x\n", "1.0\n1 2 3\n", "1.0\n1 2 3 4 5 0\n", "nan\n", "1.0\na b c d e f g h i\n"]
)
def test_what_is_no_answer_of_the_script_is_an_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_names_are_one_line_without_control_characters_and_bounded() -> None:
    (one,) = parse("1.0\n7 8 9 1 0 1 0 1 a \u202eb\tc" + "d" * 200 + "\n").threads
    assert one.name.startswith("a \\u202eb cd")
    assert one.name.isprintable()
    assert len(one.name) == 64
    assert (one.ticks, one.kernel) == (10, True)
    assert parse("1.0\n7 8 9 1 0 1 0 1 \n").threads[0].name == "?"


# Linux 6.18: a kernel thread of the class real-time, and a niced and a real-time process of this machine
CAPTURED = """26374.82
18 12 0 79 0 1 0 1 migration/0
7448 2637400 7 0 1 0 0 1 bash
7450 2637401 2 0 1 0 10 0 sleep
"""


def test_nice_value_and_policy_are_read_and_told_of_what_was_used() -> None:
    kernel, first, niced = parse(CAPTURED).threads
    assert [(one.policy, one.nice) for one in (kernel, first, niced)] == [(1, 0), (1, 0), (0, 10)]
    told = busiest(ProcessTimes(26364.82, ()), ProcessTimes(26374.82, (replace(first, ticks=70),)))
    (process,) = told
    assert process.cores == pytest.approx(0.07)
    assert replace(process, cores=0.07) == OtherProcess(
        "bash", 7448, (1,), 0.07, scheduling="real-time", nice=0
    )


def test_the_command_is_a_constant_script_with_numbers_as_arguments() -> None:
    assert command([3, 4]) == ("bash", "-c", SCRIPT, "linewatt", "3", "4")
