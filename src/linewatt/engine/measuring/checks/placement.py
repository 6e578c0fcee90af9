# SPDX-License-Identifier: Apache-2.0
"""The lies of placement: processes that were moved, settings that were undone, interrupts elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from linewatt.engine.live.readback import ReadBack, Thread
from linewatt.engine.measuring.cut import PlacedProcess, Seen
from linewatt.findings import ELSEWHERE_CORES, ELSEWHERE_RATIO
from linewatt.hosts.facts import format_cpulist, parse_cpulist
from linewatt.model import CpuShares, Flag, InstanceResult
from linewatt.tuning import brief_target, settings_apart

STEERING = ("irq_affinity", "rps_cpus", "xps_cpus")
MOVED_ADVICE = "find what moved it (taskset, a cgroup, numad); CPU use by role belongs to other CPUs"


def check(seen: Seen) -> Iterator[Flag]:
    """Whether the load, the settings and the receive work were where they had been put."""
    for end in seen.ends:
        readback = seen.readback(end)
        yield from processes(end.host, readback, seen.cut.placed(end.host))
        yield from settings(end.host, readback)
    for pair, instances in seen.pairs:
        yield from thread_counts(pair.receiver, instances)
    for end in seen.with_role("receiver"):
        irq_cpus, shares = seen.spec(end).irq_cpus or (), seen.cpu_shares(end)
        yield from receive_work(end.host, irq_cpus, shares, end.counters)
        yield from receive_work_unseen(end.host, irq_cpus, shares, end.reasons.get("cpu_cores"))


def processes(host: str, readback: ReadBack | None, placed: Sequence[PlacedProcess]) -> Iterator[Flag]:
    """Load processes that do not run where they were put, and those of which that cannot be said."""
    pinned = [process for process in placed if process.cpus is not None]
    if not pinned:
        return
    if readback is None or not any(readback.of(process.pid) for process in pinned):
        why = readback.problem if readback else "the host was not read"
        yield Flag(
            "placement-not-read",
            host,
            why or "all load processes had ended in the tail of the load",
            "lengthen window.tail; without this read linewatt cannot tell whether the load ran on its CPUs",
        )
        return
    unverified: dict[Unverified, list[PlacedProcess]] = {}
    for process in pinned:
        flag = _stray(host, readback, process) or _migrated(host, readback, process)
        if flag is not None:
            yield flag
            continue
        reason = _unverified(readback, process)
        if reason is not None:
            unverified.setdefault(reason, []).append(process)
    for reason, some in unverified.items():
        yield _not_verified(host, readback, reason, some)


def _stray(host: str, readback: ReadBack, process: PlacedProcess) -> Flag | None:
    """A process of which a thread was elsewhere, or might be, after the window, else before it."""
    placed = set(parse_cpulist(process.cpus or ""))
    reads = [(readback, ""), *([(readback.before, " before the window")] if readback.before else [])]
    for read, when in reads:
        strays = [thread for thread in read.of(process.pid) if _strayed(thread, placed)]
        if strays:
            worst = max(strays, key=lambda thread: thread.ticks)
            evidence = (
                f"placed on CPU {format_cpulist(placed)}; process {process.pid}{when} may run on CPU "
                f"{format_cpulist(worst.allowed)} and last ran on CPU {worst.cpu}"
            )
            return Flag("process-moved", _instance_at(host, process), evidence, MOVED_ADVICE)
    return None


def _migrated(host: str, readback: ReadBack, process: PlacedProcess) -> Flag | None:
    """A process that may run on one CPU, and that the kernel moved after it had been put there."""
    placed = parse_cpulist(process.cpus or "")
    counts = [_migrations(readback, process, thread) for thread in readback.of(process.pid)]
    count = sum(moves for moves in counts if moves is not None)
    if len(placed) != 1 or not count:
        return None
    since = "the read before the window" if process.start_migrations is None else "its placement"
    evidence = (
        f"placed on CPU {format_cpulist(placed)} and seen there, but since {since} the kernel moved process "
        f"{process.pid} {count} times to another CPU (se.nr_migrations)"
    )
    return Flag("process-migrated", _instance_at(host, process), evidence, MOVED_ADVICE)


def _instance_at(host: str, process: PlacedProcess) -> str:
    return f"{host}: instance {process.instance}"


def _migrations(readback: ReadBack, process: PlacedProcess, thread: Thread) -> int | None:
    """How often the kernel moved a thread since its process was put on its CPUs; None: not known.

    Threads begin with a count of 0 (kernel/sched/core.c, __sched_fork), and those of a process that was put
    on its CPUs begin there. The process itself had been moved before, so that its count at that time is
    needed, or at least that before the window.
    """
    if thread.migrations is None:
        return None
    if process.start_migrations is not None or thread.tid != process.pid:
        return thread.migrations - (process.start_migrations or 0 if thread.tid == process.pid else 0)
    earlier = readback.before.of(process.pid) if readback.before else ()
    counts = [read.migrations for read in earlier if read.tid == thread.tid and read.migrations is not None]
    return thread.migrations - counts[0] if counts else None


Unverified = Literal["gone", "not counted", "read once"]
"""why it is not known whether a process stayed where it was put"""


def _unverified(readback: ReadBack, process: PlacedProcess) -> Unverified | None:
    """Why it is not known whether a process that was seen nowhere else ran there all the time.

    On several CPUs the scheduler itself moves it: what its threads may run on, at the two reads, is all that
    can be seen of it.
    """
    threads = readback.of(process.pid)
    if not threads:
        return "gone"
    if len(parse_cpulist(process.cpus or "")) != 1:
        return None
    if any(thread.migrations is None for thread in threads):
        return "not counted"
    if any(_migrations(readback, process, thread) is None for thread in threads):
        return "read once"
    return None


def _not_verified(
    host: str, readback: ReadBack, reason: Unverified, processes: Sequence[PlacedProcess]
) -> Flag:
    numbers = [process.instance for process in processes]
    where = f"{host}: instance{'s' if len(numbers) > 1 else ''} {format_cpulist(numbers)}"
    if reason == "gone":
        why = readback.problem or "its process had ended in the tail of the load"
        advice = "lengthen window.tail, or find why it ended before the others"
    elif reason == "not counted":
        why = (
            "this kernel does not count migrations (CONFIG_SCHED_DEBUG), so linewatt cannot see a process "
            "that was moved away and back"
        )
        advice = (
            "measure on a kernel that counts migrations, or stop what may move the process (taskset, "
            "cgroups, numad)"
        )
    else:
        first = processes[0]
        total = sum(thread.migrations or 0 for thread in readback.of(first.pid))
        why = (
            "its threads were not read before the window, because window.omit is too short; the kernel "
            f"moved process {first.pid} {total} times since its start, which includes its placement on CPU "
            f"{first.cpus}"
        )
        advice = "lengthen window.omit by a second"
    return Flag("placement-not-verified", where, f"placement not verified: {why}", advice)


def thread_counts(receiver: str, instances: Sequence[InstanceResult]) -> Iterator[Flag]:
    """Load processes that do not work alike at both ends."""
    for instance in instances:
        sends, receives = instance.sender_threads, instance.receiver_threads
        if sends is not None and receives is not None and sends != receives:
            yield Flag(
                "load-threads-differ",
                f"{receiver}: instance {instance.instance}",
                f"{sends} threads at the sender, {receives} at the receiver",
                "use the same version at both ends",
            )
            return


def _strayed(thread: Thread, placed: set[int]) -> bool:
    return not set(thread.allowed) <= placed or thread.cpu not in placed


def settings(host: str, readback: ReadBack | None) -> Iterator[Flag]:
    """Settings that were made and do not read so during the trial, after the window or before it."""
    before = readback.before if readback is not None else None
    early, late = (read.settings if read else () for read in (before, readback))
    earlier = {(setting.knob, setting.target): setting for setting in early}
    for last in late:
        setting, when = last, "in the trial"
        first = earlier.get((last.knob, last.target))
        if last.found == last.wanted and first is not None and first.found is not None:
            setting, when = first, "before the window and not after it"
        if setting.found == setting.wanted:
            continue
        advice = "find what changed it (a network manager, tuned, a udev rule); do not compare this trial"
        if setting.knob in STEERING:
            advice = "irqbalance or a driver script may have undone it: stop that program, and measure again"
        read_text, set_text = settings_apart(setting.found or "", setting.wanted)
        yield Flag(
            "setting-changed" if setting.found is not None else "setting-not-read",
            f"{host}: {setting.knob} {brief_target(setting.target)}",
            setting.problem or f"reads {read_text!r} {when}, was set to {set_text!r}",
            advice,
        )


def receive_work(
    host: str,
    irq_cpus: Sequence[int],
    shares: Mapping[int, CpuShares | None],
    counters: Mapping[str, float | None],
) -> Iterator[Flag]:
    """Interrupt time of a receiver that fell on other CPUs than those it was steered to, with its packets.

    Every CPU has interrupt time of its own, for timers, RCU and the like: where the kernel counted packets by
    CPU and had them where they were steered to, that is no receive work.
    """
    spent = {cpu: share.irq_ratio + share.soft_ratio for cpu, share in shares.items() if share is not None}
    if not irq_cpus or not set(irq_cpus) <= spent.keys():
        return
    elsewhere = {cpu: cores for cpu, cores in spent.items() if cpu not in irq_cpus}
    total, strayed = sum(spent.values()), sum(elsewhere.values())
    if (
        strayed > ELSEWHERE_CORES
        and strayed > ELSEWHERE_RATIO * total
        and _packets_strayed(irq_cpus, spent, counters)
    ):
        busiest_cpu = max(elsewhere, key=elsewhere.__getitem__)
        yield Flag(
            "interrupts-elsewhere",
            host,
            f"{100 * strayed / total:.0f} % of {total:.2f} cores of interrupt time was not on IRQ CPUs "
            f"{format_cpulist(irq_cpus)}, most of it on CPU {busiest_cpu}",
            "check /proc/interrupts and RPS; figures of the IRQ CPUs miss part of the receive work",
        )


def receive_work_unseen(
    host: str, irq_cpus: Sequence[int], shares: Mapping[int, CpuShares | None], reason: str | None
) -> Iterator[Flag]:
    """CPUs that receive work was steered to, and whose use is not known: where it ran is not seen."""
    unseen = [cpu for cpu in irq_cpus if shares.get(cpu) is None]
    if unseen:
        yield Flag(
            "placement-not-verified",
            host,
            f"placement not verified: the use of CPU {format_cpulist(unseen)} is not known, so linewatt "
            f"cannot tell whether receive work ran on IRQ CPUs {format_cpulist(irq_cpus)}"
            f"{': ' + reason if reason else ''}",
            "see the findings about mpstat on this host, and measure again",
        )


def _packets_strayed(
    irq_cpus: Sequence[int], cpus: Collection[int], counters: Mapping[str, float | None]
) -> bool:
    """Whether as many packets as matter were processed on other CPUs, as far as is known."""
    counted = {cpu: counters.get(f"softnet.cpu{cpu}.processed") for cpu in cpus}
    packets_by_cpu = {cpu: packets for cpu, packets in counted.items() if packets is not None}
    if len(packets_by_cpu) < len(counted):
        return True
    elsewhere = sum(packets for cpu, packets in packets_by_cpu.items() if cpu not in irq_cpus)
    return elsewhere > ELSEWHERE_RATIO * sum(packets_by_cpu.values())
