# SPDX-License-Identifier: Apache-2.0
"""Whether all series lie where they are thought to lie on the one time line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from linewatt.engine.feed import Reading
from linewatt.engine.measuring.seen import Seen
from linewatt.engine.measuring.window import EndRun
from linewatt.findings.window import ARRIVAL_LATE_S, CLOCK_UNCERTAINTY_S, START_UNCERTAINTY_S
from linewatt.hosts.clock import Offset
from linewatt.model import EndResult, Flag
from linewatt.sensors.mpstat import record_time_s


def check(seen: Seen) -> Iterator[Flag]:
    """Loads, clocks and sensors."""
    ends = [end for one in seen.cut.runs for end in (one.sender, one.receiver)]
    yield from alignment(ends, seen.cut.run.clocks)
    for end in seen.ends:
        yield from sensors(end, seen.readings(end), seen.clock(end))


def alignment(ends: Sequence[EndRun], clocks: Mapping[str, Offset]) -> list[Flag]:
    """Series that may not lie where they are thought to lie on the one time line."""
    flags = []
    start_s = max((end.start_uncertainty_s for end in ends), default=0.0)
    if start_s > START_UNCERTAINTY_S:
        flags.append(
            Flag(
                "start-uncertain",
                "window",
                f"a load's start is known to ±{start_s:.2f} s only",
                "lengthen window.omit and the window, or find what delays the load's connection",
            )
        )
    for host, clock in clocks.items():
        if clock.uncertainty_s > CLOCK_UNCERTAINTY_S:
            flags.append(
                Flag(
                    "clock-uncertain",
                    host,
                    f"its clock is known to ±{1000 * clock.uncertainty_s:.0f} ms only",
                    "use a management network with a shorter round trip, or a longer window",
                )
            )
    return flags


def sensors(end: EndResult, readings: Sequence[Reading], clock: Offset) -> list[Flag]:
    """Sensors that stall, do not parse, or whose stamps disagree with their arrival."""
    flags = []
    for reading in readings:
        if reading.problems:
            flags.append(
                Flag(
                    "sensor-unreadable",
                    f"{end.host}: {reading.source}",
                    f"{len(reading.problems)} records could not be read, the first: {reading.problems[0]}",
                    "see the trial's raw directory",
                )
            )
        if reading.source == "mpstat" and (late_s := _late_s(reading, clock)) > ARRIVAL_LATE_S:
            flags.append(
                Flag(
                    "sensor-late",
                    f"{end.host}: {reading.source}",
                    f"a record arrived {late_s:.1f} s after its own stamp",
                    "the CPU and load windows may not be aligned; look for a stalled connection",
                )
            )
    if end.cpu_cores is None:
        flags.append(
            Flag(
                "cpu-missing",
                end.host,
                end.reasons["cpu_cores"],
                "see the trial's raw mpstat records; lengthen window.tail",
            )
        )
    return flags


def _late_s(reading: Reading, clock: Offset) -> float:
    """The largest delay between a record's own stamp (whole seconds, host clock) and its arrival."""
    delays = [0.0]
    for record in reading.records:
        stamp_s = record_time_s(record.text, record.received_s + clock.offset_s)
        if stamp_s is not None:
            delays.append(record.received_s - clock.to_controller(stamp_s))
    return max(delays)
