# SPDX-License-Identifier: Apache-2.0
"""Two hosts of one result compared: cases in which one stands where the other does. Pure.

What is compared is what the two hosts are: their kernels, NICs, firmware. So what differs between them is
told, and what does not; and where they were not loaded by the same host, that is in the ratio, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from linewatt.analysis.comparison.differences import as_text, leaves_of
from linewatt.analysis.comparison.matching import LeftOver, Match, Matching, Side, identity
from linewatt.errors import InvalidInput
from linewatt.loads import DEFAULT_LOAD
from linewatt.model import Case

HEADLINES = (
    *("kernel.release", "system.product", "cpu.model", "cpu.microcode", "nic.model", "nic.driver"),
    *("nic.driver_version", "nic.firmware", "nic.speed_bps"),
)
"""facts that are said to be the same on both hosts, or not on record of both, beside the load's version"""
Hosts = tuple[str, str]


def match_hosts(side: Side, hosts: Hosts) -> Matching:
    """Cases of a result that are the same but that the second of ``hosts`` stands where the first does.

    Those whose other host is the same go together; else those that are the only ones of their kind. Raises
    InvalidInput for a host that has no case.
    """
    case_hosts = dict.fromkeys(host for case in side.cases for host in case.hosts)
    for host in hosts:
        if host not in case_hosts:
            raise InvalidInput(
                f"{side.id}: no trial of a host {host}; there are {', '.join(case_hosts) or 'none'}"
            )
    cases: dict[str, list[Case]] = {host: [] for host in hosts}
    left_overs = []
    for case in side.cases:
        taking_part = [host for host in hosts if host in case.hosts]
        if len(taking_part) == 1 and _alone(case):
            cases[taking_part[0]].append(case)
        elif taking_part:
            why = "several pairs of hosts ran at once" if not _alone(case) else "both hosts take part in it"
            left_overs.append(LeftOver(taking_part[0], case, why))
    matches = [*_matched(cases, hosts, with_peer=True), *_matched(cases, hosts, with_peer=False)]
    for host, opposite in (hosts, hosts[::-1]):
        left_overs += [LeftOver(host, case, f"no such case of {opposite}") for case in cases[host]]
    return Matching(tuple(matches), tuple(left_overs), (), tuple(_words(side, hosts, matches)), hosts, hosts)


def _matched(cases: dict[str, list[Case]], hosts: Hosts, *, with_peer: bool) -> list[Match]:
    """Cases that are one another's only partner, which are then no longer among ``cases``."""
    keys = [[_key(case, host, with_peer=with_peer) for case in cases[host]] for host in hosts]
    matches = []
    for base, key in zip(tuple(cases[hosts[0]]), keys[0], strict=True):
        if keys[0].count(key) == keys[1].count(key) == 1:
            counterpart = next(
                case for case in cases[hosts[1]] if _key(case, hosts[1], with_peer=with_peer) == key
            )
            matches.append(Match(base, counterpart, *hosts))
            cases[hosts[0]].remove(base)
            cases[hosts[1]].remove(counterpart)
    return matches


def _alone(case: Case) -> bool:
    """Whether one pair of hosts ran, and no other of its group beside it."""
    return not case.flows and case.flow_of is None


def _key(case: Case, host: str, *, with_peer: bool) -> tuple[Any, ...]:
    """What a case is but for ``host``, whose place it keeps."""
    role, peer = ("sender", case.receiver) if case.sender == host else ("receiver", case.sender)
    return (identity(case, None), role, peer if with_peer else "")


def _words(side: Side, hosts: Hosts, matches: Sequence[Match]) -> Iterator[str]:
    noun = "comparison" if len(matches) == 1 else "comparisons"
    yield f"{len(matches)} {noun} of {hosts[1]} with {hosts[0]}, of cases that are the same otherwise"
    for base_host, other_host in dict.fromkeys(pair for match in matches for pair in match.hosts):
        if base_host != other_host and (base_host, other_host) != hosts:
            yield (
                f"{hosts[0]} ran with {base_host}, {hosts[1]} with {other_host}: "
                "what differs between these two is in every ratio, too"
            )
    yield from _in_turn(side, hosts, matches)
    yield from _alike(side, hosts)


def _in_turn(side: Side, hosts: Hosts, matches: Iterable[Match]) -> Iterator[str]:
    """Whether runs of all cases of both were taken over the same time, so that what drifts is in both."""
    spans = [
        (base_span, other_span)
        for match in matches
        if isinstance(match.base, Case) and isinstance(match.other, Case)
        for base_span, other_span in [(side.cases[match.base].started_s, side.cases[match.other].started_s)]
    ]
    if spans and all(
        base_span and other_span and base_span[0] < other_span[1] and other_span[0] < base_span[1]
        for base_span, other_span in spans
    ):
        yield (
            f"Runs of {hosts[0]} and {hosts[1]} were taken over the same time of one campaign: what drifted "
            "meanwhile is in both"
        )


def _alike(side: Side, hosts: Hosts) -> Iterator[str]:
    """Which of what one looks for first does not differ, and which is not known of both."""
    first_facts, second_facts = (
        {fact: as_text(value) for fact, value in leaves_of(side.facts(host), "", lambda _: False)}
        for host in hosts
    )
    same, unknown = [], []
    loads = dict.fromkeys(case.load or DEFAULT_LOAD for case in side.cases)
    for fact in (*HEADLINES, *(f"tools.{load}" for load in loads)):
        if first_facts.get(fact) is None or second_facts.get(fact) is None:
            unknown.append(fact)
        elif first_facts[fact] == second_facts[fact]:
            same.append(f"{fact} {first_facts[fact]}")
    if same:
        yield f"The same on both: {', '.join(same)}"
    if unknown:
        yield f"Not on record of both: {', '.join(unknown)}"
