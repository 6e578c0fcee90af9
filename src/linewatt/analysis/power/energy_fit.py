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

from linewatt.analysis.power.energy_design import MOST_CHANCE, Design, Extension, Point, Row
from linewatt.analysis.power.packet_energy import PacketEnergy
from linewatt.energy_model import FEWEST_STATES, SAME_RATIO
from linewatt.findings import ENERGY_STEPS
from linewatt.missing import Missing
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
FAR_RATIO = 0.04
"""of the most that traffic adds: with no state below, power without traffic is an extrapolation"""
SORTED_R2 = 0.6
"""of when rows were measured, that follows from their traffic: from here on a drift looks like traffic"""
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
        return next(
            (unit_scale for unit_scale in self.units if abs(value) * unit_scale[1] < 1000), self.units[-1]
        )

    def said(self, value: float, reach: float | None = None) -> str:
        """A value for people, with its ±."""
        unit, scale = self.unit(value)
        reach_text = "" if reach is None else f" ± {format_significant(reach * scale, 2)}"
        return f"{format_significant(value * scale, 4)}{reach_text} {unit}"


_JOULES = (("pJ", 1e12), ("nJ", 1e9), ("µJ", 1e6), ("mJ", 1e3))
BASE_POWER = Kind("p_offset_w", 1, "Power without traffic", (("W", 1.0),))
BIT_ENERGY = Kind("e_bit_pj", 1e12, "Energy of a bit", _JOULES)
PACKET_ENERGY = Kind("e_pkt_nj", 1e9, "Energy of a packet", _JOULES[1:])
KINDS = (BASE_POWER, BIT_ENERGY, PACKET_ENERGY)
"""in the order of the design's columns"""
_REMEDY = "measure with order: random, and with idle windows in between (energy)"
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
    line_base: Figure | None = None
    """power without traffic by the line alone, where the figure allows for a curve"""

    def withheld(self, reason: str, *kinds: Kind) -> EnergyFit:
        """Without some figures, all unless they are named."""
        withheld_keys = {kind.key for kind in kinds or KINDS if self.figures[kind.key].reason is None}
        withheld_figures = dict.fromkeys(withheld_keys, Figure(None, reason=reason))
        one_fit = {**self.one_fit, **withheld_figures} if self.one_fit else {}
        return replace(self, figures={**self.figures, **withheld_figures}, one_fit=one_fit)

    def warned(self, *warnings: str) -> EnergyFit:
        """With more that is to be said of it."""
        return replace(self, warnings=(*self.warnings, *warnings))


def fit_energy(
    rows: Sequence[Row],
    step_w: float | None = None,
    published: PacketEnergy | Missing | None = None,
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
    reason = _too_little(rows)
    if reason:
        return blank.withheld(reason)
    design = Design(rows)
    if len(design.groups) < FEWEST_STATES:
        states = _count(len(design.groups), "state")
        return blank.withheld(
            f"{states} of traffic: three figures meet any three; {FEWEST_STATES} are needed"
        )
    unfitted = replace(blank, sizes=len(_sizes(rows)), condition=design.condition)
    reason = design.collinear
    if reason:
        return unfitted.withheld(reason)
    fit = replace(_fitted(unfitted, design), **design.quality)
    if isinstance(published, PacketEnergy):
        fit = _with_published(fit, design, published)
    fit = _odd_row(fit, design, step_w) if odd else fit
    for judge in (_bent, _curved, _drifting, _unexplained, _uneven):
        fit = judge(fit, design)
    fit = _unresolved(fit, design, step_w)
    if isinstance(published, Missing):
        fit = fit.withheld(published.reason, BIT_ENERGY, PACKET_ENERGY)
    return _unphysical(fit)


def _too_little(rows: Sequence[Row]) -> str | None:
    """Why nothing can be told of rows, whatever their watts are like."""
    watts = {row.power_w for row in rows}
    if len(watts) == 1:
        return f"power is {watts.pop():g} W in every row: the meter stands, or is too coarse for this"
    sizes = _sizes(rows)
    if len(sizes) < 2:
        sizes_text = (
            f"one packet size ({8 * sizes[0]:.4g} bits on the wire)" if sizes else "no traffic in any row"
        )
        return f"{sizes_text}: two sizes are needed to tell bits from packets"
    if len(_distinct([row.bit_per_s for row in rows])) < 2:
        return f"one rate ({rows[0].bit_per_s / 1e9:.4g} Gbit/s): two are needed for a slope"
    if len(rows) < FEWEST_ROWS:
        return f"{_count(len(rows), 'row')}: {FEWEST_ROWS} are needed for three figures and their scatter"
    return None


def _sizes(rows: Sequence[Row]) -> list[float]:
    """Distinct sizes of packets, bytes."""
    return _distinct([row.bit_per_s / 8 / row.packets_per_s for row in rows if row.packets_per_s > 0])


def _distinct(values: Sequence[float]) -> list[float]:
    """Values that differ by more than :data:`SAME_RATIO` from the one before, in order."""
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value > distinct[-1] * (1 + SAME_RATIO):
            distinct.append(value)
    return distinct


def _fitted(fit: EnergyFit, design: Design) -> EnergyFit:
    values, reaches = design.figures.tolist(), design.reaches.tolist()
    figures = {
        kind.key: Figure(value, value - reach, value + reach)
        for kind, value, reach in zip(KINDS, values, reaches, strict=True)
    }
    return replace(fit, figures=figures)


def _with_published(fit: EnergyFit, design: Design, published: PacketEnergy) -> EnergyFit:
    """With the figures of the two least squares, and those of one beside them.

    Their CI is that of the same readings summed as the two least squares do, no narrower than that of one,
    nor than how the sizes lie about the line through them.
    """
    import numpy as np

    bit, packet, base = np.array(published.weights()).T
    reaches = np.maximum(design.reaches_of(np.array([base, bit, packet])), design.reaches)
    over_sizes = (0.0, published.bit_reach_j or 0.0, published.packet_reach_j or 0.0)
    values = {BASE_POWER: published.base_w, BIT_ENERGY: published.bit_j, PACKET_ENERGY: published.packet_j}
    figures = {
        kind.key: Figure(values[kind], values[kind] - reach, values[kind] + reach)
        for kind, reach in zip(KINDS, np.maximum(reaches, over_sizes).tolist(), strict=True)
    }
    warnings = []
    for kind in KINDS:
        single_figure, published_figure = fit.figures[kind.key], figures[kind.key]
        if (
            single_figure.low is None
            or single_figure.high is None
            or published_figure.low is None
            or published_figure.high is None
        ):
            continue
        if single_figure.low > published_figure.high or published_figure.low > single_figure.high:
            single_value = (single_figure.low + single_figure.high) / 2
            methods_text = f"{kind.said(values[kind])} by two least squares, {kind.said(single_value)} by one"
            warnings.append(f"{kind.title}: {methods_text}: the packet sizes do not agree on one model")
    return replace(fit, figures=figures, one_fit=fit.figures).warned(*warnings)


def _unexplained(fit: EnergyFit, design: Design) -> EnergyFit:
    """Whether the watts follow the traffic at all. How much else moves them is in the intervals."""
    from scipy.special import fdtrc

    explained_text = format_percent(max(0.0, design.r2))
    if design.r2 < 1 - 1e-12:
        f_ratio = design.r2 / (len(KINDS) - 1) / ((1 - design.r2) / design.degrees)
        chance = float(fdtrc(len(KINDS) - 1, design.degrees, max(0.0, f_ratio)))
        if chance > (FEW_CHANCE if design.r2 < FEW_R2 else MOST_CHANCE):
            return fit.withheld(
                f"power does not follow the traffic, which explains {explained_text} of how it varies: no "
                "more than may be chance"
            )
    if design.r2 < CLEAR_R2:
        return fit.warned(
            f"traffic explains {explained_text} of how power varies; something else moves it, too"
        )
    return fit


def _bent(fit: EnergyFit, design: Design) -> EnergyFit:
    """Whether power is a plane over the traffic."""
    shape_text, bend_share = _largest_bend(design)
    if bend_share > BEND_RATIO:
        bend = f"power {shape_text}: it bends by {format_percent(bend_share)} of what traffic adds"
        if bend_share > WRONG_BEND_RATIO:
            return fit.withheld(bend)
        return fit.warned(f"{bend}; the figures are means over the rates measured")
    if design.off_w is not None:
        return fit.warned(
            f"means of the same traffic lie {format_significant(design.off_w, 2)} W (SD) off the model, more "
            "than the scatter of single rows explains"
        )
    return fit


def _largest_bend(design: Design) -> tuple[str, float]:
    """In words, and as a part of what traffic adds."""
    import numpy as np

    sizes = design.bits / np.maximum(design.packets, 1e-9)
    bends = {
        "rises with the bit rate in a curve, not in a line": design.bend(design.bits**2),
        "rises with the packet rate in a curve, not in a line": design.bend(design.packets**2),
        "of a packet is not linear in its size": design.bend(design.bits * sizes),
    }
    return max(bends.items(), key=lambda bend_and_share: bend_and_share[1])


def _curved(fit: EnergyFit, design: Design) -> EnergyFit:
    """Power without traffic that rows far from it do not show: its CI allows for a curve down there."""
    base = fit.figures[BASE_POWER.key]
    curves = design.curves()
    if base.value is None or not curves:
        return fit
    clearest = min(curves, key=lambda curve: curve.chance)
    is_clear = clearest.chance * len(curves) < MOST_CHANCE
    if not is_clear and design.lowest_traffic_ratio < FAR_RATIO:
        return fit
    figure = base
    for curve in (curves[0], clearest):
        figure = as_wide(figure, _extended_figure(BASE_POWER, curve))
    fit = replace(fit, figures={**fit.figures, BASE_POWER.key: figure}, line_base=base)
    if not is_clear or _largest_bend(design)[1] > BEND_RATIO:
        return fit
    curve_text = _with_reach(BASE_POWER, _extended_figure(BASE_POWER, clearest))
    return fit.warned(
        f"power rises in a curve, not in a line: without traffic a line has {BASE_POWER.said(base.value)}, "
        f"a curve {curve_text}; the energies of bits and packets are means over the rates measured"
    )


def _drifting(fit: EnergyFit, design: Design) -> EnergyFit:
    """Whether power drifts beside the traffic, or might and look like traffic: an even drift is then in the
    intervals."""
    drift = design.drift
    if drift is not None and drift.chance < MOST_CHANCE:
        fit = fit.warned(
            f"power drifts by {drift.rise_w:+.3g} W from the first trial to the last, beside the traffic; "
            f"intervals allow for an even drift; {_REMEDY}"
        )
    elif design.time_r2 > SORTED_R2:
        fit = fit.warned(
            "trials ran in the order of their traffic: a drift would look like traffic; intervals allow for "
            f"an even drift; {_REMEDY}"
        )
    else:
        return fit
    extension = design.extended(design.times)
    if extension is None:
        return fit.withheld("trials ran in the order of their traffic: a drift cannot be told from it")
    figures = {kind.key: as_wide(fit.figures[kind.key], _extended_figure(kind, extension)) for kind in KINDS}
    return replace(fit, figures=figures)


def _extended_figure(kind: Kind, extension: Extension) -> Figure:
    at = KINDS.index(kind)
    value, reach = extension.figures[at], extension.reaches[at]
    return Figure(value, value - reach, value + reach)


def _uneven(fit: EnergyFit, design: Design) -> EnergyFit:
    """Whether a size lacks the higher rates that others have, as where the end of a table is missing."""
    highest_rates: dict[float, tuple[float, float]] = {}
    sizes = _sizes(design.rows)
    for row in design.rows:
        if row.packets_per_s > 0:
            packet_bytes = row.bit_per_s / 8 / row.packets_per_s
            size_bytes = max(
                (lower_bytes for lower_bytes in sizes if lower_bytes <= packet_bytes * (1 + SAME_RATIO)),
                default=packet_bytes,
            )
            bit_per_s, packets_per_s = highest_rates.get(size_bytes, (0.0, 0.0))
            highest_rates[size_bytes] = max(bit_per_s, row.bit_per_s), max(packets_per_s, row.packets_per_s)
    highest_bit_per_s, highest_packets_per_s = (
        max(rates[column] for rates in highest_rates.values()) for column in (0, 1)
    )
    lacking = [
        f"{size_bytes:.0f} B ({format_rate(bit_per_s)}, "
        f"{format_significant(kpps_from_pps(packets_per_s))} kpps)"
        for size_bytes, (bit_per_s, packets_per_s) in highest_rates.items()
        if bit_per_s < UNEVEN_RATIO * highest_bit_per_s
        and packets_per_s < UNEVEN_RATIO * highest_packets_per_s
    ]
    if not lacking:
        return fit
    return fit.warned(
        f"packets of {', '.join(lacking)} have less than half of the bit rate and of the packet rate that "
        "other sizes reach: rows may be missing"
    )


def _odd_row(fit: EnergyFit, design: Design, step_w: float | None) -> EnergyFit:
    """A row that all others contradict: cut off, or mistyped. The fit without it is told beside, and what it
    leaves open is in the intervals: either may be right.
    """
    odd_index = design.odd()
    if odd_index is None:
        return fit
    row = design.rows[odd_index]
    other_rows = [other_row for number, other_row in enumerate(design.rows) if number != odd_index]
    fit_without = fit_energy(other_rows, step_w, odd=False)
    figures = {kind.key: as_wide(fit.figures[kind.key], fit_without.figures[kind.key]) for kind in KINDS}
    return replace(fit, figures=figures).warned(
        f"{row.name}: {row.power_w:g} W is {abs(design.rest_w[odd_index]):.3g} W off the fit: cut off or "
        f"mistyped? Without it: {_told(fit_without)}"
    )


def as_wide(figure: Figure, enclosed: Figure) -> Figure:
    """A figure whose interval has that of another in it."""
    if figure.low is None or figure.high is None or enclosed.low is None or enclosed.high is None:
        return figure
    return replace(figure, low=min(figure.low, enclosed.low), high=max(figure.high, enclosed.high))


def _told(fit: EnergyFit) -> str:
    """Figures of a fit in one line, each with the farther half of its interval."""
    texts = []
    for kind in KINDS:
        figure = fit.figures[kind.key]
        is_known = figure.value is not None and figure.low is not None and figure.high is not None
        texts.append(
            f"{kind.title[0].lower()}{kind.title[1:]} {_with_reach(kind, figure) if is_known else 'withheld'}"
        )
    return ", ".join(texts)


def _with_reach(kind: Kind, figure: Figure) -> str:
    value, low, high = figure.value or 0.0, figure.low or 0.0, figure.high or 0.0
    return kind.said(value, max(high - value, value - low))


def _unresolved(fit: EnergyFit, design: Design, step_w: float | None) -> EnergyFit:
    """Whether the meter shows what a bit and a packet add."""
    if not step_w:
        return fit
    for kind, traffic in ((BIT_ENERGY, design.bits), (PACKET_ENERGY, design.packets)):
        figure = fit.figures[kind.key]
        if figure.value is None:
            continue
        span_w = abs(figure.value) * float(traffic.max() - traffic.min())
        if span_w < ENERGY_STEPS * step_w:
            reason = (
                f"not resolved by this meter: it spans {span_w:.3g} W of the rows, "
                f"{span_w / step_w:.2g} of the meter's steps of {step_w:g} W; {ENERGY_STEPS:g} are needed"
            )
            fit = fit.withheld(reason, kind)
    return fit


def _unphysical(fit: EnergyFit) -> EnergyFit:
    """Nothing is said of an energy, or of power without traffic, that may be 0 or less, or ten times another
    as well.
    """
    for kind in KINDS:
        figure = fit.figures[kind.key]
        if figure.value is None or figure.low is None or figure.high is None:
            continue
        if figure.low > 0:
            if figure.high >= MOST_RATIO * figure.low:
                ends = f"{kind.said(figure.low)} to {kind.said(figure.high)}"
                fit = fit.withheld(f"may be anything from {ends}: these readings do not tell it", kind)
            continue
        cost_text = _with_reach(kind, figure)
        if figure.high < 0:
            reason = f"{cost_text} is below 0, which is impossible: the model does not hold here"
        else:
            reason = f"{cost_text} is not above 0 beyond doubt"
        fit = fit.withheld(reason, kind)
    return fit


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
