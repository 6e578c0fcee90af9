# SPDX-License-Identifier: Apache-2.0
"""The lies of power sensors: frozen, saturated, missing, hardly updated. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from linewatt.analysis.power import STILL_RATIO, STILL_STEPS
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.window_power import POWER_UNITS
from linewatt.findings import (
    BUSY_CORES,
    BUSY_RATIO,
    LONGER_WINDOW_ADVICE,
    MIN_UPDATES,
    SCOPES_THAT_FOLLOW_THE_CPU,
)
from linewatt.model import EndResult, Flag, PowerResult, Window
from linewatt.sensors.power import TOO_SHORT_WORDS

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
    for result in end.power:
        if result.power_w is None and TOO_SHORT_WORDS in (result.reason or ""):
            yield Flag(
                "power-window-too-short", _where(end, result), result.reason or "", LONGER_WINDOW_ADVICE
            )
        elif result.power_w is None:
            yield Flag(
                "power-missing",
                _where(end, result),
                result.reason or "not read",
                "throughput and CPU are not affected; check the source's raw readings, then measure again",
            )
    for key, reason in end.reasons.items():
        if key.startswith("power."):
            yield Flag(
                "power-missing",
                f"{end.host}: {key.removeprefix('power.')}",
                reason,
                "throughput and CPU are not affected; fix the source and measure again",
            )


def _few_updates(end: EndResult, readings: Sequence[Reading], window: Window) -> Iterator[Flag]:
    for result in end.power:
        if result.power_w is None or result.updates >= MIN_UPDATES:
            continue
        if _stands_still(result, readings, window) or _refreshes(result, readings, window):
            continue
        refresh_words = (
            "" if result.refresh_s is None else f"; the meter refreshes every {result.refresh_s:.3g} s"
        )
        yield Flag(
            "power-few-updates",
            _where(end, result),
            f"{result.updates} updates in the window{refresh_words}",
            "lengthen window.seconds; if the meter updates more often, read it more often (interval_s)",
        )


def _stands_still(power_result: PowerResult, readings: Sequence[Reading], window: Window) -> bool:
    """Whether more updates could have said nothing else: power that was often looked at has one value."""
    slow = power_result.refresh_s is not None and power_result.refresh_s * MIN_UPDATES > window.seconds
    still_w = max(STILL_STEPS * (power_result.step_w or 0.0), STILL_RATIO * (power_result.power_w or 0.0))
    if slow or power_result.spread_w is None or power_result.spread_w > still_w:
        return False
    return len(_times_s(power_result, readings, window)) >= MIN_UPDATES


def _refreshes(power_result: PowerResult, readings: Sequence[Reading], window: Window) -> bool:
    """Whether a meter whose refresh is known was read at so many that few values say that few were there."""
    if not power_result.refresh_s:
        return False
    times_s = _times_s(power_result, readings, window)
    refreshed = {math.floor((time_s - window.start_s) / power_result.refresh_s) for time_s in times_s}
    return len(refreshed) >= MIN_UPDATES


def _times_s(power_result: PowerResult, readings: Sequence[Reading], window: Window) -> list[float]:
    """When it was read in the window."""
    return [
        time_s
        for reading in readings
        if reading.source == power_result.source
        for time_s, _ in reading.within(power_result.channel, window)
    ]


def _frozen(
    end: EndResult, readings: Sequence[Reading], window: Window, idle_cores: float | None
) -> Iterator[Flag]:
    """A value that does not move although the CPU or its siblings say that it must."""
    cpus = sum(name.endswith(".idle_ratio") for reading in readings for name in reading.channels)
    for reading in readings:
        ranges = {result.channel: _range(reading, result.channel, window) for result in _own(end, reading)}
        moved = max((_moved(extent) for extent in ranges.values() if extent), default=0.0)
        for result in _own(end, reading):
            extent = ranges[result.channel]
            if (
                result.scope.partition(":")[0] not in SCOPES_THAT_FOLLOW_THE_CPU
                or extent is None
                or extent[0] != extent[1]
                or extent[0] <= 0
            ):
                continue
            evidence = _still(end, result, extent[0], moved, (idle_cores, cpus))
            if evidence:
                yield Flag(
                    "power-frozen",
                    _where(end, result),
                    f"reads {extent[0]:g} W in the whole window; {evidence}",
                    "do not use this figure; restart the BMC or meter, and check that it follows a load",
                )


def _still(
    end: EndResult, power_result: PowerResult, value_w: float, moved: float, idle: tuple[float | None, int]
) -> str | None:
    idle_cores, cpus = idle
    if (
        power_result.idle_w is not None
        and math.isclose(
            power_result.idle_w, value_w, rel_tol=ROUNDING
        )  # idle is a mean, and sums are rounded
        and idle_cores is not None
        and end.cpu_cores is not None
        and end.cpu_cores - idle_cores > max(BUSY_CORES, BUSY_RATIO * cpus)
    ):
        return f"it read the same idle, with {idle_cores:.2f} cores busy instead of {end.cpu_cores:.2f}"
    if power_result.step_w and moved * value_w > EXPECTED_STEPS * power_result.step_w:
        return f"other channels of this source changed by {100 * moved:.0f} %"
    return None


def _saturated(end: EndResult, readings: Sequence[Reading], window: Window) -> Iterator[Flag]:
    for reading in readings:
        for result in _own(end, reading):
            maximum = reading.channels[result.channel].maximum
            extent = _range(reading, result.channel, window)
            if maximum is not None and extent is not None and extent[1] >= maximum:
                yield Flag(
                    "power-saturated",
                    _where(end, result),
                    f"reads {extent[1]:g} W, the highest value it can show",
                    "the true power is higher; use another source",
                )


def _own(end: EndResult, reading: Reading) -> list[PowerResult]:
    """Results of this reading's source that are readings of power, not totals of energy."""
    return [
        result
        for result in end.power
        if result.source == reading.source
        and result.channel in reading.channels
        and reading.channels[result.channel].unit == POWER_UNITS[0]
    ]


def _range(reading: Reading, channel: str, window: Window) -> tuple[float, float] | None:
    values = [value for _, value in reading.within(channel, window)]
    return (min(values), max(values)) if values else None


def _moved(extent: tuple[float, float]) -> float:
    low, high = extent
    return (high - low) / high if high > 0 else 0.0


def _where(end: EndResult, power_result: PowerResult) -> str:
    return f"{end.host}: {power_result.source} {power_result.channel}"
