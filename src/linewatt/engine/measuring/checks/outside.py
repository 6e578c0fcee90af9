# SPDX-License-Identifier: Apache-2.0
"""What limits a load from outside: CPUs kept from it, others that run first, limits, memory. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from linewatt.analysis.limits import MEMORY_PRESSURE, PRESSURE_FILE, process_names
from linewatt.engine.live.confinement import Cpuset, ProcessLimits, ResourceUse
from linewatt.engine.live.readback import ReadBack, Thread
from linewatt.engine.measuring.accounts import on_one_machine
from linewatt.engine.measuring.cut import PlacedProcess, Seen
from linewatt.findings import NEAR_LIMIT_RATIO, OUTRANKED_CORES, WAITED_FOR_MEMORY
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.model import EndResult, Flag, OtherProcess, SchedulingClass
from linewatt.units import format_percent

_RANKS: tuple[tuple[SchedulingClass, ...], ...] = (
    ("idle",),
    ("normal", "batch"),
    ("real-time",),
    ("deadline",),
)
"""who runs first (sched(7)), from last to first; nice values are weights within one of these"""
_IN_THREADS = ("ksoftirqd/", "napi/", "irq/")
"""threads of the kernel that do what interrupts and softirqs else do"""
_ULIMITS = {"open files": "ulimit -n", "locked memory": "ulimit -l", "threads": "ulimit -u"}


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends; of ends that share their CPUs others that run first are told once."""
    hosts: set[str] = set()
    for end in seen.ends:
        readback, placed = seen.readback(end), seen.cut.placed(end.host)
        if readback is not None:
            yield from withheld(end.host, readback, placed, tuple(seen.cpu_shares(end)))
            yield from priority(end.host, readback, placed)
            yield from near_limit(end.host, readback.process_limits, placed)
            if end.host not in hosts:
                yield from outranked(end, readback, placed)
        hosts |= {host_end.host for host_end in on_one_machine(seen, end)}
        yield from short_of_memory(end)


def withheld(
    host: str, readback: ReadBack, placed: Sequence[PlacedProcess], cpus: Collection[int]
) -> Iterator[Flag]:
    """The process that lacks most of its CPUs: those it was put on, unpinned all that are not isolated."""
    lacks: list[tuple[int, PlacedProcess, set[int], set[int]]] = []
    for process in placed:
        pinned = None if process.cpus is None else {*parse_cpulist(process.cpus)}
        intended = {*cpus} - {*readback.isolated_cpus} if pinned is None else pinned
        for read in (readback.before, readback):
            threads = read.of(process.pid) if read is not None else ()
            allowed = {cpu for thread in threads for cpu in thread.allowed}
            lacking = intended - allowed
            if lacking and intended & allowed:  # on others alone it was moved, which is told of
                lacks.append((len(lacking), process, allowed, intended))
    if lacks:
        _, process, allowed, intended = max(lacks, key=lambda lack: lack[0])
        put = "placed on" if process.cpus is not None else "unpinned on a host with"
        yield Flag(
            "cpus-withheld",
            f"{host}: instance {process.instance}",
            f"{put} CPU {format_cpulist(intended)}; process {process.pid} may run only on CPU "
            f"{format_cpulist(allowed)}: {_kept_by(readback.cpusets, process, intended)}",
            "widen its cpuset (AllowedCPUs=, --cpuset-cpus) or affinity (taskset, CPUAffinity=), or name "
            "only these CPUs in the campaign",
        )


def _kept_by(cpusets: Sequence[Cpuset], process: PlacedProcess, intended: Collection[int]) -> str:
    """``the cpuset of its cgroup /load is 0-1``, or that it is its affinity."""
    narrow = [group for group in cpusets if group.pid == process.pid and not {*intended} <= {*group.cpus}]
    if not narrow:
        return "its affinity (taskset, CPUAffinity=) is narrower"
    cpuset = min(narrow, key=lambda group: len(group.cpus))
    return f"the cpuset of its cgroup {cpuset.path} is {format_cpulist(cpuset.cpus)}"


def _at_both_ends(readback: ReadBack, pid: int | None) -> Iterator[Thread]:
    for read in (readback.before, readback):
        yield from read.of(pid) if read is not None else ()


def priority(host: str, readback: ReadBack, placed: Sequence[PlacedProcess]) -> Iterator[Flag]:
    """A load that gives way to others, or takes the CPU from them: the first process that does."""
    for process in placed:
        for thread in _at_both_ends(readback, process.pid):
            words = _priority_words(thread)
            if words:
                yield Flag(
                    "load-priority",
                    f"{host}: instance {process.instance}",
                    f"process {process.pid} runs {words}",
                    "find what set this (Nice=, CPUSchedulingPolicy=, chrt); compare only trials with the "
                    "same priority",
                )
                return


def _priority_words(thread: Thread) -> str:
    """``at nice 10``, ``in scheduling class real-time``; empty for the usual priority, or if not known."""
    classed = thread.scheduling not in (None, "normal")
    parts = [f"in scheduling class {thread.scheduling}"] if classed else []
    weighed = bool(thread.nice) and thread.scheduling in (None, "normal", "batch")
    return " ".join([*parts, *([f"at nice {thread.nice}"] if weighed else [])])


def outranked(end: EndResult, readback: ReadBack, placed: Sequence[PlacedProcess]) -> Iterator[Flag]:
    """Processes of a higher class than the load's on CPUs that it was put on."""
    cpus = {cpu for process in placed if process.cpus is not None for cpu in parse_cpulist(process.cpus)}
    classes = [
        thread.scheduling
        for process in placed
        for thread in _at_both_ends(readback, process.pid)
        if thread.scheduling is not None
    ]
    rank = min(map(_rank, classes), default=_rank("normal"))
    higher = [process for process in end.other_processes if _runs_first(process, rank, cpus)]
    cores = sum(process.cores for process in higher)
    if cores >= OUTRANKED_CORES:
        on = format_cpulist({cpu for process in higher for cpu in process.cpus} & cpus)
        kinds = " and ".join(sorted({str(process.scheduling) for process in higher}))
        yield Flag(
            "load-outranked",
            end.host,
            f"{process_names(higher, cores)} used {cores:.2f} cores of app CPU {on}; scheduling class "
            f"{kinds} runs before the load",
            "stop it, move it to other CPUs (taskset), or lower its class (chrt -o -p 0); measure again",
        )


def _rank(scheduling: SchedulingClass) -> int:
    return next(rank for rank, classes in enumerate(_RANKS) if scheduling in classes)


def _runs_first(process: OtherProcess, rank: int, cpus: Collection[int]) -> bool:
    """Only who was seen on CPUs of the load alone: of others it is not known where they ran how long."""
    if process.scheduling is None or _rank(process.scheduling) < max(_rank("real-time"), rank + 1):
        return False
    in_place_of_interrupts = process.kernel and process.name.startswith(_IN_THREADS)
    return not in_place_of_interrupts and {*process.cpus} <= {*cpus}


def near_limit(host: str, limits: Sequence[ProcessLimits], placed: Sequence[PlacedProcess]) -> Iterator[Flag]:
    """The load process that is nearest to one of its limits."""
    of_load = {process.pid: process for process in placed}
    uses = [
        (use.used / use.limit, process.pid, use)
        for process in limits
        for use in process.resources
        if process.pid in of_load and use.limit > 0
    ]
    if not uses:
        return
    share, pid, use = max(uses, key=lambda near: near[0])
    if share >= NEAR_LIMIT_RATIO:
        yield Flag(
            "load-limit-near",
            f"{host}: instance {of_load[pid].instance}",
            f"process {pid} uses {_use_words(use)} ({_ULIMITS[use.resource]})",
            "raise the limit (limits.conf, LimitNOFILE= of sshd's unit) before the load grows",
        )


def _use_words(use: ResourceUse) -> str:
    unit = " bytes of" if use.resource == "locked memory" else ""
    return f"{use.used:,} of {use.limit:,}{unit} {use.resource}"


def short_of_memory(end: EndResult) -> Iterator[Flag]:
    """Tasks of the host that waited for memory between the two reads."""
    limits = end.outside_limits
    waited_s = None if limits is None else limits.pressure_s.get(MEMORY_PRESSURE)
    if limits is None or waited_s is None or waited_s < WAITED_FOR_MEMORY * limits.between_s:
        return
    part = format_percent(waited_s / limits.between_s)
    yield Flag(
        "memory-pressure",
        end.host,
        f"tasks waited for memory in {part} of the time ({PRESSURE_FILE})",
        "find what fills memory (ps --sort=-rss, memory.max of control groups), stop it, and measure again",
    )
