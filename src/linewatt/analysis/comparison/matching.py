# SPDX-License-Identifier: Apache-2.0
"""Which cases are compared with which: by key and host pair, ignoring what was named. Pure.

What finds no partner is left over, with the reason; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linewatt.analysis.comparison.side import Side as Side
from linewatt.analysis.comparison.side import Task
from linewatt.errors import InvalidInput
from linewatt.model import Case
from linewatt.units import first_of, format_given_rate, parse_rate

HOST_LIKE = ("host", "kernel", "sender", "receiver")
"""properties that are of the hosts: cases match whatever their hosts are called"""
PARAMETERS = {
    "direction": "direction",
    "family": "family",
    "instances": "instances",
    "level": "load_level",
    "network": "network",
    "rate": "rate_bps",
    "streams": "streams",
    "test": "test",
    "zerocopy": "zerocopy",
}
"""what users call a parameter of a case → its name in :attr:`Case.parameters`"""
_USERS = "users"
_LOAD = ("streams", "rate", "zerocopy", "level", _USERS)
"""parameters that make two cases of otherwise equal ones incomparable, rather than just other cases; of cases
of users the last is what these do"""
_KEYS = 3
"""of users, that are named where they differ; of more how many"""

Texts = Callable[[Case], str]


@dataclass(frozen=True, slots=True)
class Match:
    """Two cases to compare, or two tasks of a kind.

    ``level`` is that of ``other`` where levels of one result are compared.
    """

    base: Case | Task
    other: Case | Task
    base_level: str = ""
    level: str = ""

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Which host stands for which."""
        if isinstance(self.base, Case) or isinstance(self.other, Case):
            return tuple(dict.fromkeys(zip(self.base.hosts, self.other.hosts, strict=True)))
        return self.base.pairs_with(self.other)


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A case without a partner, on which side, and why."""

    side: str
    case: Case
    why: str


@dataclass(frozen=True, slots=True)
class Unlike:
    """Two cases that would match but for one parameter of the load."""

    match: Match
    what: str


@dataclass(frozen=True, slots=True)
class Matching:
    """What is compared and what is not; ``words`` say how it was found."""

    matches: tuple[Match, ...]
    left_over: tuple[LeftOver, ...]
    unlike: tuple[Unlike, ...]
    words: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """those of one result, the base first"""
    hosts: tuple[str, str] | None = None
    """the two of one result that are compared; None: all hosts of a pair are, or none"""


def known_properties(cases: Iterable[Case]) -> list[str]:
    """What ``--by`` may name for these cases."""
    factors = dict.fromkeys(name for case in cases for name, _ in case.factors)
    return [*PARAMETERS, *HOST_LIKE, *(name for name in factors if name not in PARAMETERS)]


def identity(case: Case, by: str | None) -> tuple[Any, ...]:
    """The parameters of a case without ``by``: equal in cases that match."""
    parameters = {**case.parameters, "zerocopy": bool(case.zerocopy)}  # unknown: most likely not asked for
    factors = dict(parameters.pop("factors", {}))
    if by is not None:
        parameters.pop(PARAMETERS.get(by, by), None)
        factors.pop(by, None)
    return (*sorted(parameters.items()), tuple(sorted(factors.items())))


def _pair(case: Case, by: str) -> tuple[Any, ...]:
    """The hosts that must be equal; a label called ``kernel`` is a factor like any other."""
    if by in dict(case.factors):
        return case.ways
    fixed_hosts = {"host": (), "kernel": (), "sender": (case.receiver,), "receiver": (case.sender,)}
    return fixed_hosts.get(by, case.ways)


def match_two(base: Side, other_side: Side, by: str | None) -> Matching:
    """Cases of two results that are the same, ``by`` aside.

    Cases of equal names of hosts go together. Where these differ, cases match by their key alone if each
    result has one pair of hosts, or if ``by`` says that hosts are what differs.
    """
    matcher = _Found(by)
    base_cases, other_cases = (
        _without(list(side.cases), [*_group_of(side.cases)]) for side in (base, other_side)
    )
    free = by in HOST_LIKE or (len(_pairs(base_cases)) == 1 and len(_pairs(other_cases)) == 1)
    groups = _grouped(base_cases, by), _grouped(other_cases, by)
    for key in dict.fromkeys([*groups[0], *groups[1]]):
        matcher.group(groups[0].get(key, []), groups[1].get(key, []), (base.name, other_side.name), free=free)
    unlike = _unlike(matcher.left, (base.name, other_side.name), by, free=free)
    gone = {id(case) for mismatch in unlike for case in (mismatch.match.base, mismatch.match.other)}
    left_overs = [left_over for left_over in matcher.left if id(left_over.case) not in gone]
    return Matching(
        tuple(
            match_or_pair
            for match in matcher.matches
            for match_or_pair in (match, *_flows(match, base, other_side))
        ),
        tuple(
            case_or_pair
            for left_over in left_overs
            for case_or_pair in (left_over, *_flows_left(left_over, base, other_side))
        ),
        tuple(
            Unlike(match_or_pair, mismatch.what)
            for mismatch in unlike
            for match_or_pair in (mismatch.match, *_flows(mismatch.match, base, other_side))
        ),
        matcher.words(base, other_side),
    )


def _group_of(cases: Iterable[Case]) -> dict[Case, Case]:
    """Of each pair of a group that is among the cases, that group."""
    all_cases = set(cases)
    return {pair: case for case in all_cases if case.flows for pair in case.pairs if pair in all_cases}


def _flows(match: Match, base: Side, other_side: Side) -> Iterator[Match]:
    """Pairs of two groups that match: by name where these are the same, else by their place."""
    if isinstance(match.base, Case) and isinstance(match.other, Case) and match.base.flows:
        base_pairs, other_pairs = match.base.pairs, match.other.pairs
        if {*match.base.flows} == {*match.other.flows}:
            base_pairs, other_pairs = (
                tuple(sorted(side_pairs, key=lambda pair: pair.hosts))
                for side_pairs in (base_pairs, other_pairs)
            )
        for base_pair, other_pair in zip(base_pairs, other_pairs, strict=False):
            if base_pair in base.cases and other_pair in other_side.cases:
                yield Match(base_pair, other_pair)


def _flows_left(leftover: LeftOver, base: Side, other_side: Side) -> Iterator[LeftOver]:
    """Pairs of a group that has no partner have none either."""
    cases = (base if leftover.side == base.name else other_side).cases
    yield from (
        LeftOver(leftover.side, pair, leftover.why)
        for pair in leftover.case.pairs
        if leftover.case.flows and pair in cases
    )


def _pairs(cases: Iterable[Case]) -> set[frozenset[str]]:
    return {frozenset(case.hosts) for case in cases}


def _grouped(cases: Iterable[Case], by: str | None) -> dict[tuple[Any, ...], list[Case]]:
    groups: dict[tuple[Any, ...], list[Case]] = {}
    for case in cases:
        groups.setdefault(identity(case, by), []).append(case)
    return groups


@dataclass
class _Found:
    """What was matched until now."""

    by: str | None
    matches: list[Match] = field(default_factory=list)
    left: list[LeftOver] = field(default_factory=list)

    def group(self, bases: list[Case], others: list[Case], names: tuple[str, str], *, free: bool) -> None:
        """Cases of two sides that are the same but for their hosts."""
        for ways in dict.fromkeys(case.ways for case in bases):
            base_cases = [case for case in bases if case.ways == ways]
            other_cases = [case for case in others if case.ways == ways]
            if len(base_cases) == len(other_cases) == 1:
                self.matches.append(Match(base_cases[0], other_cases[0]))
                bases, others = _without(bases, base_cases), _without(others, other_cases)
        if free and len(bases) == len(others) == 1:
            self.matches.append(Match(bases[0], others[0]))
            return
        for name, cases, opposite_cases in ((names[0], bases, others), (names[1], others, bases)):
            opposite = names[1] if name == names[0] else names[0]
            self.left += [
                LeftOver(name, case, self._why(case, cases, opposite_cases, opposite)) for case in cases
            ]

    def _why(
        self, case: Case, side_cases: Sequence[Case], opposite_cases: Sequence[Case], opposite: str
    ) -> str:
        if not opposite_cases:
            return f"no such case in {opposite}"
        alike = [sibling for sibling in side_cases if sibling.ways == case.ways]
        if len(alike) > 1 or len([sibling for sibling in opposite_cases if sibling.ways == case.ways]) > 1:
            return f"several cases are the same but for {self.by}"
        pairs = ", ".join(counterpart.way for counterpart in opposite_cases)
        return f"{opposite} has it between other hosts only ({pairs}); --by host compares whatever they are"

    def words(self, base: Side, other_side: Side) -> tuple[str, ...]:
        renamed = dict.fromkeys(
            (match.base.way, match.other.way)
            for match in self.matches
            if isinstance(match.base, Case)
            and isinstance(match.other, Case)
            and match.base.hosts != match.other.hosts
        )
        ignoring = f", ignoring {self.by}" if self.by else ""
        count = len(self.matches)
        how = "by key and hosts" if not renamed else "by key"
        sentences = [f"{count or 'no'} {'case' if count == 1 else 'cases'} matched {how}{ignoring}"]
        sentences += [
            f"{base_way} in {base.name} is compared with {other_way} in {other_side.name}"
            for base_way, other_way in renamed
        ]
        return tuple(sentences)


def _without(cases: list[Case], gone: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case not in gone]


def _unlike(
    leftovers: Sequence[LeftOver], names: tuple[str, str], by: str | None, *, free: bool
) -> tuple[Unlike, ...]:
    """Left-over cases that are one another's only partner but for one parameter of the load."""
    unlike_cases: list[Unlike] = []
    taken: set[int] = set()
    for what in _LOAD:
        groups: dict[tuple[Any, ...], tuple[list[Case], list[Case]]] = {}
        for left_over in leftovers:
            case = left_over.case
            if id(case) in taken or (what == _USERS and not case.of_users):
                continue
            *parameters, factors = identity(case, by)
            plain = [item for item in parameters if item[0] != PARAMETERS.get(what, what)]
            key = (*plain, factors, () if free else case.ways)
            groups.setdefault(key, ([], []))[names.index(left_over.side)].append(case)
        for bases, others in groups.values():
            if len(bases) == len(others) == 1:
                taken |= {id(bases[0]), id(others[0])}
                unlike_cases.append(
                    Unlike(Match(bases[0], others[0]), _unlike_words(bases[0], others[0], what, names))
                )
    return tuple(unlike_cases)


def _unlike_words(base: Case, other_case: Case, what: str, names: tuple[str, str]) -> str:
    """``rate 1 Gbps in A, unlimited in B; --by rate compares them``."""
    if what == _USERS:
        return _users_words(base, other_case, names)
    values = (_shown(base, what), _shown(other_case, what))
    return f"{what} {values[0]} in {names[0]}, {values[1]} in {names[1]}; --by {what} compares them"


def _users_words(base: Case, other_case: Case, names: tuple[str, str]) -> str:
    """``what users do differs: think 0s in A, 2s in B``; of many keys how many more."""
    users_of_sides = tuple(zip(names, (dict(base.users), dict(other_case.users)), strict=True))
    differing = []
    for key in sorted({key for _, users in users_of_sides for key in users}):
        if len({users.get(key) for _, users in users_of_sides}) > 1:
            values = ", ".join(f"{users.get(key, 'not set')} in {name}" for name, users in users_of_sides)
            differing.append(f"{key} {values}")
    return f"what users do differs: {first_of(differing, _KEYS)}"


def _shown(case: Case, what: str) -> str:
    value = case.parameters.get(PARAMETERS[what])
    if value is None:
        return "unlimited" if what == "rate" else "full"
    if isinstance(value, bool):
        return "on" if value else "off"
    if what == "rate":
        return format_given_rate(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def level_meant(text: str, by: str, levels: Sequence[str]) -> str | None:
    """Which of the levels a person means, who may write a rate as in a campaign; None: none of them."""
    if text in levels:
        return text
    try:
        name = format_given_rate(parse_rate(text)) if by == "rate" else text
    except InvalidInput:
        return None
    return name if name in levels else None


def levels_of(side: Side, by: str) -> list[str]:
    """The levels of a property among the cases of a result, as they first appear."""
    name = _level_name(side, by)
    return list(dict.fromkeys(name(case) for case in side.cases if not _shares_runs(case, by)))


def _shares_runs(case: Case, by: str) -> bool:
    """Whether it is one pair of a group, and would be compared with another that ran at the same time."""
    return case.flow_of is not None and by in HOST_LIKE and by not in dict(case.factors)


def match_levels(side: Side, by: str, chosen: str) -> Matching:
    """Cases of one result that are the same but for ``by``, each level against the ``chosen`` one."""
    name = _level_name(side, by)
    groups: dict[tuple[Any, ...], dict[str, list[Case]]] = {}
    shared = [case for case in side.cases if _shares_runs(case, by)]
    for case in _without(list(side.cases), shared):
        key = (identity(case, by), _pair(case, by))
        groups.setdefault(key, {}).setdefault(name(case), []).append(case)
    matches: list[Match] = []
    why = "it ran at once with the other pairs of its group, so the two are not separate trials"
    left_overs = [LeftOver(name(case), case, why) for case in shared]
    for group in groups.values():
        at_base = group.get(chosen, [])
        for level, cases in group.items():
            if level == chosen:
                continue
            if len(at_base) == len(cases) == 1:
                matches.append(Match(at_base[0], cases[0], chosen, level))
            else:
                why = f"no such case at {by} {chosen}" if not at_base else f"several such cases at one {by}"
                left_overs += [LeftOver(level, case, why) for case in cases]
        if len(group) == 1 and at_base:
            left_overs += [LeftOver(chosen, case, f"no other {by}") for case in at_base]
    order = [chosen, *(level for level in levels_of(side, by) if level != chosen)]
    noun = "comparison" if len(matches) == 1 else "comparisons"
    words = f"{len(matches)} {noun} of {by} with {chosen}, of cases that are the same otherwise"
    return Matching(tuple(matches), tuple(left_overs), (), (words,), tuple(order))


def _level_name(side: Side, by: str) -> Texts:
    """What the level of a case is called."""

    def kernel(case: Case) -> str:
        releases = [side.fact(host, "kernel", "release") for host in case.hosts]
        distinct_releases = dict.fromkeys(
            str(release) if release else "not on record" for release in releases
        )
        return " → ".join(distinct_releases)

    of_case: dict[str, Texts] = {
        "host": lambda case: case.way,
        "sender": lambda case: case.sender,
        "receiver": lambda case: case.receiver,
        "kernel": kernel,
    }

    def level(case: Case) -> str:
        factors = dict(case.factors)
        if by in factors:
            return factors[by]
        if by in of_case:
            return of_case[by](case)
        return _shown(case, by) if by in PARAMETERS else "not set"

    return level
