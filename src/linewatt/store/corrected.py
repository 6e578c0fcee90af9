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

from linewatt.findings.meters import BEYOND_RATIO, CALIBRATION_DAYS
from linewatt.model import EndResult, Flag, PowerResult, Provenance, Trial
from linewatt.records import Bounded, CalibrationUsed
from linewatt.units import format_percent, when

CODES = ("power-corrected", "power-not-corrected", "calibration-extrapolated", "calibration-old")
DAY_S = 86_400.0
_SURE: tuple[Provenance, ...] = ("measured", "corrected", "datasheet", "estimate", "simulated")

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
        powers = [one.reference_w for one in self.used.calibration.steps]
        mean_w = math.fsum(powers) / len(powers)
        squares = math.fsum((one - mean_w) ** 2 for one in powers)
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
        found = self.used.calibration
        offset = f"{abs(self.offset_w.value):.1f} W"
        sign = "−" if self.offset_w.value >= 0 else "+"
        stated = found.reference.tolerance_ratio
        true = "how true is not known" if stated is None else f"stated within {format_percent(stated)}"
        return (
            f"(reading {sign} {offset}) / {self.slope:.4f}, by {self.used.name} of "
            f"{when(found.measured_s)} against {found.reference.source}, {true}"
        )


def correction(used: CalibrationUsed) -> Correction | None:
    """What a calibration corrects by; ``None`` where it tells no gain and offset."""
    found = used.calibration
    if found.gain is None or found.offset_w is None or found.gain.value <= -1:
        return None
    return Correction(used, found.gain, found.offset_w) if _varied(used) else None


def _varied(used: CalibrationUsed) -> bool:
    return len({one.reference_w for one in used.calibration.steps}) > 1


def corrected(trial: Trial, used: Used) -> Trial:
    """The trial with corrected channels made anew beside those that were read, and what is to be known."""
    if not used:
        return trial
    flags: list[Flag] = [flag for flag in trial.flags if flag.code not in CODES]
    now = trial.with_ends(lambda end: _end(end, trial, used, flags))
    return replace(now, flags=tuple(flags))


def _end(end: EndResult, trial: Trial, used: Used, flags: list[Flag]) -> EndResult:
    read = [one for one in end.power if not one.is_corrected]
    made: list[PowerResult] = []
    for source in dict.fromkeys(one.source for one in read):
        by = used.get((end.host, source))
        line = correction(by) if by is not None else None
        if by is None or line is None:
            continue
        own = _calibrated([one for one in read if one.source == source], by)
        where = f"{end.host}: {source}"
        if isinstance(own, str):
            flags.append(Flag("power-not-corrected", where, own, "calibrate the meter as it is read now"))
            continue
        one = _corrected(own, line)
        made.append(one)
        if one.power_w is not None:
            flags += _told(where, own, one, line, trial.started_s)
    return replace(end, power=(*made, *read)) if made or len(read) < len(end.power) else end


def _calibrated(power: Sequence[PowerResult], used: CalibrationUsed) -> list[PowerResult] | str:
    """The channels that were calibrated, or why they cannot be corrected: what makes the total must be what
    made it then."""
    meter = used.calibration.meter
    own = [one for one in power if one.scope.partition(":")[0] == meter.scope]
    whole = [one for one in own if ":" not in one.scope]
    taken = whole[:1] or own
    names = sorted(one.channel for one in taken)
    if names == sorted(meter.channels):
        return taken
    there = ", ".join(names) or "nothing"
    return (
        f"{used.name} is of {', '.join(meter.channels)} ({meter.scope}), and what was read of that is "
        f"{there}: its watts are as read"
    )


def _corrected(own: Sequence[PowerResult], line: Correction) -> PowerResult:
    """One channel in the place of those that were calibrated together."""
    first, found = own[0], line.used.calibration
    read_w, read_j = _sum([one.power_w for one in own]), _sum([one.energy_j for one in own])
    idle_w = _sum([one.idle_w for one in own])
    made = replace(
        first,
        channel=f"corrected {' + '.join(one.channel for one in own)}",
        scope=first.scope if len(own) == 1 else found.meter.scope,
        provenance=_least_sure([*(one.provenance for one in own), found.reference.provenance]),
        method=f"{PowerResult.CORRECTED}{line.words()}",
        step_w=_scaled(_sum([one.step_w for one in own]), line),
        tolerance_ratio=found.reference.tolerance_ratio,
        updates=min(one.updates for one in own),
        spread_w=_scaled(_sum([one.spread_w for one in own]), line),
        idle_doubt=next((one.idle_doubt for one in own if one.idle_doubt), None),
        reason=next((one.reason for one in own if one.power_w is None), None),
        power_w=None,
        energy_j=None,
        energy_uncertainty_j=None,
        idle_w=None if idle_w is None else line.true_w(idle_w),
        idle_windows_w=_windows(own, line),
        idle_uncertainty_w=_idle_bound_w(own, idle_w, line),
    )
    if read_w is None or not read_j or not read_w:
        return made if read_w is None else replace(made, power_w=line.true_w(read_w))
    true_w, seconds = line.true_w(read_w), read_j / read_w
    bounds = [_without_tolerance(one.energy_uncertainty_j, one.energy_j, one) for one in own]
    own_j = _sum(bounds)
    bound_w = line.uncertainty_w(true_w, None if own_j is None else own_j / seconds)
    bound_j = None if bound_w is None else bound_w * seconds
    return replace(made, power_w=true_w, energy_j=true_w * seconds, energy_uncertainty_j=bound_j)


def _windows(own: Sequence[PowerResult], line: Correction) -> tuple[float, ...]:
    if len({len(one.idle_windows_w) for one in own}) != 1:
        return ()
    every = zip(*(one.idle_windows_w for one in own), strict=True)
    return tuple(line.true_w(math.fsum(values)) for values in every)


def _idle_bound_w(own: Sequence[PowerResult], idle_w: float | None, line: Correction) -> float | None:
    if idle_w is None:
        return None
    known = _sum([_without_tolerance(one.idle_uncertainty_w, one.idle_w, one) for one in own])
    return line.uncertainty_w(line.true_w(idle_w), known)


def _without_tolerance(bound: float | None, value: float | None, one: PowerResult) -> float | None:
    """A bound of a reading without what its meter's tolerance, which the calibration stands for, is in it."""
    if bound is None or value is None:
        return None
    return math.sqrt(max(0.0, bound**2 - ((one.tolerance_ratio or 0.0) * value) ** 2))


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def _scaled(value_w: float | None, line: Correction) -> float | None:
    return None if value_w is None else value_w / line.slope


def _least_sure(found: Sequence[Provenance]) -> Provenance:
    return max(("corrected", *found), key=_SURE.index)


def _told(
    where: str, own: Sequence[PowerResult], one: PowerResult, line: Correction, at_s: float
) -> Iterator[Flag]:
    """What a reader of corrected watts is to know of them."""
    found, read_w, true_w = line.used.calibration, math.fsum(each.power_w or 0.0 for each in own), one.power_w
    if true_w is None:
        return
    unsure = line.bound_w(true_w)
    yield Flag(
        "power-corrected",
        where,
        f"{true_w:.1f} W from {read_w:.1f} W as read: {line.words()}; gain and offset leave ± {unsure:.1f} W",
        "nothing; figures as read are stored beside them",
    )
    outside = [_outside_w(power_w, line) for power_w in (true_w, one.idle_w) if power_w is not None]
    if any(outside):
        yield Flag(
            "calibration-extrapolated",
            where,
            f"{line.used.name} is of {found.low_w:.0f} to {found.high_w:.0f} W, and what is corrected lies "
            f"{max(outside):.0f} W outside",
            "calibrate the meter over a load that reaches as far",
        )
    age_days = (at_s - found.measured_s) / DAY_S
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
