# SPDX-License-Identifier: Apache-2.0
"""The fleet at each measured operating point, as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linewatt.analysis.metrics import GBPS, MBPS, MBPS_PER_CORE, MBPS_PER_W, Unit
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.features.advice.fleet.advice import FleetAdvice
from linewatt.features.advice.fleet.choice import worth
from linewatt.features.advice.fleet.points import Reading
from linewatt.features.advice.fleet.totals import Fleet, Totals
from linewatt.features.advice.fleet_report.sentences import amount, energy_provenance, limits_of, remarks
from linewatt.report import (
    Cell,
    Head,
    Lack,
    Note,
    Row,
    RowGroup,
    Table,
    absences,
    legend_notes,
    provenance_legend,
    provenance_mark,
    provenance_words,
)
from linewatt.units import BPS_PER_GBPS, MISSING, format_change

_LARGE = 10_000.0
"""W, or kWh, from which on a table has thousands of them"""


def fleet_table(advice: FleetAdvice) -> Table:
    """A row a point; what is missing says why below."""
    rows = tuple(_row(advice, fleet) for fleet in advice.fleets)
    watts = [fleet for fleet in advice.fleets if fleet.point.power_w]
    provenances = [*(fleet.point.provenance for fleet in watts), *map(energy_provenance, watts)]
    notes = (*legend_notes(provenance_legend(provenances)), *_lacks(advice))
    limits = (Note("remark", f"{limit}.", where) for where, limit in limits_of(advice))
    return Table(
        "Fleet at each measured point",
        (Head("Instances a server", lines="Instances\na server"),),
        tuple(_heads(advice)),
        (RowGroup("", rows),),
        (*notes, *limits, *(Note("remark", remark) for remark in remarks(advice))),
        provenance=provenance_words(provenances),
    )


def _rate(advice: FleetAdvice) -> Unit:
    highest_bps = max((fleet.point.throughput_bps.mean for fleet in advice.fleets), default=0.0)
    return GBPS if highest_bps >= BPS_PER_GBPS else MBPS


def _scale(advice: FleetAdvice, name: str) -> tuple[float, str]:
    """By what W or kWh are divided, and the letter that says so."""
    values = [_of(fleet.totals, name) or 0.0 for fleet in advice.fleets]
    return (
        (1000.0, "k" if name == "power_w" else "M")
        if max(values) >= _LARGE
        else (1.0, "" if name == "power_w" else "k")
    )


def _has_intervals(advice: FleetAdvice) -> bool:
    """Of what decides."""
    return any(_of(fleet.high, advice.choice.by) is not None for fleet in advice.fleets)


def _heads(advice: FleetAdvice) -> Iterator[Head]:
    scopes = {fleet.point.scope for fleet in advice.fleets if fleet.point.scope}
    of = f", {SCOPE_WORDS[scopes.pop()]}" if len(scopes) == 1 else ""
    spread = any(fleet.low is not None for fleet in advice.fleets)
    yield Head("Throughput a server", _rate(advice).name, lines="Throughput\na server", show_ci=spread)
    yield Head("Servers", show_ci=spread)
    yield Head("Busy cores", lines="Busy\ncores", rank=3)
    yield Head(f"Power{of}", f"{_scale(advice, 'power_w')[1]}W", lines="Power", show_ci=spread)
    energy = f"{_scale(advice, 'energy_kwh_year')[1]}Wh"
    yield Head("Energy a year", energy, lines="Energy\na year")
    if advice.question.price_per_kwh is not None:
        yield Head("Money a year", lines="Money\na year")
    if _has_intervals(advice):
        of_money = "money" if advice.choice.by == "cost_year" else energy
        yield Head(f"95 % interval of {of_money}", lines=f"95 % interval\nof {of_money}", kind="text")
    yield Head("Against the cheapest", "%", lines="Against\ncheapest")
    yield Head("Per core", MBPS_PER_CORE.name, lines="Per core", rank=1)
    yield Head("Per W", MBPS_PER_W.name, lines="Per W", rank=2)


def _scaled(value: float, scale: float) -> str:
    return f"{value / scale:,.1f}" if scale > 1 else amount(value)


def _row(advice: FleetAdvice, fleet: Fleet) -> Row:
    point, unit, sign = fleet.point, _rate(advice), provenance_mark(fleet.point.provenance)
    of_energy = provenance_mark(energy_provenance(fleet))
    power, energy = (_scale(advice, name)[0] for name in ("power_w", "energy_kwh_year"))
    best = advice.choice.cheapest
    cells = [
        _reading(point.throughput_bps, unit.from_si, unit.text),
        _total(fleet, "servers", lambda value: f"{value:,.0f}"),
        _total(fleet, "cores", lambda value: f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"),
        _total(fleet, "power_w", lambda value: _scaled(value, power), sign),
        _total(fleet, "energy_kwh_year", lambda value: _scaled(value, energy), of_energy),
    ]
    if advice.question.price_per_kwh is not None:
        cells.append(_total(fleet, "cost_year", amount, of_energy))
    if _has_intervals(advice):
        cells.append(_interval(advice, fleet))
    cells += [
        _against(advice, fleet),
        _reading(point.bps_per_core, MBPS_PER_CORE.from_si, MBPS_PER_CORE.text),
        _reading(point.bps_per_w, MBPS_PER_W.from_si, MBPS_PER_W.text, sign),
    ]
    style = "flagged" if point.doubts else ""
    return Row((Cell(f"{point.instances}", strong=fleet is best),), tuple(cells), style=style)


def _reading(
    reading: Reading | None,
    from_si: Callable[[float], float],
    text: Callable[[float], str],
    sign: str | None = None,
) -> Cell:
    if reading is None:
        return Cell(MISSING, reason="not known")
    ends = reading.ends()
    ci = None if ends is None else " to ".join(text(from_si(end)) for end in ends)
    return Cell(text(from_si(reading.mean)), si=reading.mean, mark=sign, ci=ci)


def _total(fleet: Fleet, name: str, text: Callable[[float], str], sign: str | None = None) -> Cell:
    value = getattr(fleet.totals, name)
    if value is None:
        return Cell(MISSING, reason=fleet.reasons.get(name, "not known"))
    ends = [None if totals is None else getattr(totals, name) for totals in (fleet.low, fleet.high)]
    end_texts = [text(end) for end in ends if end is not None]
    return Cell(text(value), si=value, mark=sign, ci=" to ".join(end_texts) if len(end_texts) == 2 else None)


def _interval(advice: FleetAdvice, fleet: Fleet) -> Cell:
    by = advice.choice.by
    scale = 1.0 if by == "cost_year" else _scale(advice, by)[0]
    ends = [_of(totals, by) for totals in (fleet.low, fleet.high)]
    end_texts = [amount(end) if by == "cost_year" else _scaled(end, scale) for end in ends if end is not None]
    if len(end_texts) < 2:
        return Cell(MISSING, reason="one trial")
    return Cell(" to ".join(end_texts))


def _of(totals: Totals | None, name: str) -> float | None:
    value: float | None = None if totals is None else getattr(totals, name)
    return value


def _against(advice: FleetAdvice, fleet: Fleet) -> Cell:
    choice = advice.choice
    if fleet is choice.cheapest:
        return Cell("cheapest", strong=True)
    if choice.cheapest is None or fleet.point.instances in choice.left_out:
        why = choice.left_out.get(fleet.point.instances, "nothing to compare with")
        return Cell(MISSING, reason=f"not compared: {why}")
    dearer = worth(fleet.totals, choice.by) / worth(choice.cheapest.totals, choice.by) - 1
    warning = "may be as cheap" if fleet in choice.rivals and choice.sure == "open" else ""
    return Cell(format_change(dearer).removesuffix(" %"), warning=warning)


def _lacks(advice: FleetAdvice) -> tuple[Note, ...]:
    titles = {
        "cores": "Busy cores",
        "power_w": "Power",
        "energy_kwh_year": "Energy a year",
        "cost_year": "Money a year",
    }
    lacks = [
        Lack(titles[name], why, row=str(fleet.point.instances))
        for fleet in advice.fleets
        for name, why in fleet.reasons.items()
        if name != "cost_year" or advice.question.price_per_kwh is not None
    ]
    return absences(lacks, len(advice.fleets), "instance")
