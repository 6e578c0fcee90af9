# SPDX-License-Identifier: Apache-2.0
"""The x axis of a course: results spaced by their times, and the dates below as far as they fit. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.units import format_time_utc

_EDGE = 0.04
"""of the span, left free on both sides"""
_TICK_GAP = 0.19
"""of the width between two dates: as wide as a date is on a phone"""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Seconds of each result after the first, and the lines of text below some of the results.

    Results without a time, or all of one second, are evenly spaced instead, one second apart.
    """

    places_s: tuple[int, ...]
    texts: dict[int, tuple[str, ...]]
    """by place"""

    @property
    def reach_s(self) -> tuple[float, float]:
        """From where to where the axis goes."""
        return self.places_s[0] - self.margin_s, self.places_s[-1] + self.margin_s

    @property
    def margin_s(self) -> float:
        """Free space before the first and behind the last result."""
        return _EDGE * (self.places_s[-1] - self.places_s[0]) or 0.5

    def start_s(self, at: int) -> float:
        """Where what begins with this result starts: halfway from the one before, at most one margin."""
        before_s = self.places_s[at] - self.places_s[at - 1] if at else 2 * self.margin_s
        return self.places_s[at] - min(self.margin_s, before_s / 2)

    def end_s(self, at: int) -> float:
        """Where what ends with this result stops: halfway to the next, at most one margin."""
        is_last = at == len(self.places_s) - 1
        after_s = 2 * self.margin_s if is_last else self.places_s[at + 1] - self.places_s[at]
        return self.places_s[at] + min(self.margin_s, after_s / 2)

    def between_s(self, at: int) -> float:
        """Halfway between this result and the one before."""
        return (self.places_s[at - 1] + self.places_s[at]) / 2

    def fit(self, places_s: Sequence[float], width: float) -> list[bool]:
        """Which of the texts at sorted ``places_s`` can stand side by side, ``width`` of the axis each."""
        low_s, high_s = self.reach_s
        free_s, fits = float("-inf"), []
        for place_s in places_s:
            fits.append(place_s >= free_s)
            if fits[-1]:
                free_s = place_s + width * (high_s - low_s)
        return fits


def time_axis(times_s: Sequence[float | None]) -> TimeAxis:
    """The axis of results that are in the order of their times."""
    places_s = _places_s(times_s)
    texts = _texts(times_s)
    return TimeAxis(places_s, {places_s[at]: texts[at] for at in _dated(TimeAxis(places_s, {}))})


def _places_s(times_s: Sequence[float | None]) -> tuple[int, ...]:
    known_s = [time_s for time_s in times_s if time_s is not None]
    if len(known_s) < len(times_s) or known_s[-1] - known_s[0] < 1:
        return tuple(range(len(times_s)))
    return tuple(round(time_s - known_s[0]) for time_s in known_s)


def _texts(times_s: Sequence[float | None]) -> list[tuple[str, ...]]:
    """The date of each result, with the time of day below it if several results share the date."""
    dates_and_times = [format_time_utc(time_s).split(" ") for time_s in times_s]
    results_by_date = Counter(date for date, *_ in dates_and_times)
    return [tuple(words[:2]) if results_by_date[words[0]] > 1 else (words[0],) for words in dates_and_times]


def _dated(axis: TimeAxis) -> list[int]:
    """Results with a date: from the first on as far as they fit, and the last instead of its neighbour."""
    dated = [at for at, fits in enumerate(axis.fit(axis.places_s, _TICK_GAP)) if fits]
    last = len(axis.places_s) - 1
    if dated[-1] == last or len(dated) == 1:
        return dated
    is_near = not axis.fit([axis.places_s[dated[-1]], axis.places_s[last]], _TICK_GAP)[1]
    return [*(dated[:-1] if is_near else dated), last]
