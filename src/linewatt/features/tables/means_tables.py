# SPDX-License-Identifier: Apache-2.0
"""Published means with their SD as tables: the figures as printed, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linewatt.analysis.metrics import significant_digits
from linewatt.features.tables.charts import parts_of
from linewatt.features.tables.published import Mean, MeanRow, Means
from linewatt.report import Cell, Head, Lack, Note, Row, RowGroup, Table, absences, plural, text_cells
from linewatt.units import MISSING

_FOUR = significant_digits(4)
_EMPTY = "the cell is empty in the imported table"
_NOT_DERIVED = Note("absence", "derived: does not apply to that row, or the table does not say enough")


def over_words(means: Means) -> str:
    """Over how many runs the means are."""
    run_counts = sorted({row.runs for row in means.rows if row.runs is not None})
    if len(run_counts) == 0 or any(row.runs is None for row in means.rows):
        return "how many runs is not in the table"
    return (
        f"over {plural(run_counts[0], 'run')}"
        if len(run_counts) == 1
        else f"over {run_counts[0]} to {run_counts[-1]} runs"
    )


def answer(means: Means) -> str:
    """What the table holds, in a sentence."""
    rows, figures = plural(len(means.rows), "row"), plural(len(means.figures), "figure")
    return f"{rows} of {figures}, mean ± SD as published; {over_words(means)}."


def tables(means: Means) -> tuple[Table, ...]:
    """The means, and what follows from them, if anything does."""
    return (_means(means), *([_follows(means)] if means.derived or means.printed else []))


def data_rows(means: Means) -> list[dict[str, Any]]:
    """A row each, for programs."""
    return [
        {
            **row.names,
            "runs": row.runs,
            **{f"{name}_mean": None if mean is None else mean.value for name, mean in row.means.items()},
            **{f"{name}_sd": None if mean is None else mean.sd for name, mean in row.means.items()},
            **{name: row.derived[name] for name in means.derived},
            **row.printed,
        }
        for row in means.rows
    ]


def _names(means: Means) -> tuple[list[str], str]:
    """The columns that tell rows apart, and what is the same in all, in words."""
    same = [name for name in means.names if len({row.names[name] for row in means.rows}) == 1]
    shared = ", ".join(f"{name} {means.rows[0].names[name]}" for name in same)
    return [name for name in means.names if name not in same] or list(means.names), shared


def _keys(row: MeanRow, names: Sequence[str]) -> tuple[Cell, ...]:
    return text_cells(*(row.names[name] for name in names))


def _means(means: Means) -> Table:
    names, same = _names(means)
    lacks = [
        Lack(name, _EMPTY, "", " ".join(row.names[key_name] for key_name in names))
        for row in means.rows
        for name in means.figures
        if row.means[name] is None
    ]
    spread = f"± is the published SD; {over_words(means)}: no interval and no test is made of it."
    return Table(
        f"Published mean ± SD{f': {same}' if same else ''}",
        tuple(Head(name, kind="text") for name in names),
        tuple(_head(name, means.figures) for name in means.figures),
        (
            RowGroup(
                "",
                tuple(
                    Row(_keys(row, names), tuple(_mean(row.means[name]) for name in means.figures))
                    for row in means.rows
                ),
            ),
        ),
        (Note("remark", spread), *absences(lacks, len(means.rows) * len(means.figures))),
    )


def _head(name: str, figures: Sequence[str]) -> Head:
    group, title = parts_of(name, figures)
    return Head(title, lines=f"{group}\n{title}" if group else "", group=group, show_sd=True)


def _mean(mean: Mean | None) -> Cell:
    if mean is None:
        return Cell(MISSING, reason=_EMPTY)
    return Cell(mean.text, sd=mean.sd_text or None)


def _follows(means: Means) -> Table:
    """What follows from the means, beside what else the table prints."""
    names, _ = _names(means)
    heads = (
        *(Head(name, "as printed", kind="text", lines=name.replace("_", "\n", 1)) for name in means.printed),
        *(Head(name, "derived") for name in means.derived),
    )
    rows = tuple(Row(_keys(row, names), _following(means, row)) for row in means.rows)
    lacking = any(None in (row.derived[name] for name in means.derived) for row in means.rows)
    return Table(
        "What follows from the means",
        tuple(Head(name, kind="text") for name in names),
        heads,
        (RowGroup("", rows),),
        (_NOT_DERIVED,) if lacking else (),
    )


def _following(means: Means, row: MeanRow) -> tuple[Cell, ...]:
    derived = (row.derived[name] for name in means.derived)
    return (
        *text_cells(*(row.printed[name] or MISSING for name in means.printed)),
        *(Cell(MISSING if value is None else _FOUR(value)) for value in derived),
    )
