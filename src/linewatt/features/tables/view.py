# SPDX-License-Identifier: Apache-2.0
"""A published table that holds no trials, as what every view of it prints: its answer, tables and figures.

Nothing in it was measured by linewatt, and every view says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from linewatt.analysis.metrics import significant_digits
from linewatt.analysis.power import PacketEnergy
from linewatt.declare import Keys, keys_of
from linewatt.delimited import Table as RawTable
from linewatt.delimited import read_table
from linewatt.errors import InvalidInput, StoreError
from linewatt.features.tables import charts, published
from linewatt.features.tables import means_tables as means
from linewatt.features.tables.quantities import published as soak_summary
from linewatt.features.tables.quantities_diagram import published_diagram
from linewatt.features.tables.quantity_facts import quantity_facts
from linewatt.json_document import document_of, fill, of_class
from linewatt.model import Provenance
from linewatt.records import Count
from linewatt.report import Cell, Head, Note, Row, RowGroup, Table, plural, text_cells
from linewatt.report import provenance_words as sources
from linewatt.report.charts import Figure
from linewatt.report.printing import PrintedFlag
from linewatt.store import Result
from linewatt.units import MISSING

T = TypeVar("T")
_TWO, _FOUR = significant_digits(2), significant_digits(4)


@dataclass(frozen=True, slots=True)
class View:
    """``answer`` is one sentence; ``document`` what ``--json`` adds; ``rows`` those of ``--csv``."""

    result: Result
    answer: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    document: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    throughput_bps: float | None = None
    findings: int | None = None
    """of checks, where any applies"""

    @property
    def caveat(self) -> str:
        """What a reader must know before any number."""
        return (
            f"Imported from {self.result.imported_from}: published figures ({self.result.imported_kind}); "
            "linewatt did not measure them, and knows only what that table says."
        )


@dataclass(frozen=True, slots=True)
class MeansDocument:
    rows: list[dict[str, str | float | None]]
    """The columns of the table: names, `runs`, and each figure as `_mean` and `_sd`."""


@dataclass(frozen=True, slots=True)
class ComponentDocument:
    component: str
    power_w: float
    provenance: Provenance
    share_pct: float


@dataclass(frozen=True, slots=True)
class ComponentsDocument:
    power_w: float
    parts: list[ComponentDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeDocument:
    packet_size_bytes: float
    readings: Count
    slope_w_per_gbps: float
    base_w: float
    packet_nj: float
    model_nj: float
    """By the two costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyDocument:
    bit_pj: float
    bit_ci95_pj: float | None
    """Half of its 95 % CI."""
    packet_nj: float
    packet_ci95_nj: float | None
    ports: float
    header_bytes: float
    sizes: list[SizeDocument]


@dataclass(frozen=True, slots=True)
class WithheldDocument:
    reason: str | None
    """Why nothing is told of it."""


@dataclass(frozen=True, slots=True)
class SoakTableDocument:
    summary: dict[str, float | None]
    """What the table says and what follows, each with its unit in its name."""
    flags: list[PrintedFlag]


_DOCUMENTS = {
    published.MEANS: (MeansDocument,),
    published.COMPONENTS: (ComponentsDocument,),
    published.PACKET_POWER: (EnergyDocument, WithheldDocument),
    published.SOAK: (SoakTableDocument,),
}


def view(result: Result) -> View:
    """What there is to say. Raises StoreError where the stored table cannot be read."""
    make = _VIEWS.get(str(result.imported_kind))
    if make is None:
        raise StoreError(f"{result.path}: imported_kind {result.imported_kind!r} is not known here")
    return from_table(result, lambda raw, source: make(result, raw, source))


def means_of(result: Result) -> published.Means:
    """The means of a stored table of them. Raises StoreError."""
    return from_table(result, published.means)


def from_table(result: Result, make: Callable[[RawTable, str], T]) -> T:
    """What is made of a stored table and its name. Raises StoreError where it cannot be read."""
    source = str(result.imported_from)
    try:
        raw, _ = read_table(str(result.manifest.campaign_text).encode(), source)
        return make(raw, source)
    except (InvalidInput, KeyError) as error:
        raise StoreError(f"{result.path}: the stored table is damaged: {error}") from None


def _means(result: Result, raw: RawTable, source: str) -> View:
    table = published.means(raw, source)
    rows = means.data_rows(table)
    warnings = tuple(map(str, table.warnings))
    answer = means.answer(table)
    return View(result, answer, means.tables(table), charts.of_means(table), {"rows": rows}, rows, warnings)


def _components(result: Result, raw: RawTable, source: str) -> View:
    components = published.components(raw, source)
    largest = max(components.parts, key=lambda part: part.power_w)
    shares = {part: 100 * part.power_w / components.total_w for part in components.parts}
    kinds = sources([part.provenance for part in components.parts])
    word = sources([largest.provenance])
    answer = (
        f"{plural(len(components.parts), 'part')}, {components.total_w:g} W in the sum of all rows"
        f"{f' ({kinds})' if kinds else ''}, most the {largest.name} with {largest.power_w:g} W "
        f"({shares[largest]:.0f} %{f', {word}' if word else ''})."
    )
    shown = [
        Row(text_cells(part.name), text_cells(f"{part.power_w:g}", f"{share:.1f}", part.provenance))
        for part, share in shares.items()
    ]
    total = Row(
        text_cells("Sum"),
        (Cell(f"{components.total_w:g}", strong=True), *text_cells("100.0", kinds or "measured")),
    )
    note = "Sum of all rows: each is taken for a part of its own, and a row that holds others counts twice."
    heads = (Head("Power", "W"), Head("Share", "%"), Head("From", kind="text"))
    table = _table("Where the watts go", Head("Part", kind="text"), heads, [*shown, total], [note])
    parts = [
        ComponentDocument(part.name, part.power_w, part.provenance, share) for part, share in shares.items()
    ]
    document = document_of(ComponentsDocument(components.total_w, parts))
    return View(result, answer, (table,), charts.of_components(components), document, document["parts"])


def _packet_power(result: Result, raw: RawTable, source: str) -> View:
    table = published.packet_power(raw, source)
    drawn = charts.of_readings(table)
    if table.model is None:
        why = f"cost of a bit and of a packet withheld: {table.reason}"
        answer = f"{plural(len(table.readings), 'reading')}; {why}."
        return View(result, answer, (), drawn, document_of(WithheldDocument(table.reason)), [])
    model = table.model
    answer = (
        f"A bit costs {_FOUR(model.bit_j * 1e12)}{_reach(model.bit_reach_j, 1e12)} pJ, a packet "
        f"{_FOUR(model.packet_j * 1e9)}{_reach(model.packet_reach_j, 1e9)} nJ, above what the router draws "
        "without traffic."
    )
    rows = _size_rows(model)
    energy = EnergyDocument(
        bit_pj=model.bit_j * 1e12,
        bit_ci95_pj=None if model.bit_reach_j is None else model.bit_reach_j * 1e12,
        packet_nj=model.packet_j * 1e9,
        packet_ci95_nj=None if model.packet_reach_j is None else model.packet_reach_j * 1e9,
        ports=model.ports,
        header_bytes=model.header_bytes,
        sizes=rows,
    )
    document = document_of(energy)
    return View(result, answer, (_size_table(model, rows),), drawn, document, document["sizes"])


def _reach(reach_j: float | None, scale: float) -> str:
    return "" if reach_j is None else f" ± {_TWO(reach_j * scale)}"


def _size_rows(model: PacketEnergy) -> list[SizeDocument]:
    return [
        SizeDocument(
            packet_size_bytes=fit.size_bytes,
            readings=fit.readings,
            slope_w_per_gbps=fit.slope_j_per_bit * 1e9,
            base_w=fit.base_w,
            packet_nj=fit.packet_j * 1e9,
            model_nj=model.at(fit.size_bytes) * 1e9,
        )
        for fit in model.fits
    ]


def _size_table(model: PacketEnergy, rows: Sequence[SizeDocument]) -> Table:
    heads = (
        Head("Readings"),
        Head("Slope", "W/Gbps"),
        Head("Without traffic", "W"),
        Head("Packet", "nJ"),
        Head("By the two costs", "nJ"),
    )
    shown = [
        Row(
            text_cells(f"{row.packet_size_bytes:g}"),
            text_cells(
                f"{row.readings}",
                *map(_FOUR, (row.slope_w_per_gbps, row.base_w, row.packet_nj, row.model_nj)),
            ),
        )
        for row in rows
    ]
    notes = [
        f"Slope: of the router's W over bit/s of a port; {model.ports:g} ports carry the same rate, "
        f"{model.header_bytes:g} B of headers a packet.",
        "± is half of the 95 % CI over the packet sizes (Student's t): of the line, not of the meter.",
    ]
    return _table("Cost of a packet by its size", Head("Packet size", "B"), heads, shown, notes)


def _soak(result: Result, raw: RawTable, source: str) -> View:
    del source
    summary = soak_summary(raw)
    facts = quantity_facts(summary)
    others = [row.cells for row in raw.rows if row.aligned and row.cells["quantity"] not in _TOLD]
    rows = [Row(text_cells(title), text_cells(value)) for title, value in facts]
    rows += [Row(text_cells(row["quantity"]), text_cells(f"{row['value']} {row['unit']}")) for row in others]
    notes = [Note("doubt", f"{flag.evidence}; {flag.advice}", flag.code) for flag in summary.flags]
    facts_by_title = {title: value for title, value in facts if value != MISSING}
    lacking = ", ".join(title for title, _ in facts if title not in facts_by_title)
    notes += [Note("absence", f"{lacking}: the table does not say enough")] if lacking else []
    heads = (Head("Value", kind="text"),)
    table = _table("Summary", Head("What", kind="text"), heads, rows, notes)
    answer = _soak_answer(facts_by_title)
    flags = [fill(PrintedFlag, flag) for flag in summary.flags]
    document = document_of(SoakTableDocument(summary.figures, flags))
    data = [{"quantity": name, "value": value} for name, value in summary.figures.items()]
    diagram = published_diagram(summary)
    drawn = () if diagram is None else (diagram,)
    return View(result, answer, (table,), drawn, document, data, (), summary.mean_bps, len(summary.flags))


def _soak_answer(facts_by_title: Mapping[str, str]) -> str:
    """What is known of rate, duration, total and transfers, by the titles of their facts."""
    rates = (("Rate, mean", "on average"), ("Rate, as stated", "as stated"))
    rate = next((f"{facts_by_title[title]} {words}" for title, words in rates if title in facts_by_title), "")
    over = (
        f"{'over' if rate else 'A soak of'} {facts_by_title['Duration']}"
        if "Duration" in facts_by_title
        else ""
    )
    count = facts_by_title.get("File transfers")
    moved = [
        facts_by_title.get("Total data"),
        count and f"{count} {'transfer' if count == '1' else 'transfers'}",
    ]
    parts = (" ".join(filter(None, (rate, over))), " in ".join(filter(None, moved)))
    summary = ": ".join(filter(None, parts))
    return f"{summary or 'No rate, duration, total or number of transfers is in the table'}."


def _table(
    title: str, key: Head, heads: tuple[Head, ...], rows: Sequence[Row], notes: Sequence[Note | str]
) -> Table:
    as_notes = (Note("remark", note) if isinstance(note, str) else note for note in notes)
    return Table(title, (key,), heads, (RowGroup("", tuple(rows)),), tuple(as_notes))


_SUMMED = ("duration", "transfer_rate", "file_transfers", "packets", "dropped_or_overrun_packets")
_TOLD = frozenset({*_SUMMED, "data_transferred"})
"""quantities that stand among the facts"""
_VIEWS: Mapping[str, Callable[[Result, RawTable, str], View]] = {
    published.MEANS: _means,
    published.COMPONENTS: _components,
    published.PACKET_POWER: _packet_power,
    published.SOAK: _soak,
}


def view_schemas() -> dict[str, tuple[Keys, ...]]:
    """Kind of table → the keys of its ``document``; several, where it may be withheld."""
    return {
        kind: tuple(keys_of(of_class(document)) for document in documents)
        for kind, documents in _DOCUMENTS.items()
    }
