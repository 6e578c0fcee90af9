# SPDX-License-Identifier: Apache-2.0
"""Power at throughputs that were asked for: as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linewatt.analysis.power import SCOPE_WORDS, Point, WattsAt, watts_at
from linewatt.declare import FLAT
from linewatt.json_document import document_of, fill
from linewatt.model import ENDS, Provenance, Role
from linewatt.report.printing.export import CaseKeys, case_of
from linewatt.report.provenance import provenance_legend, provenance_mark
from linewatt.report.series import OF_RING, case_names
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, legend_notes
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.settings.levels import level_name
from linewatt.units import MISSING, format_rate

Asked = Sequence[float]
"""bit/s, all instances together"""


def found_at(view: Digest, rates_bps: Asked) -> list[WattsAt]:
    return [power_at for bps in rates_bps for power_at in watts_at(view.summaries, bps)]


def watts_table(view: Digest, rates_bps: Asked) -> Table:
    """A row for each throughput, kind of load and end; why there is none stands in it."""
    powers_at = found_at(view, rates_bps)
    names = case_names(dict.fromkeys(power_at.case for power_at in powers_at), with_test=True)
    doubts = {mark_: None for power_at in powers_at for mark_ in _doubts(power_at, view)}
    of_ring = any(power_at.case.shape == "ring" for power_at in powers_at)
    remarks = [
        "± is 95 % of the cases (over trials, and the meter's bound); between two of them it reaches "
        "both: power may step anywhere between"
        if any(power_at.power_w is not None for power_at in powers_at)
        else "",
        "" if powers_at else _nothing(view),
        f"Ring: {OF_RING}, and the throughput is that of its pair" if of_ring else "",
        f"({','.join(doubts)}): findings that make its watts or throughput doubtful: show --full"
        * bool(doubts),
    ]
    return Table(
        title="Watts at a throughput",
        keys=(Head("At"), Head("End", kind="text")),
        heads=(Head("Power", "W"), Head("±", "W"), Head("From", kind="prose")),
        groups=tuple(
            RowGroup(name, tuple(_row(power_at, view) for power_at in powers_at if power_at.case == case))
            for case, name in names.items()
        ),
        notes=(
            *(Note("remark", text) for text in remarks if text),
            *legend_notes(provenance_legend(power_at.provenance for power_at in powers_at)),
        ),
    )


def _nothing(view: Digest) -> str:
    """Why there is no row at all."""
    if not any(summary.power(role) for summary in view.summaries for role in ENDS):
        return "no source of power was named, or no trial is done"
    return "no case with watts carried as much, and none was sent at several rates or load levels"


def _row(power_at: WattsAt, view: Digest) -> Row:
    power = MISSING if power_at.power_w is None else f"{power_at.power_w:.1f}"
    unknown = MISSING if power_at.power_w is None else "not known"
    cells = (
        Cell(power, mark=provenance_mark(power_at.provenance) if power_at.power_w is not None else ""),
        Cell(unknown if power_at.reach_w is None else f"{power_at.reach_w:.1f}"),
        Cell(power_at.reason or _from(power_at, view)),
    )
    return Row((Cell(format_rate(power_at.bps, 4)), Cell(f"{power_at.role} {power_at.host}")), cells)


def _from(power_at: WattsAt, view: Digest) -> str:
    """``measured at 4.99 Gbps (50 %)``; ``between 4.01 Gbps (40 %) and 6.02 Gbps (60 %)``."""
    points = " and ".join(map(_point, power_at.points))
    watts = SCOPE_WORDS.get(power_at.scope or "", power_at.scope)
    letters = ",".join(_doubts(power_at, view))
    marked = f" ({letters})" if letters else ""
    unknown_words = f"; ± not known: {power_at.unknown}" if power_at.unknown else ""
    return (
        f"{'measured at' if len(power_at.points) == 1 else 'between'} {points}; watts: "
        f"{watts}{unknown_words}{marked}"
    )


def _point(point: Point) -> str:
    case = point.summary.case
    level = "" if case.load_level is None else f" ({level_name(case.load_level)})"
    return f"{format_rate(point.bps, 4)}{level}"


def _doubts(power_at: WattsAt, view: Digest) -> tuple[str, ...]:
    """The letters of what makes a figure behind it doubtful."""
    return view.marks.of(_codes(power_at, view))


def _codes(power_at: WattsAt, view: Digest) -> Iterator[str]:
    return view.doubts_of_watts((point.summary for point in power_at.points), power_at.role)


@dataclass(frozen=True, slots=True)
class PointDocument:
    case_key: str
    """Stable hash of what makes the case comparable: equal on every host, kernel and year."""
    load_level: float | None
    throughput_bps: float
    system_w: float | None
    system_w_half_width: float | None
    system_w_half_width_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WattsAtDocument:
    """Watts at a throughput that ``--at`` asked for."""

    case: CaseKeys = field(metadata=FLAT)
    role: Role
    host: str
    at_bps: float
    """The throughput that was asked for."""
    system_w: float | None
    system_w_half_width: float | None
    system_w_half_width_reason: str | None
    reaches_ends_w: float | None
    """How far the further of the two is that it lies between."""
    measured: bool | None
    """Whether a case has just this throughput; false: it lies between two."""
    system_scope: str | None
    provenance: Provenance | None
    """Whether it was measured; the least sure of its parts."""
    reason: str | None
    doubts: list[str]
    """Codes of findings."""
    of: list[PointDocument]


def watts_at_documents(view: Digest, rates_bps: Asked) -> list[dict[str, Any]]:
    """The ``watts_at`` of ``show --json --at``."""
    return [document_of(_document(power_at, view)) for power_at in found_at(view, rates_bps)]


def _document(power_at: WattsAt, view: Digest) -> WattsAtDocument:
    return fill(
        WattsAtDocument,
        power_at,
        case=case_of(power_at.case),
        at_bps=power_at.bps,
        system_w=power_at.power_w,
        system_w_half_width=power_at.reach_w,
        system_w_half_width_reason=power_at.unknown,
        reaches_ends_w=power_at.ends_w,
        measured=None if power_at.power_w is None else len(power_at.points) == 1,
        system_scope=power_at.scope,
        doubts=[*dict.fromkeys(_codes(power_at, view))],
        of=[_point_document(point) for point in power_at.points],
    )


def _point_document(point: Point) -> PointDocument:
    case = point.summary.case
    return PointDocument(case.key, case.load_level, point.bps, point.power_w, point.reach_w, point.unknown)
