# SPDX-License-Identifier: Apache-2.0
"""The power tables of a result: one a test, end and kind of watts, so that no two scopes share a column.

A cell is a mean over trials (``analysis/power/summary.py``) of what a window took
(``engine/measuring/window_power.py``), by a metric of ``analysis/metrics/of_power.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from linewatt.analysis.cases import CaseSummary
from linewatt.analysis.metrics import (
    METRIC_BY_NAME,
    POWER_METRICS,
    CaseMetric,
    PowerMetric,
    Unit,
    power_unit,
)
from linewatt.analysis.power import SCOPE_WORDS, EndPower
from linewatt.model import ENDS, Provenance, Role
from linewatt.report.columns import Shown, of_case, of_power, power_head
from linewatt.report.findings import NO_MARKS, Marks
from linewatt.report.provenance import provenance_legend, provenance_words
from linewatt.report.series import Series, TestGroup, count_noun, count_text
from linewatt.report.table import Cell, Head, Lack, Row, RowGroup, Table, absences, legend_notes
from linewatt.report.trials.settings.scalability import count_cell, count_head, ring_notes

Scopes = tuple[str | None, str | None]
"""Which watts are the system's and which the CPU's, keys of ``SCOPE_WORDS``"""

_THROUGHPUT, _OFFERED = METRIC_BY_NAME["throughput_bps"], METRIC_BY_NAME["offered_bps"]


@dataclass(frozen=True, slots=True)
class PowerCase:
    """One end of one case."""

    series: Series
    summary: CaseSummary
    power: EndPower


@dataclass(frozen=True, slots=True)
class PowerCases:
    """One end of the cases of a test whose watts are of the same scopes: what is in one table."""

    group: TestGroup
    role: Role
    scopes: Scopes
    members: tuple[PowerCase, ...]

    @property
    def by_series(self) -> list[tuple[Series, list[PowerCase]]]:
        groups = (list(group) for _, group in groupby(self.members, key=lambda member: id(member.series)))
        return [(group[0].series, group) for group in groups]

    @property
    def labelled(self) -> list[tuple[str, list[PowerCase]]]:
        """The cases of each series with its label, where there are several."""
        by_series = self.by_series
        return [(series.label if len(by_series) > 1 else "", members) for series, members in by_series]

    @property
    def title(self) -> str:
        """The test, the end and its host; series only where there is one."""
        series = self.by_series
        name = series[0][0].title if len(series) == 1 else self.group.title
        hosts = {member.power.host for member in self.members}
        names = dict.fromkeys((self.role, *(hosts if len(hosts) == 1 else ())))
        return f"{name}: power of the {' '.join(names)}"

    @property
    def provenances(self) -> list[Provenance | None]:
        return [
            kind
            for member in self.members
            for kind in (member.power.system_provenance, member.power.cpu_provenance)
        ]

    @property
    def provenance(self) -> str:
        """In words, unless all was measured."""
        return provenance_words(self.provenances)

    @property
    def system_words(self) -> str | None:
        """The system's scope for people, with a word unless it was measured."""
        return _scope_words(self.scopes[0], [member.power.system_provenance for member in self.members])

    @property
    def cpu_words(self) -> str | None:
        """The CPU's scope for people, with a word unless it was measured."""
        return _scope_words(self.scopes[1], [member.power.cpu_provenance for member in self.members])

    @property
    def columns(self) -> list[tuple[PowerMetric, Unit]]:
        """Those with a value, each with the unit it is shown in."""
        gbps = _THROUGHPUT.unit([member.summary for member in self.members]) is _THROUGHPUT.units[0]
        column_means = ((column, self._means(column.name)) for column in POWER_METRICS)
        return [(column, power_unit(column, means, gbps=gbps)) for column, means in column_means if means]

    def _means(self, name: str) -> list[float]:
        values = (member.power.values.get(name) for member in self.members)
        return [value.mean for value in values if value is not None]


def _scope_words(scope: str | None, provenances: Sequence[Provenance | None]) -> str | None:
    if scope is None:
        return None
    source_words = provenance_words(provenances)
    return f"{SCOPE_WORDS.get(scope, scope)}{f' ({source_words})' if source_words else ''}"


def power_cases(groups: Sequence[TestGroup]) -> tuple[PowerCases, ...]:
    """The cases of every power table of a result; none where no source of power was named."""
    return tuple(
        PowerCases(group, role, scopes, tuple(members))
        for group in groups
        for role in ENDS
        for scopes, members in _by_scopes(group, role).items()
    )


def _by_scopes(group: TestGroup, role: Role) -> dict[Scopes, list[PowerCase]]:
    """Cases with power at this end, by the watts that they have; what is missing goes with its series."""
    cases_by_scopes: dict[Scopes, list[PowerCase]] = {}
    for series in group.series:
        members = list(_members(series, role))
        system = next((m.power.system_scope for m in members if m.power.system_scope), None)
        cpu = next((m.power.cpu_scope for m in members if m.power.cpu_scope), None)
        for member in members:
            scopes = (member.power.system_scope or system, member.power.cpu_scope or cpu)
            cases_by_scopes.setdefault(scopes, []).append(member)
    return cases_by_scopes


def _members(series: Series, role: Role) -> Iterator[PowerCase]:
    for summary in series.summaries:
        power = summary.power(role)
        if power is not None:
            yield PowerCase(series, summary, power)


def power_table(cases: PowerCases, marks: Marks = NO_MARKS) -> Table:
    """The table of one end of a test: behind that end's throughput the columns that have values."""
    powers = {member.summary.case: member.power for member in cases.members}
    of_users = count_noun(cases.group.test) == "user"  # who have no regime
    columns = [
        of_case(_rate_of_end(cases), [member.summary for member in cases.members], marks),
        *(
            of_power(column, unit, cases.role, cases.scopes[column.watts == "cpu"], powers, marks)
            for column, unit in cases.columns
        ),
    ]
    return Table(
        title=cases.title,
        keys=(count_head(cases.group),),
        heads=(*(() if of_users else (Head("Regime", kind="text"),)), *(column.head for column in columns)),
        groups=tuple(
            RowGroup(label, tuple(_row(member.summary, columns) for member in members))
            for label, members in cases.labelled
        ),
        notes=(
            *legend_notes(provenance_legend(cases.provenances)),
            *ring_notes(cases.group),
            *absences(_lacks(cases), len(cases.members), count_noun(cases.group.test)),
        ),
        provenance=cases.provenance,
        style="numbers power",
    )


def _rate_of_end(cases: PowerCases) -> CaseMetric:
    """Of UDP the sender's costs are for what it sent."""
    summaries = [member.summary for member in cases.members]
    is_sent = cases.role == "sender" and _OFFERED.applies(summaries) and _OFFERED.has_values(summaries)
    return _OFFERED if is_sent else _THROUGHPUT


def _row(summary: CaseSummary, columns: Sequence[Shown]) -> Row:
    cells = [column.cell(summary) for column in columns]
    if not summary.case.of_users:
        cells.insert(0, Cell(summary.regime.regime if summary.regime else "multi"))
    return Row((count_cell(summary.case),), tuple(cells))


def _lacks(cases: PowerCases) -> Iterator[Lack]:
    labelled = cases.labelled
    for column in POWER_METRICS:
        title = power_head(column, cases.role, column.units[0], cases.scopes[column.watts == "cpu"], ()).title
        for label, members in labelled:
            for member in members:
                if column.name in member.power.reasons:
                    reason = member.power.reasons[column.name]
                    yield Lack(title, reason, label, count_text(member.summary.case))
