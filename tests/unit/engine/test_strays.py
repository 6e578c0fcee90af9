# SPDX-License-Identifier: Apache-2.0
"""Processes that outlived their leash: real ones, on this machine."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from linewatt.engine.undo.strays import Stray, end_strays, parse_strays
from linewatt.hosts.base import Completed, Host, HostSpec
from linewatt.hosts.local import LocalHost

HOST = LocalHost(HostSpec("h1", "local", "lo"))
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def started_ticks(pid: int) -> int:
    """When a process was started, as proc_pid_stat(5) has it."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


@pytest.fixture
def leash_pid() -> Iterator[int]:
    process = subprocess.Popen(SLEEP)
    yield process.pid
    process.kill()
    process.wait()


def marked(mark: str) -> subprocess.Popen[bytes]:
    """A process with the mark of a leash, which has begun."""
    script = "import sys, time; print(flush=True); time.sleep(60)"
    environment = {"LINEWATT_LEASH": mark}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def swept() -> list[str]:
    lines: list[str] = []
    asyncio.run(end_strays(HOST, lines.append))
    return lines


@pytest.mark.parametrize("leash", ["that is no more", "of another process"])
def test_what_outlived_its_leash_is_ended_and_named(leash_pid: int, leash: str) -> None:
    """Numbers of processes are given anew: it is the leash only if it was started then."""
    other = started_ticks(leash_pid) - 1
    mark = f"{leash_pid}-{other}." if leash == "of another process" else "4194305-1."
    with marked(mark) as process:
        lines = swept()
        assert process.wait(5) != 0
        assert any(f"({process.pid})" in line and line.startswith("h1: ended ") for line in lines)


@pytest.mark.parametrize("mark", ["{pid}-{started}.", "1-1", "x", ""])
def test_what_is_on_a_leash_at_work_or_bears_another_mark_is_left_alone(leash_pid: int, mark: str) -> None:
    mark = mark.format(pid=leash_pid, started=started_ticks(leash_pid))
    with marked(mark) as process:
        assert not any(f"({process.pid})" in line for line in swept())
        assert process.poll() is None
        process.kill()


def test_what_may_not_be_ended_is_named_with_what_to_do() -> None:
    class Other(LocalHost):
        async def run(self, *_: object, **__: object) -> Completed:
            return Completed((), 0, "left 41 iperf3\nended 40 iperf3\nleft x\n", "")

    lines: list[str] = []
    asyncio.run(end_strays(cast(Host, Other(HostSpec("h1", "local", "lo"))), lines.append))
    assert lines == [
        "h1: ended iperf3 (40), which a load or sensor had left running",
        "h1: iperf3 (41) was started for a load and still runs; this login may not end it, so end it there: "
        "kill 41",
    ]


def test_only_whole_lines_are_read() -> None:
    assert parse_strays("ended 1 a b\nended 2\nleft -1 x\nnoise") == [Stray(1, "a b", True)]
