# SPDX-License-Identifier: Apache-2.0
"""How candidates are named, and what speaks for them, in few words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from linewatt.analysis.cases.shares import SHARES
from linewatt.analysis.limits.candidate import Kind, SentAgain
from linewatt.analysis.limits.cpus import ROLES, count, seen_cores, used
from linewatt.analysis.limits.paths import line_words, rate_words
from linewatt.analysis.limits.ranking import Ranked
from linewatt.findings.limits import FULL
from linewatt.model import CpuShares, OtherProcess
from linewatt.units import format_percent, format_rate

STEAL_TOLD = 0.02
WAIT_TOLD = 0.05
"""of the time: whoever shares a CPU with interrupts in threads waits for less"""
NAMED = 0.05
"""of what others used: a process that used less is not named"""
MOST_NAMED = 3
EXPLAINED = 0.9
"""of what others used: named processes that used less are not all of them, and where they used more, softirqs
that interrupted the load or them are counted for softirqs alone"""
NAMES: dict[Kind, str] = {
    **ROLES,
    "paced": "the rate that was asked for",
    "line-rate": "the line rate",
    "shaper": "the shaper of the line",
    "sender-pcie": "the sender's PCI Express slot",
    "receiver-pcie": "the receiver's PCI Express slot",
    "sender-cpu": "a CPU of the sender",
    "receiver-cpu": "a CPU of the receiver",
    "sender-cpu-quota": "the CPU quota of the sender's cgroup",
    "receiver-cpu-quota": "the CPU quota of the receiver's cgroup",
    "receive-window": "the receiver's TCP window",
    "send-buffer": "the sender's socket buffer",
    "sender-queue": "the sender's queueing discipline",
    "receiver-ring": "the receiver's NIC ring",
    "receiver-backlog": "the receiver's softnet backlog",
    "receiver-socket-buffer": "the receiver's UDP socket buffer",
    "retransmits": "loss on the path",
    "device-or-path": "a limit inside the device or the path",
}


def name(one: Ranked) -> str:
    """``the receiver's IRQ CPU``, ``one of the receiver's 8 IRQ CPUs``, ``the line rate``."""
    if one.sent_again is not None:
        return _lost_name(one.sent_again)
    base = at_host(NAMES[one.kind], one.host if one.two_roles else None)
    base += f" {one.cgroup}" if one.cgroup else ""
    base += f" of data port {one.port} alone" if one.port else ""
    if one.role is None or count(one.role) == 1:
        return base
    several = f"{base}s" if one.kind in ROLES else base
    if is_alone(one):
        return f"one of {owner(one)} {count(one.role)}{several.removeprefix(owner(one))}"
    return several


def _lost_name(again: SentAgain) -> str:
    """``loss on the path``, ``loss at the receiver``; where nobody knows, ``loss of segments``."""
    if again.end is not None:
        return f"loss at the {again.end}"
    return "loss of segments" if again.uncounted else NAMES["retransmits"]


def _sent_again(again: SentAgain) -> str:
    """``2.0 % of the segments sent again, 66,182 a trial; the sender dropped none, the receiver none: lost or
    reordered on the path``."""
    count = f"{format_percent(again.ratio)} of the segments sent again, {again.segments:,.0f} a trial"
    if again.end is not None:
        dropped = f"the {again.end} dropped {again.dropped(again.end):,.0f} packets a trial"
        return f"{count}; {dropped}, most of them {again.place(again.end)}"
    if again.uncounted:
        ends = " and ".join(f"the {role}'s" for role in sorted(again.uncounted, reverse=True))
        return f"{count}; where they were lost is not known: {ends} counters are missing"
    sender, receiver = (
        f"{again.dropped(role):,.0f}" if again.dropped(role) else "none" for role in ("sender", "receiver")
    )
    return f"{count}; the sender dropped {sender}, the receiver {receiver}: lost or reordered on the path"


def owner(one: Ranked) -> str:
    """``the receiver's``; of a host that sends and receives ``dut's``."""
    return f"{one.host}'s" if one.two_roles else f"the {one.end}'s"


def at_host(text: str, host: str | None) -> str:
    """A text about one role with the name of ``host``, if there is one, in its place."""
    return text if host is None else re.sub("the (?:sender|receiver)", lambda _: host, text)


def is_alone(one: Ranked) -> bool:
    """Whether it is one full CPU of several that have room on average."""
    if one.kind not in ROLES or one.role is None or one.cpu is None or count(one.role) == 1:
        return False
    return one.share >= FULL > used(one.role, load_niced=one.load_niced)


def names(limits: Sequence[Ranked]) -> str:
    """Several in one: ``the receiver's app and IRQ CPUs and the line rate``."""
    if {one.kind for one in limits} >= set(ROLES):
        rest = [name(one) for one in limits if one.kind not in ROLES]
        return " and ".join(["all CPUs of both ends", *rest])
    said: dict[str, None] = {}
    for one in limits:
        own = [other for other in limits if other.end == one.end and other.kind in ROLES]
        both = one.kind in ROLES and len(own) == 2 and not any(map(is_alone, own))
        said[f"{owner(one)} app and IRQ CPUs" if both else name(one)] = None
    return " and ".join(said)


def evidence(one: Ranked, *, named: bool, users: bool = True) -> str:
    """How full, and with what; ``named``: which of several limits it is about, ``users``: who filled it."""
    which = f"{name(one).removeprefix('the ')} " if named else ""
    return "; ".join(
        (
            which + _measure(one),
            *(filled(one) if users else ()),
            *_stolen(one.cpu),
            *waited_words(one.waited_ratio),
            *one.evidence,
        )
    )


def filled(one: Ranked) -> tuple[str, ...]:
    """Who filled a CPU that others than the load used a part of: ``CPU 1: load 50.0 %, other processes 50.0 %
    (stress-ng), softirqs 0.0 %``."""
    shared = one.shared
    if shared is None:
        return ()
    seen = seen_cores(one.processes, shared.cpus) / one.shared_in
    least = "at least " if seen * EXPLAINED > shared.other_cores else ""
    others = f"other processes {least}{format_percent(shared.other_cores)}"
    names = process_names(one.processes, shared.other_cores * one.shared_in)
    parts = [
        *([] if shared.load_cores is None else [f"load {format_percent(shared.load_cores)}"]),
        f"{others} ({names})" if names else others,
        f"softirqs {format_percent(shared.softirq_cores)}",
    ]
    which = f"CPU {shared.cpus[0]}: " if len(shared.cpus) == 1 else ""
    seldom = "" if one.shared_in == len(one.shares) else f" in {one.shared_in} of {len(one.shares)} trials"
    return (f"{which}{', '.join(parts)}{seldom}",)


def process_names(processes: Iterable[OtherProcess], cores: float) -> str:
    """``real-time stress-ng, kworker/1:2``: the busiest by what they used, with ``at least`` where they do
    not explain most of the ``cores`` that others used; nothing where none used enough to be named."""
    used: dict[str, float] = {}
    for process in processes:
        label = _process_name(process)
        used[label] = used.get(label, 0.0) + process.cores
    named = [name for name in sorted(used, key=lambda name: -used[name]) if used[name] >= NAMED * cores]
    if not named:
        return ""
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    shown = f"{', '.join(named[:MOST_NAMED])}{more}"
    return shown if sum(used.values()) >= EXPLAINED * cores else f"at least {shown}"


def _process_name(process: OtherProcess) -> str:
    """Its name, with its scheduling class where that is no usual one: it runs before others, or after."""
    if process.kernel or process.scheduling in (None, "normal"):
        return process.name
    return f"{process.scheduling} {process.name}"


def _stolen(cpu: CpuShares | None) -> tuple[str, ...]:
    """Over the trials, as its use is."""
    if cpu is None:
        return ()
    takers = {"a hypervisor": cpu.steal_ratio, "virtual machines of the host": cpu.guest_ratio}
    return tuple(
        f"{format_percent(ratio)} of its time taken by {who}"
        for who, ratio in takers.items()
        if ratio >= STEAL_TOLD
    )


def waited_words(waited_ratio: float | None) -> tuple[str, ...]:
    """That the load was ready to run and had no CPU, where it was for long."""
    if waited_ratio is None or waited_ratio < WAIT_TOLD:
        return ()
    return (f"a thread of the load waited for a CPU {format_percent(waited_ratio)} of the time",)


def throttled_words(throttled_s: float, between_s: float) -> str:
    """``throttled 4.3 s of 10.0 s``; on several CPUs the sum may be more than the time."""
    return f"throttled {throttled_s:.1f} s of {between_s:.1f} s"


def _measure(one: Ranked) -> str:
    if one.sent_again is not None:
        return _sent_again(one.sent_again)
    if one.throttled_s is not None and one.between_s is not None:
        throttled = throttled_words(one.throttled_s, one.between_s)
        return f"{throttled}, in {format_percent(one.share)} of its periods"
    if one.cpu is not None and one.role is not None:
        return _cpu(one, one.cpu, one.role)
    if one.kind in ("line-rate", "shaper"):
        return line_words(one.share)
    if one.unit == "bit/s" and one.used is not None and one.capacity is not None:
        return f"{format_percent(one.share)}: {rate_words(one.used, one.capacity)}"
    if one.unit == "s":
        return f"{format_percent(one.share)} of the time that connections had data to send"
    if one.unit == "CPU":
        return f"{format_percent(one.share)} of a CPU"
    return f"{one.used or 0:,.0f} packets dropped per trial"


def _cpu(one: Ranked, cpu: CpuShares, role: CpuShares) -> str:
    """``99.9 % busy, 99.9 % soft``; of several CPUs the busiest, with all of them beside it."""
    kinds = {kind: getattr(cpu, f"{kind}_ratio") for kind in SHARES if kind not in ("idle", "other")}
    most = max(kinds, key=lambda kind: kinds[kind])
    mostly = f", {format_percent(kinds[most])} {most}" if kinds[most] else ""
    said = f"{format_percent(one.share)} busy{mostly}"
    if count(role) == 1 or one.kind not in ROLES:
        return said
    if cpu == role:
        return f"all {count(role)}: {said}"
    role_used = format_percent(used(role, load_niced=one.load_niced))
    which = f"CPU {cpu.cpus[0]}" if len(cpu.cpus) == 1 else "the busiest in each trial"
    queue = ", one queue or flows that share a hash (RSS)" if is_alone(one) and "irq" in one.kind else ""
    return f"{which} {said}, all {count(role)} {role_used}{queue}"


def short(one: Ranked) -> str:
    """For a list of what is not the limit: ``the receiver's app CPU, 55.0 %``."""
    if one.cgroup is not None:
        return f"{name(one)}, used up in {format_percent(one.share)} of its periods"
    if one.kind == "paced" and one.capacity is not None:
        return f"{format_percent(one.share)} of the {format_rate(one.capacity)} asked for"
    return f"{name(one)}, {format_percent(one.share)}"
