# SPDX-License-Identifier: Apache-2.0
"""Whether all series lie where they are thought to lie on the one time line. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import median

from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.window import EndRun, overlap_s
from linewatt.findings import (
    ARRIVAL_LATE_S,
    ASKING_S,
    CLOCK_UNCERTAINTY_S,
    EDGE_ERROR_RATIO,
    START_UNCERTAINTY_S,
)
from linewatt.hosts import Offset
from linewatt.model import EndResult, Flag, Window
from linewatt.sensors import mpstat_time_s


def check(seen: Seen) -> Iterator[Flag]:
    """Loads, clocks and sensors."""
    ends = seen.cut.end_runs
    yield from alignment(ends, seen.cut.run.clocks)
    yield from misplaced(seen.case.pairs[0].client, ends, seen.window)
    for end in seen.ends:
        yield from sensors(end, seen.readings(end), seen.clock(end))
        yield from standstill(end.host, seen.readings(end), seen.window)
    if ends:
        for end in seen.ends:
            yield from edges(end.host, seen.readings(end), seen.window, seen.cut.load)


def alignment(ends: Sequence[EndRun], clocks: Mapping[str, Offset]) -> Iterator[Flag]:
    """Series that may not lie where they are thought to lie on the one time line."""
    start_s = max((end.start_uncertainty_s for end in ends), default=0.0)
    if start_s > START_UNCERTAINTY_S:
        yield Flag(
            "start-uncertain",
            "window",
            f"the start of a load is known only to ±{start_s:.2f} s",
            "lengthen window.omit and the window, or find what delays the load's connection",
        )
    for host, clock in clocks.items():
        if clock.uncertainty_s > CLOCK_UNCERTAINTY_S:
            yield Flag(
                "clock-uncertain",
                host,
                f"the clock offset is known only to ±{1000 * clock.uncertainty_s:.0f} ms",
                "use a management network with a shorter round trip, or a longer window",
            )


def misplaced(where: str, ends: Sequence[EndRun], window: Window) -> Iterator[Flag]:
    """A load that may have begun so much later or earlier that a part of the window has none."""
    beside_s = [
        max(
            end.start_s + end.start_uncertainty_s - window.start_s,
            window.end_s - end.end_s + end.start_uncertainty_s,
        )
        for end in ends
    ]
    worst_s = max(beside_s, default=0.0)
    if worst_s <= EDGE_ERROR_RATIO * window.seconds:
        return
    uncertain_s = max(end.start_uncertainty_s for end in ends)
    yield Flag(
        "load-start-unknown",
        where,
        f"the load may have started up to {uncertain_s:.1f} s earlier or later than assumed: up to "
        f"{100 * min(1.0, worst_s / window.seconds):.0f} % of the window may be without load",
        f"find what delays the load's start or end there, or set window.omit and window.tail to at least "
        f"{uncertain_s:.1f} s",
        -min(1.0, worst_s / window.seconds),
    )


def sensors(end: EndResult, readings: Sequence[Reading], clock: Offset) -> Iterator[Flag]:
    """Sensors that stall, do not parse, or whose stamps disagree with their arrival."""
    for reading in readings:
        if reading.problems:
            yield Flag(
                "sensor-unreadable",
                f"{end.host}: {reading.source}",
                f"{len(reading.problems)} records could not be read, the first: {reading.problems[0]}",
                "see the raw files of the trial",
            )
        elif reading.failure is not None and not reading.optional and reading.source != "mpstat":
            yield Flag(
                "sensor-unreadable",
                f"{end.host}: {reading.source}",
                f"it {reading.failure}",
                "linewatt restarts it before the next trial; find what ended or froze it (dmesg)",
            )
        if reading.source == "mpstat" and (late_s := _late_s(reading, clock)) > ARRIVAL_LATE_S:
            yield Flag(
                "sensor-late",
                f"{end.host}: {reading.source}",
                f"a record arrived {late_s:.1f} s after its timestamp",
                "the windows of CPU and load may not match; look for a stalled connection",
            )
    if end.cpu_cores is None:
        yield Flag(
            "cpu-missing",
            end.host,
            end.reasons["cpu_cores"],
            "see the trial's raw mpstat records; lengthen window.tail",
        )


def standstill(
    host: str,
    readings: Sequence[Reading],
    window: Window,
    sources: Collection[str] = ("mpstat",),
    why: str = "the host or the connection to it stalled",
) -> Iterator[Flag]:
    """A host of which nothing was heard for long, told by a sensor that writes at fixed intervals."""
    for reading in readings:
        spans_s = [record.span_s for record in reading.records[1:]]
        if reading.source not in sources or not spans_s:
            continue
        longest = max(
            (record for record in reading.records[1:] if _is_in(record, window)),
            key=lambda record: record.span_s,
            default=None,
        )
        usual_s = median(spans_s)
        if longest is not None and longest.span_s > usual_s + ARRIVAL_LATE_S:
            yield Flag(
                "host-stood-still",
                host,
                f"no CPU reading for {longest.span_s:.1f} s (usually one every {usual_s:.1f} s): {why}",
                "repeat the trial, and find what stalled the host or its connection",
            )


def _is_in(record: Record, window: Window) -> bool:
    return overlap_s(record.received_s - record.span_s, record.received_s, window) > 0


def edges(host: str, readings: Sequence[Reading], window: Window, load: Window) -> Iterator[Flag]:
    """Readings at an edge of the window that are also of a time without all of the load.

    The part of the window that a reading covers has the mean over all of that reading, so the part of it
    outside the load goes into the window in proportion.
    """
    outside = [(outside_s(reading, window, load), reading) for reading in readings if not reading.optional]
    worst, reading = max(outside, key=lambda pair: sum(pair[0]), default=((0.0, 0.0), None))
    if reading is None or sum(worst) <= EDGE_ERROR_RATIO * window.seconds:
        return
    interval_s = max((record.span_s for record in reading.records[1:]), default=0.0)
    sides = [
        side for side, seconds in zip(("begins before", "ends after"), worst, strict=True) if seconds > 0
    ]
    yield Flag(
        "window-edges-contaminated",
        host,
        f"a reading of {reading.source} at the window's edge {' and one '.join(sides)} the load: figures of "
        f"this window may be up to {100 * sum(worst) / window.seconds:.1f} % too low",
        f"set window.omit to at least {interval_s:.1f} s, window.tail to at least "
        f"{interval_s + ASKING_S:.1f} s",
        -sum(worst) / window.seconds,
    )


def outside_s(reading: Reading, window: Window, load: Window) -> tuple[float, float]:
    """Seconds of the window, at its start and its end, that readings fill with what was outside the load."""
    early = late = 0.0
    for record in reading.records:
        begin_s, end_s = record.time_s - record.span_s, record.time_s
        if record.span_s <= 0 or end_s <= window.start_s or begin_s >= window.end_s:
            continue
        inside = overlap_s(begin_s, end_s, window) / record.span_s
        early += inside * max(0.0, load.start_s - begin_s)
        late += inside * max(0.0, end_s - load.end_s)
    return early, late


def _late_s(reading: Reading, clock: Offset) -> float:
    """The largest delay between a record's own stamp (whole seconds, host clock) and its arrival."""
    delays = [0.0]
    for record in reading.records:
        stamp_s = mpstat_time_s(record.text, record.received_s + clock.offset_s)
        if stamp_s is not None:
            delays.append(record.received_s - clock.to_controller(stamp_s))
    return max(delays)
