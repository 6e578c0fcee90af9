# SPDX-License-Identifier: Apache-2.0
"""A matrix of hosts as a table a test: a row a pair of hosts, what it reached and what it cost both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.matrix import Matrix, fullest, matrices
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.unit import Unit
from linewatt.model import Case, Role
from linewatt.report.columns import COLUMNS, Cell
from linewatt.report.power_columns import ENDS, POWER_COLUMNS
from linewatt.report.provenance import legend
from linewatt.report.series import TestGroup, case_labels, plural, test_title
from linewatt.units import MISSING

NO_TRIAL = "no trial of this pair is on record"
_FIELDS = (
    "throughput_bps",
    "offered_bps",
    "lost_ratio",
    "receiver_cpu_cores",
    "sender_cpu_cores",
    "receiver_cpu_cores_per_bps",
    "efficiency_receiver_bps_per_core",
    "efficiency_sender_bps_per_core",
)
_BY_FIELD = {column.field: column for column in COLUMNS}
_POWER = {column.field: column for column in POWER_COLUMNS}


@dataclass(frozen=True, slots=True)
class Head:
    """A column: its title in words and in lines, and its unit."""

    title: str
    lines: str
    unit: str


@dataclass(frozen=True, slots=True)
class PairRow:
    """One ordered pair of hosts; every cell is missing where it has no trial."""

    sender: str
    receiver: str
    cells: tuple[Cell, ...]
    trials: str

    @property
    def pair(self) -> str:
        return f"{self.sender} → {self.receiver}"


@dataclass(frozen=True, slots=True)
class MatrixBlock:
    """The pairs of one matrix; ``label`` says what it differs in from others of its test, if in anything."""

    matrix: Matrix
    label: str
    rows: tuple[PairRow, ...]


@dataclass(frozen=True, slots=True)
class MatrixTable:
    """All pairs of a test."""

    test: str
    heads: tuple[Head, ...]
    blocks: tuple[MatrixBlock, ...]
    legend: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{test_title(self.test)}: every pair of hosts"

    @property
    def drawn(self) -> tuple[MatrixBlock, ...]:
        """Of blocks that differ in instances only, the one with most of them: what heat maps are of."""
        chosen = fullest([block.matrix for block in self.blocks])
        return tuple(block for block in self.blocks if block.matrix in chosen)


def matrix_tables(groups: Sequence[TestGroup], order: Sequence[str] = ()) -> tuple[MatrixTable, ...]:
    """A table a test, hosts in ``order``; nothing for fewer than three ordered pairs of hosts."""
    found = matrices([summary for group in groups for summary in group.summaries], order)
    labels = matrix_labels([matrix.case for matrix in found])
    by_test: dict[str, list[Matrix]] = {}
    for matrix in found:
        by_test.setdefault(matrix.case.test, []).append(matrix)
    return tuple(_table(test, own, labels) for test, own in by_test.items())


def matrix_labels(cases: Sequence[Case]) -> dict[Case, str]:
    """What tells cases without hosts apart, beside their test: ``vxlan, reverse, 4 instances``."""
    single = case_labels(dict.fromkeys(replace(case, instances=1) for case in cases))
    counts = {case.instances for case in cases}
    labels = {}
    for case in cases:
        words = single[replace(case, instances=1)].removeprefix(" → ").removeprefix(", ")
        count = plural(case.instances, "instance") if counts != {1} else ""
        labels[case] = ", ".join(word for word in (words, count) if word)
    return labels


def _table(test: str, found: Sequence[Matrix], labels: Mapping[Case, str]) -> MatrixTable:
    summaries = [summary for matrix in found for summary in matrix.cells.values()]
    columns = [*_columns(summaries), *_power_columns(summaries)]
    blocks = []
    for matrix in found:
        rows = [_row(matrix, receiver, sender, columns) for sender, receiver in _pairs(matrix)]
        blocks.append(MatrixBlock(matrix, labels[matrix.case], tuple(rows)))
    powers = [summary.power(role) for summary in summaries for role in ENDS]
    return MatrixTable(
        test=test,
        heads=tuple(head for head, _ in columns),
        blocks=tuple(blocks),
        legend=legend(power.system_provenance for power in powers if power is not None),
    )


def _pairs(matrix: Matrix) -> list[tuple[str, str]]:
    """Every ordered pair, those with the same receiver together."""
    return [(s, r) for r in matrix.hosts for s in matrix.hosts if s != r]


_Read = Callable[[CaseSummary], Cell]


def _columns(summaries: Sequence[CaseSummary]) -> list[tuple[Head, _Read]]:
    shown = [_BY_FIELD[name] for name in _FIELDS if name in _BY_FIELD]
    columns: list[tuple[Head, _Read]] = []
    for column in shown:
        if column.applies(summaries) and column.has_values(summaries):
            unit = column.unit(summaries)
            head = Head(column.title, column.heading, unit.name)
            columns.append((head, _reader(column.cell, unit, sd=column.show_sd)))
    return columns


def _reader(cell: Callable[[CaseSummary, Unit], Cell], unit: Unit, *, sd: bool) -> _Read:
    def read(summary: CaseSummary) -> Cell:
        found = cell(summary, unit)
        return found if sd else replace(found, sd=None)

    return read


def _power_columns(summaries: Sequence[CaseSummary]) -> list[tuple[Head, _Read]]:
    """Watts of both ends and what one gets for them; none where no source of power was named."""
    columns: list[tuple[Head, _Read]] = []
    for field, title in (("system_w", "Power"), ("system_bps_per_w", "Efficiency")):
        column = _POWER[field]
        for role in ENDS:
            powers = [summary.power(role) for summary in summaries]
            if any(power is not None and column.value(power) is not None for power in powers):
                head = Head(f"{title}, {role}", f"{title}\n{role}", column.units[0].name)
                columns.append((head, _power_reader(field, role)))
    return columns


def _power_reader(field: str, role: Role) -> _Read:
    column = _POWER[field]

    def read(summary: CaseSummary) -> Cell:
        power = summary.power(role)
        if power is None:
            return Cell(MISSING, reason=summary.reasons.get(f"{role}_power", "not recorded"))
        cell = column.cell(power, column.units[0], summary.trials_done)
        return replace(cell, sd=None)

    return read


def _row(matrix: Matrix, receiver: str, sender: str, columns: Sequence[tuple[Head, _Read]]) -> PairRow:
    summary = matrix.cells.get((sender, receiver))
    if summary is None:
        return PairRow(sender, receiver, tuple(Cell(MISSING, reason=NO_TRIAL) for _ in columns), "none")
    stored = summary.trials_done + summary.trials_failed
    trials = f"{summary.trials_done}/{stored}" if summary.trials_failed else f"{stored}"
    return PairRow(sender, receiver, tuple(read(summary) for _, read in columns), trials)
