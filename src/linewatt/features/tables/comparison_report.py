# SPDX-License-Identifier: Apache-2.0
"""Two tables of published means side by side: a table, and its rows as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.metrics import significant_digits
from linewatt.analysis.statistics import ALPHA
from linewatt.declare import FLAT, Schema
from linewatt.errors import InvalidInput
from linewatt.features.tables.means_comparison import (
    Kind,
    MeanChange,
    MeansCompared,
    compare_means,
    levels_of,
    of_level,
)
from linewatt.features.tables.published import MEANS, Means
from linewatt.features.tables.view import means_of
from linewatt.foreign import one_line
from linewatt.json_document import document_of, fill, of_class
from linewatt.report import Cell, Head, Note, Row, RowGroup, Table, plural, text_cells
from linewatt.report.printing import Versioned, render_table
from linewatt.store import load_manifest, load_result
from linewatt.units import MISSING, first_of

_SHORT = significant_digits(3)
_MOST_ALONE = 6
_WORDS: dict[Kind, str] = {
    "higher": "B is higher",
    "lower": "B is lower",
    "small": "differs by less than 1 %",
    "same": "no difference shown",
    "untested": "not tested",
}


@dataclass(frozen=True, slots=True)
class MeansComparison:
    """A :class:`linewatt.report.kinds.KindComparison` of two results, by their ids."""

    means: MeansCompared
    base_id: str
    other_id: str

    @property
    def tested(self) -> bool:
        return self.means.tested

    def document(self) -> dict[str, Any]:
        differs = {name: TwoTexts(*values) for name, values in self.means.apart.items()}
        return document_of(
            MeansDocument(
                a=self.base_id,
                b=self.other_id,
                answer=answer(self.means),
                differs=differs,
                changes=[_row_of_change(change) for change in self.means.changes],
                alone=tuple(self.means.alone),
            )
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row a figure."""
        return [document_of(_row_of_change(change)) for change in self.means.changes]

    def terminal(self, width: int | None) -> RenderableType:
        """The answer, then every figure of both tables."""
        differs = (
            f"{name}: A {value_a}, B {value_b}" for name, (value_a, value_b) in self.means.apart.items()
        )
        ids = [f"A {self.base_id}", f"B {self.other_id}"]
        if self.base_id == self.other_id:
            ids = [f"A and B {self.base_id}"]
        lines = [*ids, *differs, answer(self.means)]
        return Group(
            *(Text(one_line(line)) for line in lines), Text(), render_table(_table(self.means), width)
        )


def compared(
    sides: Sequence[Sequence[Path]], *, by: str | None, base: str | None, plain: bool
) -> MeansComparison:
    """Two tables of published means against each other, or two levels of a column of one table.

    Raises InvalidInput for what else holds no runs, and where more than JSON and CSV is asked for.
    """
    paths = [path for side in sides for path in side]
    kinds = {path.name: load_manifest(path).imported_kind for path in paths}
    tables = {name: kind for name, kind in kinds.items() if kind}
    side_sizes = [1, 1] if len(sides) > 1 else [1]
    pair = [len(side) for side in sides] == side_sizes and len(tables) == len(paths)
    if not pair or set(tables.values()) != {MEANS}:
        name, kind = next(iter(tables.items()))
        raise InvalidInput(
            f"{name}: is a published table ({kind}) without runs, so that no difference can be tested; "
            f"'linewatt show' has its figures, and only tables of {MEANS} are compared"
        )
    if not plain:
        raise InvalidInput(
            f"{paths[0].name}: compare of published means has no options but --by, --base, --json and --csv"
        )
    results = [load_result(path) for path in paths]
    tables_of_sides = [means_of(result) for result in results]
    if len(results) == 1:
        tables_of_sides = list(_of_levels(tables_of_sides[0], results[0].id, by or "", base))
    elif by is not None and len({levels_of(means, by) for means in tables_of_sides}) < 2:
        raise InvalidInput(f"--by {by}: is the same in both tables, or not a column of both")
    return MeansComparison(compare_means(*tables_of_sides), results[0].id, results[-1].id)


def _of_levels(means: Means, result_id: str, by: str, base: str | None) -> tuple[Means, Means]:
    """The rows of the two levels of a column, the base first. Raises InvalidInput."""
    levels = levels_of(means, by)
    if not levels:
        raise InvalidInput(
            f"--by {by}: {result_id} has no such column that tells rows apart; "
            f"it has {', '.join(means.names)}"
        )
    if len(levels) != 2:
        raise InvalidInput(
            f"--by {by}: {result_id} has {plural(len(levels), 'level')} of it "
            f"({first_of(levels, _MOST_ALONE)}); two are compared: import a table with the rows of two"
        )
    if base is not None and base not in levels:
        raise InvalidInput(f"--base {base}: {result_id} has {by} {' and '.join(levels)}")
    first, second = levels if base in (None, levels[0]) else reversed(levels)
    return of_level(means, by, first), of_level(means, by, second)


def answer(means_compared: MeansCompared) -> str:
    """How many figures differ, and which."""
    kinds = [change.kind for change in means_compared.changes]
    counts = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in _WORDS.items() if kind in kinds)
    return f"{plural(len(kinds), 'published mean')}: {counts or 'nothing that both tables have'}."


def _table(means_compared: MeansCompared) -> Table:
    names = list(means_compared.changes[0].names) if means_compared.changes else []
    sides = (Head("A", show_sd=True), Head("B", show_sd=True))
    heads = (*sides, Head("B − A"), Head("95 % CI"), Head("Verdict", kind="text"))
    keys = tuple(Head(name, kind="text") for name in (*names, "figure"))
    rows = tuple(_row(change) for change in means_compared.changes if change.a.value or change.b.value)
    return Table(
        "Published means, A and B", keys, heads, (RowGroup("", rows),), tuple(_notes(means_compared))
    )


def _row(change: MeanChange) -> Row:
    has_interval = change.low is not None and change.high is not None
    ci = f"{_signed(change.low or 0.0)} to {_signed(change.high or 0.0)}" if has_interval else MISSING
    return Row(
        text_cells(*change.names.values(), change.figure),
        (
            Cell(change.a.text, sd=change.a.sd_text or None),
            Cell(change.b.text, sd=change.b.sd_text or None),
            *text_cells(_signed(change.difference), ci, _WORDS[change.kind]),
        ),
    )


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{_SHORT(abs(value))}"


def _notes(means_compared: MeansCompared) -> Iterator[Note]:
    zeros = sum(not (change.a.value or change.b.value) for change in means_compared.changes)
    if means_compared.changes:
        counts = f"p below {ALPHA:g} among all {len(means_compared.changes)} (Holm), and from 1 % of A on"
        yield Note("remark", f"Welch's t of published means and SDs; a difference counts with {counts}.")
    if any(change.is_bounded for change in means_compared.changes):
        yield Note("remark", "CPU used and its cost are derived; their SD is the largest that is possible.")
    if zeros:
        yield Note("remark", f"{plural(zeros, 'mean')} that are 0 in both tables are not listed.")
    for reason in dict.fromkeys(change.reason for change in means_compared.changes if change.reason):
        count = sum(change.reason == reason for change in means_compared.changes)
        yield Note("absence", f"95 % CI, verdict of {plural(count, 'mean')}: {reason}")
    if means_compared.alone:
        yield Note("absence", f"in one table only: {first_of(list(means_compared.alone), _MOST_ALONE)}")


@dataclass(frozen=True, slots=True)
class TwoTexts:
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanChangeDocument:
    names: Mapping[str, str] = field(metadata=FLAT)
    """Columns that tell rows apart."""
    figure: str
    a_mean: float
    a_sd: float | None
    b_mean: float
    b_sd: float | None
    difference: float
    """B − A."""
    difference_low: float | None
    """Of its 95 % CI."""
    difference_high: float | None
    p: float | None
    p_holm: float | None
    kind: Kind
    reason: str | None
    """Why it is not tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeansDocument(Versioned):
    """Two tables of published means."""

    a: str
    b: str
    provenance: Literal["published"] = "published"
    """linewatt did not measure them."""
    answer: str
    differs: dict[str, TwoTexts]
    changes: list[MeanChangeDocument]
    alone: tuple[str, ...]
    """What only one table has."""


def schema() -> Schema:
    """Of the document of a comparison."""
    return of_class(MeansDocument)


def _row_of_change(change: MeanChange) -> MeanChangeDocument:
    return fill(
        MeanChangeDocument,
        change,
        a_mean=change.a.value,
        a_sd=change.a.sd,
        b_mean=change.b.value,
        b_sd=change.b.sd,
        difference_low=change.low,
        difference_high=change.high,
        reason=change.reason or None,
    )
