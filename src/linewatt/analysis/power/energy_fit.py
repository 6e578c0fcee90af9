# SPDX-License-Identifier: Apache-2.0
"""What a bit and a packet cost a device, and how far its readings carry that: P = P0 + E_bit·bit/s +
E_packet·packets/s. Pure.

One least squares over all rows, each a state of the device. A figure that they do not carry is withheld with
its reason: a plausible wrong number is worse than none. A reader's own estimate of the same figures (the
two least squares of :mod:`packet_energy`) is judged by the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.analysis.power.energy_design import MOST_CHANCE, Design, Point, Row
from linewatt.analysis.power.packet_energy import PacketEnergy
from linewatt.energy_model import FEWEST_STATES, SAME_RATIO
from linewatt.findings.meters import ENERGY_STEPS
from linewatt.units import format_percent, format_rate, format_significant, kpps_from_pps

FEWEST_ROWS = 6
"""three figures, and as many rows again that say how well they fit"""
UNEVEN_RATIO = 0.5
CLEAR_R2 = 0.9
"""of how power varies: where traffic explains less, that is said"""
FEW_R2, FEW_CHANCE = 0.5, 1e-6
"""where traffic explains less than so much, the chance that it does so by accident must be below that"""
MOST_RATIO = 10.0
"""between the ends of an interval: a figure that may be ten times another tells nothing"""
BEND_RATIO, WRONG_BEND_RATIO = 0.05, 0.2
"""of all that traffic adds: a bend that is told of, and one with which slopes are no cost of anything"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % CI in SI; without one ``reason`` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """What is fitted: its key, whose unit ``scale`` makes of SI, its title, and units for people."""

    key: str
    scale: float
    title: str
    units: tuple[tuple[str, float], ...]

    def unit(self, value: float) -> tuple[str, float]:
        """The first unit in which a value has three digits or fewer before the point, and its scale."""
        return next((one for one in self.units if abs(value) * one[1] < 1000), self.units[-1])

    def said(self, value: float, reach: float | None = None) -> str:
        """A value for people, with its ±."""
        unit, scale = self.unit(value)
        beyond = "" if reach is None else f" ± {format_significant(reach * scale, 2)}"
        return f"{format_significant(value * scale, 4)}{beyond} {unit}"


_JOULES = (("pJ", 1e12), ("nJ", 1e9), ("µJ", 1e6), ("mJ", 1e3))
BASE = Kind("p_offset_w", 1, "Power without traffic", (("W", 1.0),))
BIT = Kind("e_bit_pj", 1e12, "Energy of a bit", _JOULES)
PACKET = Kind("e_pkt_nj", 1e9, "Energy of a packet", _JOULES[1:])
KINDS = (BASE, BIT, PACKET)
"""in the order of the design's columns"""
METHODS = ("one least squares", "two least squares, over rates and over packet sizes")


@dataclass(frozen=True, slots=True)
class EnergyFit:
    """The three figures by key, what makes them doubtful, and how well the model fits."""

    figures: Mapping[str, Figure]
    warnings: tuple[str, ...] = ()
    method: str = METHODS[0]
    rows: int = 0
    sizes: int = 0
    points: tuple[Point, ...] = ()
    residual_sd_w: float | None = None
    largest_residual_w: float | None = None
    r2: float | None = None
    condition: float | None = None
    one_fit: Mapping[str, Figure] = field(default_factory=dict)
    """the same by one least squares, where the figures are of another method"""

    def withheld(self, reason: str, *kinds: Kind) -> EnergyFit:
        """Without some figures, all unless they are named."""
        lost = {kind.key for kind in kinds or KINDS if self.figures[kind.key].reason is None}
        gone = dict.fromkeys(lost, Figure(None, reason=reason))
        beside = {**self.one_fit, **gone} if self.one_fit else {}
        return replace(self, figures={**self.figures, **gone}, one_fit=beside)

    def warned(self, *warnings: str) -> EnergyFit:
        """With more that is to be said of it."""
        return replace(self, warnings=(*self.warnings, *warnings))


def energy_fit(
    rows: Sequence[Row],
    step_w: float | None = None,
    published: PacketEnergy | str | None = None,
    *,
    odd: bool = True,
) -> EnergyFit:
    """The figures that rows carry. ``step_w`` is the least difference that the meter can show; ``odd``: look
    for a row that all others contradict.

    ``published`` are those of the two least squares, or why there are none: they then stand in the result.
    """
    blank = EnergyFit({kind.key: Figure(None) for kind in KINDS}, rows=len(rows))
    if published is not None:
        blank = replace(blank, method=METHODS[1])
    why = _too_little(rows)
    if why:
        return blank.withheld(why)
    design = Design(rows)
    if len(design.groups) < FEWEST_STATES:
        states = _count(len(design.groups), "state")
        return blank.withheld(
            f"{states} of traffic: three figures meet any three; {FEWEST_STATES} are needed"
        )
    told = replace(blank, sizes=len(_sizes(rows)), condition=design.condition)
    why = design.collinear
    if why:
        return told.withheld(why)
    found = replace(_fitted(told, design), **design.quality)
    if isinstance(published, PacketEnergy):
        found = _with_published(found, design, published)
    found = _odd_row(found, design, step_w) if odd else found
    for judge in (_bent, _unexplained, _uneven):
        found = judge(found, design)
    found = _unresolved(found, design, step_w)
    if isinstance(published, str):
        found = found.withheld(published, BIT, PACKET)
    return _unphysical(found)


def _too_little(rows: Sequence[Row]) -> str | None:
    """Why nothing can be told of rows, whatever their watts are like."""
    watts = {one.power_w for one in rows}
    if len(watts) == 1:
        return f"power is {watts.pop():g} W in every row: the meter stands, or is too coarse for this"
    sizes = _sizes(rows)
    if len(sizes) < 2:
        what = f"one packet size ({8 * sizes[0]:.4g} bits on the wire)" if sizes else "no traffic in any row"
        return f"{what}: two sizes are needed to tell bits from packets"
    if len(_distinct([one.bit_per_s for one in rows])) < 2:
        return f"one rate ({rows[0].bit_per_s / 1e9:.4g} Gbit/s): two are needed for a slope"
    if len(rows) < FEWEST_ROWS:
        return f"{_count(len(rows), 'row')}: {FEWEST_ROWS} are the least for three figures and their scatter"
    return None


def _sizes(rows: Sequence[Row]) -> list[float]:
    """Distinct sizes of packets, bytes."""
    return _distinct([one.bit_per_s / 8 / one.packets_per_s for one in rows if one.packets_per_s > 0])


def _distinct(values: Sequence[float]) -> list[float]:
    """Values that differ by more than :data:`SAME_RATIO` from the one before, in order."""
    distinct: list[float] = []
    for one in sorted(values):
        if not distinct or one > distinct[-1] * (1 + SAME_RATIO):
            distinct.append(one)
    return distinct


def _fitted(found: EnergyFit, design: Design) -> EnergyFit:
    values, reaches = design.figures.tolist(), design.reaches.tolist()
    figures = {
        kind.key: Figure(value, value - reach, value + reach)
        for kind, value, reach in zip(KINDS, values, reaches, strict=True)
    }
    return replace(found, figures=figures)


def _with_published(found: EnergyFit, design: Design, published: PacketEnergy) -> EnergyFit:
    """With the figures of the two least squares, and those of one beside them.

    Their CI is that of the same readings summed as the two least squares do, no narrower than that of one,
    nor than how the sizes lie about the line through them.
    """
    import numpy as np

    bit, packet, base = np.array(published.weights()).T
    reaches = np.maximum(design.reaches_of(np.array([base, bit, packet])), design.reaches)
    over_sizes = (0.0, published.bit_reach_j or 0.0, published.packet_reach_j or 0.0)
    values = {BASE: published.base_w, BIT: published.bit_j, PACKET: published.packet_j}
    figures = {
        kind.key: Figure(values[kind], values[kind] - reach, values[kind] + reach)
        for kind, reach in zip(KINDS, np.maximum(reaches, over_sizes).tolist(), strict=True)
    }
    warnings = []
    for kind in KINDS:
        one, two = found.figures[kind.key], figures[kind.key]
        if one.low is None or one.high is None or two.low is None or two.high is None:
            continue
        if one.low > two.high or two.low > one.high:
            other = (one.low + one.high) / 2
            both = f"{kind.said(values[kind])} by two least squares, {kind.said(other)} by one"
            warnings.append(f"{kind.title}: {both}: the packet sizes do not agree on one model")
    return replace(found, figures=figures, one_fit=found.figures).warned(*warnings)


def _unexplained(found: EnergyFit, design: Design) -> EnergyFit:
    """Whether the watts follow the traffic at all. How much else moves them is in the intervals."""
    from scipy.special import fdtrc

    explained = format_percent(max(0.0, design.r2))
    if design.r2 < 1 - 1e-12:
        ratio = design.r2 / (len(KINDS) - 1) / ((1 - design.r2) / design.degrees)
        chance = float(fdtrc(len(KINDS) - 1, design.degrees, max(0.0, ratio)))
        if chance > (FEW_CHANCE if design.r2 < FEW_R2 else MOST_CHANCE):
            return found.withheld(
                f"power does not follow the traffic, which explains {explained} of how it varies: no more "
                "than may be chance"
            )
    if design.r2 < CLEAR_R2:
        return found.warned(f"traffic explains {explained} of how power varies; something else moves it, too")
    return found


def _bent(found: EnergyFit, design: Design) -> EnergyFit:
    """Whether power is a plane over the traffic."""
    import numpy as np

    sizes = design.bits / np.maximum(design.packets, 1e-9)
    bends = {
        "rises with the bit rate in a curve, not in a line": design.bend(design.bits**2),
        "rises with the packet rate in a curve, not in a line": design.bend(design.packets**2),
        "of a packet is not linear in its size": design.bend(design.bits * sizes),
    }
    what, share = max(bends.items(), key=lambda one: one[1])
    if share > BEND_RATIO:
        bend = f"power {what}: it bends by {format_percent(share)} of what traffic adds"
        if share > WRONG_BEND_RATIO:
            return found.withheld(bend)
        return found.warned(f"{bend}; the figures are means over the rates measured")
    if design.off_w is not None:
        return found.warned(
            f"means of the same traffic lie {format_significant(design.off_w, 2)} W (SD) off the model, more "
            "than the scatter of single rows explains"
        )
    return found


def _uneven(found: EnergyFit, design: Design) -> EnergyFit:
    """Whether a size lacks the higher rates that others have, as where the end of a table is missing."""
    most: dict[float, tuple[float, float]] = {}
    sizes = _sizes(design.rows)
    for row in design.rows:
        if row.packets_per_s > 0:
            packet_bytes = row.bit_per_s / 8 / row.packets_per_s
            size = max((one for one in sizes if one <= packet_bytes * (1 + SAME_RATIO)), default=packet_bytes)
            bits, packets = most.get(size, (0.0, 0.0))
            most[size] = max(bits, row.bit_per_s), max(packets, row.packets_per_s)
    all_bits, all_packets = (max(one[at] for one in most.values()) for at in (0, 1))
    lacking = [
        f"{size:.0f} B ({format_rate(bits)}, {format_significant(kpps_from_pps(packets))} kpps)"
        for size, (bits, packets) in most.items()
        if bits < UNEVEN_RATIO * all_bits and packets < UNEVEN_RATIO * all_packets
    ]
    if not lacking:
        return found
    return found.warned(
        f"packets of {', '.join(lacking)} have less than half of the bit rate and of the packet rate that "
        "other sizes reach: rows may be missing"
    )


def _odd_row(found: EnergyFit, design: Design, step_w: float | None) -> EnergyFit:
    """A row that all others contradict: cut off, or mistyped. The fit without it is told beside, and what it
    leaves open is in the intervals: either may be right.
    """
    at = design.odd()
    if at is None:
        return found
    row = design.rows[at]
    rest = [one for number, one in enumerate(design.rows) if number != at]
    without = energy_fit(rest, step_w, odd=False)
    figures = {kind.key: _as_wide(found.figures[kind.key], without.figures[kind.key]) for kind in KINDS}
    return replace(found, figures=figures).warned(
        f"{row.name}: {row.power_w:g} W is {abs(design.rest_w[at]):.3g} W off the fit: cut off or mistyped? "
        f"Without it: {_told(without)}"
    )


def _as_wide(one: Figure, other: Figure) -> Figure:
    """A figure whose interval has that of another in it."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return one
    return replace(one, low=min(one.low, other.low), high=max(one.high, other.high))


def _told(fit: EnergyFit) -> str:
    """Figures of a fit in one line, each with the farther half of its interval."""
    said = []
    for kind in KINDS:
        one = fit.figures[kind.key]
        known = one.value is not None and one.low is not None and one.high is not None
        said.append(
            f"{kind.title[0].lower()}{kind.title[1:]} {_with_reach(kind, one) if known else 'withheld'}"
        )
    return ", ".join(said)


def _with_reach(kind: Kind, one: Figure) -> str:
    value, low, high = one.value or 0.0, one.low or 0.0, one.high or 0.0
    return kind.said(value, max(high - value, value - low))


def _unresolved(found: EnergyFit, design: Design, step_w: float | None) -> EnergyFit:
    """Whether the meter shows what a bit and a packet add."""
    if not step_w:
        return found
    for kind, traffic in ((BIT, design.bits), (PACKET, design.packets)):
        one = found.figures[kind.key]
        if one.value is None:
            continue
        span_w = abs(one.value) * float(traffic.max() - traffic.min())
        if span_w < ENERGY_STEPS * step_w:
            reason = (
                f"not resolved by this meter: it spans {span_w:.3g} W of the rows, "
                f"{span_w / step_w:.2g} of the meter's steps of {step_w:g} W; {ENERGY_STEPS:g} are needed"
            )
            found = found.withheld(reason, kind)
    return found


def _unphysical(found: EnergyFit) -> EnergyFit:
    """Nothing is said of an energy, or of power without traffic, that may be 0 or less, or ten times another
    as well.
    """
    for kind in KINDS:
        one = found.figures[kind.key]
        if one.value is None or one.low is None or one.high is None:
            continue
        if one.low > 0:
            if one.high >= MOST_RATIO * one.low:
                ends = f"{kind.said(one.low)} to {kind.said(one.high)}"
                found = found.withheld(f"may be anything from {ends}: these readings do not tell it", kind)
            continue
        cost = _with_reach(kind, one)
        if one.high < 0:
            reason = f"{cost} is below 0, which nothing draws: the model does not hold here"
        else:
            reason = f"{cost} is not above 0 beyond doubt"
        found = found.withheld(reason, kind)
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
