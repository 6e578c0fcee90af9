# SPDX-License-Identifier: Apache-2.0
"""What limits pairs that run at once: each by itself, and all of them together. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linewatt.analysis.cases.flows import judged
from linewatt.analysis.limits import limit_text
from linewatt.analysis.limits.candidate import Kind
from linewatt.analysis.limits.paths import lost_ratio
from linewatt.analysis.limits.verdict import Limit, verdict
from linewatt.findings import LIMITING_LOSS_RATIO
from linewatt.model import Case, Trial

_TURNED: dict[Kind, Kind] = {
    "sender-app-cpu": "receiver-app-cpu",
    "sender-irq-cpu": "receiver-irq-cpu",
    "sender-cpu": "receiver-cpu",
    "receiver-app-cpu": "sender-app-cpu",
    "receiver-irq-cpu": "sender-irq-cpu",
    "receiver-cpu": "sender-cpu",
    "sender-cpu-quota": "receiver-cpu-quota",
    "receiver-cpu-quota": "sender-cpu-quota",
}
"""what a host's limit is in a pair where it has the other role"""


def verdicts(trials: Mapping[Case, Sequence[Trial]]) -> dict[Case, Limit]:
    """What limits each case. Of pairs that run at once, what limits them together limits those of which
    nothing else is known to; where nothing does, each may have a limit of its own."""
    of_rings = {
        pair: pair_trials
        for case in trials
        if case.is_ring
        for pair, pair_trials in judged(trials[case]).items()
    }
    limits = {case: verdict(of_rings.get(case, case_trials)) for case, case_trials in trials.items()}
    for case in trials:
        pairs = [pair for pair in case.pairs if case.flows and pair in limits]
        limited = {pair: limits[pair] for pair in pairs if limits[pair].found}
        if limits[case].found:
            limited = {pair: limit for pair, limit in limited.items() if not _is_effect(limit, case)}
        if limits[case].found:
            limits |= {
                pair: _inherited(limits[case], pair, limits[pair])
                for pair in pairs
                if pair not in limited and _concerns(limits[case], pair, trials[case], trials[pair])
            }
        elif limited:
            limits[case] = _of_pairs(limits[case], limited, all_of_them=len(limited) == len(pairs))
    return limits


def _is_effect(limit: Limit, group: Case) -> bool:
    """Whether a limit of a pair is an effect of what limits its group: segments that whatever is full drops,
    and both ways full windows."""
    if group.is_both_ways:
        return not any(ranked.is_cause for ranked in limit.named)
    return bool(limit.named) and all(ranked.kind == "retransmits" for ranked in limit.named)


def _concerns(limit: Limit, pair: Case, trials: Sequence[Trial], pair_trials: Sequence[Trial]) -> bool:
    """Whether what limits all pairs limits one: where datagrams of others are lost and all of its own arrive,
    only what is full at its sender does."""
    if pair.is_tcp or not _loses(trials) or _loses(pair_trials):
        return True
    return bool(limit.named) and all(
        candidate.host == pair.sender and candidate.is_cause for candidate in limit.named
    )


def _loses(trials: Sequence[Trial]) -> bool:
    """Whether datagrams do not arrive, so that something behind the sender is full."""
    lost_ratios = [lost_ratio(trial) for trial in trials if trial.status == "done"]
    return any(lost is not None and lost >= LIMITING_LOSS_RATIO for lost in lost_ratios)


def _inherited(group: Limit, pair: Case, pair_limit: Limit) -> Limit:
    """``named`` stays empty: it is no candidate of the pair's. Both ways, a host has its role in the pair,
    and a queue drops what goes one of the ways."""
    if group.named and all(candidate.two_roles and not candidate.is_cause for candidate in group.named):
        return _of_queues(group, pair, pair_limit)
    kinds = group.kinds
    if any(
        candidate.two_roles and candidate.end and pair.host(candidate.end) != candidate.host
        for candidate in group.named
    ):
        kinds = tuple(_TURNED.get(kind, kind) for kind in kinds)
    return replace(
        pair_limit,
        kinds=kinds,
        what=group.what,
        clauses=_led("of all pairs together", group),
        margin="",
        of_all=group.named,
    )


def _of_queues(group: Limit, pair: Case, pair_limit: Limit) -> Limit:
    """Those queues limit a pair that drop what goes its way."""
    queues = [
        candidate
        for candidate in group.named
        if pair.host("sender" if candidate.kind == "sender-queue" else "receiver") == candidate.host
    ]
    if not queues:
        return pair_limit
    clauses = tuple(clause for queue in queues for clause in limit_text.clauses(queue, named=len(queues) > 1))
    kinds = tuple(dict.fromkeys(queue.kind for queue in queues))
    return replace(pair_limit, kinds=kinds, what=limit_text.names(queues), clauses=clauses, margin="")


def _of_pairs(group: Limit, limited: Mapping[Case, Limit], *, all_of_them: bool) -> Limit:
    named: dict[str, list[str]] = {}
    for pair, limit in limited.items():
        named.setdefault(limit.what, []).append(_peer(pair))
    limit_words = "; ".join(f"{what} ({', '.join(hosts)})" for what, hosts in named.items())
    if not all_of_them:
        single = f"single pairs are limited by {limit_words}"
        but_of = tuple(_peer(pair) for pair in limited)
        return replace(group, clauses=(*group.clauses, single), margin=single, but_of=but_of)
    clauses = tuple(clause for pair, limit in limited.items() for clause in _led(_peer(pair), limit))
    kinds = tuple(dict.fromkeys(kind for limit in limited.values() for kind in limit.kinds))
    return replace(group, kinds=kinds, what=limit_words, clauses=clauses, margin="")


def _led(lead: str, limit: Limit) -> tuple[str, ...]:
    """The evidence of a limit behind a lead that says whose it is."""
    first, *others = limit.clauses or ("",)
    return (f"{lead}: {first}", *others)


def _peer(pair: Case) -> str:
    """The host that is in no other pair; where both hosts are, and one alone does not tell which, the way."""
    if pair.shape in ("both-ways", "ring"):
        return pair.way
    return pair.receiver if pair.shape == "one-to-many" else pair.sender
