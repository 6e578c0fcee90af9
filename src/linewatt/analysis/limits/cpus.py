# SPDX-License-Identifier: Apache-2.0
"""CPUs as what may limit: the busiest one of each role, for one full CPU stalls what runs on it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from linewatt.analysis.limits.candidate import Candidate, Kind
from linewatt.findings import FULL_RATIO
from linewatt.model import CpuShares, EndResult, OtherProcess, Trial
from linewatt.units import format_percent

ROLES: dict[Kind, str] = {
    "receiver-irq-cpu": "IRQ CPU",
    "receiver-app-cpu": "app CPU",
    "sender-app-cpu": "app CPU",
    "sender-irq-cpu": "IRQ CPU",
}
"""kind → what the CPU does at its end"""
_SLOW = {
    "cpu-throttled": "slowed for heat",
    "frequency-dropped": "below its frequency",
    "foreign-load": "others use it, too",
}
_SLOW_OR_WITHHELD = _SLOW | {
    "cpus-withheld": "the load may not use all CPUs of the host",
    "load-outranked": "others run before the load",
}
"""the same, of CPUs that the load runs on"""
KERNEL_ONLY = 0.02
"""An IRQ CPU with less usr than this part of its sys runs kernel threads, as threaded NAPI: receive work."""
WAITED_FOR_NICED = 0.1
"""of the time: who waits so long beside what runs niced is not preferred to it"""
MOSTLY, SOME_PACKETS = 0.5, 0.01
"""of what is used of a CPU, and of the packets that a host took"""
_MPSTAT = "1 − idle − nice of mpstat over the window; one CPU is 1"


def count(shares: CpuShares) -> int:
    """How many CPUs these are the mean of."""
    return len(shares.cpus) + shares.unnumbered


def used_ratio(shares: CpuShares, *, load_niced: bool = False) -> float:
    """What the load could not have had: busy, and what a hypervisor took. What runs niced gives way to it,
    unless it has to share with it (``load_niced``, :func:`niced_counts`); virtual machines there do not.

    Of a CPU that a table tells of, what is neither idle nor named is taken for busy.
    """
    others = shares.other_ratio - shares.steal_ratio - shares.guest_ratio
    niced = 0.0 if shares.unnumbered or load_niced else max(0.0, others)
    return 1 - shares.idle_ratio - niced


def niced_counts(end: EndResult) -> bool:
    """Whether what runs niced at an end takes the CPU from the load: the load is niced, too, or had to wait.

    Nice values weigh within one session (sched_autogroup) or control group alone: between two of them niced
    ones have their full part.
    """
    if end.load_nice:
        return True
    if (end.load_waited_ratio or 0.0) < WAITED_FOR_NICED:
        return False
    limits = end.outside_limits
    return limits is None or not any(cgroup.throttled_s for cgroup in limits.cgroups)


def _niced_words(end: EndResult, shares: CpuShares, *, load_niced: bool) -> tuple[str, ...]:
    """``the load runs at nice 10``, or what was niced and took the CPU from it all the same."""
    if end.load_nice:
        return (f"the load runs at nice {end.load_nice}",)
    if not load_niced:
        return ()
    niced = used_ratio(shares, load_niced=True) - used_ratio(shares)
    if niced < WAITED_FOR_NICED:
        return ()
    return (f"{format_percent(niced)} of its time taken by what runs niced in another session or cgroup",)


def cpu_candidates(trial: Trial) -> Iterator[Candidate]:
    """Each role of both ends, and a CPU that interrupts fill beside them; an end without known app CPUs by
    its busiest CPU and its processes."""
    for end in (trial.receiver, trial.sender):
        if end is None:
            continue
        yield from _roles(trial, end)
        if end.app_cpu is None:
            yield from _unpinned(trial, end)
        else:
            yield from _elsewhere(trial, end)
        yield from _in_turn(trial, end)


def _roles(trial: Trial, end: EndResult) -> Iterator[Candidate]:
    receiver = end.role == "receiver"
    irq: Kind = "receiver-irq-cpu" if receiver else "sender-irq-cpu"
    app: Kind = "receiver-app-cpu" if receiver else "sender-app-cpu"
    if end.irq_cpu is not None:
        notes = (*_squeezed(end), *_slowed(trial, end))
        yield _candidate(irq, end, end.irq_cpu, end.hottest_irq, notes)
    if end.app_cpu is not None:
        notes = _slowed(trial, end, _SLOW_OR_WITHHELD)
        yield _candidate(app, end, end.app_cpu, end.hottest_app, notes, end.load_waited_ratio)


def processes_on(processes: Iterable[OtherProcess], cpus: Collection[int]) -> tuple[OtherProcess, ...]:
    """Those seen on one of these CPUs, but for threads of the kernel that take packets there: their time is
    softirq time, or the load's receive work."""
    return tuple(
        process
        for process in processes
        if not _takes_packets(process) and not {*cpus}.isdisjoint(process.cpus)
    )


def _takes_packets(thread: OtherProcess) -> bool:
    return thread.kernel and thread.name.startswith(("ksoftirqd/", "napi/"))


def seen_cores(processes: Iterable[OtherProcess], cpus: Collection[int]) -> float:
    """What other processes used that were seen on these CPUs and on no other, in cores: a least value."""
    return sum(process.cores for process in processes_on(processes, cpus) if {*process.cpus} <= {*cpus})


def task_cores(shares: CpuShares) -> float:
    """What processes and threads of the kernel used of a CPU."""
    return shares.usr_ratio + shares.other_ratio - shares.steal_ratio + shares.sys_ratio


def interrupt_cpu_tasks(shares: CpuShares, seen: float) -> float:
    """The same of a CPU that no load was put on, without receive work: where there is nothing but sys it is
    that of threads of the kernel (threaded NAPI), beyond what other processes were ``seen`` to use."""
    tasks = task_cores(shares)
    return min(tasks, seen) if tasks - shares.sys_ratio < KERNEL_ONLY * shares.sys_ratio else tasks


def _candidate(
    kind: Kind,
    end: EndResult,
    role: CpuShares,
    hottest: CpuShares | None,
    notes: tuple[str, ...],
    waited_ratio: float | None = None,
) -> Candidate:
    alone = hottest or role
    shared = None
    if end.shared_cpus:
        shared = next((shared_cpu for shared_cpu in end.shared_cpus if shared_cpu.cpus == alone.cpus), None)
    blurred = hottest is None and count(role) > 1
    load_niced = niced_counts(end)
    busy = used_ratio(alone, load_niced=load_niced)
    return Candidate(
        kind=kind,
        end=end.role,
        capacity=1.0,
        used=busy,
        unit="CPU",
        share=busy,
        source=_MPSTAT,
        otherwise="idle time on it",
        evidence=(*notes, *_niced_words(end, alone, load_niced=load_niced)),
        against=(f"single CPUs of these {count(role)} are not known: one may be full",) if blurred else (),
        host=end.host,
        cpu=alone,
        role=role,
        load_niced=load_niced,
        waited_ratio=waited_ratio,
        shared=shared,
        processes=processes_on(end.other_processes, shared.cpus) if shared else (),
    )


def _unpinned(trial: Trial, end: EndResult) -> Iterator[Candidate]:
    """A load that may run anywhere: the busiest CPU of the host, or the thread of a process."""
    kind: Kind = "receiver-cpu" if end.role == "receiver" else "sender-cpu"
    if end.hottest is not None:
        notes = _slowed(trial, end, _SLOW_OR_WITHHELD)
        yield _candidate(kind, end, end.hottest, end.hottest, notes, end.load_waited_ratio)
    thread = _busiest_thread(trial, end)
    if thread is not None:
        yield Candidate(
            kind="receiver-app-cpu" if end.role == "receiver" else "sender-app-cpu",
            end=end.role,
            capacity=1.0,
            used=thread,
            unit="CPU",
            share=min(1.0, thread),
            source="the load's own account of its CPU time; a thread uses one CPU at most",
            otherwise="a process that waits",
            evidence=("its process alone, on whichever CPU",),
            host=end.host,
        )


def _elsewhere(trial: Trial, end: EndResult) -> Iterator[Candidate]:
    """A CPU of neither role that interrupts fill: receive work that is not where it was steered to."""
    alone = end.hottest
    if alone is None or len(alone.cpus) != 1:
        return
    roles = {cpu for role in (end.app_cpu, end.irq_cpu) if role is not None for cpu in role.cpus}
    if roles & {*alone.cpus}:
        return
    (number,) = alone.cpus
    serving = alone.soft_ratio + alone.irq_ratio
    busy = used_ratio(alone, load_niced=niced_counts(end))
    if busy < FULL_RATIO or serving < MOSTLY * busy or not _serves(end, number):
        return
    kind: Kind = "receiver-cpu" if end.role == "receiver" else "sender-cpu"
    notes = (f"CPU {number}, which has neither role", *_squeezed(end), *_slowed(trial, end))
    yield _candidate(kind, end, alone, alone, notes)


def _in_turn(trial: Trial, end: EndResult) -> Iterator[Candidate]:
    """Receive work that was moved from CPU to CPU in the window, and filled each while it was there."""
    shares = end.softirq_in_turn
    busiest = end.hottest
    if shares is None or (
        busiest is not None and used_ratio(busiest, load_niced=niced_counts(end)) >= FULL_RATIO
    ):
        return
    if shares.soft_ratio + shares.irq_ratio < MOSTLY * used_ratio(shares):
        return
    if not any(_serves(end, cpu) for cpu in shares.cpus):
        return
    kind: Kind = "receiver-cpu" if end.role == "receiver" else "sender-cpu"
    cpus = " and ".join(map(str, shares.cpus))
    notes = (f"softirqs filled CPUs {cpus} in turn, one at a time", *_slowed(trial, end))
    yield _candidate(kind, end, shares, shares, notes)


def _serves(end: EndResult, cpu: int) -> bool:
    """Whether a CPU takes packets of the data interface, by its interrupts or from another CPU (RPS); where
    nothing is known of either, whether it takes a part of all packets."""
    packet_counters = [end.counters.get(name) for name in (f"irq.cpu{cpu}", f"softnet.cpu{cpu}.received_rps")]
    if end.counters.get("irq.data") is not None:
        return any(packet_counters)
    taken, of_all = (end.counters.get(f"softnet.{name}") for name in (f"cpu{cpu}.processed", "processed"))
    return bool(taken and of_all and taken >= SOME_PACKETS * of_all)


def _busiest_thread(trial: Trial, end: EndResult) -> float | None:
    """CPU use of a host's busiest process with one stream, which is one thread; ``None``: not known."""
    case = trial.case
    if case.streams != 1:
        return None
    process_cores = [
        instance.sender_cpu_cores if role == "sender" else instance.receiver_cpu_cores
        for instance in trial.instances
        for role in (case.roles_at(instance.instance, end.host) if case.is_both_ways else (end.role,))
    ]
    return max((cores for cores in process_cores if cores is not None), default=None)


def _squeezed(end: EndResult) -> tuple[str, ...]:
    return (
        ("softirq ran out of its budget (time_squeeze)",) if end.counters.get("softnet.time_squeeze") else ()
    )


def _slowed(trial: Trial, end: EndResult, words: Mapping[str, str] = _SLOW) -> tuple[str, ...]:
    """That CPUs of an end ran below their speed, or not for the load alone, as flags of the trial have it."""
    if not trial.flags:
        return ()
    return tuple(
        f"{words[flag.code]} ({flag.code})"
        for flag in trial.flags
        if flag.code in words and end.host in flag.hosts
    )
