# SPDX-License-Identifier: Apache-2.0
"""Where a trial's processes really ran, and whether its settings were still in force: read while it runs.

A host is asked twice a trial, before the window (where ``omit`` leaves time) and in the tail of the load, so
that the questions cost the window nothing: each in one go, a script of bash builtins for all processes, the
read of each setting, the part of the facts that can change meanwhile, and in the tail the load's connections.
What lies between is found by what counts: migrations and CPU time of the threads, changes of carrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from linewatt.engine.live import processes, sockets, throttling
from linewatt.engine.live.confinement import CLASSES, Cpuset, ProcessLimits
from linewatt.engine.live.processes import ProcessTimes
from linewatt.engine.live.throttling import OutsideTotals
from linewatt.errors import ChangeError, HostError, LinewattError, ParseError, WaitTimeout
from linewatt.foreign import understood
from linewatt.hosts import Completed, Host, ShortCommand, now_s, run_batch
from linewatt.hosts.facts import parse_cpulist
from linewatt.hosts.facts import read as facts
from linewatt.model import OtherProcess, OutsideLimits, SchedulingClass
from linewatt.tuning import Knob, apply

T = TypeVar("T")
LIMIT_S = 10.0

# A line a thread: process, thread, the CPU it ran on last, its CPU time in ticks, the CPUs it may run on,
# when it was asked (µs), its CPU time by the scheduler (ns), migrations, switches that it wanted and did not,
# how long it waited for a CPU (ns), its nice value and its policy (sched(7)); - is not known.
# Fields behind the name in parentheses are those of proc(5), which may itself hold blanks and
# parentheses; schedstat is of CONFIG_SCHED_INFO, sched of CONFIG_SCHED_DEBUG. A file is taken as a whole: to
# read lines bash seeks back behind each, the kernel then makes the text anew, and a state that has another
# length by now ("running", "sleeping") moves what follows. A thread that ends meanwhile is none.
_THREADS = r"""for pid; do for task in /proc/"$pid"/task/*; do
  read -r stat <"$task/stat" || continue
  field=(${stat##*) }) allowed= wanted=- unwanted=- run=- wait=- migrations=- at=${EPOCHREALTIME:--} lines=()
  read -r run wait _ <"$task/schedstat" || run=- wait=-
  mapfile -t lines <"$task/status"
  for line in "${lines[@]}"; do case $line in
    Cpus_allowed_list:*) allowed=${line##*[[:blank:]]} ;;
    voluntary_ctxt_switches:*) wanted=${line##*[[:blank:]]} ;;
    nonvoluntary_ctxt_switches:*) unwanted=${line##*[[:blank:]]} ;;
  esac; done
  [ "$allowed" ] || continue
  lines=(); mapfile -t lines <"$task/sched"
  for line in "${lines[@]}"; do
    case $line in se.nr_migrations*) migrations=${line##*[[:blank:]]}; break ;; esac
  done
  printf '%s %s %s %s %s %s %s %s %s %s %s %s %s\n' "$pid" "${task##*/}" "${field[36]}" \
    "$(( field[11] + field[12] ))" "$allowed" "${at/[.,]/}" "$run" "$migrations" \
    "$wanted" "$unwanted" "$wait" "${field[16]:--}" "${field[38]:--}"
done; done 2>/dev/null; exit 0"""


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a load process: the CPU it ran on last, and those it may run on.

    ``read_s`` is when it was asked, on the host's clock; ``run_s`` its CPU time by the scheduler's account;
    ``migrations`` how often it changed its CPU, ``switches`` and ``preemptions`` how often it gave its CPU
    away by itself and not, ``wait_s`` how long it was ready to run and had no CPU: all since it began.
    ``nice`` and ``scheduling`` are how the kernel chooses between it and others. None: the kernel does not
    tell.
    """

    pid: int
    tid: int
    cpu: int
    ticks: int
    allowed: tuple[int, ...]
    read_s: float | None = None
    run_s: float | None = None
    migrations: int | None = None
    switches: int | None = None
    preemptions: int | None = None
    wait_s: float | None = None
    nice: int | None = None
    scheduling: SchedulingClass | None = None


@dataclass(frozen=True, slots=True)
class SettingRead:
    """A setting that the campaign asks for, and what it reads during a trial; None with a problem."""

    knob: str
    target: str
    wanted: str
    found: str | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that is not what it was, and that linewatt did not change.

    ``as_before_s``: in which trial before it last was; None: in none.
    """

    fact: str
    before: str
    found: str
    as_before_s: float | None = None


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What one host showed during a trial, at ``time_s``; ``problem`` says why it could not be asked.

    ``facts`` are those of :data:`linewatt.hosts.facts.read.AGAIN`, ``differences`` those that are not as they
    were before this trial; ``sockets`` is what ``ss`` wrote of the load's connections. ``before`` is what the
    same host showed before the window, None where omit left no time to ask.
    """

    time_s: float
    threads: tuple[Thread, ...] = ()
    settings: tuple[SettingRead, ...] = ()
    problem: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    sockets: str = ""
    before: ReadBack | None = None
    processes: ProcessTimes | None = None
    """what every process had used by then, until the two reads are compared; None: not read"""
    other_processes: tuple[OtherProcess, ...] = ()
    """the busiest that are neither the load's nor linewatt's, from the read before the window to this one"""
    outside: OutsideTotals | None = None
    """quotas of the load's control groups and pressure, until the two reads are compared; None: not read"""
    outside_limits: OutsideLimits | None = None
    """what they did from the read before the window to this one"""
    cpusets: tuple[Cpuset, ...] = ()
    """the CPUs that control groups let the load's processes have"""
    process_limits: tuple[ProcessLimits, ...] = ()
    isolated_cpus: tuple[int, ...] = ()

    def of(self, pid: int | None) -> tuple[Thread, ...]:
        """The threads of one process."""
        return tuple(thread for thread in self.threads if thread.pid == pid)


async def read_back(
    host: Host,
    pids: Sequence[int],
    expected_settings: Iterable[tuple[str, str, str]],
    knobs: Mapping[str, Knob],
    ports: Sequence[int] = (),
    ours: Sequence[int] | None = None,
) -> ReadBack:
    """Ask a host; ``expected_settings`` is knob, target and text of what it is to show, ``ports`` those of
    its load.

    With ``ours``, all processes of linewatt on its CPUs, it is also asked what each other process has used.

    What goes wrong is part of the answer, because the trial is not to suffer from it.
    """
    asked_s = now_s()
    settings, further = list(expected_settings), host.spec.interfaces[1:]
    first = [
        ShortCommand(("bash", "-c", _THREADS, "linewatt", *map(str, pids))),
        ShortCommand(tuple(facts.command(host.spec.data, facts.AGAIN))),
        *(ShortCommand(tuple(facts.command(name, facts.AGAIN_OF_NIC))) for name in further),
        *([ShortCommand(tuple(sockets.command(ports)))] if ports else []),
    ]
    try:
        last = [ShortCommand(throttling.command(pids))] if pids else []
        last += [] if ours is None else [ShortCommand(processes.command(ours))]
        questions = [apply.question(host.spec.name, knobs[knob], target) for knob, target, _ in settings]
        results = await run_batch(host, [*first, *questions, *last], limit_s=LIMIT_S)
    except (HostError, WaitTimeout, ChangeError) as error:
        unread = (SettingRead(*setting, found=None, problem=str(error)) for setting in settings)
        return ReadBack(asked_s, (), tuple(unread), str(error))
    threads, facts_result, *further_results = results[: len(first)]
    answers = results[len(first) : len(first) + len(settings)]
    # a host without awk or bash 4, or that shows nothing of others' processes, does not tell these
    times = None if ours is None else _told(processes.parse, results[-1].stdout)
    outside = _told(throttling.parse, results[-len(last)].stdout) if pids else None
    shown = tuple(
        _setting(host.spec.name, knobs[setting[0]], setting, answer)
        for setting, answer in zip(settings, answers, strict=True)
    )
    nics = {name: result.stdout for name, result in zip(further, further_results, strict=False)}
    text = "".join(result.stdout for result in further_results[len(further) :])
    load_threads: tuple[Thread, ...] = ()
    problem: str | None = None
    try:
        load_threads = understood(lambda: parse_threads(threads.stdout), "threads of the load")
    except ParseError as error:
        problem = str(error)
    return ReadBack(
        asked_s,
        load_threads,
        shown,
        problem,
        facts=facts.parse_again(facts_result.stdout, nics),
        sockets=text,
        processes=times,
        outside=outside,
        cpusets=outside.cpusets if outside else (),
        process_limits=outside.process_limits if outside else (),
        isolated_cpus=outside.isolated_cpus if outside else (),
    )


def _told(parse: Callable[[str], T], text: str) -> T | None:
    """What a script wrote; ``None`` where it is not what it writes."""
    try:
        return understood(lambda: parse(text), "an answer")
    except ParseError:
        return None


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
            counts = [None if word == "-" else int(word) for word in words[5:11]]
            read_us, run_ns, migrations, voluntary, unwanted, wait_ns = counts + [None] * (6 - len(counts))
            nice, policy = (None if word == "-" else int(word) for word in (words[11:13] or "--"))
        except (ValueError, IndexError, LinewattError) as error:
            raise ParseError(f"threads of the load: {line[:60]!r} cannot be read") from error
        times = _scaled(read_us, 1e-6), _scaled(run_ns, 1e-9)
        switches = migrations, voluntary, unwanted
        scheduling = None if policy is None else CLASSES.get(policy)
        wait_s = _scaled(wait_ns, 1e-9)
        threads.append(Thread(pid, tid, cpu, ticks, allowed, *times, *switches, wait_s, nice, scheduling))
    return tuple(threads)


def _scaled(value: int | None, factor: float) -> float | None:
    return None if value is None else value * factor
