# SPDX-License-Identifier: Apache-2.0
"""Where a trial's processes really ran, and whether its settings were still in force: read while it runs.

A host is asked once a trial, in the tail of the load after the window, so that the question costs the window
nothing: in one go, a script of bash builtins for all its processes and the read of each setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linewatt.errors import ChangeError, HostError, LinewattError, ParseError, WaitTimeout
from linewatt.hosts.base import Completed, Host
from linewatt.hosts.batch import Short, run_all
from linewatt.hosts.clock import now_s
from linewatt.hosts.cpulist import parse_cpulist
from linewatt.tuning import apply
from linewatt.tuning.base import Knob

LIMIT_S = 10.0

# A line a thread: process, thread, the CPU it ran on last, its CPU time in ticks, the CPUs it may run on.
# Fields behind the name in parentheses are those of proc(5), which may itself hold blanks and parentheses.
_THREADS = r"""for pid; do for task in /proc/"$pid"/task/*; do
  read -r stat <"$task/stat" || continue
  read -ra field <<<"${stat##*) }"
  while read -r key allowed; do [ "$key" = Cpus_allowed_list: ] && break; done <"$task/status"
  printf '%s %s %s %s %s\n' "$pid" "${task##*/}" "${field[36]}" "$(( field[11] + field[12] ))" "$allowed"
done; done 2>/dev/null; exit 0"""


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a load process: the CPU it ran on last, and those it may run on."""

    pid: int
    tid: int
    cpu: int
    ticks: int
    allowed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SettingRead:
    """A setting that the campaign asks for, and what it reads during a trial; None with a problem."""

    knob: str
    target: str
    wanted: str
    found: str | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What one host showed during a trial, at ``time_s``; ``problem`` says why it could not be asked."""

    time_s: float
    threads: tuple[Thread, ...] = ()
    settings: tuple[SettingRead, ...] = ()
    problem: str | None = None

    def of(self, pid: int | None) -> tuple[Thread, ...]:
        """The threads of one process."""
        return tuple(thread for thread in self.threads if thread.pid == pid)


async def read_back(
    host: Host, pids: Sequence[int], made: Iterable[tuple[str, str, str]], knobs: Mapping[str, Knob]
) -> ReadBack:
    """Ask a host; ``made`` is knob, target and text of what it is to show.

    What goes wrong is part of the answer, because the trial is not to suffer from it.
    """
    asked_s = now_s()
    settings = list(made)
    threads = Short(("bash", "-c", _THREADS, "linewatt", *map(str, pids)))
    try:
        questions = [apply.question(host.spec.name, knobs[knob], target) for knob, target, _ in settings]
        done, *answers = await run_all(host, [threads, *questions], limit_s=LIMIT_S)
    except (HostError, WaitTimeout, ChangeError) as error:
        unread = (SettingRead(*setting, found=None, problem=str(error)) for setting in settings)
        return ReadBack(asked_s, (), tuple(unread), str(error))
    shown = tuple(
        _setting(host.spec.name, knobs[setting[0]], setting, one)
        for setting, one in zip(settings, answers, strict=True)
    )
    try:
        return ReadBack(asked_s, parse_threads(done.stdout), shown)
    except ParseError as error:
        return ReadBack(asked_s, (), shown, str(error))


def _setting(host: str, knob: Knob, setting: tuple[str, str, str], done: Completed) -> SettingRead:
    try:
        return SettingRead(*setting, found=apply.answer(host, knob, setting[1], done))
    except ChangeError as error:
        return SettingRead(*setting, found=None, problem=str(error))


def parse_threads(text: str) -> tuple[Thread, ...]:
    """The lines of the script. Raises ParseError."""
    threads = []
    for line in text.splitlines():
        words = line.split()
        try:
            pid, tid, cpu, ticks = map(int, words[:4])
            allowed = parse_cpulist(words[4])
        except (ValueError, IndexError, LinewattError) as error:
            raise ParseError(f"threads of the load: {line[:60]!r} cannot be read") from error
        threads.append(Thread(pid, tid, cpu, ticks, allowed))
    return tuple(threads)
