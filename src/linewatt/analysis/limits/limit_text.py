# SPDX-License-Identifier: Apache-2.0
"""How candidates are named, and what speaks for them, in few words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linewatt.analysis.cases.shares import CPU_SHARES
from linewatt.analysis.limits.candidate import BYTES, Kind, SentAgain
from linewatt.analysis.limits.cpus import ROLES, count, seen_cores, used_ratio
from linewatt.analysis.limits.paths import line_words, rate_words
from linewatt.analysis.limits.ranking import Ranked
from linewatt.findings import FULL_RATIO
from linewatt.model import CpuShares, OtherProcess
from linewatt.units import first_of, format_percent, format_rate

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
    **{kind: f"{{owner}} {role}" for kind, role in ROLES.items()},
    "paced": "{the}rate that was asked for",
    "line-rate": "{the}line rate",
    "shaper": "{the}shaper of the line",
    "sender-pcie": "{owner} PCI Express slot",
    "receiver-pcie": "{owner} PCI Express slot",
    "sender-cpu": "a CPU of {end}",
    "receiver-cpu": "a CPU of {end}",
    "sender-cpu-quota": "{the}CPU quota of {its} cgroup",
    "receiver-cpu-quota": "{the}CPU quota of {its} cgroup",
    "receive-window": "{owner} TCP window",
    "send-buffer": "{owner} socket buffer",
    "sender-queue": "{owner} queueing discipline",
    "receiver-ring": "{owner} NIC ring",
    "receiver-backlog": "{owner} softnet backlog",
    "receiver-socket-buffer": "{owner} UDP socket buffer",
    "retransmits": "loss on the path",
    "device-or-path": "a limit inside the device or the path",
}
"""``{the}`` is the article before a name, ``{owner}`` an end with it and ``'s``; ``{end}`` and ``{its}`` are
of an end within a name"""


def limit_name(ranked: Ranked, the: str = "the ") -> str:
    """``the receiver's IRQ CPU``, ``one of the receiver's 8 IRQ CPUs``, ``the line rate``."""
    if ranked.sent_again is not None:
        return _lost_name(ranked.sent_again)
    if is_alone(ranked) and ranked.role is not None:
        return f"one of {owner(ranked)} {count(ranked.role)} {ROLES[ranked.kind]}s"
    end = ranked.host if ranked.two_roles else f"the {ranked.end}"
    base = NAMES[ranked.kind].format(the=the, owner=owner(ranked, the), its=owner(ranked), end=end)
    base += f" {ranked.cgroup}" if ranked.cgroup else ""
    base += f" of data port {ranked.port} alone" if ranked.port else ""
    return f"{base}s" if ranked.kind in ROLES and ranked.role and count(ranked.role) > 1 else base


def _lost_name(again: SentAgain) -> str:
    """``loss on the path``, ``loss at the receiver``; where nobody knows, ``loss of segments``."""
    if again.end is not None:
        return f"loss at the {again.end}"
    return "loss of segments" if again.uncounted else NAMES["retransmits"]


def _sent_again(again: SentAgain) -> tuple[str, str]:
    """``2.0 % of the segments retransmitted, 66,182 a trial``, and where they were lost.

    As ``the sender dropped none, the receiver none: lost or reordered on the path``.
    """
    count = f"{format_percent(again.ratio)} of the segments retransmitted, {again.segments:,.0f} a trial"
    if again.end is not None:
        dropped = f"the {again.end} dropped {again.dropped(again.end):,.0f} packets a trial"
        return count, f"{dropped}, most of them {again.place(again.end)}"
    if again.uncounted:
        ends = " and ".join(f"the {role}'s" for role in sorted(again.uncounted, reverse=True))
        return count, f"where they were lost is not known: {ends} counters are missing"
    sender, receiver = (
        f"{again.dropped(role):,.0f}" if again.dropped(role) else "none" for role in ("sender", "receiver")
    )
    return count, f"the sender dropped {sender}, the receiver {receiver}: lost or reordered on the path"


def owner(ranked: Ranked, the: str = "the ") -> str:
    """``the receiver's``; of a host that sends and receives ``dut's``."""
    return f"{ranked.host}'s" if ranked.two_roles else f"{the}{ranked.end}'s"


def is_alone(ranked: Ranked) -> bool:
    """Whether it is one full CPU of several that have room on average."""
    if ranked.kind not in ROLES or ranked.role is None or ranked.cpu is None or count(ranked.role) == 1:
        return False
    return ranked.share >= FULL_RATIO > used_ratio(ranked.role, load_niced=ranked.load_niced)


def names(limits: Sequence[Ranked]) -> str:
    """Several in one: ``the receiver's app and IRQ CPUs and the line rate``."""
    if {limit.kind for limit in limits} >= set(ROLES):
        further_names = [limit_name(limit) for limit in limits if limit.kind not in ROLES]
        return " and ".join(["all CPUs of both ends", *further_names])
    phrases: dict[str, None] = {}
    for limit in limits:
        cpu_limits = [
            candidate for candidate in limits if candidate.end == limit.end and candidate.kind in ROLES
        ]
        has_both_roles = limit.kind in ROLES and len(cpu_limits) == 2 and not any(map(is_alone, cpu_limits))
        phrases[f"{owner(limit)} app and IRQ CPUs" if has_both_roles else limit_name(limit)] = None
    return " and ".join(phrases)


def evidence(ranked: Ranked) -> tuple[str, ...]:
    """How full it is, and with what; the first clause says which limit it is about."""
    measure, *others = clauses(ranked, named=True)
    if ranked.sent_again is None:
        return measure, *others
    segments, drops = _sent_again(ranked.sent_again)
    return f"{_named(ranked)}{segments}", drops, *others


def clauses(ranked: Ranked, *, named: bool, users: bool = True) -> tuple[str, ...]:
    """How full, and with what; ``named``: which of several limits it is about, ``users``: who filled it."""
    return (
        (_named(ranked) if named else "") + _measure(ranked),
        *(cpu_users_text(ranked) if users else ()),
        *_stolen(ranked.cpu),
        *waited_words(ranked.waited_ratio),
        *ranked.evidence,
    )


def _named(ranked: Ranked) -> str:
    return f"{limit_name(ranked, the='')} "


def cpu_users_text(ranked: Ranked) -> tuple[str, ...]:
    """Who filled a CPU that others than the load used a part of: ``CPU 1: load 50.0 %, other processes 50.0 %
    (stress-ng), softirqs 0.0 %``."""
    shared = ranked.shared
    if shared is None:
        return ()
    seen = seen_cores(ranked.processes, shared.cpus) / ranked.shared_in
    qualifier = "at least " if seen * EXPLAINED > shared.other_cores else ""
    others = f"other processes {qualifier}{format_percent(shared.other_cores)}"
    names = process_names(ranked.processes, shared.other_cores * ranked.shared_in)
    parts = [
        *([] if shared.load_cores is None else [f"load {format_percent(shared.load_cores)}"]),
        f"{others} ({names})" if names else others,
        f"softirqs {format_percent(shared.softirq_cores)}",
    ]
    which = f"CPU {shared.cpus[0]}: " if len(shared.cpus) == 1 else ""
    seldom = (
        ""
        if ranked.shared_in == len(ranked.shares)
        else f" in {ranked.shared_in} of {len(ranked.shares)} trials"
    )
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
    shown = first_of(named, MOST_NAMED, between=", ")
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


def _measure(ranked: Ranked) -> str:
    if ranked.sent_again is not None:
        return "; ".join(_sent_again(ranked.sent_again))
    if ranked.throttled_s is not None and ranked.between_s is not None:
        throttled = throttled_words(ranked.throttled_s, ranked.between_s)
        return f"{throttled}, in {format_percent(ranked.share)} of its periods"
    if ranked.cpu is not None and ranked.role is not None:
        return _cpu(ranked, ranked.cpu, ranked.role)
    if ranked.kind in ("line-rate", "shaper"):
        return line_words(ranked.share)
    if ranked.unit == "bit/s" and ranked.used is not None and ranked.capacity is not None:
        return f"{format_percent(ranked.share)}: {rate_words(ranked.used, ranked.capacity)}"
    if ranked.unit == "s":
        return f"{format_percent(ranked.share)} of the time that connections had data to send"
    if ranked.unit == BYTES:
        return f"filled to {format_percent(ranked.share)} by data on its way (throughput × RTT)"
    if ranked.unit == "CPU":
        return f"{format_percent(ranked.share)} of a CPU"
    return f"{ranked.used or 0:,.0f} packets dropped per trial"


def _cpu(ranked: Ranked, cpu: CpuShares, role: CpuShares) -> str:
    """``99.9 % busy, 99.9 % soft``; of several CPUs the busiest, with all of them beside it."""
    kinds = {kind: getattr(cpu, f"{kind}_ratio") for kind in CPU_SHARES if kind not in ("idle", "other")}
    busiest_kind = max(kinds, key=lambda kind: kinds[kind])
    mostly = f", {format_percent(kinds[busiest_kind])} {busiest_kind}" if kinds[busiest_kind] else ""
    busy_words = f"{format_percent(ranked.share)} busy{mostly}"
    if count(role) == 1 or ranked.kind not in ROLES:
        return busy_words
    if cpu == role:
        return f"all {count(role)}: {busy_words}"
    role_used = format_percent(used_ratio(role, load_niced=ranked.load_niced))
    which = f"CPU {cpu.cpus[0]}" if len(cpu.cpus) == 1 else "the busiest in each trial"
    queue = (
        ", one queue or flows that share a hash (RSS)" if is_alone(ranked) and "irq" in ranked.kind else ""
    )
    return f"{which} {busy_words}, all {count(role)} {role_used}{queue}"


def short_limit(ranked: Ranked) -> str:
    """For a list of what is not the limit: ``the receiver's app CPU, 55.0 %``."""
    if ranked.cgroup is not None:
        return f"{limit_name(ranked)}, used up in {format_percent(ranked.share)} of its periods"
    if ranked.kind == "paced" and ranked.capacity is not None:
        return f"{format_percent(ranked.share)} of the {format_rate(ranked.capacity)} asked for"
    return f"{limit_name(ranked)}, {format_percent(ranked.share)}"
