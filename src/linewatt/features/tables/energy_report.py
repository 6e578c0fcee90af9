# SPDX-License-Identifier: Apache-2.0
"""Fitted energies of bits and packets: for a terminal, and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from linewatt.analysis import Findings, Sighting, gather_findings
from linewatt.analysis.flags import meter_flags
from linewatt.analysis.power import (
    BASE_POWER,
    BIT_ENERGY,
    PACKET_ENERGY,
    SCOPE_WORDS,
    EndEnergy,
    EnergyFit,
    Figure,
    IdleDrift,
    Kind,
    end_energies,
)
from linewatt.energy_model import MOST_CONDITION
from linewatt.errors import InvalidInput
from linewatt.features.tables.published import PACKET_POWER, packet_energy_fit
from linewatt.features.tables.view import from_table
from linewatt.foreign import one_line
from linewatt.model import Provenance
from linewatt.report import (
    Cell,
    Head,
    Note,
    Row,
    RowGroup,
    Table,
    case_names,
    plural,
    provenance_mark,
    provenance_words,
)
from linewatt.report.printing import render_table
from linewatt.store import Result
from linewatt.units import format_percent, format_significant

if TYPE_CHECKING:
    from rich.console import RenderableType

SCHEMA_VERSION = 1
SHOWN = (BIT_ENERGY, PACKET_ENERGY, BASE_POWER)
MOST_DIGITS = 6
"""of a value, however narrow its CI"""
_VARIED = ("test", "rate_bps", "load_level")
"""what a fit is over, and no word of which one it is"""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fit, and of what it is; ``end``: of which end of a stored campaign."""

    title: str
    fit: EnergyFit
    end: EndEnergy | None = None
    doubts: Mapping[str, str] = field(default_factory=dict)
    """code of a finding that makes its watts doubtful → what was seen, in how many of its trials"""

    @property
    def provenance(self) -> Provenance | None:
        return None if self.end is None else self.end.provenance


def of_result(result: Result) -> list[Fitted]:
    """The ends of a stored campaign that have a meter, those without a reading last, or an imported table of
    a router's watts.

    Raises InvalidInput where there is neither, StoreError for a table that is damaged.
    """
    if result.imported_kind == PACKET_POWER:
        return [from_table(result, lambda raw, source: Fitted(source, packet_energy_fit(raw, source)))]
    all_ends = end_energies(result.trials, result.idle)
    ends = sorted(
        (end for end in all_ends if end.fit.rows or end.has_meter), key=lambda end: not end.fit.rows
    )
    if not any(end.fit.rows for end in ends):
        why = next(
            (end.fit.figures[BIT_ENERGY.key].reason for end in (*ends, *all_ends)), "it has no UDP trials"
        )
        raise InvalidInput(f"{result.id}: no end has both traffic and watts: {why}")
    names = case_names([end.case for end in ends])
    findings = gather_findings(result.trials, (), meter_flags(result.meters, result.idle, result.trials))
    return [
        Fitted(f"{end.role} {end.host} · {names[end.case]}", end.fit, end, _doubts(end, findings))
        for end in ends
    ]


def _doubts(end: EndEnergy, findings: Findings) -> dict[str, str]:
    """Findings on the watts of an end by code: in how many of its rows, and the first that was seen."""
    hosts, rows = end.case.hosts, set(end.trials)
    sightings_by_code: dict[str, list[Sighting]] = {}
    for finding in findings.every:
        if finding.doubts_on(end.host, hosts, "power"):
            about = (seen for seen in finding.sightings if seen.is_of(end.host, hosts))
            sightings = [seen for seen in about if rows & set(seen.trials) or not seen.trials]
            if sightings:
                sightings_by_code.setdefault(finding.code, []).extend(sightings)
    doubts = {}
    for code, sightings in sightings_by_code.items():
        trials = rows & {number for seen in sightings for number in seen.trials}
        count = f" in {len(trials)} of {plural(len(rows), 'trial')}" if trials else ""
        doubts[code] = f"Watts are doubtful, {code}{count}: {sightings[0].where}: {sightings[0].evidence}"
    return doubts


def warnings(fitted: Fitted) -> tuple[str, ...]:
    """What a reader must know first: watts that nobody measured or that findings doubt, why figures are
    withheld, what makes the others doubtful."""
    fit = fitted.fit
    kinds = provenance_words([fitted.provenance])
    unmeasured = (f"Watts are {kinds}, not measured",) if kinds else ()
    alike: dict[str, list[str]] = {}
    for kind in SHOWN:
        reason = fit.figures[kind.key].reason
        if reason is not None:
            alike.setdefault(reason, []).append(kind.title)
    withheld = (f"{', '.join(titles)} withheld: {reason}" for reason, titles in alike.items())
    return (*unmeasured, *fitted.doubts.values(), *withheld, *fit.warnings)


def document(all_fitted: Sequence[Fitted]) -> dict[str, Any]:
    """As JSON: the first fit's figures on top, and every fit below ``fits``."""
    fits = [{"title": fitted.title, **_document(fitted)} for fitted in all_fitted]
    return {"schema_version": SCHEMA_VERSION, **fits[0], "fits": fits}


def _document(fitted: Fitted) -> dict[str, Any]:
    fit, end = fitted.fit, fitted.end
    return {
        **_values(fit.figures),
        "ci": _intervals(fit.figures),
        "ci_level": 0.95,
        "warnings": list(warnings(fitted)),
        "reasons": {kind.key: why for kind in SHOWN if (why := fit.figures[kind.key].reason)},
        "method": fit.method,
        "rows": fit.rows,
        "packet_sizes": fit.sizes,
        "r2": fit.r2,
        "residual_sd_w": fit.residual_sd_w,
        "largest_residual_w": fit.largest_residual_w,
        "condition_number": fit.condition,
        "one_least_squares": {**_values(fit.one_fit), "ci": _intervals(fit.one_fit)} if fit.one_fit else None,
        "states": [asdict(point) for point in fit.points],
        **({} if end is None else _of_end(end)),
    }


def _of_end(end: EndEnergy) -> dict[str, Any]:
    return {
        "host": end.host,
        "role": end.role,
        "case": {name: value for name, value in end.case.parameters.items() if name not in _VARIED},
        "provenance": end.provenance,
        "scope": end.scope,
        "source": end.source,
        "gain_tolerance_ratio": end.tolerance_ratio,
        "idle_drift": None if end.drift is None else _of_drift(end.drift),
        "traffic": "data interface: frames without FCS, preamble and gap",
    }


def _of_drift(drift: IdleDrift) -> dict[str, Any]:
    return {"windows": len(drift.watts), "low_w": min(drift.watts), "high_w": max(drift.watts)}


def _values(figures: Mapping[str, Figure]) -> dict[str, float | None]:
    return {
        kind.key: None if (figure := figures[kind.key]).value is None else figure.value * kind.scale
        for kind in SHOWN
    }


def _intervals(figures: Mapping[str, Figure]) -> dict[str, list[float] | None]:
    intervals: dict[str, list[float] | None] = {}
    for kind in SHOWN:
        low, high = figures[kind.key].low, figures[kind.key].high
        intervals[kind.key] = None if low is None or high is None else [low * kind.scale, high * kind.scale]
    return intervals


def rendered(all_fitted: Sequence[Fitted], width: int | None) -> RenderableType:
    """What a terminal shows: of each fit what must be known first, the figures, and how well they fit."""
    from rich.console import Group
    from rich.text import Text

    def lines() -> Iterator[RenderableType]:
        for fitted in all_fitted:
            yield Text(one_line(fitted.title), style="bold")
            yield from (Text(one_line(f"! {warning}"), style="yellow") for warning in warnings(fitted))
            yield render_table(table(fitted), width)

    return Group(*lines())


def table(fitted: Fitted) -> Table:
    """The figures, and below them how well the model fits."""
    fit = fitted.fit
    heads = [Head("Value"), Head("95 % CI"), *([Head("By one least squares")] if fit.one_fit else [])]
    rows = tuple(_row(kind, fitted) for kind in SHOWN)
    notes = tuple(Note("remark", sentence) for sentence in (*_quality(fit), *_about(fitted.end)))
    key = Head("Figure", kind="text")
    return Table("", (key,), tuple(heads), (RowGroup("", rows),), notes)


def _row(kind: Kind, fitted: Fitted) -> Row:
    """Value and CI, to two digits of how far that reaches; then what one least squares says."""
    figure, one_fit = fitted.fit.figures[kind.key], fitted.fit.one_fit
    value, low, high = figure.value, figure.low, figure.high
    if value is None or low is None or high is None:
        lost = Cell("withheld", reason=figure.reason)
        return Row((Cell(kind.title),), (lost,) * (2 + bool(one_fit)))
    unit, scale = kind.unit(value)
    reach = (high - low) / 2 * scale
    digits = 3 if reach <= 0 else 1 - math.floor(math.log10(reach))
    decimals = max(0, min(digits, MOST_DIGITS - 1 - math.floor(math.log10(abs(value) * scale or 1.0))))
    one_fit_value = one_fit[kind.key].value if one_fit else None
    numbers = [
        f"{number * scale:,.{decimals}f}"
        for number in (value, low, high, one_fit_value)
        if number is not None
    ]
    cells = (
        Cell(numbers[0], si=value, mark=provenance_mark(fitted.provenance), doubts=tuple(fitted.doubts)),
        Cell(f"{numbers[1]} to {numbers[2]}"),
    )
    return Row((Cell(f"{kind.title}, {unit}"),), (*cells, *map(Cell, numbers[3:])))


def _quality(fit: EnergyFit) -> Iterator[str]:
    idle = sum(point.rows for point in fit.points if point.bit_per_s == 0)
    rows = f"{plural(fit.rows, 'row')}{f', {idle} of them without traffic' if idle else ''}"
    states = f", {plural(fit.sizes, 'packet size')}, {plural(len(fit.points), 'state')}; {fit.method}"
    yield f"{rows}{states if fit.points else ''}."
    if fit.residual_sd_w is not None and fit.largest_residual_w is not None and fit.r2 is not None:
        sd, largest = (
            format_significant(residual_w, 2) for residual_w in (fit.residual_sd_w, fit.largest_residual_w)
        )
        yield (
            f"Residuals of one least squares over all rows: SD {sd} W, largest {largest} W; traffic "
            f"explains {_part(fit.r2)} of how power varies (R²)."
        )
    if fit.sizes == 2 and fit.condition is not None:
        yield "Two packet sizes: a third would show whether what a packet costs is linear in its size."
    if fit.condition is not None:
        yield (
            f"Conditioning: {format_significant(fit.condition)}; above {MOST_CONDITION:g} bits, packets and "
            "power without traffic cannot be told apart."
        )


def _part(ratio: float) -> str:
    """In percent; what is not all of it never looks like that."""
    return "over 99.9 %" if 0.9995 <= ratio < 1 else format_percent(ratio)


def _about(end: EndEnergy | None) -> Iterator[str]:
    """Where traffic and watts are from."""
    if end is None:
        return
    way = "received" if end.role == "receiver" else "sent"
    scope = SCOPE_WORDS.get(end.scope, end.scope)
    yield f"Traffic: what the data interface {way}, frames without FCS, preamble and gap."
    if end.source:
        yield f"Watts: {scope} ({end.source})."
    if end.drift is not None:
        low_w, high_w, count = min(end.drift.watts), max(end.drift.watts), len(end.drift.watts)
        yield (
            f"Idle drifted between {low_w:.1f} and {high_w:.1f} W over {count} windows: the watts "
            "of each trial are less what it had drifted by, as the windows around the trial have it."
        )
    if end.tolerance_ratio:
        gain = format_percent(end.tolerance_ratio, 0)
        yield f"The meter's gain may be off by ± {gain}: that is in all figures alike, and not in their CIs."
