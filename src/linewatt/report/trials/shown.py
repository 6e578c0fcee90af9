# SPDX-License-Identifier: Apache-2.0
"""The columns of figures of cases as a table has them: in one unit, with a cell for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.metric import Metric
from linewatt.analysis.metrics.of_power import PowerMetric
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.power.summary import EndPower
from linewatt.model import Case, Role
from linewatt.report.columns import case_cell, ci_text, head
from linewatt.report.findings import NO_MARKS, Marks
from linewatt.report.power_columns import power_cell, power_head
from linewatt.report.table import Cell, Head
from linewatt.units import MISSING

Powers = Mapping[Case, EndPower]
"""The power of one end of each case that has any"""


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands above a column, and what it has for a case."""

    head: Head
    cell: Callable[[CaseSummary], Cell]

    @property
    def without_spread(self) -> Shown:
        """The same with means alone."""
        return Shown(self.head, lambda summary: replace(self.cell(summary), sd=None))


def of_cases(
    columns: Iterable[Metric],
    summaries: Sequence[CaseSummary],
    marks: Marks = NO_MARKS,
    *,
    intervals: bool = False,
) -> list[Shown]:
    """Of columns those that mean something for these cases and have a value among them."""
    return [
        of_case(column, summaries, marks, intervals=intervals)
        for column in columns
        if column.applies(summaries) and column.has_values(summaries)
    ]


def of_case(
    column: Metric, summaries: Sequence[CaseSummary], marks: Marks = NO_MARKS, *, intervals: bool = False
) -> Shown:
    """A column in the unit of these cases; ``intervals``: with the 95 % CIs of means, which take time."""
    unit = column.unit(summaries)

    def cell(summary: CaseSummary) -> Cell:
        doubts = marks.cell(summary.case, column.figure, column.role)
        ci = ci_text(column, summary, unit) if intervals else None
        return replace(case_cell(column, summary, unit), doubts=doubts, ci=ci)

    above = head(column, unit)
    return Shown(above if intervals else replace(above, show_ci=False), cell)


def of_power(
    column: PowerMetric, unit: Unit, role: Role, scope: str | None, powers: Powers, marks: Marks = NO_MARKS
) -> Shown:
    """A column of the power of one end, of watts of one scope."""

    def cell(summary: CaseSummary) -> Cell:
        power = powers.get(summary.case)
        if power is None:
            return Cell(
                MISSING, reason=summary.reasons.get(f"{role}_power", "no watts of this scope are known")
            )
        doubts = marks.cell(summary.case, column.figure, role)
        return replace(power_cell(column, power, unit, summary.trials_done), doubts=doubts)

    return Shown(power_head(column, role, unit, scope, powers.values()), cell)
