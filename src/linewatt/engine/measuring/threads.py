# SPDX-License-Identifier: Apache-2.0
"""What the load's threads did between the two reads of a host, by the kernel's own account. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linewatt.engine.live.readback import ReadBack, Thread


def pairs(readback: ReadBack, pid: int | None) -> list[tuple[Thread, Thread]]:
    """Threads of a process that were there at both reads: before the window, and in the tail."""
    if readback.before is None:
        return []
    earlier = {thread.tid: thread for thread in readback.before.of(pid)}
    return [(earlier[one.tid], one) for one in readback.of(pid) if one.tid in earlier]


def cores_between(readback: ReadBack | None, pids: Sequence[int]) -> float | str:
    """CPU use of these processes between the reads, in cores; a text says why it is not known."""
    if readback is None or readback.before is None:
        return "the load's threads were not read before the window: window.omit leaves no time"
    total = 0.0
    for pid in pids:
        before, after = readback.before.of(pid), readback.of(pid)
        if not before or {one.tid for one in before} - {one.tid for one in after}:
            return f"threads of process {pid} were not there at both reads"
        between_s = (after[0].read_s or readback.time_s) - (before[0].read_s or readback.before.time_s)
        ran = [_ran({one.tid: one for one in before}, one) for one in after]
        if any(one is None for one in ran):
            return "this kernel does not tell the CPU time of threads (CONFIG_SCHED_INFO)"
        total += sum(one for one in ran if one is not None) / between_s
    return total if pids else "no load process was read"


def _ran(before: Mapping[int, Thread], after: Thread) -> float | None:
    """Seconds of one thread; one that began between the reads has all of its time in it."""
    earlier = before.get(after.tid)
    began_s = earlier.run_s if earlier else 0.0
    if began_s is None or after.run_s is None or (after.run_s == 0 and after.ticks > 0):
        return None
    return after.run_s - began_s
