# SPDX-License-Identifier: Apache-2.0
"""Cutting the steady window out of every series of a trial. Pure: times and counts in, numbers out.

All times are Unix seconds on the controller's time line. A load tells its intervals relative to its own
start, which is known from below (its client was let go then) and from above (it ended then, and ran so long);
the middle is taken, and half the gap is the uncertainty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from linewatt.analysis.cases import whole_sum
from linewatt.errors import ParseError
from linewatt.loads import LoadEnd, LoadInterval, whole_intervals
from linewatt.model import Sample, Window

COVERAGE_NEEDED = 0.98
WHOLE = 0.99
"""of a test, from which on a window has all that it counted"""


@dataclass(frozen=True, slots=True)
class EndRun:
    """One end of one instance, with its own zero placed on the time line."""

    load: LoadEnd
    start_s: float
    start_uncertainty_s: float

    @property
    def end_s(self) -> float:
        return self.start_s + self.load.duration_s


def place_load(load: LoadEnd, earliest_start_s: float, ended_s: float) -> EndRun:
    """Put a load's own zero between its earliest start and its end minus its duration."""
    latest_start_s = max(earliest_start_s, ended_s - load.duration_s)
    middle_s = (earliest_start_s + latest_start_s) / 2
    return EndRun(load, middle_s, (latest_start_s - earliest_start_s) / 2)


def common_window(runs: Iterable[EndRun], omit_s: float, seconds: float) -> Window:
    """The window all runs share: ``omit_s`` after the last start, ``seconds`` long.

    Raises ParseError when a run ended before the window does.
    """
    runs = list(runs)
    start_s = max(run.start_s for run in runs) + omit_s
    window = Window(start_s, start_s + seconds)
    short_s = window.end_s - min(run.end_s for run in runs)
    if short_s > (1 - COVERAGE_NEEDED) * seconds:
        skew_s = max(run.start_s for run in runs) - min(run.start_s for run in runs)
        why = f": the last one began {skew_s:.2f} s after the first; lengthen window.tail by as much"
        raise ParseError(
            f"a load ended {short_s:.2f} s before the window of {seconds:g} s did"
            f"{why if skew_s >= short_s else ''}"
        )
    return window


@dataclass(frozen=True, slots=True)
class Counted:
    """What one end counted inside the window; intervals on its edges count in proportion."""

    rate_bps: float
    retransmits: int | None
    packets: int | None
    lost_packets: int | None


def count_in_window(run: EndRun, window: Window) -> Counted:
    """Counts of one end in the window. Raises ParseError when its intervals leave part of it uncovered."""
    parts = [(interval, _share(run, interval, window)) for interval in run.load.intervals]
    parts = [(interval, share) for interval, share in parts if share > 0]
    covered_s = sum(share * (interval.end_s - interval.start_s) for interval, share in parts)
    if covered_s < COVERAGE_NEEDED * window.seconds:
        raise ParseError(
            f"the load's intervals cover {covered_s:.2f} s of the window of {window.seconds:.2f} s"
        )
    transferred_bytes = sum(share * interval.transferred_bytes for interval, share in parts)
    retransmits = _total((interval.retransmits, share) for interval, share in parts)
    if retransmits is None and covered_s >= WHOLE * sum(
        interval.end_s - interval.start_s for interval in run.load.intervals
    ):
        retransmits = run.load.retransmits
    return Counted(
        rate_bps=8 * transferred_bytes / covered_s,
        retransmits=retransmits,
        packets=_total((interval.packets, share) for interval, share in parts),
        lost_packets=_lost((interval.lost_packets, share) for interval, share in parts),
    )


def _share(run: EndRun, interval: LoadInterval, window: Window) -> float:
    length_s = interval.end_s - interval.start_s
    if length_s <= 0:
        return 0.0
    return overlap_s(run.start_s + interval.start_s, run.start_s + interval.end_s, window) / length_s


def _total(parts: Iterable[tuple[int | None, float]]) -> int | None:
    total = whole_sum(None if value is None else value * share for value, share in parts)
    return None if total is None else round(total)


def _lost(parts: Iterable[tuple[int | None, float]]) -> int | None:
    """Datagrams lost: none where more came late than were lost, which were counted before the window."""
    lost = _total(parts)
    return None if lost is None else max(0, lost)


def overlap_s(start_s: float, end_s: float, window: Window) -> float:
    """Seconds that an interval shares with the window."""
    return max(0.0, min(end_s, window.end_s) - max(start_s, window.start_s))


def mean_over(samples: Iterable[Sample], window: Window) -> float | None:
    """Mean of samples that each average over their span, weighted by their overlap with the window; ``None``
    unless they cover it."""
    weighted = covered_s = 0.0
    for sample in samples:
        if sample.value is not None:
            share_s = overlap_s(sample.time_s - sample.span_s, sample.time_s, window)
            weighted += share_s * sample.value
            covered_s += share_s
    if covered_s <= 0 or covered_s / window.seconds < COVERAGE_NEEDED:
        return None
    return weighted / covered_s


def total_rates(receivers: Sequence[EndRun], window: Window) -> list[float]:
    """Rates in bit/s of all instances together, interval by interval."""
    series = [rates_over(run, window) for run in receivers]
    length = min((len(rates) for rates in series), default=0)
    return [sum(rates[i] for rates in series) for i in range(length)]


def rates_over(run: EndRun, window: Window) -> list[float]:
    """Rates in bit/s of the intervals that lie wholly inside the window, in order, without short ones."""
    return [
        8 * interval.transferred_bytes / (interval.end_s - interval.start_s)
        for interval in _whole_within(run, window)
    ]


def edges_over(receivers: Sequence[EndRun], window: Window) -> list[float]:
    """Where the intervals of :func:`total_rates` meet, in seconds of the window, and where the last one ends;
    the mean of all instances, which do not begin at the same moment."""
    series = [
        [(run.start_s + interval.start_s, run.start_s + interval.end_s) for interval in intervals]
        for run in receivers
        if (intervals := _whole_within(run, window))
    ]
    length = min((len(spans) for spans in series), default=0)
    starts = [fmean(spans[at][0] for spans in series) for at in range(length)]
    ends = [fmean(spans[length - 1][1] for spans in series)] if series else []
    return [edge_s - window.start_s for edge_s in starts + ends]


def _whole_within(run: EndRun, window: Window) -> list[LoadInterval]:
    return [
        interval
        for interval in whole_intervals(run.load.intervals)
        if run.start_s + interval.start_s >= window.start_s and run.start_s + interval.end_s <= window.end_s
    ]
