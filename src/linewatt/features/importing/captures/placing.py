# SPDX-License-Identifier: Apache-2.0
"""Readings of a host put on the time line of a trial, where its clock allows that. Pure.

The line of a trial is the clock of its client. A load says of itself when it began on the clock of its own
host, so a host with a file of the load has its readings placed by that, however far its clock is off. A host
without one is taken to have the client's clock, which is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from linewatt.engine.live import Reading, Record
from linewatt.features.importing.captures import stamps
from linewatt.features.importing.captures.model import Track
from linewatt.features.importing.captures.options import Options
from linewatt.features.importing.captures.pairing import OneTest
from linewatt.hosts import Offset
from linewatt.missing import Missing
from linewatt.model import Window

MOST_APART_S = 1.5
"""starts of the instances of a trial may differ by so much more on one host's clock than on another's"""
NEAR_S = 60.0
"""readings so far from a load are kept with its trial: what was before and after it"""


@dataclass(frozen=True, slots=True)
class HostClock(Offset):
    """A host's clock against the line, and how well its readings lie beside the load.

    ``uncertainty_s`` is of the load's start by that clock. ``is_known``: by a file of the load of that host.
    """

    is_known: bool


def clock_of(host: str, group: Sequence[OneTest]) -> HostClock | Missing:
    """The clock of a host in a trial; or why it cannot be told."""
    if (why := next((test.line.undated for test in group if test.line.undated), None)) is not None:
        return Missing(why)
    tests_and_ends = [
        (test, end) for test in group if (end := test.end_of(host)) is not None and not end.undated
    ]
    late_s = max(test.line.late_s for test in group)
    if not tests_and_ends:
        return HostClock(0.0, late_s / 2, is_known=False)
    apart_s = [end.begun_s + end.late_s / 2 - test.start_s for test, end in tests_and_ends]
    spread_s = max(apart_s) - min(apart_s)
    if spread_s > MOST_APART_S:
        offsets_text = f"{min(apart_s):+.1f} s and {max(apart_s):+.1f} s"
        return Missing(f"its clock differs from the client's by {offsets_text} in one trial: it was set")
    middle_s = (max(apart_s) + min(apart_s)) / 2
    own_late_s = max(end.late_s for _, end in tests_and_ends)
    return HostClock(middle_s, max(late_s, own_late_s) / 2 + spread_s / 2, is_known=True)


@dataclass(frozen=True, slots=True)
class Placed:
    """A source's readings around a trial. ``uncertainty_s``: by how much they may lie beside the load."""

    file: str
    reading: Reading
    uncertainty_s: float = 0.0
    assumed_utc: bool = False
    assumed_cpus: int | None = None
    power_state: str | None = None
    of_test: bool = False
    """whether it is of the load's own test, which needs no clock"""


def placed(track: Track, host: str, clock: HostClock | Missing, load: Window, options: Options) -> Placed:
    """The readings of a track around a load; those that are none of it say why by their ``failure``."""
    if track.test is not None:
        of_load = tuple(
            replace(record, received_s=load.end_s, span_s=load.seconds) for record in track.records
        )
        reading = Reading(host, track.source, of_load, track.channels)
        return Placed(track.file.name, reading, of_test=True)
    empty = Reading(host, track.source, (), {}, optional=track.is_power)
    if isinstance(clock, Missing):
        return Placed(track.file.name, replace(empty, failure=f"cannot be placed: {clock.reason}"))
    times_s = _unix_s(track, load.start_s + clock.offset_s, options.zone or UTC)
    records = _on_line(track.records, times_s, clock.offset_s)
    around = [
        record
        for record in records
        if load.start_s - NEAR_S <= record.received_s <= load.end_s + NEAR_S + record.span_s
    ]
    uncertainty_s = clock.uncertainty_s + track.resolution_s / 2
    assumed = track.clock == "local" and options.zone is None
    if not _covers(records, load):
        why = _beside(track, records, clock, load, assumed_utc=assumed)
        return Placed(track.file.name, replace(empty, failure=why), uncertainty_s, assumed)
    if track.is_power:
        around = _held(around, load, track.resolution_s)
    names = {name for record in around for name in record.values}
    channels = {name: track.channels[name] for name in track.channels if name in names}
    reading = Reading(host, track.source, tuple(around), channels, optional=track.is_power)
    return Placed(track.file.name, reading, uncertainty_s, assumed, track.assumed_cpus, track.power_state)


def _held(records: Sequence[Record], load: Window, resolution_s: float) -> list[Record]:
    """Watts that begin or end nearer to an end of the load than stamps tell are held to that end."""
    first, last = records[0], records[-1]
    before = [replace(first, received_s=load.start_s, span_s=0.0)] * (
        0 < first.received_s - load.start_s <= resolution_s
    )
    late_s = load.end_s - last.received_s
    after = [replace(last, received_s=load.end_s, span_s=late_s)] * (0 < late_s <= resolution_s)
    return [*before, *records, *after]


def _covers(records: Sequence[Record], load: Window) -> bool:
    """Whether any of it is of the load."""
    return (
        bool(records)
        and records[-1].received_s > load.start_s
        and records[0].received_s - records[0].span_s < load.end_s
    )


def _on_line(records: Sequence[Record], times_s: Sequence[float], offset_s: float) -> list[Record]:
    return [
        replace(record, received_s=time_s - offset_s) for record, time_s in zip(records, times_s, strict=True)
    ]


def _unix_s(track: Track, near_s: float, zone: tzinfo) -> list[float]:
    """Times of a track as Unix seconds of its host; where the day is not sure, that nearest to ``near_s``."""
    times_s = [record.received_s for record in track.records]
    if track.clock == "unix" or not times_s:
        return times_s
    shifts_s = [stamps.midnight_s(day) - stamps.midnight_s(track.days[0]) for day in track.days]
    if not track.days and not track.is_dated:
        middle_s = stamps.unix_s((times_s[0] + times_s[-1]) / 2, zone)
        shifts_s = [stamps.DAY_S * round((near_s - middle_s) / stamps.DAY_S)]
    shift_s = min(
        shifts_s or [0.0], key=lambda day_shift_s: abs(stamps.unix_s(times_s[0] + day_shift_s, zone) - near_s)
    )
    return [stamps.unix_s(time_s + shift_s, zone) for time_s in times_s]


def _beside(
    track: Track, records: Sequence[Record], clock: HostClock, load: Window, *, assumed_utc: bool
) -> str:
    """That readings are of another time, and in which zone they would be of this one."""
    if not records:
        return "holds no reading"
    first_s, last_s = (record.received_s + clock.offset_s for record in (records[0], records[-1]))
    sentence = (
        f"has readings from {_words(first_s)} to "
        f"{_words(last_s)}{', its stamps read as UTC' if assumed_utc else ''}, "
        f"and the load ran at {_words(load.start_s + clock.offset_s)} by that host's clock"
    )
    fits = _fitting(records, load) if assumed_utc else []
    if len(fits) == 1:
        sentence += f"; --timezone {stamps.offset_words(fits[0])} would make them one"
    return sentence


def _fitting(records: Sequence[Record], load: Window) -> list[float]:
    """Offsets of zones (s east of UTC) in which readings taken as UTC would be of the load."""
    first_s, last_s = records[0].received_s - records[0].span_s, records[-1].received_s
    offsets = range(stamps.MOST_WEST_S, stamps.MOST_EAST_S + 1, stamps.QUARTER_S)
    return [
        offset_s
        for offset_s in offsets
        if first_s - offset_s <= load.start_s and load.end_s <= last_s - offset_s
    ]


def _words(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
