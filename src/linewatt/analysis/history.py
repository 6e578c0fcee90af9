# SPDX-License-Identifier: Apache-2.0
"""A case over many results: its means in time order, and where they changed. Pure.

Candidates are change points of the logarithms of results' means (PELT: R. Killick, P. Fearnhead, I. Eckley,
J. American Statistical Association 107, 2012, 1590–1598). A result weighs as its mean is certain: by the
spread of its runs over their number, and by how much results differ from one to the next. Each candidate is
then judged by the rules of a comparison, and all that is left of the series together. No segment has fewer
than two results. A soak is a result of one run: how results differ is then all that is known of their spread.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from linewatt.analysis.contrasts import ALPHA, Contrast
from linewatt.analysis.differences import Difference, differences_of_hosts
from linewatt.analysis.matching import Side
from linewatt.analysis.responses import Response, responses
from linewatt.analysis.soak_job import Job, host_pairs
from linewatt.analysis.stats import Estimate, estimate
from linewatt.analysis.verdicts import COMPARISON, Verdict, verdicts
from linewatt.model import Case, Trial

FEWEST_ON_A_SIDE = 2
FEWEST_RESULTS = 2 * FEWEST_ON_A_SIDE
PENALTY = 5.0
"""times the logarithm of the number of results: what a change point must explain, in variances of a mean"""
_NORMAL_MAD = 1.4826


@dataclass(frozen=True, slots=True)
class SoakRun:
    """A soak that ran to its end, and its value of the response that is followed, SI, above 0."""

    side: Side
    job: Job
    value: float


@dataclass(frozen=True, slots=True)
class Point:
    """A case or a soak's job in one result: ``values`` on the scale they are compared on, ``mean`` as people
    read it, SI."""

    side: Side
    case: Case | Job
    values: tuple[float, ...]
    mean: Estimate

    @property
    def level(self) -> float:
        """Mean of the values."""
        return statistics.fmean(self.values)


@dataclass(frozen=True, slots=True)
class Change:
    """What changed between segments: ``at`` is the first result after it, by its place among the points.

    ``environment`` is what differs between the last result before and the first after.
    """

    at: int
    verdict: Verdict
    environment: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A case or job (``case`` is that of the newest result) over results; ``words`` say how it stands."""

    case: Case | Job
    points: tuple[Point, ...]
    changes: tuple[Change, ...]
    words: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    at: int
    contrast: Contrast


def courses(
    sides: Sequence[Side],
    response: Response,
    wanted: Callable[[Case], bool] = lambda _: True,
    matters: float | None = None,
    soaks: Sequence[SoakRun] = (),
) -> tuple[Course, ...]:
    """The course of each case and host pair over ``sides``, and of each job and server over ``soaks``.

    Both are in time order. All courses are judged together.
    """
    series: dict[tuple[Any, ...], list[Point]] = {}
    for side in sides:
        for case, trials in _by_case(side.trials).items():
            if wanted(case):
                point = _point(side, case, trials, response)
                if point is not None:
                    series.setdefault((case.key, case.hosts), []).append(point)
    for run in soaks:
        series.setdefault((run.job.key, run.job.under_test), []).append(_soak_point(run))
    candidates = [_candidates(points) for points in series.values()]
    judged = iter(
        verdicts(response, [one.contrast for own in candidates for one in own], matters, COMPARISON)
    )
    found = []
    for points, own in zip(series.values(), candidates, strict=True):
        told = [(one, next(judged)) for one in own]
        changes = tuple(_change(points, one, verdict) for one, verdict in told if _counts(verdict))
        found.append(Course(points[-1].case, tuple(points), changes, _words(points, changes)))
    return tuple(found)


def _counts(verdict: Verdict) -> bool:
    return verdict.kind in ("better", "worse")


def _by_case(trials: Iterable[Trial]) -> dict[Case, list[Trial]]:
    found: dict[Case, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.case, []).append(trial)
    return found


def _point(side: Side, case: Case, trials: Sequence[Trial], response: Response) -> Point | None:
    own = next((each for each in responses(trials, sender=True) if each.response == response), None)
    values = tuple(value for value in (own.values if own else ()) if value is not None)
    mean = estimate(math.exp(value) if response.relative else value for value in values)
    return None if mean is None else Point(side, case, values, mean)


def _soak_point(run: SoakRun) -> Point:
    return Point(run.side, run.job, (math.log(run.value),), Estimate(run.value, None, 1))


def _candidates(points: Sequence[Point]) -> list[_Candidate]:
    """Change points that stand alone: the least certain that does not is dropped until all do."""
    ends = change_points(points)
    while ends:
        own = _contrasts(points, ends)
        weakest = max(own, key=lambda one: one.contrast.p)
        if weakest.contrast.p < ALPHA:
            return own
        ends = [end for end in ends if end != weakest.at]
    return []


def _contrasts(points: Sequence[Point], ends: Sequence[int]) -> list[_Candidate]:
    """Each segment against the one before, by how results spread about the means of their segments.

    The result is the unit: its runs share a day. Their spread is the least that is believed.
    """
    edges = [0, *ends, len(points)]
    segments = [[point.level for point in points[start:end]] for start, end in pairwise(edges)]
    df = len(points) - len(segments)
    squares = math.fsum((len(own) - 1) * statistics.variance(own) for own in segments)
    variance = max(squares / df, statistics.fmean(_of_runs(points)))
    found = []
    for (before, after), at in zip(pairwise(segments), ends, strict=True):
        gap = statistics.fmean(after) - statistics.fmean(before)
        se = math.sqrt(variance * (1 / len(before) + 1 / len(after)))
        found.append(_Candidate(at, Contrast(gap, se, df)))
    return found


def change_points(points: Sequence[Point]) -> list[int]:
    """Where segments begin after the first, as places among ``points``."""
    if len(points) < FEWEST_RESULTS:
        return []
    variances = _variances(points)
    if max(variances) == 0:  # nothing varies but the level itself
        variances = [1e-12] * len(points)
    floor = max(variances) * 1e-6
    weights = [1 / max(variance, floor) for variance in variances]
    ends = _pelt([point.level for point in points], weights, PENALTY * math.log(len(points)))
    return ends[:-1]


def _variances(points: Sequence[Point]) -> list[float]:
    """Of each result's mean: of its runs, and what differences from one result to the next show beyond.

    The differences' median stands for them, so that a few steps do not hide themselves.
    """
    of_runs = _of_runs(points)
    steps = [abs(after.level - before.level) for before, after in pairwise(points)]
    between = (_NORMAL_MAD * statistics.median(steps)) ** 2 / 2 - statistics.fmean(of_runs)
    return [own + max(0.0, between) for own in of_runs]


def _of_runs(points: Sequence[Point]) -> list[float]:
    """Variance of each result's mean by the spread of runs, which all results share."""
    spreads = [statistics.variance(point.values) for point in points if len(point.values) > 1]
    within = statistics.fmean(spreads) if spreads else 0.0
    return [within / len(point.values) for point in points]


def _pelt(levels: Sequence[float], weights: Sequence[float], penalty: float) -> list[int]:
    """Ends of the segments with the least weighted squares and penalties."""
    import numpy as np
    import ruptures
    from ruptures.base import BaseCost

    class Weighted(BaseCost):  # type: ignore[misc]
        """Squares about the weighted mean."""

        model = "weighted"
        min_size = FEWEST_ON_A_SIDE

        def fit(self, signal: Any) -> Weighted:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            own, weight = self.signal[start:end, 0], self.signal[start:end, 1]
            mean = np.average(own, weights=weight)
            return float((weight * (own - mean) ** 2).sum())

    # about the first level, so that squares keep their digits
    signal = np.column_stack([np.array(levels) - levels[0], np.array(weights)])
    search = ruptures.Pelt(custom_cost=Weighted(), min_size=FEWEST_ON_A_SIDE, jump=1)
    return [int(end) for end in search.fit(signal).predict(pen=penalty)]


def _change(points: Sequence[Point], one: _Candidate, verdict: Verdict) -> Change:
    before, after = points[one.at - 1], points[one.at]
    environment = differences_of_hosts(before.side, after.side, _pairs(before.case, after.case))
    return Change(one.at, verdict, environment)


def _pairs(before: Case | Job, after: Case | Job) -> tuple[tuple[str, str], ...]:
    if isinstance(before, Job) and isinstance(after, Job):
        return host_pairs(before, after)
    return tuple(dict.fromkeys(zip(before.hosts, after.hosts, strict=True)))


def _words(points: Sequence[Point], changes: Sequence[Change]) -> str:
    if len(points) < FEWEST_RESULTS:
        return f"not enough results: {len(points)}, and a change needs {FEWEST_ON_A_SIDE} before and after it"
    if not changes:
        return f"no change found over {len(points)} results"
    last = changes[-1]
    count = len(points) - last.at
    return f"{last.verdict.words} since {points[last.at].side.id} ({count} results)"
