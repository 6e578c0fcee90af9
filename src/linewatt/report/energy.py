# SPDX-License-Identifier: Apache-2.0
"""Fitted energies of bits and packets: for a terminal, and as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from linewatt.analysis.power.energy_design import MOST_CONDITION
from linewatt.analysis.power.energy_fit import BASE, BIT, PACKET, EnergyFit, Figure, Kind
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table
from linewatt.units import format_percent, format_significant

if TYPE_CHECKING:
    from rich.console import RenderableType

SCHEMA_VERSION = 1
SHOWN = (BIT, PACKET, BASE)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fit, and of what it is."""

    title: str
    fit: EnergyFit


def warnings(fit: EnergyFit) -> tuple[str, ...]:
    """What a reader must know first: why figures are withheld, then what makes the others doubtful."""
    alike: dict[str, list[str]] = {}
    for kind in SHOWN:
        reason = fit.figures[kind.key].reason
        if reason is not None:
            alike.setdefault(reason, []).append(kind.title)
    withheld = (f"{', '.join(titles)} withheld: {reason}" for reason, titles in alike.items())
    return (*withheld, *fit.warnings)


def document(found: Sequence[Fitted]) -> dict[str, Any]:
    """As JSON: the first fit's figures on top, and every fit below ``fits``."""
    fits = [{"title": one.title, **_document(one.fit)} for one in found]
    return {"schema_version": SCHEMA_VERSION, **fits[0], "fits": fits}


def _document(fit: EnergyFit) -> dict[str, Any]:
    return {
        **_values(fit.figures),
        "ci": _intervals(fit.figures),
        "ci_level": 0.95,
        "warnings": list(warnings(fit)),
        "reasons": {kind.key: one.reason for kind in SHOWN if (one := fit.figures[kind.key]).reason},
        "method": fit.method,
        "rows": fit.rows,
        "packet_sizes": fit.sizes,
        "r2": fit.r2,
        "residual_sd_w": fit.residual_sd_w,
        "largest_residual_w": fit.largest_residual_w,
        "condition_number": fit.condition,
        "one_least_squares": {**_values(fit.one_fit), "ci": _intervals(fit.one_fit)} if fit.one_fit else None,
        "states": [asdict(point) for point in fit.points],
    }


def _values(figures: Mapping[str, Figure]) -> dict[str, float | None]:
    return {
        kind.key: None if (one := figures[kind.key]).value is None else one.value * kind.scale
        for kind in SHOWN
    }


def _intervals(figures: Mapping[str, Figure]) -> dict[str, list[float] | None]:
    found: dict[str, list[float] | None] = {}
    for kind in SHOWN:
        low, high = figures[kind.key].low, figures[kind.key].high
        found[kind.key] = None if low is None or high is None else [low * kind.scale, high * kind.scale]
    return found


def rendered(found: Sequence[Fitted], width: int | None) -> RenderableType:
    """What a terminal shows: of each fit what must be known first, the figures, and how well they fit."""
    from rich.console import Group
    from rich.text import Text

    from linewatt.foreign import one_line
    from linewatt.report.text_table import render

    def lines() -> Iterator[RenderableType]:
        for one in found:
            yield Text(one_line(one.title), style="bold")
            yield from (Text(one_line(f"! {said}"), style="yellow") for said in warnings(one.fit))
            yield render(table(one.fit), width)

    return Group(*lines())


def table(fit: EnergyFit) -> Table:
    """The figures, and below them how well the model fits."""
    heads = [Head("Value"), Head("95 % CI"), *([Head("By one least squares")] if fit.one_fit else [])]
    rows = tuple(
        Row((Cell(f"{kind.title}, {kind.unit}"),), _cells(kind, fit.figures[kind.key], fit.one_fit))
        for kind in SHOWN
    )
    notes = tuple(Note("remark", said) for said in _quality(fit))
    return Table("", (Head("Figure", kind="text"),), tuple(heads), (RowGroup("", rows),), notes)


def _cells(kind: Kind, figure: Figure, one_fit: Mapping[str, Figure]) -> tuple[Cell, ...]:
    """Value and CI, to two digits of how far that reaches; then what one least squares says."""
    value, low, high = figure.value, figure.low, figure.high
    if value is None or low is None or high is None:
        return (Cell("withheld", reason=figure.reason),) * (2 + bool(one_fit))
    reach = (high - low) / 2 * kind.scale
    decimals = 3 if reach <= 0 else min(9, max(0, 1 - math.floor(math.log10(reach))))
    beside = [one.value for one in ([one_fit[kind.key]] if one_fit else []) if one.value is not None]
    said = [f"{one * kind.scale:.{decimals}f}" for one in (value, low, high, *beside)]
    return (Cell(said[0], si=value), Cell(f"{said[1]} to {said[2]}"), *map(Cell, said[3:]))


def _quality(fit: EnergyFit) -> Iterator[str]:
    rows = (
        f"{plural(fit.rows, 'row')}, {plural(fit.sizes, 'packet size')}, {plural(len(fit.points), 'state')}"
    )
    yield f"{rows}; {fit.method}." if fit.points else f"{plural(fit.rows, 'row')}."
    if fit.residual_sd_w is not None and fit.largest_residual_w is not None and fit.r2 is not None:
        sd, largest = (format_significant(one, 2) for one in (fit.residual_sd_w, fit.largest_residual_w))
        yield (
            f"Residuals of one least squares over all rows: SD {sd} W, largest {largest} W; traffic "
            f"explains {format_percent(fit.r2)} of how power varies (R²)."
        )
    if fit.condition is not None:
        yield (
            f"Conditioning: {format_significant(fit.condition)}; above {MOST_CONDITION:g} bits, packets and "
            "power without traffic cannot be told apart."
        )
