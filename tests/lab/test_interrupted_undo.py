# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a campaign that has measured everything puts its hosts back as they were."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.lab.test_campaign import await_event, end, until
from tests.lab.test_networks import Networks, bench

__all__ = ["bench"]

pytestmark = pytest.mark.lab

LIMIT_S = 30.0
HOLD = "exec 9</proc/self/ns/net; flock 9; echo held; exec sleep 120"


@contextmanager
def changes_held(namespace: str) -> Iterator[int]:
    """Nobody changes the network of this namespace until the end; the inode of its lock."""
    argv = ["ip", "netns", "exec", namespace, "bash", "-c", HOLD]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            yield Path(f"/proc/{holder.pid}/ns/net").stat().st_ino
        finally:
            holder.kill()


def somebody_waits(inode: int) -> bool:
    """Whether a process waits for a lock on that file (proc_locks(5))."""
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return any(words[6].endswith(f":{inode}") for words in waiting)


def test_ctrl_c_while_a_network_is_taken_down_waits_until_it_is(bench: Networks) -> None:
    before = bench.state()
    process = bench.start("run", bench.on(bench.between(), idle={"seconds": 1}))
    await_event(process, "trial_stored")
    with changes_held(bench.lab.hosts[1].namespace) as inode:  # the second idle window is measured meanwhile
        until(lambda: somebody_waits(inode), LIMIT_S, "the undo to wait for the lock")
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("interrupted: " in line for line in process.stderr)
        assert process.poll() is None, "it waits for what is not undone yet"
        assert bench.state() != before
    end(process, 130)
    assert bench.state() == before
    assert "nothing to restore" in bench.restore()
    assert [trial["status"] for trial in bench.trials()] == ["done"]
