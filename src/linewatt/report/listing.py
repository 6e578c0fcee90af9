# SPDX-License-Identifier: Apache-2.0
"""Stored results in a line each: ``linewatt list``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.metrics import MBPS_PER_W
from linewatt.foreign import one_line
from linewatt.model import Provenance
from linewatt.report.glance import Glance
from linewatt.report.printing.text_table import DOUBTFUL, render_table, text_columns
from linewatt.report.provenance import provenance_legend, provenance_mark
from linewatt.report.series import test_title
from linewatt.report.table import (
    Cell,
    Head,
    Lack,
    Note,
    Row,
    RowGroup,
    Table,
    absences,
    legend_notes,
    text_cells,
)
from linewatt.store import Damaged, cached_of_result
from linewatt.units import MISSING, format_rate, format_time_utc


@dataclass(frozen=True, slots=True)
class Best:
    """The case that ``show`` names first, or a soak: how fast, and what arrived for each watt.

    Watts are the receiver's, of a soak its server's; ``reason`` says why there is no Mbps/W.
    """

    test: str
    throughput_bps: float
    bps_per_w: float | None = None
    provenance: Provenance | None = None
    reason: str = ""
    doubtful_throughput: bool = False
    doubtful_watts: bool = False
    at_least: bool = False
    """of a search above whose rate nothing was lost, or nothing was sent"""


@dataclass(frozen=True, slots=True)
class Listed:
    """A result, its best case, and how many findings it has, each at its scope; ``None`` with the reason.

    ``lacks`` says what of a soak's files cannot be read or is not there; ``shown`` is how many findings
    ``show`` lists: of trials those of one kind are one.
    """

    heading: Mapping[str, Any]
    findings: int | None
    reason: str | None = None
    lacks: str | None = None
    best: Best | None = None
    shown: int | None = None
    glance: Glance | None = None


def kept(path: Path) -> Listed:
    """One line of the list, made once as long as the result stays as it is. Raises StoreError."""
    return cached_of_result(path, "list", Listed, lambda: _read_line(path))


def _read_line(path: Path) -> Listed:
    from linewatt.report import list_line  # half of a list's time, where all lines are cached

    return list_line.read_line(path)


@dataclass(frozen=True, slots=True)
class Narrow:
    """How a narrow terminal has ids, times and names: ids as they begin, where no other begins so."""

    ids: Mapping[str, str]
    year: str
    """of the newest result: times of others are dates"""
    name_width: int


def table_of(results: Sequence[Listed | Damaged], narrow: Narrow | None = None) -> Table:
    """A row a result, and below why anything in it is missing."""

    heads = (
        Head("Best"),
        Head("Test", kind="text", rank=6),
        Head("Mbps/W", rank=3),
        Head("Findings", rank=4),
        Head("Done", rank=5),
        Head("When" if narrow is None else "When UTC", kind="text", rank=1),
        Head("Name", kind="text", rank=2),
    )
    rows = tuple(_row(result, narrow) for result in results)
    best = [result.best for result in results if isinstance(result, Listed) and result.best is not None]
    doubtful = any(best_case.doubtful_throughput or best_case.doubtful_watts for best_case in best)
    notes = (
        *([Note("remark", _BEST)] if best else []),
        *(
            [Note("remark", f"When: in {narrow.year}, unless a year is given")]
            if narrow and narrow.year.isdigit()
            else []
        ),
        *legend_notes([_AT_LEAST] if any(best_case.at_least for best_case in best) else []),
        *legend_notes([f"{DOUBTFUL} doubtful: linewatt show ID says why"] if doubtful else []),
        *legend_notes(provenance_legend(best_case.provenance for best_case in best)),
        *absences((lack for result in results for lack in _lacks(result)), len(results)),
    )
    return Table("", (Head("Id", kind="text"),), heads, (RowGroup("", rows),), notes)


def show(results: Sequence[Listed | Damaged], *, width: int | None = None) -> RenderableType:
    """The table of ``linewatt list``, and why a result is damaged."""

    why = [Text(one_line(f"{id_of(result)}: {words}")) for result in results for words in remarks(result)]
    return Group(render_table(_table_for(results, width), width), *why)


_LEAST_NAME = 16
"""columns of a name, before ids give way; a shorter one is never cut"""
_STAMP = len("20260203-140509")
_GAP = 2


def _table_for(results: Sequence[Listed | Damaged], width: int | None) -> Table:
    """The table as it fits: else short times, then ids as they begin, and names in the room there is."""
    table = table_of(results)
    if width is None or _columns_needed(table) <= width:
        return table
    ids = [id_of(result) for result in results]
    times_s = (result.heading["created_s"] for result in results if isinstance(result, Listed))
    newest_s = max((time_s for time_s in times_s if time_s is not None), default=None)
    full_ids, short_ids = dict(zip(ids, ids, strict=True)), _short_ids(ids)
    names = (_name(result.heading) for result in results if isinstance(result, Listed))
    least_name_width = min(_LEAST_NAME, max(map(cell_len, names), default=0))
    for shown_ids in (full_ids, short_ids):
        narrow = Narrow(shown_ids, format_time_utc(newest_s)[:4], 0)
        without_name = _columns_needed(table_of(results, narrow), but=("Name", "Test", "Done"))
        room = width - without_name - _GAP
        if room >= least_name_width:
            break
    return table_of(results, replace(narrow, name_width=max(room, least_name_width)))


def _columns_needed(table: Table, but: Sequence[str] = ()) -> int:
    """Characters of a line of a table without some of its columns."""
    widths = [column.width for column in text_columns(table) if column.name not in but]
    return sum(widths) + _GAP * (len(widths) - 1)


def _short_ids(ids: Sequence[str]) -> Mapping[str, str]:
    """The date and time that an id begins with, and more where another begins so; commands take it."""
    ordered = sorted(ids)
    shared = [0, *(_shared_length(*pair) for pair in pairwise(ordered)), 0]
    return {
        result_id: result_id[: max(_STAMP, before + 1, after + 1)]
        for result_id, (before, after) in zip(ordered, pairwise(shared), strict=True)
    }


def _shared_length(first: str, second: str) -> int:
    """Characters that both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


NO_THROUGHPUT = "no throughput is on record"
_AT_LEAST = "≥ at least: a searched rate above which no more was lost, or nothing was sent"
_BEST = (
    "Best: mean of the fastest case, or of the best setting as in show; Mbps/W at its receiver (soak: server)"
)


def _lacks(result: Listed | Damaged) -> Iterator[Lack]:
    """Why its answer is missing, where no line of its own says it."""

    if isinstance(result, Damaged):
        return
    if result.best is not None and result.best.bps_per_w is None:
        yield Lack("Mbps/W", result.best.reason, id_of(result))
    elif result.best is None and result.reason is None:
        yield Lack("Best, Mbps/W", NO_THROUGHPUT, id_of(result))


def remarks(result: Listed | Damaged) -> list[str]:
    """What a row says in lines of their own: why a result is damaged, what it lacks."""
    reasons = [result.reason] if isinstance(result, Damaged) else [result.reason, result.lacks]
    return [words for words in reasons if words]


def id_of(result: Listed | Damaged) -> str:
    """The id of a row."""
    return result.id if isinstance(result, Damaged) else str(result.heading["id"])


def _row(result: Listed | Damaged, narrow: Narrow | None) -> Row:

    result_id = id_of(result) if narrow is None else narrow.ids[id_of(result)]
    if isinstance(result, Damaged):
        state = "damaged" if result.proven else "not shown"
        best = MISSING if narrow is None else state
        return Row(text_cells(result_id), text_cells(best, "", MISSING, MISSING, state, MISSING, ""))
    created_s, name = result.heading["created_s"], _name(result.heading)
    if narrow is None:
        when = format_time_utc(created_s)
    else:
        when, name = _short_time(created_s, narrow.year), _short_name(result.heading, narrow.name_width)
    cells = (
        *_answer(result.best),
        Cell(MISSING if result.shown is None else str(result.shown)),
        *text_cells(_done(result.heading), when, name),
    )
    return Row(text_cells(result_id), cells)


def _short_time(time_s: float | None, year: str) -> str:
    """``11-30 05:49``; of another year its date: ``2025-11-30``."""
    date_and_time = format_time_utc(time_s)
    date, _, clock = date_and_time.removesuffix(" UTC").partition(" ")
    return f"{date[5:]} {clock}" if clock and date.startswith(year) else date


def _short_name(about: Mapping[str, Any], width: int) -> str:
    """What is imported is said without its file, as long as there is room for it."""
    name = _name(about)
    if cell_len(name) > width and about["imported_from"]:
        name = f"{about['name'] or MISSING} (imported)"
    return name if cell_len(name) <= width else f"{set_cell_size(name, max(0, width - 1)).rstrip()}…"


def _answer(best: Best | None) -> tuple[Cell, ...]:
    """How fast, what in, and for each watt."""

    if best is None:
        return text_cells(MISSING, "", MISSING)
    speed = "≥ " * best.at_least + format_rate(best.throughput_bps) + DOUBTFUL * best.doubtful_throughput
    if best.bps_per_w is None:
        return (*text_cells(speed, test_title(best.test)), Cell(MISSING, reason=best.reason))
    per_watt = MBPS_PER_W.text(MBPS_PER_W.from_si(best.bps_per_w)) + DOUBTFUL * best.doubtful_watts
    return (*text_cells(speed, test_title(best.test)), Cell(per_watt, mark=provenance_mark(best.provenance)))


def _done(about: Mapping[str, Any]) -> str:
    if about["soak"]:
        return "all" if about["complete"] else "not all"
    failed = f", {about['trials_failed']} failed" if about["trials_failed"] else ""
    return f"{about['trials_done']}/{about['trials_planned']}{failed}"


def _name(about: Mapping[str, Any]) -> str:
    name = str(about["name"] or MISSING)
    imported = about["imported_from"]
    return f"{name} (imported from {imported})" if imported else name
