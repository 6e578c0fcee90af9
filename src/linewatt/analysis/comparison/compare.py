# SPDX-License-Identifier: Apache-2.0
"""Two sides of a comparison, case by case and response by response, with a verdict on each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.cases.summary import FlagCount, count_flags
from linewatt.analysis.comparison.besides import Beside, besides, measured_first
from linewatt.analysis.comparison.case_runs import CaseRuns, Measured
from linewatt.analysis.comparison.comparable import Ends, obstacles
from linewatt.analysis.comparison.differences import Difference, differences
from linewatt.analysis.comparison.matching import LeftOver, Match, Matching
from linewatt.analysis.comparison.obstacle import Obstacle
from linewatt.analysis.comparison.rows import (
    METRICS,
    OF_CASES,
    Draft,
    Options,
    Row,
    in_order,
    judged,
    measure,
)
from linewatt.analysis.comparison.side import Side
from linewatt.analysis.comparison.single_runs import measured_by_response, run_remarks, task_differences
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import Case

_TARGET_TOLERANCE = 0.02


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
    hosts: tuple[str, str] | None = None
    """the two of one result that are compared"""

    def of(self, response: Response) -> tuple[Row, ...]:
        """The rows of a response."""
        return tuple(row for row in self.rows if row.response == response)

    @property
    def responses(self) -> tuple[Response, ...]:
        return tuple(dict.fromkeys(row.response for row in self.rows))


def compare(base: Side, other: Side, matching: Matching, options: Options) -> Comparison:
    """Everything that can be said of two sides whose cases were matched.

    Levels of one result have the same ``base`` and ``other``.
    """
    drafts: list[Draft] = []
    pairs: list[Pair] = []
    for match in matching.matches:
        if not (isinstance(match.base, Case) and isinstance(match.other, Case)):
            found, pair = _of_tasks(match, (base, other), options)
        else:
            ends = Ends(
                replace(base, name=match.base_level or base.name),
                replace(other, name=match.level or other.name),
                base.cases[match.base],
                other.cases[match.other],
                options.by,
                options.allowed,
                matching.hosts,
            )
            found, pair = _of_cases(match, ends, options)
        drafts += found
        pairs.append(pair)
    for one in matching.unlike:
        drafts.append(Draft(one.match, THROUGHPUT, refusal=one.what))
        pairs.append(Pair(one.match, (), (), (one.what,), ()))
    measure(drafts)
    rows, overall = judged(drafts, options)
    return Comparison(
        base=base,
        other=other,
        options=options,
        pairs=tuple(pairs),
        rows=rows,
        overall=overall,
        left_over=matching.left_over,
        differences=differences(base, other, matching.matches, options.by, matching.hosts)
        if base.single_run is None
        else task_differences(base, other, matching.matches),
        words=matching.words,
        levels=matching.levels,
        hosts=matching.hosts,
    )


def _of_cases(match: Match, ends: Ends, options: Options) -> tuple[list[Draft], Pair]:
    values = [_by_response(runs) for runs in (ends.own, ends.theirs)]
    names, barred, beside = (ends.base.name, ends.other.name), obstacles(ends), besides(ends)
    drafts = [_draft(match, names, one, values, barred, beside) for one in _wanted(options, OF_CASES, values)]
    for draft in drafts:
        draft.measured_first = measured_first(ends)
    remarks = (*_remarks(ends), *(one.words for one in beside))
    return drafts, Pair(match, ends.own.flags, ends.theirs.flags, _refusals(drafts), remarks)


_NAMED = {one.name: one for one in OF_CASES}


def _by_response(runs: CaseRuns) -> dict[Response, Measured]:
    return {_NAMED[name]: one for name, one in runs.measured.items()}


def _of_tasks(match: Match, sides: tuple[Side, Side], options: Options) -> tuple[list[Draft], Pair]:
    """Two tasks of a kind, with a run a result."""
    kind = sides[0].single_runs[0].kind
    values = [measured_by_response(side) for side in sides]
    every = kind.obstacles(sides)
    barred = [obstacle for obstacle in every if obstacle.code not in options.allowed]
    names = sides[0].name, sides[1].name
    drafts = [
        _draft(match, names, response, values, barred)
        for response in _wanted(options, kind.responses, values)
    ]
    flags, other_flags = (count_flags(side.single_runs) for side in sides)
    remarks = run_remarks(sides, [obstacle for obstacle in every if obstacle not in barred])
    return drafts, Pair(match, flags, other_flags, _refusals(drafts), remarks)


Both = Sequence[Mapping[Response, Measured]]
"""what either side has"""


def _wanted(options: Options, known: Collection[Response], values: Both) -> list[Response]:
    """The responses that either side has; the first where neither has any, so that this is said."""
    wanted = [response for response in in_order(known) if response.group in options.metrics]
    return [one for one in wanted if any(one in own and own[one].values for own in values)] or wanted[:1]


def _draft(
    match: Match,
    names: tuple[str, str],
    response: Response,
    values: Both,
    barred: Sequence[Obstacle],
    beside: Sequence[Beside] = (),
) -> Draft:
    own, theirs = (each.get(response) for each in values)
    draft = Draft(match, response, names, own.values if own else (), theirs.values if theirs else ())
    for name, one in zip(names, (own, theirs), strict=True):
        if one is not None and one.reason and not one.values:
            draft.refusal = f"no value in {name}: {one.reason}"
    if response.group == "power":
        draft.refusal = watts_differ(names, own, theirs) or draft.refusal
        draft.scope = own.scope if own else theirs.scope if theirs else None
        draft.provenance = own.provenance if own else theirs.provenance if theirs else None
    reasons = [one.words for one in barred if one.bars(response.name)]
    if reasons:
        draft.refusal = "; ".join(reasons)
    draft.besides = [one for one in beside if one.concerns(response.name)]
    return draft


def watts_differ(names: tuple[str, str], own: Measured | None, theirs: Measured | None) -> str | None:
    """Watts of two scopes, or of which one was made up, are not compared, whatever is allowed."""
    if own is None or theirs is None:
        return f"no watts in {names[0] if own is None else names[1]}"
    reasons = []
    if own.scope != theirs.scope:
        one, two = (SCOPE_WORDS.get(each.scope or "", each.scope) for each in (own, theirs))
        reasons.append(f"watts of {one} in {names[0]}, of {two} in {names[1]}")
    if own.provenance != theirs.provenance:
        reasons.append(f"watts {own.provenance} in {names[0]}, {theirs.provenance} in {names[1]}")
    return "; ".join(reasons) or None


def _refusals(drafts: Sequence[Draft]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(draft.refusal for draft in drafts if draft.refusal))


def _remarks(ends: Ends) -> list[str]:
    remarks = []
    for side, runs in ((ends.base, ends.own), (ends.other, ends.theirs)):
        if runs.failed:
            remarks.append(f"{runs.failed} of {runs.trials} trials failed in {side.name}")
    one, two = ends.own.target_bps, ends.theirs.target_bps
    if one and two and abs(two / one - 1) > _TARGET_TOLERANCE:
        remarks.append(f"the level asks for {two / one:.2f} times as much in {ends.other.name}")
    return remarks + _limits(ends)


def _limits(ends: Ends) -> list[str]:
    """Where other things limit the two, or the same line both: then hosts are not what is compared."""
    if ends.own.limit is None or ends.theirs.limit is None:
        return []
    (kind, what), (other_kind, other_what) = ends.own.limit, ends.theirs.limit
    if kind != other_kind:
        return [f"limited by {what} in {ends.base.name}, by {other_what} in {ends.other.name}"]
    if kind in ("line-rate", "shaper"):
        return [f"both are limited by {what}: more that a host could do does not show"]
    return []


FAIL_ON = {responses[0].worse.replace(" ", "-"): group for group, responses in METRICS.items()}
"""what ``--fail-on`` may name: a change for the worse of any response of a group"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a comparison means for whoever asked for a check: an exit code, and why in words."""

    exit_code: Literal[0, 3, 4]
    words: str


def asked_for(fail_on: Sequence[str]) -> frozenset[str]:
    """Groups of the responses whose change for the worse ``fail_on`` names."""
    return frozenset(FAIL_ON[name] for name in fail_on)


def finding(found: Comparison, fail_on: Sequence[str]) -> Finding:
    """3: a change for the worse of a response that ``fail_on`` names. 4: none, and not every verdict on
    these is there. 0: none, and all are there; or nothing was asked for.
    """
    if not fail_on:
        return Finding(0, "")
    groups = asked_for(fail_on)
    asked = [row for row in (*found.rows, *found.overall) if row.response.group in groups]
    worse = sum(row.outcome == "worse" for row in asked)
    listed = " or ".join(fail_on)
    if worse:
        return Finding(3, f"{worse} of {len(asked)} comparisons: {listed}")
    open_rows = [row for row in asked if row.outcome in ("undecided", "refused")]
    if open_rows:
        return Finding(4, f"{len(open_rows)} of {len(asked)} comparisons have no verdict on {listed}")
    if not asked:
        return Finding(4, f"nothing could be compared for {listed}")
    return Finding(0, f"no case is {listed}")
