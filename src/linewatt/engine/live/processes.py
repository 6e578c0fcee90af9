# SPDX-License-Identifier: Apache-2.0
"""Which processes beside the load's used a host's CPUs during a trial, by two readings of ``/proc``.

A host is read just before the window and just after it, with the other questions of the read-back
(:mod:`linewatt.engine.live.readback`); the difference is what each thread used. A thread that begins and ends
between the two readings is in neither, so that all of them together used at least this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linewatt.engine.live.confinement import CLASSES
from linewatt.errors import ParseError
from linewatt.foreign import number, one_line
from linewatt.model import OtherProcess

MOST = 10
"""threads of a host that are kept, those that used most"""
LEAST_CORES = 0.005
TICKS_HZ = 100
"""USER_HZ, the unit of these times on every architecture that linewatt runs on (proc(5))"""
LONGEST_NAME = 64

# The first line is the host's uptime. Then a line a thread that ever ran: its number, when it began
# (ticks since boot), its user and system time (ticks), the CPU it ran on last, whether it is the kernel's
# (PF_KTHREAD of its flags), its nice value and its policy (sched(7)), and its name as the kernel has it,
# which may hold blanks, parentheses and even ends of lines: what follows the last ") " are the fields from
# the third on of proc(5). The arguments are processes that linewatt started. Whatever descends from the
# process that serves their SSH connection (the parent of their session's leader) is linewatt's or the
# load's, and is left out. Times stay text: some awks print numbers of 2^31 and more rounded.
SCRIPT = r"""cat /proc/uptime /proc/[0-9]*/task/[0-9]*/stat 2>/dev/null | LC_ALL=C awk -v ours="$$ $*" '
NR == 1 { print $1; next }
/^[0-9]+ \(/ { text = "" }
{
  text = text " " $0
  if (!match(text, /^.*\) /)) next
  count = split(substr(text, RLENGTH + 1), field, " ")
  if (count < 37) next
  tid = text + 0; begins = index(text, "(")
  parent[tid] = field[2]; session[tid] = field[4]
  if (field[12] + field[13] > 0)
    row[tid] = tid " " field[20] " " field[12] " " field[13] " " field[37] " " \
      int(field[7] / 2097152) % 2 " " field[17] " " field[39] " " \
      substr(text, begins + 1, RLENGTH - begins - 2)
  text = ""
}
END {
  count = split(ours, pid, " ")
  for (i = 1; i <= count; i++) {
    leader = session[pid[i]] + 0; connection = parent[leader] + 0
    if (leader > 1) own[leader]
    if (connection > 1) own[connection]
  }
  for (tid in row) {
    at = tid + 0
    for (steps = 0; at > 1 && steps < 64 && !(at in own); steps++) at = parent[at] + 0
    if (!(at in own)) print row[tid]
  }
}'"""


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """CPU time of a thread since it began, in ticks; ``cpu`` is the one it ran on last."""

    tid: int
    began: int
    ticks: int
    cpu: int
    kernel: bool
    name: str
    nice: int | None = None
    policy: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """What every thread of a host had used by ``uptime_s``; those that used nothing yet are left out."""

    uptime_s: float
    threads: tuple[ThreadTime, ...]


def command(ours: Sequence[int]) -> tuple[str, ...]:
    """The argument list; ``ours`` are processes that linewatt started there: its load and its sensors."""
    return ("bash", "-c", SCRIPT, "linewatt", *map(str, ours))


def parse(text: str) -> ProcessTimes:
    """What the script wrote. Raises ParseError."""
    uptime, *lines = text.splitlines() or [""]
    return ProcessTimes(number(uptime, "uptime"), tuple(map(_thread, lines)))


def _thread(line: str) -> ThreadTime:
    words = line.split(" ", 8)
    try:
        tid, began, user, system, cpu, kernel, nice, policy = map(int, words[:8])
        name = words[8]
    except (ValueError, IndexError) as error:
        raise ParseError(f"times of processes: {line[:60]!r} cannot be read") from error
    plain = one_line(" ".join(name.split()))[:LONGEST_NAME] or "?"
    return ThreadTime(tid, began, user + system, cpu, kernel == 1, plain, nice, policy)


def busiest(before: ProcessTimes | None, after: ProcessTimes | None) -> tuple[OtherProcess, ...]:
    """The :data:`MOST` threads that used most between two readings, the busiest first."""
    if before is None or after is None or after.uptime_s <= before.uptime_s:
        return ()
    earlier = {(thread.tid, thread.began): thread for thread in before.threads}
    between_s = after.uptime_s - before.uptime_s
    used = [_used(earlier, thread, between_s) for thread in after.threads]
    busy = [process for process in used if process.cores >= LEAST_CORES]
    return tuple(sorted(busy, key=lambda process: (-process.cores, process.tid))[:MOST])


def _used(
    earlier: Mapping[tuple[int, int], ThreadTime], thread: ThreadTime, between_s: float
) -> OtherProcess:
    before = earlier.get((thread.tid, thread.began))
    ticks = thread.ticks - (before.ticks if before else 0)
    cpus = {thread.cpu} | ({before.cpu} if before else set())
    return OtherProcess(
        thread.name,
        thread.tid,
        tuple(sorted(cpus)),
        ticks / TICKS_HZ / between_s,
        thread.kernel,
        None if thread.policy is None else CLASSES.get(thread.policy),
        thread.nice,
    )
