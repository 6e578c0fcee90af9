# SPDX-License-Identifier: Apache-2.0
"""Watts corrected by a calibration on record, beside those that the meter read. Pure.

What a meter read stays as it is. Beside it stands one more channel, ``corrected …``, of the whole scope that
was calibrated, so that totals take it in the place of what was read; its method says by what it was made. It
is stored with each trial, and made again whenever a result is read, as idle power and what was learned of
meters are. The delay of a calibration corrects nothing: how a meter follows is learned from its own readings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.power import least_sure
from linewatt.features.calibration.documents import Bounded, CalibrationUsed
from linewatt.features.calibration.findings import BEYOND_RATIO, CALIBRATION_DAYS
from linewatt.missing import Missing
from linewatt.model import EndResult, Flag, PowerResult, Trial
from linewatt.units import format_percent, format_time_utc

CODES = ("power-corrected", "power-not-corrected", "calibration-extrapolated", "calibration-old")
DAY_S = 86_400.0

Used = Mapping[tuple[str, str], CalibrationUsed]
"""host, source → by what its watts are corrected"""


@dataclass(frozen=True, slots=True)
class Correction:
    """``true = (read − offset) / (1 + gain)``, and how sure that is."""

    used: CalibrationUsed
    gain: Bounded
    offset_w: Bounded

    @property
    def slope(self) -> float:
        return 1 + self.gain.value

    def true_w(self, read_w: float) -> float:
        return (read_w - self.offset_w.value) / self.slope

    def bound_w(self, true_w: float) -> float:
        """What the line leaves open at a power, 95 %: that of its gain and offset, which go together, and how
        windows scatter about it; further from the middle of the staircase it is more."""
        powers = [step.reference_w for step in self.used.calibration.steps]
        mean_w = math.fsum(powers) / len(powers)
        squares = math.fsum((power_w - mean_w) ** 2 for power_w in powers)
        scatter_w = (self.gain.high - self.gain.low) / 2 * math.sqrt(squares)
        return scatter_w * math.sqrt(1 + 1 / len(powers) + (true_w - mean_w) ** 2 / squares) / self.slope

    def uncertainty_w(self, true_w: float, own_w: float | None) -> float | None:
        """With ``own_w``, a bound of the reading without its tolerance, and the reference's own tolerance.

        ``None``: how true the reference is is not known, so how true what is made by it is, is not either.
        """
        stated = self.used.calibration.reference.tolerance_ratio
        if stated is None or own_w is None:
            return None
        return math.hypot(own_w / self.slope + self.bound_w(true_w), stated * true_w)

    def words(self) -> str:
        """How it is made, and from what."""
        calibration = self.used.calibration
        offset = f"{abs(self.offset_w.value):.1f} W"
        sign = "−" if self.offset_w.value >= 0 else "+"
        stated = calibration.reference.tolerance_ratio
        tolerance = "tolerance not known" if stated is None else f"stated tolerance {format_percent(stated)}"
        return (
            f"(reading {sign} {offset}) / {self.slope:.4f}, by {self.used.name} of "
            f"{format_time_utc(calibration.measured_s)} against {calibration.reference.source}, {tolerance}"
        )


def correction(used: CalibrationUsed) -> Correction | None:
    """The correction of a calibration; ``None`` without a gain and an offset."""
    calibration = used.calibration
    if calibration.gain is None or calibration.offset_w is None or calibration.gain.value <= -1:
        return None
    return Correction(used, calibration.gain, calibration.offset_w) if _varied(used) else None


def _varied(used: CalibrationUsed) -> bool:
    return len({step.reference_w for step in used.calibration.steps}) > 1


def corrected(trial: Trial, used: Used) -> Trial:
    """The trial with corrected channels made anew beside those that were read, and what is to be known."""
    if not used:
        return trial
    flags: list[Flag] = [flag for flag in trial.flags if flag.code not in CODES]
    now = trial.with_ends(lambda end: _end(end, trial, used, flags))
    return replace(now, flags=tuple(flags))


def _end(end: EndResult, trial: Trial, used: Used, flags: list[Flag]) -> EndResult:
    read = [channel for channel in end.power if not channel.is_corrected]
    corrected_channels: list[PowerResult] = []
    for source in dict.fromkeys(channel.source for channel in read):
        by = used.get((end.host, source))
        line = correction(by) if by is not None else None
        if by is None or line is None:
            continue
        calibrated = _calibrated([channel for channel in read if channel.source == source], by)
        where = f"{end.host}: {source}"
        if isinstance(calibrated, Missing):
            flags.append(
                Flag(
                    "power-not-corrected",
                    where,
                    calibrated.reason,
                    "calibrate the channels that are read now, or remove the calibration",
                )
            )
            continue
        corrected_channel = _corrected(calibrated, line)
        corrected_channels.append(corrected_channel)
        if corrected_channel.power_w is not None:
            flags += _correction_flags(where, calibrated, corrected_channel, line, trial.started_s)
    if not corrected_channels and len(read) == len(end.power):
        return end
    return replace(end, power=(*corrected_channels, *read))


def _calibrated(power: Sequence[PowerResult], used: CalibrationUsed) -> list[PowerResult] | Missing:
    """The channels that were calibrated, or why they cannot be corrected.

    The total must consist of the same channels as when it was calibrated.
    """
    meter = used.calibration.meter
    in_scope = [channel for channel in power if channel.scope.partition(":")[0] == meter.scope]
    totals = [channel for channel in in_scope if ":" not in channel.scope]
    taken = totals[:1] or in_scope
    names = sorted(channel.channel for channel in taken)
    if names == sorted(meter.channels):
        return taken
    names_read = ", ".join(names) or "nothing"
    return Missing(
        f"{used.name} calibrated {', '.join(meter.channels)} ({meter.scope}), but the channels read are "
        f"{names_read}: the watts are not corrected"
    )


def _corrected(channels: Sequence[PowerResult], line: Correction) -> PowerResult:
    """One corrected channel that replaces the channels calibrated together."""
    first, calibration = channels[0], line.used.calibration
    read_w = _sum([channel.power_w for channel in channels])
    read_j = _sum([channel.energy_j for channel in channels])
    idle_w = _sum([channel.idle_w for channel in channels])
    without_power = replace(
        first,
        channel=f"corrected {' + '.join(channel.channel for channel in channels)}",
        scope=first.scope if len(channels) == 1 else calibration.meter.scope,
        provenance=least_sure(
            ("corrected", *(channel.provenance for channel in channels), calibration.reference.provenance)
        )
        or "corrected",
        method=f"{PowerResult.CORRECTED}{line.words()}",
        step_w=_scaled(_sum([channel.step_w for channel in channels]), line),
        tolerance_ratio=calibration.reference.tolerance_ratio,
        updates=min(channel.updates for channel in channels),
        spread_w=_scaled(_sum([channel.spread_w for channel in channels]), line),
        idle_doubt=next((channel.idle_doubt for channel in channels if channel.idle_doubt), None),
        reason=next((channel.reason for channel in channels if channel.power_w is None), None),
        power_w=None,
        energy_j=None,
        energy_uncertainty_j=None,
        idle_w=None if idle_w is None else line.true_w(idle_w),
        idle_windows_w=_windows(channels, line),
        idle_uncertainty_w=_idle_bound_w(channels, idle_w, line),
    )
    if read_w is None or not read_j or not read_w:
        return without_power if read_w is None else replace(without_power, power_w=line.true_w(read_w))
    true_w, seconds = line.true_w(read_w), read_j / read_w
    bounds = [
        _without_tolerance(channel.energy_uncertainty_j, channel.energy_j, channel) for channel in channels
    ]
    own_j = _sum(bounds)
    bound_w = line.uncertainty_w(true_w, None if own_j is None else own_j / seconds)
    bound_j = None if bound_w is None else bound_w * seconds
    return replace(without_power, power_w=true_w, energy_j=true_w * seconds, energy_uncertainty_j=bound_j)


def _windows(channels: Sequence[PowerResult], line: Correction) -> tuple[float, ...]:
    if len({len(channel.idle_windows_w) for channel in channels}) != 1:
        return ()
    by_window = zip(*(channel.idle_windows_w for channel in channels), strict=True)
    return tuple(line.true_w(math.fsum(values)) for values in by_window)


def _idle_bound_w(channels: Sequence[PowerResult], idle_w: float | None, line: Correction) -> float | None:
    if idle_w is None:
        return None
    bound_w = _sum(
        [_without_tolerance(channel.idle_uncertainty_w, channel.idle_w, channel) for channel in channels]
    )
    return line.uncertainty_w(line.true_w(idle_w), bound_w)


def _without_tolerance(bound: float | None, value: float | None, channel: PowerResult) -> float | None:
    """The bound of a reading without its meter's tolerance: the calibration replaces that."""
    if bound is None or value is None:
        return None
    return math.sqrt(max(0.0, bound**2 - ((channel.tolerance_ratio or 0.0) * value) ** 2))


def _sum(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return math.fsum(present) if len(present) == len(values) else None


def _scaled(value_w: float | None, line: Correction) -> float | None:
    return None if value_w is None else value_w / line.slope


def _correction_flags(
    where: str, channels: Sequence[PowerResult], corrected_channel: PowerResult, line: Correction, at_s: float
) -> Iterator[Flag]:
    """The flags of a corrected channel: its uncertainty, extrapolation and an old calibration."""
    calibration, true_w = line.used.calibration, corrected_channel.power_w
    read_w = math.fsum(channel.power_w or 0.0 for channel in channels)
    if true_w is None:
        return
    unsure = line.bound_w(true_w)
    yield Flag(
        "power-corrected",
        where,
        f"{true_w:.1f} W from a reading of {read_w:.1f} W: {line.words()}; gain and offset add "
        f"± {unsure:.1f} W",
        "no action needed; the uncorrected readings are stored too",
    )
    outside = [
        _outside_w(power_w, line) for power_w in (true_w, corrected_channel.idle_w) if power_w is not None
    ]
    if any(outside):
        yield Flag(
            "calibration-extrapolated",
            where,
            f"{line.used.name} covers {calibration.low_w:.0f} to {calibration.high_w:.0f} W; the corrected "
            f"power is {max(outside):.0f} W outside this range",
            "calibrate the meter with loads that reach this power",
        )
    age_days = (at_s - calibration.measured_s) / DAY_S
    if age_days > CALIBRATION_DAYS:
        yield Flag(
            "calibration-old",
            where,
            f"{line.used.name} was {age_days:.0f} days old",
            "calibrate the meter again: linewatt calibrate",
        )


def _outside_w(power_w: float, line: Correction) -> float:
    """How far a power lies beyond the staircase; 0 where that is a small part of what was spanned."""
    low_w, high_w = line.used.calibration.low_w, line.used.calibration.high_w
    if low_w is None or high_w is None:
        return 0.0
    beyond_w = max(low_w - power_w, power_w - high_w, 0.0)
    return beyond_w if beyond_w > BEYOND_RATIO * (high_w - low_w) else 0.0
