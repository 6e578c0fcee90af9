# SPDX-License-Identifier: Apache-2.0
"""Whether a host is as cool, quiet and frugal again as it was idle. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean

from linewatt.analysis.power import DEGREES, SYSTEM_SCOPES
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.thermal import thermal
from linewatt.findings import COOL_C, COOL_FAN, COOL_POWER
from linewatt.model import Window
from linewatt.records import IdleHost


def sources_of(idle: IdleHost) -> set[str]:
    """The sources of what is compared; none where there is nothing to compare."""
    return {sensor.source for sensor in idle.thermal} | {source for source, _ in _idle_w(idle)}


def follows_s(idle: IdleHost) -> float:
    """How long after a change the slowest meter of what is compared may still show what was before."""
    followed_s = [
        (meter.refresh_s or meter.update_s or 0.0) + (meter.averaging_s or 0.0) + (meter.delay_s or 0.0)
        for meter in idle.power
    ]
    return max(followed_s, default=0.0)


def warm(idle: IdleHost, reading: Reading, window: Window) -> tuple[str, ...]:
    """What one source tells that is above idle by more than is allowed, or was not read, each in words.

    Only what idle had counts; what is below idle does not matter.
    """
    now = {sensor.channel: sensor.mean for sensor in thermal([reading], window)} | dict(
        _watts(reading, window)
    )
    exceeded: list[str] = []
    for sensor in idle.thermal:
        if sensor.source == reading.source:
            allowed = COOL_C if sensor.unit == DEGREES else COOL_FAN * sensor.mean
            exceeded += _above(sensor.source, sensor.channel, sensor.unit, now, sensor.mean, allowed)
    for (source, channel), (idle_w, bound_w) in _idle_w(idle).items():
        read_channel = reading.channels.get(channel)
        if source == reading.source and (read_channel is None or read_channel.unit == "W"):
            exceeded += _above(source, channel, "W", now, idle_w, max(COOL_POWER * idle_w, bound_w))
    return tuple(exceeded)


def _above(
    source: str, channel: str, unit: str, now: Mapping[str, float], idle: float, allowed: float
) -> Iterator[str]:
    if channel not in now:
        yield f"{source} {channel} was not read"
    elif now[channel] > idle + allowed:
        yield (
            f"{source} {channel} {now[channel]:,.0f} {unit}, awaited {idle + allowed:,.0f} (idle {idle:,.0f})"
        )


def _idle_w(idle: IdleHost) -> dict[tuple[str, str], tuple[float, float]]:
    """(source, channel) of the whole host → its watts idle, and the bound of their error."""
    return {
        (idle_power.source, idle_power.channel): (
            idle_power.power_w,
            max(idle_power.step_w or 0.0, idle_power.idle_uncertainty_w or 0.0),
        )
        for idle_power in idle.power
        if idle_power.power_w is not None and idle_power.scope.partition(":")[0] in SYSTEM_SCOPES
    }


def _watts(reading: Reading, window: Window) -> Iterator[tuple[str, float]]:
    for channel in reading.channels.values():
        values = [value for _, value in reading.within(channel.name, window)]
        if channel.unit == "W" and values:
            yield channel.name, fmean(values)
