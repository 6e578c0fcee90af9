# SPDX-License-Identifier: Apache-2.0
"""Matched responses become rows with a verdict each. Pure.

Ratios by Welch's t on logarithms with a 95 % CI; what counts must be beyond chance among all rows of the
comparison (Holm: every case, response and mean over pairs of hosts), must not be contradicted by shuffled
runs, and must be beyond the stated factor. The run is the unit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.analysis.cases.responses import OF_CASE, PER_WATT, THROUGHPUT
from linewatt.analysis.comparison.confounders import Beside, also_different
from linewatt.analysis.comparison.matching import Match
from linewatt.analysis.comparison.verdicts import (
    COMPARISON,
    TOO_WIDE,
    Kind,
    Verdict,
    runs_advice,
    verdicts_of_family,
)
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.statistics.contrasts import (
    ALPHA,
    MIN_RUNS,
    TAKE_MORE,
    Contrast,
    mean_beyond_drift,
    over_strata,
    welch,
)
from linewatt.analysis.statistics.modes import modes
from linewatt.analysis.statistics.permutation import permutation_ps, smallest_p, strata_p
from linewatt.analysis.statistics.stats import Estimate, estimate
from linewatt.missing import Missing
from linewatt.model import Case, Provenance

OF_CASES = (*OF_CASE.values(), *PER_WATT.values())
METRICS_OF_ROWS: dict[str, list[Response]] = {}
_LAST = ("power", "latency")
for _response in sorted(
    OF_CASES,
    key=lambda response: (response.group in _LAST and 1 + _LAST.index(response.group), not response.relative),
):
    METRICS_OF_ROWS.setdefault(_response.group, []).append(_response)
"""what ``--metric`` may name, with the responses of cases"""
_GROUPS = tuple(METRICS_OF_ROWS)
_POSITIONS = {response: at for at, response in enumerate(OF_CASES)}
SEED = 20_130_717
"""of the deals of shuffled runs: the same runs give the same p at any time"""

Outcome = Kind | Literal["refused"]


@dataclass(frozen=True, slots=True)
class Options:
    """``matters`` is the factor a ratio must be beyond (``None``: the usual), ``allowed`` what may differ."""

    by: str | None = None
    matters: float | None = None
    metrics: Collection[str] = tuple(METRICS_OF_ROWS)
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
    refusal: str | None = None
    """why the two are not comparable"""


NOT_COMPARED = Missing("not compared")


@dataclass
class Draft:
    """A row before its family is judged; ``refusal`` is why there is no verdict."""

    match: Match
    response: Response
    names: tuple[str, str] = ("A", "B")
    base: Sequence[float] = ()
    other: Sequence[float] = ()
    scope: str | None = None
    provenance: Provenance | None = None
    refusal: str | None = None
    contrast: Contrast | Missing = NOT_COMPARED
    besides: Sequence[Beside] = ()
    measured_first: Literal["base", "other"] | None = None
    """the side whose runs all came before those of the other; ``None`` where they were interleaved"""


def measure(drafts: Sequence[Draft]) -> None:
    """Set the contrast of each draft that is not refused, its p of shuffled runs included."""
    comparable = [draft for draft in drafts if not draft.refusal]
    for draft in comparable:
        draft.contrast = _contrast(draft)
    _shuffle(
        [draft for draft in comparable if isinstance(draft.contrast, Contrast) and not draft.contrast.doubt]
    )


def judged(drafts: Sequence[Draft], options: Options) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows of measured drafts, and a row for cases that differ in their hosts alone: the mean change over
    these pairs of hosts.

    All rows are looked at together, so that chance is excluded among all of them. ``p_holm`` is among the
    cases of a response alone; of results that are one run each, among the figures of a metric.
    """
    comparable = [draft for draft in drafts if not draft.refusal]
    pools = [
        (response, group, _over_pairs(group))
        for response, family in _families(drafts)
        for group in _groups_of_pairs(family)
    ]
    return (
        tuple(_judged_rows(drafts, comparable, [contrast for _, _, contrast in pools], options)),
        tuple(_judged_pools(pools, [draft.contrast for draft in comparable], options)),
    )


def _judged_rows(
    drafts: Sequence[Draft],
    comparable: Sequence[Draft],
    pooled: Sequence[Contrast | Missing],
    options: Options,
) -> Iterator[Row]:
    mode_words: dict[Match, str] = {}  # of throughput, which all that is made of it shares
    for response, drafts_of_response in _families(drafts):
        family = [draft.contrast for draft in drafts_of_response if not draft.refusal]
        others = [draft.contrast for draft in comparable if draft.response != response]
        matters = options.matters if response.relative else None
        related_contrasts = _beside(response, comparable)
        verdict_of_family = iter(
            verdicts_of_family(response, family, matters, COMPARISON, related_contrasts, (*others, *pooled)),
        )
        for draft in drafts_of_response:
            if draft.match not in mode_words and response.relative:
                mode_words[draft.match] = _modes_of(draft)
            verdict = None
            if not draft.refusal:
                verdict = _with_advice(draft, next(verdict_of_family), matters)
                verdict = _with_modes(draft, verdict, mode_words.get(draft.match, ""))
                verdict = replace(verdict, details=verdict.details + also_different(draft.besides))
            yield _row(draft, verdict)


def _judged_pools(
    pools: Sequence[tuple[Response, Sequence[Draft], Contrast | Missing]],
    single: Sequence[Contrast | Missing],
    options: Options,
) -> Iterator[Row]:
    for response in dict.fromkeys(response for response, _, _ in pools):
        family = [(group, contrast) for of, group, contrast in pools if of == response]
        others = [contrast for of, _, contrast in pools if of != response]
        verdict_of_family = verdicts_of_family(
            response,
            [contrast for _, contrast in family],
            options.matters if response.relative else None,
            COMPARISON,
            elsewhere=(*others, *single),
        )
        for (group, _), verdict in zip(family, verdict_of_family, strict=True):
            yield _overall_row(group, verdict)


def _beside(response: Response, comparable: Sequence[Draft]) -> list[Contrast | Missing]:
    """What else of one run is of the family of a response: the other figures of its metric."""
    return [
        draft.contrast
        for draft in comparable
        if not isinstance(draft.match.base, Case)
        and draft.response.group == response.group
        and draft.response != response
    ]


def _families(drafts: Sequence[Draft]) -> list[tuple[Response, list[Draft]]]:
    """Drafts by response, in the order of responses."""
    drafts_by_response: dict[Response, list[Draft]] = {}
    for draft in drafts:
        drafts_by_response.setdefault(draft.response, []).append(draft)
    return [(response, drafts_by_response[response]) for response in in_order(drafts_by_response)]


def in_order(responses: Iterable[Response]) -> list[Response]:
    """Responses as they are shown: by their group, what compares by ratios first."""
    return sorted(
        (response for response in responses if response.group in METRICS_OF_ROWS),
        key=lambda response: (
            _GROUPS.index(response.group),
            not response.relative,
            _POSITIONS.get(response, len(_POSITIONS)),
        ),
    )


def _groups_of_pairs(family: Sequence[Draft]) -> list[list[Draft]]:
    """Drafts that differ in their hosts alone, where there are several."""
    groups: dict[tuple[str, ...], list[Draft]] = {}
    for draft in family:
        match = draft.match
        # pairs of a group share each run, so that they repeat nothing
        alone = not isinstance(match.base, Case) or match.base.flow_of is None
        if draft.refusal is None and not isinstance(draft.contrast, Missing) and alone:
            key = match.base.key, match.other.key, match.base_level, match.level
            groups.setdefault(key, []).append(draft)
    return [group for group in groups.values() if len(group) > 1]


def _over_pairs(group: Sequence[Draft]) -> Contrast | Missing:
    strata = [(draft.base, draft.other) for draft in group]
    pooled = over_strata(strata)
    if isinstance(pooled, Missing) or pooled.doubt is not None:
        return pooled
    first = {draft.measured_first for draft in group}
    return replace(
        pooled,
        permutation_p=strata_p(strata, SEED),
        beyond_drift=_beyond_drift(strata, first.pop() if len(first) == 1 else None),
    )


def _beyond_drift(
    strata: Sequence[tuple[Sequence[float], Sequence[float]]], first: Literal["base", "other"] | None
) -> Contrast | None:
    """Other − base without the trend of the runs, where one side was measured after the other."""
    if first is None:
        return None
    if first == "base":
        return mean_beyond_drift(strata)
    step = mean_beyond_drift([(other_values, base) for base, other_values in strata])
    return None if step is None else replace(step, value=-step.value)


def _overall_row(group: Sequence[Draft], verdict: Verdict) -> Row:
    """Means are those of the pairs' means; they have no spread that says anything."""
    sides = [draft.base for draft in group], [draft.other for draft in group]
    base_mean, other_mean = (_mean_of_means(group[0].response, runs) for runs in sides)
    differences = [difference for draft in group for difference in draft.besides]
    verdict = replace(verdict, details=verdict.details + also_different(differences))
    short = tuple(dict.fromkeys(difference.short for difference in differences))
    return replace(_row(group[0], verdict), base=base_mean, other=other_mean, pairs=len(group), besides=short)


def _mean_of_means(response: Response, runs: Sequence[Sequence[float]]) -> Estimate | None:
    pair_estimates = [
        pair_estimate for values in runs if (pair_estimate := _plain(response, values)) is not None
    ]
    if not pair_estimates:
        return None
    return Estimate(
        math.fsum(pair_estimate.mean for pair_estimate in pair_estimates) / len(pair_estimates),
        None,
        sum(pair_estimate.n for pair_estimate in pair_estimates),
    )


def are_too_few(base_runs: int, other_runs: int) -> bool:
    """Whether no difference, however large, would be told from chance by so many runs."""
    return min(base_runs, other_runs) < MIN_RUNS or smallest_p(base_runs, other_runs) > ALPHA


def _contrast(draft: Draft) -> Contrast | Missing:
    empty_sides = [
        name for name, runs in zip(draft.names, (draft.base, draft.other), strict=True) if not len(runs)
    ]
    if empty_sides:
        lack = "that worked" if draft.response == THROUGHPUT else "with a value"
        return Missing(f"{' and '.join(f'{name} has no trial {lack}' for name in empty_sides)}")
    contrast = welch(draft.base, draft.other)
    counts = f"{len(draft.base)} and {len(draft.other)}"
    if isinstance(contrast, Missing):
        return Missing(f"{counts}; {TAKE_MORE}")
    smallest = smallest_p(len(draft.base), len(draft.other))
    if smallest > ALPHA:
        doubt = f"{counts}, when shuffled, give no p below {smallest:.2f}; {TAKE_MORE}"
        return replace(contrast, doubt=doubt)
    drift = _beyond_drift([(draft.base, draft.other)], draft.measured_first)
    return replace(contrast, beyond_drift=drift)


def _shuffle(drafts: Sequence[Draft]) -> None:
    ps = permutation_ps([(draft.base, draft.other) for draft in drafts], SEED)
    for draft, p in zip(drafts, ps, strict=True):
        if isinstance(draft.contrast, Contrast):
            draft.contrast = replace(draft.contrast, permutation_p=p)


def _modes_of(draft: Draft) -> str:
    """Where the runs of either side fall into two modes, in words; empty where they do not."""
    phrases = []
    for name, logs in zip(draft.names, (draft.base, draft.other), strict=True):
        side_modes = modes([math.exp(value) for value in logs])
        if side_modes is not None:
            below = f"{100 * side_modes.apart_ratio:.0f} % below the other {side_modes.high.n}"
            phrases.append(f"two modes in {name} ({side_modes.low.n} trials are {below})")
    return " and ".join(phrases)


def _with_advice(draft: Draft, verdict: Verdict, matters: float | None) -> Verdict:
    """A verdict that says how many runs it takes, where the interval of those at hand is too wide."""
    contrast = draft.contrast
    if isinstance(contrast, Missing) or contrast.doubt is not None or verdict.brief != TOO_WIDE:
        return verdict
    runs = len(draft.base), len(draft.other)
    return replace(verdict, advice=runs_advice(draft.response, contrast, runs, matters))


def _with_modes(draft: Draft, verdict: Verdict, mode_words: str) -> Verdict:
    """A verdict that says where the runs of its case fall into two modes, whose mean no run has.

    It stands only if every run of one side is beyond every run of the other.
    """
    if not mode_words or not draft.response.relative:
        return verdict
    sides = draft.base, draft.other
    are_separate = all(sides) and (max(draft.base) < min(draft.other) or max(draft.other) < min(draft.base))
    if are_separate and verdict.kind in ("better", "worse"):
        return replace(verdict, details=f"{verdict.details}; {mode_words}")
    details = f": {mode_words}; of the means: {verdict.words}"
    return replace(verdict, kind="undecided", brief="not told by means", details=details, advice="")


def _row(draft: Draft, verdict: Verdict | None) -> Row:
    outcome: Outcome = "refused" if verdict is None else verdict.kind
    return Row(
        match=draft.match,
        response=draft.response,
        base=_plain(draft.response, draft.base),
        other=_plain(draft.response, draft.other),
        outcome=outcome,
        verdict=verdict or Verdict("undecided", "not comparable", f": {draft.refusal}"),
        scope=draft.scope,
        provenance=draft.provenance,
        besides=tuple(difference.short for difference in draft.besides),
        refusal=draft.refusal if verdict is None else None,
    )


def _plain(response: Response, values: Sequence[float]) -> Estimate | None:
    """Mean and SD of the runs themselves, not of their logarithms."""
    return estimate(math.exp(value) if response.relative else value for value in values)
