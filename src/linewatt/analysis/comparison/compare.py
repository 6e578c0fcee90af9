# SPDX-License-Identifier: Apache-2.0
"""Two sides of a comparison, case by case and response by response, with a verdict on each. Pure.

Ratios by Welch's t on logarithms with a 95 % CI; what counts must be beyond chance among all cases (Holm, a
family for each response), must not be contradicted by shuffled runs, and must be beyond the stated factor.
The run is the unit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from linewatt.analysis.cases.responses import (
    OF_CASE,
    PER_WATT,
    THROUGHPUT,
    Values,
    responses,
)
from linewatt.analysis.cases.summary import FlagCount, count_flags
from linewatt.analysis.comparison.besides import Beside, besides, with_besides
from linewatt.analysis.comparison.comparable import Ends, obstacles
from linewatt.analysis.comparison.differences import Difference, differences
from linewatt.analysis.comparison.matching import LeftOver, Match, Matching, Side
from linewatt.analysis.comparison.verdicts import COMPARISON, Kind, Verdict, verdicts
from linewatt.analysis.limits import verdict
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.analysis.statistics.contrasts import ALPHA, Contrast, over_strata, welch
from linewatt.analysis.statistics.modes import modes
from linewatt.analysis.statistics.permutation import permutation_ps, smallest_p, strata_p
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.model import Case, Provenance, Trial

METRICS: dict[str, list[Response]] = {}
_LAST = ("power", "latency")
for _response in sorted(
    (*OF_CASE.values(), *PER_WATT.values()),
    key=lambda one: (one.group in _LAST and 1 + _LAST.index(one.group), not one.relative),
):
    METRICS.setdefault(_response.group, []).append(_response)
"""what ``--metric`` may name"""
SEED = 20_130_717
"""of the deals of shuffled runs: the same runs give the same p at any time"""
_TARGET_TOLERANCE = 0.02

Outcome = Kind | Literal["refused"]


@dataclass(frozen=True, slots=True)
class Options:
    """``matters`` is the factor a ratio must be beyond (``None``: the usual), ``allowed`` what may differ."""

    by: str | None = None
    matters: float | None = None
    metrics: Collection[str] = tuple(METRICS)
    allowed: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One response of two matched cases.

    ``base`` and ``other`` are of the runs that have a value, SI. ``scope`` and ``provenance`` are those of
    watts in it, the less certain of both sides. Refused rows have no ``change``.
    """

    match: Match
    response: Response
    base: Estimate | None
    other: Estimate | None
    outcome: Outcome
    verdict: Verdict
    scope: str | None = None
    provenance: Provenance | None = None
    pairs: int = 1
    """of hosts that it is over; the cases of ``match`` are then those of the first"""
    besides: tuple[str, ...] = ()  # what else differs, in short


@dataclass(frozen=True, slots=True)
class Pair:
    """Two matched cases: flags of either side, what was refused and what is to be known."""

    match: Match
    base_flags: tuple[FlagCount, ...]
    other_flags: tuple[FlagCount, ...]
    refused: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of it: rows by response in their order, then by case as matched."""

    base: Side
    other: Side
    options: Options
    pairs: tuple[Pair, ...]
    rows: tuple[Row, ...]
    left_over: tuple[LeftOver, ...]
    differences: tuple[Difference, ...]
    words: tuple[str, ...]
    levels: tuple[str, ...] = ()
    overall: tuple[Row, ...] = ()
    """over all pairs of hosts, where cases differ in nothing else"""

    def of(self, response: Response) -> tuple[Row, ...]:
        """The rows of a response."""
        return tuple(row for row in self.rows if row.response == response)

    @property
    def responses(self) -> tuple[Response, ...]:
        return tuple(dict.fromkeys(row.response for row in self.rows))


@dataclass
class _Draft:
    """A row before its family is judged; ``refusal`` is why there is no verdict."""

    match: Match
    response: Response
    names: tuple[str, str] = ("A", "B")
    base: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    scope: str | None = None
    provenance: Provenance | None = None
    refusal: str | None = None
    contrast: Contrast | str = ""
    besides: Sequence[Beside] = ()


def compare(base: Side, other: Side, matching: Matching, options: Options) -> Comparison:
    """Everything that can be said of two sides whose cases were matched.

    Levels of one result have the same ``base`` and ``other``.
    """
    own, theirs = _by_case(base.trials), _by_case(other.trials)
    drafts: list[_Draft] = []
    pairs: list[Pair] = []
    for match in matching.matches:
        ends = Ends(
            match,
            replace(base, name=match.base_level or base.name),
            replace(other, name=match.level or other.name),
            _done(own.get(match.base, ())),
            _done(theirs.get(match.other, ())),
            options.by,
            options.allowed,
        )
        beside = besides(ends)
        found = _drafts(ends, options, beside)
        drafts += found
        pairs.append(_pair(ends, found, beside, own.get(match.base, ()), theirs.get(match.other, ())))
    for one in matching.unlike:
        drafts.append(_Draft(one.match, THROUGHPUT, refusal=one.what))
        pairs.append(Pair(one.match, (), (), (one.what,), ()))
    return Comparison(
        base=base,
        other=other,
        options=options,
        pairs=tuple(pairs),
        rows=_judged(drafts, options),
        overall=_overall(drafts, options),
        left_over=matching.left_over,
        differences=differences(base, other, matching.matches, options.by),
        words=matching.words,
        levels=matching.levels,
    )


def _by_case(trials: Iterable[Trial]) -> dict[Case, list[Trial]]:
    found: dict[Case, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.case, []).append(trial)
    return found


def _done(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.status == "done"]


def _drafts(ends: Ends, options: Options, beside: Sequence[Beside]) -> list[_Draft]:
    """The responses that either side has; throughput where neither has any, so that this is said."""
    own, theirs = (
        {values.response.name: values for values in responses(trials, sender=True)}
        for trials in (ends.base_trials, ends.other_trials)
    )
    wanted = [response for name in METRICS if name in options.metrics for response in METRICS[name]]
    there = [one for one in wanted if one.name in own or one.name in theirs]
    barred = obstacles(ends)
    found = []
    for response in there or wanted[:1]:
        draft = _draft(ends, response, own.get(response.name), theirs.get(response.name))
        reasons = [one.words for one in barred if one.bars(response.name)]
        if reasons:
            draft.refusal = "; ".join(reasons)
        draft.besides = [one for one in beside if one.concerns(response.name)]
        found.append(draft)
    return found


def _draft(ends: Ends, response: Response, own: Values | None, theirs: Values | None) -> _Draft:
    names = (ends.base.name, ends.other.name)
    draft = _Draft(ends.match, response, names, _known(own), _known(theirs))
    if response in METRICS["power"]:
        draft.refusal = _watts_differ(ends, own, theirs)
        draft.scope = own.scope if own else theirs.scope if theirs else None
        draft.provenance = own.provenance if own else theirs.provenance if theirs else None
    return draft


def _known(values: Values | None) -> list[float]:
    return [] if values is None else [value for value in values.values if value is not None]


def _watts_differ(ends: Ends, own: Values | None, theirs: Values | None) -> str | None:
    """Watts of two scopes, or of which one was made up, are not compared, whatever is allowed."""
    if own is None or theirs is None:
        return f"no watts in {ends.base.name if own is None else ends.other.name}"
    said = []
    if own.scope != theirs.scope:
        names = (SCOPE_WORDS.get(each.scope or "", each.scope) for each in (own, theirs))
        said.append("watts of {} in {}, of {} in {}".format(*_alternate(ends, *names)))
    if own.provenance != theirs.provenance:
        kinds = (each.provenance for each in (own, theirs))
        said.append("watts {} in {}, {} in {}".format(*_alternate(ends, *kinds)))
    return "; ".join(said) or None


def _alternate(ends: Ends, one: object, two: object) -> tuple[object, ...]:
    return one, ends.base.name, two, ends.other.name


def _pair(
    ends: Ends,
    drafts: Sequence[_Draft],
    beside: Sequence[Beside],
    own: Sequence[Trial],
    theirs: Sequence[Trial],
) -> Pair:
    refused = tuple(dict.fromkeys(draft.refusal for draft in drafts if draft.refusal))
    remarks = (*_remarks(ends, own, theirs), *(one.words for one in beside))
    return Pair(ends.match, count_flags(own), count_flags(theirs), refused, remarks)


def _remarks(ends: Ends, own: Sequence[Trial], theirs: Sequence[Trial]) -> list[str]:
    said = []
    for side, trials in ((ends.base, own), (ends.other, theirs)):
        failed = sum(trial.status == "failed" for trial in trials)
        if failed:
            said.append(f"{failed} of {len(trials)} trials failed in {side.name}")
    targets = [
        estimate(trial.target_bps for trial in trials) for trials in (ends.base_trials, ends.other_trials)
    ]
    one, two = (None if each is None else each.mean for each in targets)
    if one and two and abs(two / one - 1) > _TARGET_TOLERANCE:
        said.append(f"the level asks for {two / one:.2f} times as much in {ends.other.name}")
    return said + _limits(ends)


def _limits(ends: Ends) -> list[str]:
    """Where other things limit the two, or the same line both: then hosts are not what is compared."""
    one, two = verdict(ends.base_trials), verdict(ends.other_trials)
    if not (one.found and two.found):
        return []
    if one.kind != two.kind:
        return [f"limited by {one.what} in {ends.base.name}, by {two.what} in {ends.other.name}"]
    if one.kind in ("line-rate", "shaper"):
        return [f"both are limited by {one.what}: more that a host could do does not show"]
    return []


def _judged(drafts: Sequence[_Draft], options: Options) -> tuple[Row, ...]:
    """Each response is a family of its own: every case that has a verdict counts as looked at."""
    asked = [draft for draft in drafts if not draft.refusal]
    for draft in asked:
        draft.contrast = _contrast(draft)
    _shuffle([draft for draft in asked if isinstance(draft.contrast, Contrast) and not draft.contrast.doubt])
    rows: list[Row] = []
    said: dict[Match, str] = {}  # of throughput, which all that is made of it shares
    for response in (one for each in METRICS.values() for one in each):
        own = [draft for draft in drafts if draft.response == response]
        family = [draft for draft in own if not draft.refusal]
        matters = options.matters if response.relative else None
        found = iter(verdicts(response, [draft.contrast for draft in family], matters, COMPARISON))
        for draft in own:
            if draft.match not in said and response.relative:
                said[draft.match] = _modes_of(draft)
            verdict = None if draft.refusal else _with_modes(draft, next(found), said.get(draft.match, ""))
            if verdict is not None:
                verdict = replace(verdict, words=with_besides(verdict.words, draft.besides))
            rows.append(_row(draft, verdict))
    return tuple(rows)


def _overall(drafts: Sequence[_Draft], options: Options) -> tuple[Row, ...]:
    """A row for cases that differ in their hosts alone: the mean change over these pairs of hosts.

    Each response is a family of its own, as with single cases.
    """
    groups: dict[tuple[str, ...], list[_Draft]] = {}
    for draft in drafts:
        match = draft.match
        if draft.refusal is None and not isinstance(draft.contrast, str):
            key = draft.response.name, match.base.key, match.other.key, match.base_level, match.level
            groups.setdefault(key, []).append(draft)
    rows: list[Row] = []
    for response in (one for each in METRICS.values() for one in each):
        own = [group for key, group in groups.items() if key[0] == response.name and len(group) > 1]
        found = verdicts(
            response,
            [_over_pairs(group) for group in own],
            options.matters if response.relative else None,
            COMPARISON,
        )
        rows += [_overall_row(group, verdict) for group, verdict in zip(own, found, strict=True)]
    return tuple(rows)


def _over_pairs(group: Sequence[_Draft]) -> Contrast | str:
    strata = [(draft.base, draft.other) for draft in group]
    found = over_strata(strata)
    if isinstance(found, str) or found.doubt is not None:
        return found
    return replace(found, permutation_p=strata_p(strata, SEED))


def _overall_row(group: Sequence[_Draft], verdict: Verdict) -> Row:
    """Means are those of the pairs' means; they have no spread that says anything."""
    base, other = (_mean_of_means(group[0].response, runs) for runs in _sides(group))
    every = [one for draft in group for one in draft.besides]
    verdict = replace(verdict, words=with_besides(verdict.words, every))
    short = tuple(dict.fromkeys(one.short for one in every))
    return replace(_row(group[0], verdict), base=base, other=other, pairs=len(group), besides=short)


def _sides(group: Sequence[_Draft]) -> tuple[list[list[float]], list[list[float]]]:
    return [draft.base for draft in group], [draft.other for draft in group]


def _mean_of_means(response: Response, runs: Sequence[Sequence[float]]) -> Estimate | None:
    known = [one for values in runs if (one := _plain(response, values)) is not None]
    if not known:
        return None
    return Estimate(math.fsum(one.mean for one in known) / len(known), None, sum(one.n for one in known))


def _contrast(draft: _Draft) -> Contrast | str:
    found = welch(draft.base, draft.other)
    smallest = smallest_p(len(draft.base), len(draft.other))
    if isinstance(found, Contrast) and smallest > ALPHA:
        counts = f"{len(draft.base)} and {len(draft.other)} runs"
        doubt = f"{counts} when shuffled give no p below {smallest:.2f}; take 4 or more on each side"
        return replace(found, doubt=doubt)
    return found


def _shuffle(drafts: Sequence[_Draft]) -> None:
    ps = permutation_ps([(draft.base, draft.other) for draft in drafts], SEED)
    for draft, p in zip(drafts, ps, strict=True):
        if isinstance(draft.contrast, Contrast):
            draft.contrast = replace(draft.contrast, permutation_p=p)


def _modes_of(draft: _Draft) -> str:
    """Where the runs of either side fall into two modes, in words; empty where they do not."""
    said = []
    for name, logs in zip(draft.names, (draft.base, draft.other), strict=True):
        found = modes([math.exp(value) for value in logs])
        if found is not None:
            below = f"{100 * found.apart_ratio:.0f} % below the other {found.high.n}"
            said.append(f"two modes in {name} ({found.low.n} runs are {below})")
    return " and ".join(said)


def _with_modes(draft: _Draft, verdict: Verdict, said: str) -> Verdict:
    """A verdict that says where the runs of its case fall into two modes, whose mean no run has.

    It stands only if every run of one side is beyond every run of the other.
    """
    if not said or not draft.response.relative:
        return verdict
    sides = draft.base, draft.other
    apart = all(sides) and (max(draft.base) < min(draft.other) or max(draft.other) < min(draft.base))
    if apart and verdict.kind in ("better", "worse"):
        return replace(verdict, words=f"{verdict.words}; {said}")
    words = f"not told by means: {said}; of the means: {verdict.words}"
    return replace(verdict, kind="undecided", words=words)


def _row(draft: _Draft, verdict: Verdict | None) -> Row:
    outcome: Outcome = "refused" if verdict is None else verdict.kind
    return Row(
        match=draft.match,
        response=draft.response,
        base=_plain(draft.response, draft.base),
        other=_plain(draft.response, draft.other),
        outcome=outcome,
        verdict=verdict or Verdict("undecided", f"not comparable: {draft.refusal}"),
        scope=draft.scope,
        provenance=draft.provenance,
        besides=tuple(one.short for one in draft.besides),
    )


def _plain(response: Response, values: Sequence[float]) -> Estimate | None:
    """Mean and SD of the runs themselves, not of their logarithms."""
    return estimate(math.exp(value) if response.relative else value for value in values)
