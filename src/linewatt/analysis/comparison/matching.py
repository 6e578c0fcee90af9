# SPDX-License-Identifier: Apache-2.0
"""Which cases are compared with which: by key and host pair, ignoring what was named. Pure.

What finds no partner is left over, with the reason; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
_LOAD = ("streams", "rate", "zerocopy", "level")
"""parameters that make two cases of otherwise equal ones incomparable, rather than just other cases"""
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
    own = {**case.parameters, "zerocopy": bool(case.zerocopy)}  # unknown: most likely not asked for
    factors = dict(own.pop("factors", {}))
    if by is not None:
        own.pop(PARAMETERS.get(by, by), None)
        factors.pop(by, None)
    return (*sorted(own.items()), tuple(sorted(factors.items())))


def _pair(case: Case, by: str) -> tuple[Any, ...]:
    """The hosts that must be equal; a label called ``kernel`` is a factor like any other."""
    if by in dict(case.factors):
        return case.ways
    kept = {"host": (), "kernel": (), "sender": (case.receiver,), "receiver": (case.sender,)}
    return kept.get(by, case.ways)


def match_two(base: Side, other: Side, by: str | None) -> Matching:
    """Cases of two results that are the same, ``by`` aside.

    Cases of equal names of hosts go together. Where these differ, cases match by their key alone if each
    result has one pair of hosts, or if ``by`` says that hosts are what differs.
    """
    found = _Found(by)
    own, theirs = (_without(list(side.cases), [*_group_of(side.cases)]) for side in (base, other))
    free = by in HOST_LIKE or (len(_pairs(own)) == 1 and len(_pairs(theirs)) == 1)
    groups = _grouped(own, by), _grouped(theirs, by)
    for key in dict.fromkeys([*groups[0], *groups[1]]):
        found.group(groups[0].get(key, []), groups[1].get(key, []), (base.name, other.name), free=free)
    unlike = _unlike(found.left, (base.name, other.name), by, free=free)
    gone = {id(case) for one in unlike for case in (one.match.base, one.match.other)}
    left = [one for one in found.left if id(one.case) not in gone]
    return Matching(
        tuple(each for one in found.matches for each in (one, *_flows(one, base, other))),
        tuple(each for one in left for each in (one, *_flows_left(one, base, other))),
        tuple(
            Unlike(each, one.what) for one in unlike for each in (one.match, *_flows(one.match, base, other))
        ),
        found.words(base, other),
    )


def _group_of(cases: Iterable[Case]) -> dict[Case, Case]:
    """Of each pair of a group that is among the cases, that group."""
    every = set(cases)
    return {pair: case for case in every if case.flows for pair in case.pairs if pair in every}


def _flows(match: Match, base: Side, other: Side) -> Iterator[Match]:
    """Pairs of two groups that match: by name where these are the same, else by their place."""
    if isinstance(match.base, Case) and isinstance(match.other, Case) and match.base.flows:
        own, theirs = match.base.pairs, match.other.pairs
        if {*match.base.flows} == {*match.other.flows}:
            own, theirs = (tuple(sorted(each, key=lambda pair: pair.hosts)) for each in (own, theirs))
        for one, two in zip(own, theirs, strict=False):
            if one in base.cases and two in other.cases:
                yield Match(one, two)


def _flows_left(left: LeftOver, base: Side, other: Side) -> Iterator[LeftOver]:
    """Pairs of a group that has no partner have none either."""
    cases = (base if left.side == base.name else other).cases
    yield from (
        LeftOver(left.side, pair, left.why) for pair in left.case.pairs if left.case.flows and pair in cases
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
            own = [case for case in bases if case.ways == ways]
            theirs = [case for case in others if case.ways == ways]
            if len(own) == len(theirs) == 1:
                self.matches.append(Match(own[0], theirs[0]))
                bases, others = _without(bases, own), _without(others, theirs)
        if free and len(bases) == len(others) == 1:
            self.matches.append(Match(bases[0], others[0]))
            return
        for name, cases, there in ((names[0], bases, others), (names[1], others, bases)):
            opposite = names[1] if name == names[0] else names[0]
            self.left += [LeftOver(name, case, self._why(case, cases, there, opposite)) for case in cases]

    def _why(self, case: Case, own: Sequence[Case], there: Sequence[Case], opposite: str) -> str:
        if not there:
            return f"no such case in {opposite}"
        alike = [one for one in own if one.ways == case.ways]
        if len(alike) > 1 or len([one for one in there if one.ways == case.ways]) > 1:
            return f"several cases are the same but for {self.by}"
        pairs = ", ".join(one.way for one in there)
        return f"{opposite} has it between other hosts only ({pairs}); --by host compares whatever they are"

    def words(self, base: Side, other: Side) -> tuple[str, ...]:
        renamed = dict.fromkeys(
            (one.base.way, one.other.way)
            for one in self.matches
            if isinstance(one.base, Case)
            and isinstance(one.other, Case)
            and one.base.hosts != one.other.hosts
        )
        ignoring = f", ignoring {self.by}" if self.by else ""
        count = len(self.matches)
        how = "by key and hosts" if not renamed else "by key"
        said = [f"{count} {'case' if count == 1 else 'cases'} matched {how}{ignoring}"]
        said += [f"{own} in {base.name} is compared with {theirs} in {other.name}" for own, theirs in renamed]
        return tuple(said)


def _without(cases: list[Case], gone: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case not in gone]


def _unlike(
    left: Sequence[LeftOver], names: tuple[str, str], by: str | None, *, free: bool
) -> tuple[Unlike, ...]:
    """Left-over cases that are one another's only partner but for one parameter of the load."""
    found: list[Unlike] = []
    taken: set[int] = set()
    for what in _LOAD:
        groups: dict[tuple[Any, ...], tuple[list[Case], list[Case]]] = {}
        for one in left:
            if id(one.case) in taken:
                continue
            plain = [item for item in identity(one.case, by)[:-1] if item[0] != PARAMETERS[what]]
            key = (*plain, identity(one.case, by)[-1], () if free else one.case.ways)
            groups.setdefault(key, ([], []))[names.index(one.side)].append(one.case)
        for bases, others in groups.values():
            if len(bases) == len(others) == 1:
                taken |= {id(bases[0]), id(others[0])}
                values = (_shown(bases[0], what), _shown(others[0], what))
                words = (
                    f"{what} {values[0]} in {names[0]}, {values[1]} in {names[1]}; --by {what} compares them"
                )
                found.append(Unlike(Match(bases[0], others[0]), words))
    return (*found, *_other_users([one for one in left if id(one.case) not in taken], names, by, free=free))


def _other_users(
    left: Sequence[LeftOver], names: tuple[str, str], by: str | None, *, free: bool
) -> Iterator[Unlike]:
    """Left-over cases of users that are one another's only partner but for what their users do."""
    groups: dict[tuple[Any, ...], tuple[list[Case], list[Case]]] = {}
    for one in left:
        if one.case.of_users:
            alike = identity(replace(one.case, users=()), by)
            key = (alike, () if free else one.case.ways)
            groups.setdefault(key, ([], []))[names.index(one.side)].append(one.case)
    for bases, others in groups.values():
        if len(bases) == len(others) == 1:
            yield Unlike(Match(bases[0], others[0]), _users_words(bases[0], others[0], names))


def _users_words(base: Case, other: Case, names: tuple[str, str]) -> str:
    """``what users do differs: think 0s in A, 2s in B``; of many keys how many more."""
    asked = tuple(zip(names, (dict(base.users), dict(other.users)), strict=True))
    said = []
    for key in sorted({key for _, own in asked for key in own}):
        if len({own.get(key) for _, own in asked}) > 1:
            values = ", ".join(f"{own.get(key, 'not set')} in {name}" for name, own in asked)
            said.append(f"{key} {values}")
    return f"what users do differs: {first_of(said, _KEYS)}"


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
    why = "it ran at once with the other pairs of its group, so that the two are no runs apart"
    left = [LeftOver(name(case), case, why) for case in shared]
    for group in groups.values():
        at_base = group.get(chosen, [])
        for level, cases in group.items():
            if level == chosen:
                continue
            if len(at_base) == len(cases) == 1:
                matches.append(Match(at_base[0], cases[0], chosen, level))
            else:
                why = f"no such case at {by} {chosen}" if not at_base else f"several such cases at one {by}"
                left += [LeftOver(level, case, why) for case in cases]
        if len(group) == 1 and at_base:
            left += [LeftOver(chosen, case, f"no other {by}") for case in at_base]
    order = [chosen, *(level for level in levels_of(side, by) if level != chosen)]
    noun = "comparison" if len(matches) == 1 else "comparisons"
    words = f"{len(matches)} {noun} of {by} with {chosen}, of cases that are the same otherwise"
    return Matching(tuple(matches), tuple(left), (), (words,), tuple(order))


def _level_name(side: Side, by: str) -> Texts:
    """What the level of a case is called."""

    def kernel(case: Case) -> str:
        found = [side.fact(host, "kernel", "release") for host in case.hosts]
        known = dict.fromkeys(str(one) if one else "not on record" for one in found)
        return " → ".join(known)

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
