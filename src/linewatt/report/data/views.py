# SPDX-License-Identifier: Apache-2.0
"""The views of ``linewatt sql``, each declared once: columns, and how a stored result is made into its rows.

What was made is kept as ``list`` and ``compare`` keep theirs (:mod:`linewatt.store.cache`). ``samples``
alone is read where it lies, when a query asks for it.
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
    """A stored result, read and digested once for all views that are made of it, and not before one is."""

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
    """``make`` gives the rows of a result by column; without it the view is read where it lies.

    ``of_soaks``: soaks have rows in it, too; of published tables only ``results`` has one.
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

    def kept(self, source: Source) -> Rows:
        """The same, made once and kept for the next time. Raises StoreError."""
        values_of_json = list[list[Any]]  # a union takes much longer
        return cached_of_result(source.path, f"sql-{self.name}", values_of_json, lambda: self.rows(source))


def _findings(source: Source) -> Iterable[Mapping[str, Any]]:
    result = source.result
    kind = result_kind(result.manifest)
    findings = source.digest.findings if kind is None else kind.findings(result)
    return () if findings is None else rows_of_findings(result.id, findings)


def _sample_columns() -> tuple[Column, ...]:
    return (
        RESULT,
        Column("trial", "BIGINT", "number of the trial: trials.number"),
        Column("host", "VARCHAR", "where it was read"),
        Column("source", "VARCHAR", "sensor, load or source of power"),
        Column("channel", "VARCHAR", "what it is of"),
        Column("unit", "VARCHAR", "of value: `W`, `Hz`, `ratio`, `bit/s`, `count` …"),
        Column("kind", "VARCHAR", "`gauge`, `mean` over span_s, or `counter` (a running total)"),
        Column("scope", "VARCHAR", "what it covers, `cpu:3`, `psu-out:PSU1` …"),
        Column("provenance", "VARCHAR", "`measured`, `datasheet`, `estimate`, `simulated`"),
        Column("time_s", "DOUBLE", "Unix time of the reading on the controller's time line"),
        Column("span_s", "DOUBLE", "time before it that it is of"),
        Column(
            "value",
            "DOUBLE",
            "the reading, in unit, as it was read: no calibration corrects it here",
            "reason",
        ),
        Column("reason", "VARCHAR", "why the reading is missing"),
    )


_EVERY = (
    View(
        "results",
        "A row a result: campaigns, soaks, and published tables.",
        result_columns,
        lambda source: [row_of_result(source.result, source.digest)],
        of_soaks=True,
    ),
    View(
        "cases",
        "A row a case, means over its trials: the columns of `show --csv`. Steps of a searched rate are no "
        "cases; `trials` has them.",
        case_columns,
        lambda source: rows_of_cases(source.digest),
    ),
    View(
        "trials",
        "A row a trial: the columns of `show --csv --trials`. Behind that of a group stands one for each "
        "of its pairs.",
        trial_columns,
        lambda source: rows_of_trials(source.result),
    ),
    View(
        "ends",
        "A row a trial and end of which something is on record; of a failed trial there is mostly none.",
        end_columns,
        lambda source: rows_of_ends(source.result),
    ),
    View(
        "samples",
        "A row a reading of a trial. Files are read only of the results and trials that a query asks for.",
        _sample_columns,
    ),
    View(
        "findings",
        "A row a finding, piece of evidence, and trial that has it: count(DISTINCT finding) counts findings.",
        finding_columns,
        _findings,
        of_soaks=True,
    ),
)
VIEWS: Mapping[str, View] = {view.name: view for view in _EVERY}
