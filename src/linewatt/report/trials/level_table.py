# SPDX-License-Identifier: Apache-2.0
"""The tables of load levels: one a test, end and kind of watts, a block a case with its overall score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.load_levels import LevelCurve, LevelPoint
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import Provenance, Role
from linewatt.report.columns import COLUMNS, OFF_TARGET, TARGET, Cell, Column, cell_of
from linewatt.report.findings import Marks
from linewatt.report.power_columns import MBPS_PER_W, POWER_COLUMNS, PowerColumn
from linewatt.report.provenance import legend, mark, words
from linewatt.report.series import test_title
from linewatt.report.trials.levels import curve_names, level_name, remark, score_remark
from linewatt.units import MISSING

_NOTHING_SENT = "nothing is sent at active idle"
_NEED_TRAFFIC = frozenset({"target_deviation_ratio", "lost_ratio", "system_bps_per_w"})
_BY_FIELD: Mapping[str, Column] = {column.field: column for column in COLUMNS}
_OF_POWER: Mapping[str, PowerColumn] = {column.field: column for column in POWER_COLUMNS}


@dataclass(frozen=True, slots=True)
class LevelHead:
    """The head of a column: title, the same broken into lines, unit, and a word unless it was measured."""

    field: str
    title: str
    lines: str
    unit: Unit
    provenance: str = ""
    show_sd: bool = False


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One level of a case: its cells in column order, and the letters of findings that concern it."""

    point: LevelPoint
    name: str
    cells: tuple[Cell, ...]
    marks: tuple[str, ...]

    @property
    def word(self) -> str:
        """What stands at the level where the curve is doubtful; the remarks say why."""
        if self.point.missed:
            return "missed"
        return "unequal" if self.point.pairs_bps else "unsure" if self.point.missed is None else ""

    @property
    def trials(self) -> str:
        """Done trials; ``2/3`` where one of three failed."""
        done, bad = self.point.summary.trials_done, self.point.summary.trials_failed
        return f"{done}/{done + bad}" if bad else f"{done}"


@dataclass(frozen=True, slots=True)
class LevelBlock:
    """All levels of one case, and its overall score."""

    name: str
    rows: tuple[LevelRow, ...]
    score: Cell | None
    """``None`` in a table without watts"""


@dataclass(frozen=True, slots=True)
class LevelTable:
    """One end of the cases of a test whose watts are of one scope."""

    test: str
    role: Role
    curves: tuple[LevelCurve, ...]
    heads: tuple[LevelHead, ...]
    blocks: tuple[LevelBlock, ...]
    remarks: tuple[str, ...]
    """what makes the curve doubtful at a level, a sentence each"""
    absent: tuple[str, ...]
    legend: tuple[str, ...]

    @property
    def title(self) -> str:
        """The test, the end and its host where there is one; the case where there is one."""
        hosts = {curve.host for curve in self.curves}
        case = f", {self.blocks[0].name}" if len(self.blocks) == 1 else ""
        about = f"{self.role}{f' {hosts.pop()}' if len(hosts) == 1 else ''}"
        return f"{test_title(self.test)}{case}: load levels, {about}"

    @property
    def scope(self) -> str | None:
        """Which watts, for people."""
        scope = self.curves[0].scope
        return SCOPE_WORDS.get(scope, scope) if scope else None

    @property
    def provenance(self) -> str:
        """In words, unless all was measured."""
        return words(_provenances(self.curves))

    @property
    def flagged(self) -> bool:
        return any(row.marks for block in self.blocks for row in block.rows)


def level_tables(curves: Sequence[LevelCurve], marks: Marks) -> tuple[LevelTable, ...]:
    """All tables of load levels of a result."""
    found: dict[tuple[str, Role, str | None], list[LevelCurve]] = {}
    for curve in curves:
        found.setdefault((curve.case.test, curve.role, curve.scope), []).append(curve)
    names = curve_names(curves)
    return tuple(
        _table(members, [names[curve.case] for curve in members], marks) for members in found.values()
    )


def _provenances(curves: Iterable[LevelCurve]) -> list[Provenance | None]:
    return [point.provenance for curve in curves for point in curve.points]


@dataclass(frozen=True, slots=True)
class _Shown:
    """The columns of one table, each with the unit it is in."""

    cases: tuple[tuple[Column, Unit], ...]
    powers: tuple[PowerColumn, ...]

    def cells(self, point: LevelPoint, marks: Marks) -> tuple[Cell, ...]:
        summary, power = point.summary, point.power
        known = [
            replace(column.cell(summary, unit), doubts=marks.cell(summary.case, column.figure, column.role))
            for column, unit in self.cases
        ]
        known = [  # what was asked for has no spread, and that of the throughput stands beside it
            replace(cell, sd=None) if column in (TARGET, OFF_TARGET) else cell
            for cell, (column, _) in zip(known, self.cases, strict=True)
        ]
        known += [
            Cell(MISSING, reason="no source of power is named for this host")
            if power is None
            else replace(
                column.cell(power, column.units[0], summary.trials_done),
                doubts=marks.cell(summary.case, column.figure, point.role),
            )
            for column in self.powers
        ]
        return tuple(known)


def _shown(curves: Sequence[LevelCurve]) -> _Shown:
    summaries = [point.summary for curve in curves for point in curve.points]
    fields = ("throughput_bps", "lost_ratio", f"{curves[0].role}_cpu_cores")
    target, (rate, loss, cpu) = TARGET, (_BY_FIELD[field] for field in fields)
    unit = rate.unit(summaries)
    columns: list[tuple[Column, Unit]] = [(target, unit), (rate, unit), (OFF_TARGET, OFF_TARGET.units[0])]
    columns += [(loss, loss.units[0])] if loss.applies(summaries) and loss.has_values(summaries) else []
    columns.append((cpu, cpu.units[0]))
    powers = [_OF_POWER["system_w"], _OF_POWER["system_bps_per_w"]] if curves[0].scope else []
    return _Shown(tuple(columns), tuple(powers))


def _table(curves: Sequence[LevelCurve], names: Sequence[str], marks: Marks) -> LevelTable:
    shown = _shown(curves)
    blocks = tuple(_block(curve, name, shown, marks) for curve, name in zip(curves, names, strict=True))
    heads = tuple(LevelHead(c.field, c.title, c.heading, unit, show_sd=c.show_sd) for c, unit in shown.cases)
    heads += tuple(_power_head(column, curves) for column in shown.powers)
    several = len(curves) > 1
    return LevelTable(
        test=curves[0].case.test,
        role=curves[0].role,
        curves=tuple(curves),
        heads=heads,
        blocks=blocks,
        remarks=tuple(_remarks(curves, blocks, several=several)),
        absent=tuple(_absent(curves, blocks, heads)),
        legend=legend(_provenances(curves)),
    )


def _power_head(column: PowerColumn, curves: Sequence[LevelCurve]) -> LevelHead:
    scope = SCOPE_WORDS.get(curves[0].scope or "", "system")
    return LevelHead(
        field=column.field,
        title=column.title.format(scope=scope),
        lines=column.heading.format(scope=scope.replace(" (", "\n(")),
        unit=column.units[0],
        provenance=words(
            column.provenance(point.power) for curve in curves for point in curve.points if point.power
        ),
        show_sd=column.show_sd,
    )


def _block(curve: LevelCurve, name: str, shown: _Shown, marks: Marks) -> LevelBlock:
    rows = tuple(
        LevelRow(
            point=point,
            name=level_name(point.level),
            cells=shown.cells(point, marks),
            marks=marks.row(point.summary.case),
        )
        for point in curve.points
    )
    score = cell_of(curve.score_bps_per_w, MBPS_PER_W, 0, curve.reason or "", mark(curve.provenance))
    return LevelBlock(name, rows, score if curve.scope else None)


def _remarks(curves: Sequence[LevelCurve], blocks: Sequence[LevelBlock], *, several: bool) -> list[str]:
    said: list[str] = []
    for curve, block in zip(curves, blocks, strict=True):
        case = f"{block.name}, " if several else ""
        said += [f"{case}{row.name}: {why}" for row in block.rows if (why := remark(row.point))]
        doubt = score_remark(curve)
        said += [f"{case}overall: {doubt}"] if doubt else []
    return said


def _absent(
    curves: Sequence[LevelCurve], blocks: Sequence[LevelBlock], heads: Sequence[LevelHead]
) -> list[str]:
    """Why values are missing, a line a reason; that active idle sends nothing is said once."""
    lacking: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for block in blocks:
        for row in block.rows:
            for head, cell in zip(heads, row.cells, strict=True):
                if cell.missing:
                    idle = row.point.level == 0 and head.field in _NEED_TRAFFIC
                    why = _NOTHING_SENT if idle else cell.reason or "not recorded"
                    titles, places = lacking.setdefault(why, ({}, {}))
                    titles[head.title] = None
                    places[f"{block.name}, {row.name}" if len(blocks) > 1 else row.name] = None
    lines = [
        f"{', '.join(titles)}: {why if why == _NOTHING_SENT else f'{_listed(places)}: {why}'}"
        for why, (titles, places) in lacking.items()
    ]
    for curve, block in zip(curves, blocks, strict=True):
        if block.score is not None and block.score.missing:
            lines.append(f"Overall score{f', {block.name}' if len(blocks) > 1 else ''}: {curve.reason}")
    return lines


def _listed(places: Iterable[str]) -> str:
    return "; ".join(places)
