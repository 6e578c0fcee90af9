# SPDX-License-Identifier: Apache-2.0
"""Two sides of a comparison, case by case and response by response, with a verdict on each. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.cases.summary import FlagCount, count_flags
from linewatt.analysis.comparison.case_runs import CaseRuns, Measured
from linewatt.analysis.comparison.comparable import Ends, obstacles
from linewatt.analysis.comparison.confounders import Beside, besides, measured_first
from linewatt.analysis.comparison.differences import Difference, differences_of_sides
from linewatt.analysis.comparison.matching import LeftOver, Match, Matching
from linewatt.analysis.comparison.rows import (
    METRICS_OF_ROWS,
    OF_CASES,
    Draft,
    Options,
    Row,
    are_too_few,
    in_order,
    judged,
    measure,
)
from linewatt.analysis.comparison.side import Obstacle, Side
from linewatt.analysis.comparison.single_runs import measured_by_response, run_remarks, task_differences
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.analysis.statistics.contrasts import TAKE_MORE
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


def compare_sides(base: Side, other_side: Side, matching: Matching, options: Options) -> Comparison:
    """Everything that can be said of two sides whose cases were matched.

    Levels of one result have the same ``base`` and ``other_side``.
    """
    drafts: list[Draft] = []
    pairs: list[Pair] = []
    for match in matching.matches:
        if not (isinstance(match.base, Case) and isinstance(match.other, Case)):
            pair_drafts, pair = _of_tasks(match, (base, other_side), options)
        else:
            ends = Ends(
                replace(base, name=match.base_level or base.name),
                replace(other_side, name=match.level or other_side.name),
                base.cases[match.base],
                other_side.cases[match.other],
                options.by,
                options.allowed,
                matching.hosts,
            )
            pair_drafts, pair = _of_cases(match, ends, options)
        drafts += pair_drafts
        pairs.append(pair)
    for unlike in matching.unlike:
        drafts.append(Draft(unlike.match, THROUGHPUT, refusal=unlike.what))
        pairs.append(Pair(unlike.match, (), (), (unlike.what,), ()))
    measure(drafts)
    rows, overall = judged(drafts, options)
    return Comparison(
        base=base,
        other=other_side,
        options=options,
        pairs=tuple(pairs),
        rows=rows,
        overall=overall,
        left_over=matching.left_over,
        differences=differences_of_sides(base, other_side, matching.matches, options.by, matching.hosts)
        if base.single_run is None
        else task_differences(base, other_side, matching.matches),
        words=matching.words,
        levels=matching.levels,
        hosts=matching.hosts,
    )


def _of_cases(match: Match, ends: Ends, options: Options) -> tuple[list[Draft], Pair]:
    values = [_by_response(runs) for runs in (ends.own, ends.theirs)]
    names, barred, extra_differences = (ends.base.name, ends.other.name), obstacles(ends), besides(ends)
    drafts = [
        _draft(match, names, response, values, barred, extra_differences)
        for response in _wanted(options, OF_CASES, values)
    ]
    for draft in drafts:
        draft.measured_first = measured_first(ends)
    remarks = (*_remarks(ends), *(difference.words for difference in extra_differences))
    return drafts, Pair(match, ends.own.flags, ends.theirs.flags, _refusals(drafts), remarks)


_NAMED = {response.name: response for response in OF_CASES}


def _by_response(runs: CaseRuns) -> dict[Response, Measured]:
    return {_NAMED[name]: measured for name, measured in runs.measured.items()}


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


def _wanted(options: Options, responses: Collection[Response], values: Both) -> list[Response]:
    """The responses that either side has; the first where neither has any, so that this is said."""
    chosen = [response for response in in_order(responses) if response.group in options.metrics]
    return [
        response
        for response in chosen
        if any(response in side_values and side_values[response].values for side_values in values)
    ] or chosen[:1]


def _draft(
    match: Match,
    names: tuple[str, str],
    response: Response,
    values: Both,
    barred: Sequence[Obstacle],
    extra_differences: Sequence[Beside] = (),
) -> Draft:
    base_measured, other_measured = (side_values.get(response) for side_values in values)
    draft = Draft(
        match,
        response,
        names,
        base_measured.values if base_measured else (),
        other_measured.values if other_measured else (),
    )
    for name, measured in zip(names, (base_measured, other_measured), strict=True):
        if measured is not None and measured.reason and not measured.values:
            draft.refusal = f"no value in {name}: {measured.reason}"
    if response.group == "power":
        draft.refusal = watts_differ(names, base_measured, other_measured) or draft.refusal
        either = base_measured or other_measured
        if either is not None:
            draft.scope, draft.provenance = either.scope, either.provenance
    reasons = [obstacle.words for obstacle in barred if obstacle.bars(response.name)]
    if reasons:
        draft.refusal = "; ".join(reasons)
    draft.besides = [difference for difference in extra_differences if difference.concerns(response.name)]
    return draft


def watts_differ(
    names: tuple[str, str], base_measured: Measured | None, other_measured: Measured | None
) -> str | None:
    """Watts of two scopes, or of which one was made up, are not compared, whatever is allowed."""
    if base_measured is None or other_measured is None:
        return f"no watts in {names[0] if base_measured is None else names[1]}"
    reasons = []
    if base_measured.scope != other_measured.scope:
        base_scope, other_scope = (
            SCOPE_WORDS.get(side_measured.scope or "", side_measured.scope)
            for side_measured in (base_measured, other_measured)
        )
        reasons.append(f"watts of {base_scope} in {names[0]}, of {other_scope} in {names[1]}")
    if base_measured.provenance != other_measured.provenance:
        reasons.append(
            f"watts {base_measured.provenance} in {names[0]}, {other_measured.provenance} in {names[1]}"
        )
    return "; ".join(reasons) or None


def _refusals(drafts: Sequence[Draft]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(draft.refusal for draft in drafts if draft.refusal))


def _remarks(ends: Ends) -> list[str]:
    remarks = []
    for side, runs in ((ends.base, ends.own), (ends.other, ends.theirs)):
        if runs.failed:
            remarks.append(f"{runs.failed} of {runs.trials} trials failed in {side.name}")
    base_bps, other_bps = ends.own.target_bps, ends.theirs.target_bps
    if base_bps and other_bps and abs(other_bps / base_bps - 1) > _TARGET_TOLERANCE:
        remarks.append(f"the level asks for {other_bps / base_bps:.2f} times as much in {ends.other.name}")
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


FAIL_ON = {responses[0].worse.replace(" ", "-"): group for group, responses in METRICS_OF_ROWS.items()}
"""what ``--fail-on`` may name: a change for the worse of any response of a group"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a comparison means for whoever asked for a check: an exit code, and why in words."""

    exit_code: Literal[0, 3, 4]
    words: str


def responses_asked_for(fail_on: Sequence[str]) -> frozenset[str]:
    """Groups of the responses whose change for the worse ``fail_on`` names."""
    return frozenset(FAIL_ON[name] for name in fail_on)


def exit_finding(comparison: Comparison, fail_on: Sequence[str]) -> Finding:
    """3: a change for the worse of a response that ``fail_on`` names. 4: none, and not every verdict on
    these is there. 0: none, and all are there; or nothing was asked for.
    """
    if not fail_on:
        return Finding(0, "")
    groups = responses_asked_for(fail_on)
    matching_rows = [row for row in (*comparison.rows, *comparison.overall) if row.response.group in groups]
    worse = sum(row.outcome == "worse" for row in matching_rows)
    listed = " or ".join(fail_on)
    if worse:
        return Finding(3, f"{worse} of {len(matching_rows)} comparisons: {listed}")
    open_rows = [row for row in matching_rows if row.outcome in ("undecided", "refused")]
    if open_rows:
        why = ", ".join(dict.fromkeys(row.verdict.brief for row in open_rows))
        undecided = f"no verdict on {listed} in {len(open_rows)} of {len(matching_rows)} comparisons"
        more_runs = f"; {TAKE_MORE}" if any(map(_lacks_runs, open_rows)) else ""
        return Finding(4, f"{undecided}: {why}{more_runs}")
    if not matching_rows:
        return Finding(4, f"nothing could be compared for {listed}")
    return Finding(0, f"no case is {listed}")


def _lacks_runs(row: Row) -> bool:
    """Whether both cases have runs, but too few for any verdict."""
    if row.outcome == "refused" or row.pairs > 1 or row.base is None or row.other is None:
        return False
    return are_too_few(row.base.n, row.other.n)
