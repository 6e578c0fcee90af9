# SPDX-License-Identifier: Apache-2.0
"""What a window took in watts and joules, channel by channel, from the readings of a host. Pure.

Readings are those of any source of power (of a BMC: ``sensors/power/ipmi/sdr.py``). What a trial has here of
each channel is averaged over trials in ``analysis/power/summary.py`` and shown in
``report/trials/power/power_table.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linewatt.analysis.power import Energy, Meter, energy_from_power, energy_from_total, interval_s
from linewatt.engine.live.feed import Reading
from linewatt.missing import Missing
from linewatt.model import Channel, EndResult, PowerResult, Window
from linewatt.sensors import counter_delta
from linewatt.sensors.power import Dynamics

POWER_UNITS = ("W", "J")
MOST_W = 1e5
"""More than this is no server's power: a total that was reset looks as if it had wrapped."""

IdlePower = Mapping[tuple[str, str], float]
"""(source, channel) → its mean power in the idle window, W"""

Meters = Mapping[tuple[str, str], Dynamics]
"""(source, channel) → what is known of how it follows the power"""


def with_power(
    end: EndResult,
    readings: Sequence[Reading],
    window: Window,
    idle_w: IdlePower,
    meters: Meters | None = None,
    load: Window | None = None,
) -> EndResult:
    """``end`` with every power channel over the window, and why a source has none, by ``power.<source>``.

    ``load``: when the host was as it is in the window; before and after it drew another power.
    """
    meter_dynamics = meters or {}
    results = []
    reasons = dict(end.reasons)
    for reading in readings:
        channels = [channel for channel in reading.channels.values() if channel.unit in POWER_UNITS]
        why = None if channels else _nothing(reading)
        if why is not None:
            reasons[f"power.{reading.source}"] = why
        for channel in channels:
            dynamics = meter_dynamics.get((reading.source, channel.name), Dynamics())
            results.append(_result(reading, channel, window, idle_w, dynamics, load))
    return replace(end, power=tuple(results), reasons=reasons)


def _nothing(reading: Reading) -> str | None:
    """Why a source of power delivered nothing at all."""
    if not reading.optional or (reading.failure is None and reading.channels):
        return None
    return reading.failure or next(reversed(reading.problems), "no reading in the window")


def _result(
    reading: Reading,
    channel: Channel,
    window: Window,
    idle_w: IdlePower,
    dynamics: Dynamics,
    load: Window | None,
) -> PowerResult:
    values = reading.values(channel.name)
    update_s = reading.updates_s.get(channel.name)
    if dynamics.refresh_s is None:
        dynamics = replace(dynamics, refresh_s=update_s)
    meter = Meter(
        update_s=update_s or interval_s([time_s for time_s, _ in values]),
        step_w=channel.step if channel.unit == "W" else None,
        tolerance_ratio=channel.tolerance_ratio,
        step_j=channel.step if channel.unit == "J" else None,
        dynamics=dynamics,
    )
    energy_or_reason = (
        _counted(values, channel, window, meter)
        if channel.unit == "J"
        else energy_from_power(values, window, meter, load)
    )
    energy = energy_or_reason if isinstance(energy_or_reason, Energy) else None
    return PowerResult(
        source=reading.source,
        channel=channel.name,
        scope=channel.scope,
        provenance=channel.provenance,
        method=channel.method,
        power_w=energy.power_w if energy else None,
        energy_j=energy.energy_j if energy else None,
        energy_uncertainty_j=energy.uncertainty_j if energy else None,
        step_w=meter.step_w,
        update_s=update_s,
        tolerance_ratio=channel.tolerance_ratio,
        updates=energy.updates if energy else 0,
        idle_w=idle_w.get((reading.source, channel.name)),
        reason=_why(reading, channel.name, energy_or_reason),
        refresh_s=dynamics.refresh_s,
        averaging_s=dynamics.averaging_s,
        delay_s=dynamics.delay_s,
        settle_s=dynamics.settle_s,
        spread_w=energy.spread_w if energy else None,
    )


def _counted(
    values: list[tuple[float, float | None]], channel: Channel, window: Window, meter: Meter
) -> Energy | Missing:
    delta = counter_delta(values, window, channel.bits, wraps_at=channel.wraps_at)
    if delta.value is None:
        return Missing(delta.reason or "not read")
    if delta.value > MOST_W * window.seconds:
        power_w = delta.value / window.seconds
        return Missing(
            f"its total implies {power_w:.3g} W, which no host draws: it was reset, or its scale is wrong"
        )
    return energy_from_total(values, window, meter, delta.value)


def _why(reading: Reading, channel: str, energy_or_reason: Energy | Missing) -> str | None:
    """The source's own words about a reading that is missing, else why it cannot be integrated."""
    if isinstance(energy_or_reason, Energy):
        return None
    reasons = [sample.reason for sample in reading.samples(channel) if sample.reason is not None]
    return reasons[-1] if reasons else (reading.failure or energy_or_reason.reason)
