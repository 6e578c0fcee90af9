# SPDX-License-Identifier: Apache-2.0
"""The power tables of a result: one a test, end and kind of watts, so that no two scopes share a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.regimes import Regime
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.power.summary import EndPower
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import Provenance, Role
from linewatt.report.columns import COLUMNS, Cell, Column
from linewatt.report.findings import NO_MARKS, Marks
from linewatt.report.power_columns import ENDS, POWER_COLUMNS, PowerColumn
from linewatt.report.provenance import legend, words
from linewatt.report.series import Series, TestGroup, plural

Scopes = tuple[str | None, str | None]
"""Which watts are the system's and which the CPU's, keys of ``SCOPE_WORDS``"""

_THROUGHPUT: Column = next(column for column in COLUMNS if column.field == "throughput_bps")


@dataclass(frozen=True, slots=True)
class PowerRow:
    """One end of one case; the first cell is the throughput."""

    series: Series
    summary: CaseSummary
    power: EndPower
    regime: Regime
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column: title, the same broken into lines, unit, and a word unless it was measured."""

    title: str
    lines: str
    unit: Unit
    provenance: str
    key: str
    """of its mean in JSON"""
    show_sd: bool
    """where there is little room"""


@dataclass(frozen=True, slots=True)
class PowerTable:
    """One end of the cases of a test whose watts are of the same scopes."""

    group: TestGroup
    role: Role
    scopes: Scopes
    series: tuple[Series, ...]
    heads: tuple[Head, ...]
    rows: tuple[PowerRow, ...]
    absent: tuple[str, ...]
    """why values are missing, a sentence each"""
    legend: tuple[str, ...]
    """what the marks of numbers that were not measured mean"""

    @property
    def title(self) -> str:
        """The test, the end and its host; series only where there is one."""
        name = self.series[0].title if len(self.series) == 1 else self.group.title
        hosts = {row.power.host for row in self.rows}
        return f"{name}: power of the {self.role}{f' {hosts.pop()}' if len(hosts) == 1 else ''}"

    @property
    def provenance(self) -> str:
        """In words, unless all was measured."""
        return words(_provenances(self.rows))

    @property
    def system_words(self) -> str | None:
        """The system's scope for people, with a word unless it was measured."""
        return _scope_words(self.scopes[0], [row.power.system_provenance for row in self.rows])

    @property
    def cpu_words(self) -> str | None:
        """The CPU's scope for people, with a word unless it was measured."""
        return _scope_words(self.scopes[1], [row.power.cpu_provenance for row in self.rows])


def power_tables(groups: Sequence[TestGroup], marks: Marks = NO_MARKS) -> tuple[PowerTable, ...]:
    """All power tables of a result; none where no source of power was named."""
    return tuple(
        _table(group, role, scopes, members, marks)
        for group in groups
        for role in ENDS
        for scopes, members in _by_scopes(group, role).items()
    )


@dataclass(frozen=True, slots=True)
class _Member:
    series: Series
    summary: CaseSummary
    power: EndPower
    regime: Regime


def _by_scopes(group: TestGroup, role: Role) -> dict[Scopes, list[_Member]]:
    """Cases with power at this end, by the watts that they have; what is missing goes with its series."""
    found: dict[Scopes, list[_Member]] = {}
    for series in group.series:
        members = list(_members(series, role))
        system = next((m.power.system_scope for m in members if m.power.system_scope), None)
        cpu = next((m.power.cpu_scope for m in members if m.power.cpu_scope), None)
        for member in members:
            scopes = (member.power.system_scope or system, member.power.cpu_scope or cpu)
            found.setdefault(scopes, []).append(member)
    return found


def _members(series: Series, role: Role) -> Iterator[_Member]:
    for summary in series.summaries:
        power = summary.power(role)
        if power is not None:
            yield _Member(series, summary, power, summary.regime.regime if summary.regime else "multi")


def _table(
    group: TestGroup, role: Role, scopes: Scopes, members: Sequence[_Member], marks: Marks
) -> PowerTable:
    summaries = [member.summary for member in members]
    shown = [column for column in POWER_COLUMNS if any(column.value(m.power) is not None for m in members)]
    in_gbps = _THROUGHPUT.unit(summaries) is _THROUGHPUT.units[0]
    units = [column.units[0] if in_gbps else column.units[-1] for column in shown]
    rate = _THROUGHPUT.unit(summaries)
    columns = list(zip(shown, units, strict=True))
    rows = tuple(_row(member, role, rate, columns, marks) for member in members)
    heads = [
        Head(_THROUGHPUT.title, _THROUGHPUT.heading, rate, "", _THROUGHPUT.json_key, _THROUGHPUT.show_sd)
    ]
    heads += [_head(column, unit, role, scopes, rows) for column, unit in zip(shown, units, strict=True)]
    return PowerTable(
        group=group,
        role=role,
        scopes=scopes,
        series=tuple(series for series in group.series if any(m.series is series for m in members)),
        heads=tuple(heads),
        rows=rows,
        absent=_absent(members, scopes),
        legend=legend(_provenances(rows)),
    )


def _row(
    member: _Member, role: Role, rate: Unit, columns: Sequence[tuple[PowerColumn, Unit]], marks: Marks
) -> PowerRow:
    case, done = member.summary.case, member.summary.trials_done
    cells = [
        replace(column.cell(member.power, unit, done), doubts=marks.cell(case, column.figure, role))
        for column, unit in columns
    ]
    throughput = replace(_THROUGHPUT.cell(member.summary, rate), doubts=marks.cell(case, "throughput"))
    return PowerRow(member.series, member.summary, member.power, member.regime, (throughput, *cells))


def _head(column: PowerColumn, unit: Unit, role: Role, scopes: Scopes, rows: Sequence[PowerRow]) -> Head:
    scope = _column_scope(column, scopes)
    return Head(
        title=column.title.format(scope=scope),
        lines=column.heading.format(scope=scope.replace(" (", "\n(")),
        unit=unit,
        provenance=words(column.provenance(row.power) for row in rows),
        key=f"{role}_{column.key}_mean",
        show_sd=column.show_sd,
    )


def _column_scope(column: PowerColumn, scopes: Scopes) -> str:
    scope = scopes[column.of == "cpu"]
    return SCOPE_WORDS.get(scope, scope) if scope else ("CPU" if column.of == "cpu" else "System")


def _absent(members: Sequence[_Member], scopes: Scopes) -> tuple[str, ...]:
    """Why values are missing: columns that lack them for the same reason in the same cases share a line."""
    found: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for column in POWER_COLUMNS:
        lacking: dict[str, list[int]] = {}
        for at, member in enumerate(members):
            if column.field in member.power.reasons:
                lacking.setdefault(member.power.reasons[column.field], []).append(at)
        for reason, at_all in lacking.items():
            title = column.title.format(scope=_column_scope(column, scopes))
            found.setdefault((reason, tuple(at_all)), []).append(title)
    return tuple(
        f"{', '.join(titles)}: {_names(members, at_all)}{reason}"
        for (reason, at_all), titles in found.items()
    )


def _names(members: Sequence[_Member], at_all: Sequence[int]) -> str:
    """The cases that lack a value, and a colon; nothing when all do."""
    if len(at_all) == len(members):
        return ""
    several = len({member.series.label for member in members}) > 1
    names = [
        f"{f'{members[at].series.label}, ' if several else ''}"
        f"{plural(members[at].summary.case.instances, 'instance')}"
        for at in at_all
    ]
    return f"{'; '.join(names)}: "


def _provenances(rows: Sequence[PowerRow]) -> list[Provenance | None]:
    return [
        provenance for row in rows for provenance in (row.power.system_provenance, row.power.cpu_provenance)
    ]


def _scope_words(scope: str | None, found: Sequence[Provenance | None]) -> str | None:
    if scope is None:
        return None
    said = words(found)
    return f"{SCOPE_WORDS.get(scope, scope)}{f' ({said})' if said else ''}"
