# SPDX-License-Identifier: Apache-2.0
"""The views of ``linewatt sql``, each declared once: its columns, and how a stored result becomes rows.

Rows are cached, as those of ``list`` and ``compare`` are (:mod:`linewatt.store.cache`), each view by itself.
Only the rows of ``samples`` are not cached: a query that asks for them reads the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from linewatt.report.data.case_columns import RESULT, case_columns, rows_of_cases
from linewatt.report.data.column import Cell, Column, cells
from linewatt.report.data.result_columns import (
    finding_columns,
    kind_name,
    result_columns,
    row_of_result,
    rows_of_findings,
)
from linewatt.report.data.trial_columns import end_columns, rows_of_ends, rows_of_trials, trial_columns
from linewatt.report.kinds import result_kind
from linewatt.report.trials.digest import Digest, digest_of
from linewatt.store import Result, cached_of_result, load_result

Rows = list[list[Cell]]


class Source:
    """A stored result, read and digested once for all views, when the first view needs it."""

    def __init__(self, path: Path, read: Callable[[Path], Result] = load_result) -> None:
        self.path = path
        self._read = read

    @cached_property
    def result(self) -> Result:
        """Raises StoreError."""
        return self._read(self.path)

    @cached_property
    def digest(self) -> Digest:
        """Raises StoreError."""
        return digest_of(self.result)


@dataclass(frozen=True)
class View:
    """``make`` returns the rows of a result, by column. Without it, a query reads the files directly.

    ``of_soaks``: soaks have rows in the view, too. Published tables have a row in ``results`` only.
    """

    name: str
    about: str
    declared: Callable[[], tuple[Column, ...]]
    make: Callable[[Source], Iterable[Mapping[str, Any]]] | None = None
    of_soaks: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.declared()

    def rows(self, source: Source) -> Rows:
        """The rows of a result, in the order of the columns. Raises StoreError."""
        if self.make is None:
            return []
        return [cells(row, self.columns, str(source.path)) for row in self.make(source)]

    def kept(self, source: Source) -> tuple[str, Rows]:
        """The kind of the result, and the same rows, cached. Raises StoreError."""
        return cached_of_result(
            source.path,
            f"sql-{self.name}",
            tuple[str, list[list[Any]]],  # a union takes much longer
            lambda: (kind_name(source.result.manifest), self.rows(source)),
        )


def _findings(source: Source) -> Iterable[Mapping[str, Any]]:
    result = source.result
    kind = result_kind(result.manifest)
    findings = source.digest.findings if kind is None else kind.findings(result)
    return () if findings is None else rows_of_findings(result.id, findings)


def _sample_columns() -> tuple[Column, ...]:
    return (
        RESULT,
        Column("trial", "BIGINT", "number of the trial: trials.number"),
        Column("host", "VARCHAR", "host of the reading"),
        Column("source", "VARCHAR", "sensor, load or power source"),
        Column("channel", "VARCHAR", "name of the quantity"),
        Column("unit", "VARCHAR", "unit of value: `W`, `Hz`, `ratio`, `bit/s`, `count` …"),
        Column("kind", "VARCHAR", "`gauge`, `mean` over span_s, or `counter` (a running total)"),
        Column("scope", "VARCHAR", "part that it covers: `cpu:3`, `psu-out:PSU1` …"),
        Column("provenance", "VARCHAR", "`measured`, `datasheet`, `estimate`, `simulated`"),
        Column("time_s", "DOUBLE", "Unix time of the reading on the controller's clock"),
        Column("span_s", "DOUBLE", "period before time_s that the reading covers"),
        Column(
            "value",
            "DOUBLE",
            "the reading, in unit, without any calibration correction",
            "reason",
        ),
        Column("reason", "VARCHAR", "why the reading is missing"),
    )


_EVERY = (
    View(
        "results",
        "One row per result: campaigns, soaks, and published tables.",
        result_columns,
        lambda source: [row_of_result(source.result, source.digest)],
        of_soaks=True,
    ),
    View(
        "cases",
        "One row per case, means over its trials: the columns of `show --csv`. Steps of a rate search are "
        "only in `trials`.",
        case_columns,
        lambda source: rows_of_cases(source.digest),
    ),
    View(
        "trials",
        "One row per trial: the columns of `show --csv --trials`. After the row of a group follows one row "
        "per pair.",
        trial_columns,
        lambda source: rows_of_trials(source.result),
    ),
    View(
        "ends",
        "One row per trial and end with recorded data. Most failed trials have none.",
        end_columns,
        lambda source: rows_of_ends(source.result),
    ),
    View(
        "samples",
        "One row per reading of a trial. A query opens only files of the results and trials it filters for.",
        _sample_columns,
    ),
    View(
        "findings",
        "One row per finding, piece of evidence and trial. In a result, count(DISTINCT finding) counts them.",
        finding_columns,
        _findings,
        of_soaks=True,
    ),
)
VIEWS: Mapping[str, View] = {view.name: view for view in _EVERY}
