# SPDX-License-Identifier: Apache-2.0
"""What a bit and a packet cost a router: watts over rates and packet sizes, two least squares. Pure.

For each packet size W rises with the bit rate by a slope of J/bit in all ports together. A packet of L bytes
then costs slope · 8 · (L + header) / ports, and over the sizes that is E_bit · 8 · (L + header) + E_packet.
Source: NetPowerBench (ETH Zürich).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression

from linewatt.analysis.statistics.stats import t_quantile
from linewatt.missing import Missing
from linewatt.units import format_significant

FEWEST = 2
"""rates of a size, and sizes, through which there is a line"""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading: bytes a packet, bit/s a port, W of the whole router."""

    size_bytes: float
    rate_bps: float
    power_w: float


@dataclass(frozen=True, slots=True)
class SizeFit:
    """The line through the readings of one packet size; ``base_w`` is where it meets no traffic."""

    size_bytes: float
    readings: int
    slope_j_per_bit: float
    base_w: float
    packet_j: float
    """what a packet of this size costs a port"""
    mean_bps: float
    spread_bps: float
    """of its rates: root of the sum of squares about their mean"""


@dataclass(frozen=True, slots=True)
class PacketEnergy:
    """J a bit and J a packet, each with half of its 95 % CI; two sizes have none, as a line meets both."""

    ports: float
    header_bytes: float
    readings: tuple[Reading, ...]
    fits: tuple[SizeFit, ...]
    bit_j: float
    packet_j: float
    bit_reach_j: float | None
    packet_reach_j: float | None

    def at(self, size_bytes: float) -> float:
        """What a packet of a size costs by these two, J."""
        return self.packet_j + self.bit_j * 8 * (size_bytes + self.header_bytes)

    @property
    def base_w(self) -> float:
        """The mean over the sizes of the W without traffic."""
        return fmean(fit.base_w for fit in self.fits)

    def weights(self) -> list[tuple[float, float, float]]:
        """What 1 W of each reading adds to J a bit, to J a packet and to W without traffic."""
        fits = {fit.size_bytes: fit for fit in self.fits}
        mean = fmean(fits)
        squares = math.fsum((size - mean) ** 2 for size in fits)
        weighted = []
        for reading in self.readings:
            line_fit = fits[reading.size_bytes]
            slope = (reading.rate_bps - line_fit.mean_bps) / line_fit.spread_bps**2
            cost = slope * 8 * (reading.size_bytes + self.header_bytes) / self.ports
            part = (reading.size_bytes - mean) / squares
            base = (1 / line_fit.readings - line_fit.mean_bps * slope) / len(fits)
            weighted.append(
                (part * cost / 8, (1 / len(fits) - (mean + self.header_bytes) * part) * cost, base)
            )
        return weighted


def fit_packet_energy(
    readings: Sequence[Reading], ports: float, header_bytes: float
) -> PacketEnergy | Missing:
    """Both costs, or why they cannot be told."""
    by_size: dict[float, list[Reading]] = {}
    for reading in readings:
        by_size.setdefault(reading.size_bytes, []).append(reading)
    if len(by_size) < FEWEST:
        return Missing(f"{len(by_size)} packet size: two are needed to separate bits from packets")
    flat = [
        size
        for size, size_readings in by_size.items()
        if len({reading.rate_bps for reading in size_readings}) < FEWEST
    ]
    if flat:
        return Missing(f"packet size {flat[0]:g} B has one rate: two are needed for a slope")
    fits = tuple(
        _fit(size, size_readings, ports, header_bytes) for size, size_readings in sorted(by_size.items())
    )
    sizes, costs = [fit.size_bytes for fit in fits], [fit.packet_j for fit in fits]
    line = linear_regression(sizes, costs)
    bit_reach, packet_reach = _reach(sizes, costs, line.slope, line.intercept, -header_bytes)
    fit = PacketEnergy(
        ports,
        header_bytes,
        tuple(readings),
        fits,
        line.slope / 8,
        line.intercept - header_bytes * line.slope,
        None if bit_reach is None else bit_reach / 8,
        packet_reach,
    )
    doubt = _doubt(fit)
    return fit if doubt is None else Missing(doubt)


def _doubt(fit: PacketEnergy) -> str | None:
    """Why readings do not carry the two costs, which are those of one line: one of them may be 0 or less."""
    costs = (
        ("bit", fit.bit_j, fit.bit_reach_j, 1e12, "pJ"),
        ("packet", fit.packet_j, fit.packet_reach_j, 1e9, "nJ"),
    )
    for what, cost_j, reach_j, scale, unit in costs:
        if cost_j - (reach_j or 0.0) <= 0:
            reach = "" if reach_j is None else f" ± {format_significant(reach_j * scale)}"
            cost = f"{format_significant(cost_j * scale, 4)}{reach} {unit}"
            return f"the line through the packet sizes has {cost} for a {what}, not above 0 beyond doubt"
    return None


def _fit(size: float, readings: Sequence[Reading], ports: float, header_bytes: float) -> SizeFit:
    line = linear_regression(
        [reading.rate_bps for reading in readings], [reading.power_w for reading in readings]
    )
    cost_j = line.slope * 8 * (size + header_bytes) / ports
    mean_bps = fmean(reading.rate_bps for reading in readings)
    spread_bps = math.hypot(*(reading.rate_bps - mean_bps for reading in readings))
    return SizeFit(size, len(readings), line.slope, line.intercept, cost_j, mean_bps, spread_bps)


def _reach(
    x: Sequence[float], y: Sequence[float], slope: float, intercept: float, at: float
) -> tuple[float | None, float | None]:
    """Half of the 95 % CI of the slope, and of the line at ``at``."""
    degrees = len(x) - 2
    if degrees < 1:
        return None, None
    mean = fmean(x)
    squares = math.fsum((value - mean) ** 2 for value in x)
    residual_squares = math.fsum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    spread = t_quantile(degrees) * math.sqrt(residual_squares / degrees)
    return spread / math.sqrt(squares), spread * math.sqrt(1 / len(x) + (at - mean) ** 2 / squares)
