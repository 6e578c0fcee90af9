# SPDX-License-Identifier: Apache-2.0
"""Whose CPU time a window's was: the load's, the receive work's, or somebody else's. Pure.

mpstat has interrupts and softirqs in columns of their own, so what is left (usr, nice, sys, guest) is the
load's and that of other processes and kernel threads. Where no process of the load was put, all of it is of
others. Where one was put, it is what the load did not use: without CONFIG_IRQ_TIME_ACCOUNTING the load's own
figure has the softirqs that hit it, too (kernel/sched/cputime.c), so that others used at least this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import fmean

from linewatt.analysis.cases import whole_sum
from linewatt.analysis.limits import interrupt_cpu_tasks, niced_counts, seen_cores, task_cores, used_ratio
from linewatt.engine.live.readback import ReadBack, Thread
from linewatt.engine.measuring.cut import Seen
from linewatt.findings import EXCESS_CORES, FOREIGN_CORES, FULL_RATIO
from linewatt.hosts.facts import parse_cpulist
from linewatt.missing import Missing
from linewatt.model import CpuShares, EndResult, InstanceResult, Role, SharedCpu


@dataclass(frozen=True, slots=True)
class Account:
    """CPU time of a host but for interrupts, in cores. ``placed``: the load's CPUs; None: it ran anywhere."""

    elsewhere: Mapping[int, float]
    """CPU → use, where no process of the load was put"""
    there: float
    """use of the CPUs that the load was put on"""
    load: float
    placed: frozenset[int] | None
    irq_cpus: frozenset[int]
    at_least: float
    """what was surely used of these CPUs, however ticks were charged (:func:`surely_used`)"""

    @property
    def excess(self) -> float:
        """More than the load used, on its own CPUs."""
        return max(0.0, self.there - self.load)

    @property
    def foreign(self) -> float:
        return sum(self.elsewhere.values()) + self.excess


def with_foreign(seen: Seen) -> Seen:
    """The same, all ends with what others used there, or why that is not known."""
    return replace(seen, ends=tuple(_with_foreign(seen, end) for end in seen.ends))


def _with_foreign(seen: Seen, end: EndResult) -> EndResult:
    host_account = account(seen, end)
    if isinstance(host_account, Missing):
        return replace(end, reasons={**end.reasons, "foreign_cores": host_account.reason})
    shared = tuple(_shared_cpus(seen, end, host_account))
    return replace(end, foreign_cores=host_account.foreign, shared_cpus=shared)


def _shared_cpus(seen: Seen, end: EndResult, host_account: Account) -> Iterator[SharedCpu]:
    """Full CPUs of this end's roles that others used a part of: the load had less of them than there is."""
    for shared_cpu in _on_roles(seen, end, host_account):
        others = 0.0 if may_be_misjudged(seen, end) else shared_cpu.other_cores
        if others <= (EXCESS_CORES if shared_cpu.load_cores else FOREIGN_CORES):
            others_seen = seen_cores(end.other_processes, shared_cpu.cpus)
            others = others_seen if others_seen > FOREIGN_CORES else 0.0
        if others and shared_cpu.busy_ratio >= FULL_RATIO:
            yield replace(shared_cpu, other_cores=min(others, shared_cpu.busy_ratio * len(shared_cpu.cpus)))


def may_be_misjudged(seen: Seen, end: EndResult) -> bool:
    """Whether the kernel may charge the load too little or too much: by the tick, in step with its pace."""
    return seen.case.paced and seen.setup.tick_accounting.get(end.host) is not False


def full_cpus(seen: Seen, end: EndResult, host_account: Account) -> list[SharedCpu]:
    """Full CPUs of this end's roles where the load's use is known, the busiest first."""
    measured_cpus = (cpu for cpu in _on_roles(seen, end, host_account) if cpu.load_cores is not None)
    return sorted(
        (cpu for cpu in measured_cpus if cpu.busy_ratio >= FULL_RATIO), key=lambda cpu: -cpu.busy_ratio
    )


def _on_roles(seen: Seen, end: EndResult, host_account: Account) -> Iterator[SharedCpu]:
    """CPUs of each role, and what tasks used there beyond the load."""
    busy_ratio, shares = partial(used_ratio, load_niced=niced_counts(end)), seen.cpu_shares(end)
    for cpu in sorted({*(seen.spec(end).irq_cpus or ())} & host_account.elsewhere.keys()):
        share = shares.get(cpu)
        if share is not None:
            yield SharedCpu(
                (cpu,), "irq", busy_ratio(share), 0.0, host_account.elsewhere[cpu], _softirqs(share)
            )
    for cpus, loads in load_by_cpus(seen, end).items():
        role_shares = {cpu: share for cpu, share in shares.items() if share and (cpus is None or cpu in cpus)}
        if not role_shares:
            continue
        load = whole_sum(loads)
        if load is not None:
            others = sum(map(task_cores, role_shares.values())) - load
            busy = fmean(map(busy_ratio, role_shares.values()))
            soft = sum(map(_softirqs, role_shares.values()))
            yield SharedCpu(tuple(sorted(role_shares)), "app", busy, load, others, soft)
        if len(role_shares) > 1:  # a single full one of several, by what was seen there
            cpu = max(role_shares, key=lambda cpu: busy_ratio(role_shares[cpu]))
            yield SharedCpu(
                (cpu,), "app", busy_ratio(role_shares[cpu]), None, 0.0, _softirqs(role_shares[cpu])
            )


def _softirqs(share: CpuShares) -> float:
    return share.soft_ratio + share.irq_ratio


def load_by_cpus(seen: Seen, end: EndResult) -> dict[frozenset[int] | None, list[float | None]]:
    """CPUs that processes of an end were put on → what each of these used, in cores; None: anywhere."""
    together = sorted(on_one_machine(seen, end), key=lambda machine_end: machine_end is not end)
    groups: dict[frozenset[int] | None, list[float | None]] = {}
    for machine_end, instance in product(together, seen.instances):
        for role in seen.case.roles_at(instance.instance, machine_end.host):
            cpus = cpus_of(instance, role)
            if machine_end is end or cpus in groups:
                cores = instance.sender_cpu_cores if role == "sender" else instance.receiver_cpu_cores
                groups.setdefault(cpus, []).append(cores)
    return groups


def account(seen: Seen, end: EndResult) -> Account | Missing:
    """The account of one end's host, or why there is none."""
    of_processes = seen.case.of_processes
    if not seen.instances and of_processes:
        return Missing("no load ran")
    if seen.setup.concurrent_pairs and {*seen.spec(end).shares_cpus_with} - {*seen.case.hosts}:
        return Missing("other pairs may load its CPUs at the same time")
    together = on_one_machine(seen, end)
    load = whole_sum(map(load_cores, together))
    if not of_processes and load is None:
        return Missing("the CPU use of the server's sessions cannot be separated from other processes")
    shares: dict[int, CpuShares | None] = {}
    for machine_end in together:  # hosts may share a part of their CPUs, or cores of which each has a thread
        end_shares = seen.cpu_shares(machine_end)
        shares = end_shares | shares if machine_end is not end else shares | end_shares
    measured_shares = {cpu: share for cpu, share in shares.items() if share is not None}
    if not measured_shares or len(measured_shares) < len(shares):
        return Missing(end.reasons.get("cpu_cores", "its CPU use is not known"))
    if load is None:
        return Missing("the load does not report its CPU use")
    placed = _placed(seen, together) if of_processes else None
    irq_cpus = frozenset(cpu for machine_end in together for cpu in seen.spec(machine_end).irq_cpus or ())
    others = {
        process.tid: process for machine_end in together for process in machine_end.other_processes
    }.values()
    tasks = {
        cpu: interrupt_cpu_tasks(share, seen_cores(others, (cpu,)))
        if cpu in irq_cpus and cpu not in (placed or ())
        else task_cores(share)
        for cpu, share in measured_shares.items()
    }
    loaded = tasks.keys() if placed is None else tasks.keys() & placed
    return Account(
        elsewhere={cpu: cores for cpu, cores in tasks.items() if cpu not in loaded},
        there=sum(tasks[cpu] for cpu in loaded),
        load=load,
        placed=placed,
        irq_cpus=irq_cpus,
        at_least=sum(surely_used(measured_shares[cpu].idle_ratio) for cpu in loaded),
    )


def on_one_machine(seen: Seen, end: EndResult) -> list[EndResult]:
    """The ends whose load runs on the CPUs of this one: hosts of a lab may share them."""
    spec = seen.spec(end)
    return [
        candidate
        for candidate in seen.ends
        if candidate is end
        or candidate.host in spec.shares_cpus_with
        or end.host in seen.spec(candidate).shares_cpus_with
    ]


def load_cores(end: EndResult) -> float | None:
    """What the load used: in the window by the scheduler's account, else as it says of its whole test."""
    return end.load_cpu_cores if end.load_window_cores is None else end.load_window_cores


def cpus_of(instance: InstanceResult, role: Role) -> frozenset[int] | None:
    """The CPUs that an instance's process of this role ran on; ``None``: any, as it was not put or moved."""
    text, ran_on = (
        (instance.sender_cpu, instance.sender_ran_on)
        if role == "sender"
        else (instance.receiver_cpu, instance.receiver_ran_on)
    )
    if text is None:
        return None
    put = frozenset(parse_cpulist(text))
    return put if ran_on is None or put >= {*parse_cpulist(ran_on)} else None


def surely_used(idle_ratio: float) -> float:
    """The least use of a CPU that shows this much idle on a kernel that charges by the tick.

    Such a kernel counts idle time exactly (NO_HZ, kernel/time/tick-sched.c), only what is used by the tick. A
    task that runs at every tick is charged all of the time, and mpstat shows idle ÷ (idle + 1) then.
    """
    return max(0.0, (1 - 2 * idle_ratio) / (1 - idle_ratio)) if idle_ratio < 1 else 0.0


def _placed(seen: Seen, ends: Sequence[EndResult]) -> frozenset[int] | None:
    cpu_sets = [
        cpus_of(instance, role)
        for instance in seen.instances
        for end in ends
        for role in seen.case.roles_at(instance.instance, end.host)
    ]
    pinned_sets = [cpus for cpus in cpu_sets if cpus is not None]
    return frozenset[int]().union(*pinned_sets) if len(pinned_sets) == len(cpu_sets) else None


def _at_both_reads(readback: ReadBack, pid: int) -> list[tuple[Thread, Thread]]:
    """Threads of a process that were there at both reads: before the window, and in the tail."""
    if readback.before is None:
        return []
    earlier = {thread.tid: thread for thread in readback.before.of(pid)}
    return [(earlier[thread.tid], thread) for thread in readback.of(pid) if thread.tid in earlier]


def cores_between(readback: ReadBack | None, pids: Sequence[int]) -> float | Missing:
    """CPU use of these processes between the reads, in cores, or why it is not known."""
    if readback is None or readback.before is None:
        return Missing("the load's threads were not read before the window: window.omit leaves no time")
    total = 0.0
    for pid in pids:
        before, after = readback.before.of(pid), readback.of(pid)
        if not before or {thread.tid for thread in before} - {thread.tid for thread in after}:
            return Missing(f"threads of process {pid} were not present at both reads")
        between_s = (after[0].read_s or readback.time_s) - (before[0].read_s or readback.before.time_s)
        ran_s = whole_sum(_ran({thread.tid: thread for thread in before}, thread) for thread in after)
        if ran_s is None:
            return Missing("this kernel does not report the CPU time of threads (CONFIG_SCHED_INFO)")
        total += ran_s / between_s
    return total if pids else Missing("no load process was read")


def waited_ratio(readback: ReadBack | None, pids: Sequence[int]) -> float | None:
    """Which part of the time between the reads the thread that waited most for a CPU did so."""
    if readback is None:
        return None
    ratios = [
        (after.wait_s - before.wait_s) / (after.read_s - before.read_s)
        for pid in pids
        for before, after in _at_both_reads(readback, pid)
        if before.wait_s is not None and after.wait_s is not None and _has_scheduler_times(after)
        if before.read_s is not None and after.read_s is not None and after.read_s > before.read_s
    ]
    return max(ratios, default=None)


def nice_value(readback: ReadBack | None, pids: Sequence[int]) -> int | None:
    """The highest nice value of these processes' threads at either read, where it is above 0."""
    reads = [] if readback is None else [readback.before, readback]
    threads = [thread for read in reads if read for pid in pids for thread in read.of(pid)]
    highest = max((thread.nice for thread in threads if thread.nice is not None), default=0)
    return highest if highest > 0 else None


def _has_scheduler_times(thread: Thread) -> bool:
    """A kernel without CONFIG_SCHED_INFO shows 0 for all of them."""
    return thread.run_s is not None and (thread.run_s > 0 or thread.ticks == 0)


def _ran(before: Mapping[int, Thread], after: Thread) -> float | None:
    """Seconds of one thread; one that began between the reads has all of its time in it."""
    earlier = before.get(after.tid)
    began_s = earlier.run_s if earlier else 0.0
    if began_s is None or after.run_s is None or not _has_scheduler_times(after):
        return None
    return after.run_s - began_s
