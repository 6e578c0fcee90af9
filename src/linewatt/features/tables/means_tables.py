# SPDX-License-Identifier: Apache-2.0
"""Published means with their SD as tables: the figures as printed, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linewatt.analysis.metrics.unit import significant
from linewatt.features.tables.charts import parts_of
from linewatt.features.tables.published import Mean, MeanRow, Means
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences, texts
from linewatt.units import MISSING

_FOUR = significant(4)
_EMPTY = "the cell is empty in the imported table"
_NOT_DERIVED = Note("absence", "derived: does not apply to that row, or the table does not say enough")


def over_words(found: Means) -> str:
    """Over how many runs the means are."""
    known = sorted({row.runs for row in found.rows if row.runs is not None})
    if len(known) == 0 or any(row.runs is None for row in found.rows):
        return "how many runs is not in the table"
    return f"over {plural(known[0], 'run')}" if len(known) == 1 else f"over {known[0]} to {known[-1]} runs"


def answer(found: Means) -> str:
    """What the table holds, in a sentence."""
    rows, figures = plural(len(found.rows), "row"), plural(len(found.figures), "figure")
    return f"{rows} of {figures}, mean ± SD as published; {over_words(found)}."


def tables(found: Means) -> tuple[Table, ...]:
    """The means, and what follows from them, if anything does."""
    return (_means(found), *([_follows(found)] if found.derived or found.printed else []))


def data_rows(found: Means) -> list[dict[str, Any]]:
    """A row each, for programs."""
    return [
        {
            **row.names,
            "runs": row.runs,
            **{f"{name}_mean": None if one is None else one.value for name, one in row.means.items()},
            **{f"{name}_sd": None if one is None else one.sd for name, one in row.means.items()},
            **{name: row.derived[name] for name in found.derived},
            **row.printed,
        }
        for row in found.rows
    ]


def _names(found: Means) -> tuple[list[str], str]:
    """The columns that tell rows apart, and what is the same in all, in words."""
    same = [name for name in found.names if len({row.names[name] for row in found.rows}) == 1]
    shared = ", ".join(f"{name} {found.rows[0].names[name]}" for name in same)
    return [name for name in found.names if name not in same] or list(found.names), shared


def _keys(row: MeanRow, names: Sequence[str]) -> tuple[Cell, ...]:
    return texts(*(row.names[name] for name in names))


def _means(found: Means) -> Table:
    names, same = _names(found)
    lacks = [
        Lack(name, _EMPTY, "", " ".join(row.names[one] for one in names))
        for row in found.rows
        for name in found.figures
        if row.means[name] is None
    ]
    spread = f"± is the published SD; {over_words(found)}: no interval and no test is made of it."
    return Table(
        f"Published mean ± SD{f': {same}' if same else ''}",
        tuple(Head(name, kind="text") for name in names),
        tuple(_head(name, found.figures) for name in found.figures),
        (
            RowGroup(
                "",
                tuple(
                    Row(_keys(row, names), tuple(_mean(row.means[name]) for name in found.figures))
                    for row in found.rows
                ),
            ),
        ),
        (Note("remark", spread), *absences(lacks, len(found.rows) * len(found.figures))),
    )


def _head(name: str, figures: Sequence[str]) -> Head:
    group, title = parts_of(name, figures)
    return Head(title, lines=f"{group}\n{title}" if group else "", group=group, show_sd=True)


def _mean(one: Mean | None) -> Cell:
    if one is None:
        return Cell(MISSING, reason=_EMPTY)
    return Cell(one.text, sd=one.sd_text or None)


def _follows(found: Means) -> Table:
    """What follows from the means, beside what else the table prints."""
    names, _ = _names(found)
    heads = (
        *(Head(name, "as printed", kind="text", lines=name.replace("_", "\n", 1)) for name in found.printed),
        *(Head(name, "derived") for name in found.derived),
    )
    rows = tuple(Row(_keys(row, names), _following(found, row)) for row in found.rows)
    lacking = any(None in (row.derived[name] for name in found.derived) for row in found.rows)
    return Table(
        "What follows from the means",
        tuple(Head(name, kind="text") for name in names),
        heads,
        (RowGroup("", rows),),
        (_NOT_DERIVED,) if lacking else (),
    )


def _following(found: Means, row: MeanRow) -> tuple[Cell, ...]:
    derived = (row.derived[name] for name in found.derived)
    return (
        *texts(*(row.printed[name] or MISSING for name in found.printed)),
        *(Cell(MISSING if value is None else _FOUR(value)) for value in derived),
    )
