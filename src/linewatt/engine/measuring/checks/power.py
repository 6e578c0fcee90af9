# SPDX-License-Identifier: Apache-2.0
"""The lies of power sensors: frozen, saturated, missing, hardly updated. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from linewatt.analysis.power.energy import STILL_RATIO, STILL_STEPS
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.power import POWER_UNITS
from linewatt.findings.meters import LONGER
from linewatt.findings.power import BUSY_CORES, BUSY_RATIO, FOLLOW_THE_CPU, MIN_UPDATES
from linewatt.model import EndResult, Flag, PowerResult, Window
from linewatt.sensors.power.dynamics import TOO_SHORT

EXPECTED_STEPS = 2.0
"""A sensor is called frozen only if its siblings say that it should have moved by more steps than this."""
ROUNDING = 1e-9


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from power(end, seen.readings(end), seen.window, seen.setup.idle_cores.get(end.host))


def power(
    end: EndResult, readings: Sequence[Reading], window: Window, idle_cores: float | None
) -> list[Flag]:
    """Flags for the power readings of one end."""
    return [
        *_missing(end),
        *_few_updates(end, readings, window),
        *_frozen(end, readings, window, idle_cores),
        *_saturated(end, readings, window),
    ]


def _missing(end: EndResult) -> Iterator[Flag]:
    for one in end.power:
        if one.power_w is None and TOO_SHORT in (one.reason or ""):
            yield Flag("power-window-too-short", _where(end, one), one.reason or "", LONGER)
        elif one.power_w is None:
            yield Flag(
                "power-missing",
                _where(end, one),
                one.reason or "not read",
                "throughput and CPU are not affected; see the source's raw readings, then measure again",
            )
    for key, reason in end.reasons.items():
        if key.startswith("power."):
            yield Flag(
                "power-missing",
                f"{end.host}: {key.removeprefix('power.')}",
                reason,
                "throughput and CPU are not affected; put the source right and measure again",
            )


def _few_updates(end: EndResult, readings: Sequence[Reading], window: Window) -> Iterator[Flag]:
    for one in end.power:
        if one.power_w is None or one.updates >= MIN_UPDATES:
            continue
        if _stands_still(one, readings, window) or _refreshes(one, readings, window):
            continue
        every = "" if one.refresh_s is None else f"; it is refreshed every {one.refresh_s:.3g} s"
        yield Flag(
            "power-few-updates",
            _where(end, one),
            f"{one.updates} updates in the window{every}",
            "lengthen window.seconds, or read it more often (interval_s) if it is updated more often",
        )


def _stands_still(one: PowerResult, readings: Sequence[Reading], window: Window) -> bool:
    """Whether more updates could have said nothing else: power that was often looked at has one value."""
    slow = one.refresh_s is not None and one.refresh_s * MIN_UPDATES > window.seconds
    still_w = max(STILL_STEPS * (one.step_w or 0.0), STILL_RATIO * (one.power_w or 0.0))
    if slow or one.spread_w is None or one.spread_w > still_w:
        return False
    return len(_times_s(one, readings, window)) >= MIN_UPDATES


def _refreshes(one: PowerResult, readings: Sequence[Reading], window: Window) -> bool:
    """Whether a meter whose refresh is known was read at so many that few values say that few were there."""
    if not one.refresh_s:
        return False
    times_s = _times_s(one, readings, window)
    refreshed = {math.floor((time_s - window.start_s) / one.refresh_s) for time_s in times_s}
    return len(refreshed) >= MIN_UPDATES


def _times_s(one: PowerResult, readings: Sequence[Reading], window: Window) -> list[float]:
    """When it was read in the window."""
    return [
        time_s
        for reading in readings
        if reading.source == one.source
        for time_s, _ in reading.within(one.channel, window)
    ]


def _frozen(
    end: EndResult, readings: Sequence[Reading], window: Window, idle_cores: float | None
) -> Iterator[Flag]:
    """A value that does not move although the CPU or its siblings say that it must."""
    cpus = sum(name.endswith(".idle_ratio") for reading in readings for name in reading.channels)
    for reading in readings:
        ranges = {one.channel: _range(reading, one.channel, window) for one in _own(end, reading)}
        moved = max((_moved(extent) for extent in ranges.values() if extent), default=0.0)
        for one in _own(end, reading):
            extent = ranges[one.channel]
            if (
                one.scope.partition(":")[0] not in FOLLOW_THE_CPU
                or extent is None
                or extent[0] != extent[1]
                or extent[0] <= 0
            ):
                continue
            evidence = _still(end, one, extent[0], moved, (idle_cores, cpus))
            if evidence:
                yield Flag(
                    "power-frozen",
                    _where(end, one),
                    f"reads {extent[0]:g} W all through the window; {evidence}",
                    "do not use this figure; restart the BMC or meter, and see whether it follows a load",
                )


def _still(
    end: EndResult, one: PowerResult, value_w: float, moved: float, idle: tuple[float | None, int]
) -> str | None:
    idle_cores, cpus = idle
    if (
        one.idle_w is not None
        and math.isclose(one.idle_w, value_w, rel_tol=ROUNDING)  # idle is a mean, and sums are rounded
        and idle_cores is not None
        and end.cpu_cores is not None
        and end.cpu_cores - idle_cores > max(BUSY_CORES, BUSY_RATIO * cpus)
    ):
        return f"it did so idle, too, with {idle_cores:.2f} cores busy against {end.cpu_cores:.2f} now"
    if one.step_w and moved * value_w > EXPECTED_STEPS * one.step_w:
        return f"others of this source moved by {100 * moved:.0f} %"
    return None


def _saturated(end: EndResult, readings: Sequence[Reading], window: Window) -> Iterator[Flag]:
    for reading in readings:
        for one in _own(end, reading):
            maximum = reading.channels[one.channel].maximum
            extent = _range(reading, one.channel, window)
            if maximum is not None and extent is not None and extent[1] >= maximum:
                yield Flag(
                    "power-saturated",
                    _where(end, one),
                    f"reads {extent[1]:g} W, the most it can show",
                    "the true power is higher; use another source",
                )


def _own(end: EndResult, reading: Reading) -> list[PowerResult]:
    """Results of this reading's source that are readings of power, not totals of energy."""
    return [
        one
        for one in end.power
        if one.source == reading.source
        and one.channel in reading.channels
        and reading.channels[one.channel].unit == POWER_UNITS[0]
    ]


def _range(reading: Reading, channel: str, window: Window) -> tuple[float, float] | None:
    values = [value for _, value in reading.within(channel, window)]
    return (min(values), max(values)) if values else None


def _moved(found: tuple[float, float]) -> float:
    low, high = found
    return (high - low) / high if high > 0 else 0.0


def _where(end: EndResult, one: PowerResult) -> str:
    return f"{end.host}: {one.source} {one.channel}"
