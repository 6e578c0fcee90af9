# SPDX-License-Identifier: Apache-2.0
"""Fans, temperatures, clocks and power limits of a host over a window, from its readings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from linewatt.analysis.power import DEGREES, HERTZ, UNITS
from linewatt.engine.live.feed import Reading
from linewatt.model import CpuShares, EndResult, ThermalResult, Window

NO_TEMPERATURE = (
    "neither the host's kernel (coretemp, k10temp, a CPU's thermal zone) nor a power source reports one"
)
NO_FAN = "no power source reports fans"
NO_CLOCK = "its kernel does not show at which frequency CPUs run, or the load's CPUs are not known"
NO_LIMIT = "its kernel shows no power limit of a CPU package (powercap)"


def with_thermal(
    end: EndResult, readings: Sequence[Reading], window: Window, package_limit_w: float | None = None
) -> EndResult:
    """``end`` with what stands beside its watts; ``reasons`` say why there is no ``thermal.<what>``."""
    thermal_results = (*thermal(readings, window), *_clocks(end, readings, window))
    units = {result.unit for result in thermal_results}
    lacking = {"temperature": (DEGREES, NO_TEMPERATURE), "fan": ("rpm", NO_FAN), "clock": (HERTZ, NO_CLOCK)}
    reasons = {f"thermal.{what}": why for what, (unit, why) in lacking.items() if unit not in units}
    if package_limit_w is None:
        reasons["thermal.limit"] = NO_LIMIT
    return replace(
        end, thermal=thermal_results, package_limit_w=package_limit_w, reasons={**end.reasons, **reasons}
    )


def thermal(readings: Sequence[Reading], window: Window) -> Iterator[ThermalResult]:
    """Fans and temperatures; what was not read in the window is not there."""
    for reading in readings:
        for channel in reading.channels.values():
            if channel.unit in UNITS:
                yield from _over(reading, channel.name, channel.unit, [channel.name], window)


def _clocks(end: EndResult, readings: Sequence[Reading], window: Window) -> Iterator[ThermalResult]:
    """Of the CPUs of each role together; only where all of them are read."""
    roles: Iterable[tuple[str, CpuShares | None]] = (("app CPUs", end.app_cpu), ("IRQ CPUs", end.irq_cpu))
    for reading in readings:
        for name, role in roles:
            channels = [f"cpu{cpu}.frequency_hz" for cpu in role.cpus] if role else []
            if channels and all(channel in reading.channels for channel in channels):
                yield from _over(reading, name, HERTZ, channels, window)


def _over(
    reading: Reading, name: str, unit: str, channels: Sequence[str], window: Window
) -> Iterator[ThermalResult]:
    values = [float(value) for channel in channels for _, value in reading.within(channel, window)]
    if values:
        yield ThermalResult(reading.source, name, unit, fmean(values), min(values), max(values))
