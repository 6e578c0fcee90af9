# SPDX-License-Identifier: Apache-2.0
"""Findings that weigh too little for a doubt: they change a mean by less than its interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from linewatt.analysis.statistics.stats import estimate
from linewatt.findings import LIGHT_RATIO, VISIBLE_CHANGE_RATIO, Figure, kind_of
from linewatt.model import Flag, Trial


def is_light_in_trial(flag: Flag) -> bool:
    """Whether a finding changed less of the figure of its trial than a single run may be off by."""
    weighed = kind_of(flag.code).weighed
    return weighed is not None and flag.effect_ratio is not None and abs(flag.effect_ratio) < LIGHT_RATIO


def light_codes(done: Sequence[Trial]) -> frozenset[str]:
    """Codes that are notes in a case with these trials, although they make figures doubtful elsewhere.

    All findings on a figure together may change its mean by less than its 95 % CI reaches to a side, and by
    less than :data:`VISIBLE_CHANGE_RATIO` whatever that is, for what happened may be why runs differ. With
    one run the limit is :data:`LIGHT_RATIO`. A finding whose effect is not known is never light.
    """
    effects: dict[str, list[float | None]] = {}
    for trial in done:
        for flag in trial.flags:
            if kind_of(flag.code).weighed is not None:
                effects.setdefault(flag.code, []).append(flag.effect_ratio)
    light: set[str] = set()
    for figure in {kind_of(code).weighed for code in effects}:
        of_figure = {code: ratios for code, ratios in effects.items() if kind_of(code).weighed == figure}
        measured = {code for code, ratios in of_figure.items() if None not in ratios}
        total = math.fsum(abs(ratio) for code in measured for ratio in of_figure[code] if ratio is not None)
        if figure is not None and total < _limit(figure, done) * len(done):
            light |= measured
    return frozenset(light)


def _limit(figure: Figure, done: Sequence[Trial]) -> float:
    """By what part a mean may be changed; 0 where nothing is known of it. Of two ends the lesser part."""
    return min((_reach(values) for values in _values(figure, done)), default=0.0)


def _values(figure: Figure, done: Sequence[Trial]) -> Iterator[list[float]]:
    if figure == "throughput":
        columns: Iterable[Iterable[float | None]] = [[trial.throughput_bps for trial in done]]
    else:
        columns = zip(*([end.cpu_cores for end in trial.ends] for trial in done), strict=False)
    for column in columns:
        values = [value for value in column if value is not None]
        if values:
            yield values


def _reach(values: Sequence[float]) -> float:
    mean = estimate(values, "positive")
    if mean is None or mean.mean <= 0:
        return 0.0
    interval = mean.interval()
    return LIGHT_RATIO if interval is None else min(VISIBLE_CHANGE_RATIO, interval.half_width / mean.mean)
