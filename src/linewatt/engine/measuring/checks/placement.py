# SPDX-License-Identifier: Apache-2.0
"""The lies of placement: processes that were moved, settings that were undone, interrupts elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from linewatt.engine.live.readback import ReadBack, Thread
from linewatt.engine.measuring.accounts import at_both_reads
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.ends import cpu_shares
from linewatt.findings.placement import ELSEWHERE_CORES, ELSEWHERE_RATIO
from linewatt.hosts.facts.cpulist import format_cpulist, parse_cpulist
from linewatt.model import CpuShares, Flag, InstanceResult
from linewatt.tuning.words import apart, brief

STEERING = ("irq_affinity", "rps_cpus", "xps_cpus")


def check(seen: Seen) -> Iterator[Flag]:
    """Whether the load, the settings and the receive work were where they had been put."""
    for end in seen.ends:
        readback = seen.readback(end)
        yield from processes(end.host, readback, seen.placed(end))
        yield from settings(end.host, readback)
    for pair, instances in seen.pairs:
        yield from thread_counts(pair.receiver, instances)
    for end in seen.with_role("receiver"):
        spec = seen.spec(end)
        shares = cpu_shares(spec, seen.readings(end), seen.window)
        yield from receive_work(end.host, spec.irq_cpus or (), shares, end.counters)


def processes(
    host: str, readback: ReadBack | None, placed: Sequence[tuple[int, str | None, int | None]]
) -> Iterator[Flag]:
    """Load processes that do not run where they were put; ``placed``: instance, its CPUs, process id."""
    pinned = [(number, cpus, pid) for number, cpus, pid in placed if cpus is not None]
    if not pinned:
        return
    if not any(readback.of(pid) for _, _, pid in pinned if readback):
        why = readback.problem if readback else "the host was not asked"
        yield Flag(
            "placement-not-read",
            host,
            why or "no load process was there any more in the tail of the load",
            "lengthen window.tail; until then it is not known that the load ran where it was put",
        )
        return
    for number, cpus, pid in pinned:
        yield from _moved(host, readback, number, set(parse_cpulist(cpus)), pid)


def _moved(
    host: str, readback: ReadBack | None, number: int, placed: set[int], pid: int | None
) -> Iterator[Flag]:
    """One process that strayed, as seen after the window, else before it, else by its migrations."""
    where = f"{host}: instance {number}"
    advice = "find out what moved it (taskset, a cgroup, numad); figures by role are of other CPUs"
    reads = [(one, when) for one, when in ((readback, ""), (_before(readback), " before the window")) if one]
    for one, when in reads:
        strays = [thread for thread in one.of(pid) if _strayed(thread, placed)]
        if strays:
            worst = max(strays, key=lambda thread: thread.ticks)
            evidence = (
                f"placed on CPU {format_cpulist(placed)}; process {pid}{when} may run on "
                f"{format_cpulist(worst.allowed)} and ran last on CPU {worst.cpu}"
            )
            yield Flag("process-moved", where, evidence, advice)
            return
    count = _migrations(readback, pid) if readback is not None else 0
    if count and len(placed) == 1:
        evidence = (
            f"placed on CPU {format_cpulist(placed)}, where it was seen before and after the window; between "
            f"the two process {pid} changed its CPU {count} times"
        )
        yield Flag("process-migrated", where, evidence, advice)


def _before(readback: ReadBack | None) -> ReadBack | None:
    return readback.before if readback is not None else None


def _migrations(readback: ReadBack, pid: int | None) -> int:
    """How often threads of a process changed their CPU between the two reads."""
    return sum(
        after.migrations - before.migrations
        for before, after in at_both_reads(readback, pid)
        if before.migrations is not None and after.migrations is not None
    )


def thread_counts(receiver: str, instances: Sequence[InstanceResult]) -> Iterator[Flag]:
    """Load processes that do not work alike at both ends."""
    for one in instances:
        sends, receives = one.sender_threads, one.receiver_threads
        if sends is not None and receives is not None and sends != receives:
            yield Flag(
                "load-threads-differ",
                f"{receiver}: instance {one.instance}",
                f"{sends} threads at the sender, {receives} at the receiver",
                "use the same version at both ends",
            )
            return


def _strayed(thread: Thread, placed: set[int]) -> bool:
    return not set(thread.allowed) <= placed or thread.cpu not in placed


def settings(host: str, readback: ReadBack | None) -> Iterator[Flag]:
    """Settings that were made and do not read so during the trial, after the window or before it."""
    early, late = (one.settings if one else () for one in (_before(readback), readback))
    earlier = {(one.knob, one.target): one for one in early}
    for last in late:
        one, when = last, "in the trial"
        first = earlier.get((last.knob, last.target))
        if last.found == last.wanted and first is not None and first.found is not None:
            one, when = first, "before the window and not after it"
        if one.found == one.wanted:
            continue
        advice = "find out what changed it (a network manager, tuned, a udev rule); compare nothing with it"
        if one.knob in STEERING:
            advice = "irqbalance or a script of the driver may have undone it: stop it, and measure again"
        found, wanted = apart(one.found or "", one.wanted)
        yield Flag(
            "setting-changed" if one.found is not None else "setting-not-read",
            f"{host}: {one.knob} {brief(one.target)}",
            one.problem or f"reads {found!r} {when}, was set to {wanted!r}",
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
    spent = {cpu: one.irq_ratio + one.soft_ratio for cpu, one in shares.items() if one is not None}
    if not irq_cpus or not set(irq_cpus) <= spent.keys():
        return
    elsewhere = {cpu: cores for cpu, cores in spent.items() if cpu not in irq_cpus}
    total, strayed = sum(spent.values()), sum(elsewhere.values())
    if (
        strayed > ELSEWHERE_CORES
        and strayed > ELSEWHERE_RATIO * total
        and _packets_strayed(irq_cpus, spent, counters)
    ):
        most = max(elsewhere, key=elsewhere.__getitem__)
        yield Flag(
            "interrupts-elsewhere",
            host,
            f"{100 * strayed / total:.0f} % of {total:.2f} cores of interrupt time was not on IRQ CPUs "
            f"{format_cpulist(irq_cpus)}; most of it on CPU {most}",
            "look at /proc/interrupts and RPS; figures of the IRQ CPUs are not all of the receive work",
        )


def _packets_strayed(
    irq_cpus: Sequence[int], cpus: Collection[int], counters: Mapping[str, float | None]
) -> bool:
    """Whether as many packets as matter were processed on other CPUs, as far as is known."""
    counted = {cpu: counters.get(f"softnet.cpu{cpu}.processed") for cpu in cpus}
    known = {cpu: packets for cpu, packets in counted.items() if packets is not None}
    if len(known) < len(counted):
        return True
    elsewhere = sum(packets for cpu, packets in known.items() if cpu not in irq_cpus)
    return elsewhere > ELSEWHERE_RATIO * sum(known.values())
