# SPDX-License-Identifier: Apache-2.0
"""The tables of load levels: one a test, end and kind of watts, levels of a case with its overall score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.load_levels import LevelCurve, LevelPoint
from linewatt.analysis.metrics.of_power import MBPS_PER_W, POWER_BY_NAME
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.model import Provenance, Role
from linewatt.report.columns import cell_of
from linewatt.report.findings import Marks
from linewatt.report.provenance import legend, mark, words
from linewatt.report.series import test_title
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences, legend_notes
from linewatt.report.trials.levels import curve_names, level_name, remark, score_remark
from linewatt.report.trials.scalability import TRIALS, trials_cell
from linewatt.report.trials.shown import Shown, of_case, of_cases, of_power

_NOTHING_SENT = "nothing is sent at active idle"
_NEED_TRAFFIC = frozenset({"Off target", "Loss", "System efficiency"})


@dataclass(frozen=True, slots=True)
class LevelCases:
    """One end of the cases of a test whose watts are of one scope: what is in one table."""

    test: str
    role: Role
    curves: tuple[LevelCurve, ...]
    names: tuple[str, ...]
    """of the curves' cases"""

    @property
    def title(self) -> str:
        """The test, the end and its host where there is one; the case where there is one."""
        hosts = {curve.host for curve in self.curves}
        case = f", {self.names[0]}" if len(self.names) == 1 else ""
        about = f"{self.role}{f' {hosts.pop()}' if len(hosts) == 1 else ''}"
        return f"{test_title(self.test)}{case}: load levels, {about}"

    @property
    def scope(self) -> str | None:
        """Which watts, for people."""
        scope = self.curves[0].scope
        return SCOPE_WORDS.get(scope, scope) if scope else None

    @property
    def points(self) -> list[LevelPoint]:
        return [point for curve in self.curves for point in curve.points]

    @property
    def provenances(self) -> list[Provenance | None]:
        return [point.provenance for point in self.points]

    @property
    def provenance(self) -> str:
        """In words, unless all was measured."""
        return words(self.provenances)

    @property
    def labelled(self) -> list[tuple[str, LevelCurve]]:
        """The curves, each with its name where there are several."""
        several = len(self.names) > 1
        return [(name if several else "", one) for name, one in zip(self.names, self.curves, strict=True)]


def level_cases(curves: Sequence[LevelCurve]) -> tuple[LevelCases, ...]:
    """The cases of every table of load levels of a result."""
    found: dict[tuple[str, Role, str | None], list[LevelCurve]] = {}
    for curve in curves:
        found.setdefault((curve.case.test, curve.role, curve.scope), []).append(curve)
    names = curve_names(curves)
    return tuple(
        LevelCases(test, role, tuple(members), tuple(names[curve.case] for curve in members))
        for (test, role, _), members in found.items()
    )


def _columns(cases: LevelCases, marks: Marks) -> list[Shown]:
    """What was asked for, which has no spread, what arrived, and what it cost."""
    summaries = [point.summary for point in cases.points]
    names = ("target_bps", "throughput_bps", "target_deviation_ratio", f"{cases.role}_cpu_cores")
    target, rate, off, cpu = (of_case(BY_NAME[name], summaries, marks) for name in names)
    loss = of_cases([BY_NAME["lost_ratio"]], summaries, marks)
    columns = [target.without_spread, rate, off.without_spread, *loss, cpu]
    if cases.scope:
        scope = cases.curves[0].scope
        powers = {point.summary.case: point.power for point in cases.points if point.power}
        for name in ("system_w", "system_bps_per_w"):
            column = POWER_BY_NAME[name]
            columns.append(of_power(column, column.units[0], cases.role, scope, powers, marks))
    return columns


def level_table(cases: LevelCases, marks: Marks) -> Table:
    """The table of one end of a test, a row a level."""
    columns = _columns(cases, marks)
    heads = [one.head for one in columns]
    groups = tuple(
        RowGroup(label, (*(_row(point, columns, marks) for point in curve.points), *_score(curve, heads)))
        for label, curve in cases.labelled
    )
    return Table(
        title=cases.title,
        keys=(Head("Level", kind="text"),),
        heads=(*heads, TRIALS),
        groups=groups,
        notes=(
            *_remarks(cases),
            *legend_notes(legend(cases.provenances)),
            *absences(_lacks(cases, heads, groups), len(cases.points)),
        ),
        provenance=cases.provenance,
        style="numbers levels",
    )


def _row(point: LevelPoint, columns: Sequence[Shown], marks: Marks) -> Row:
    name = Cell(level_name(point.level), warning=_warning(point))
    cells = (*(one.cell(point.summary) for one in columns), trials_cell(point.summary))
    return Row((name,), cells, marks.row(point.summary.case))


def _warning(point: LevelPoint) -> str:
    """What stands at a level where the curve is doubtful; the remarks say why."""
    if point.missed:
        return "missed"
    return "unequal" if point.pairs_bps else "unsure" if point.missed is None else ""


def _score(curve: LevelCurve, heads: Sequence[Head]) -> Iterator[Row]:
    """The overall score below the throughput per watt; none without watts."""
    if curve.scope:
        score = cell_of(curve.score_bps_per_w, MBPS_PER_W, 0, curve.reason or "", mark(curve.provenance))
        before = [Cell("")] * (len(heads) - 1)
        yield Row((Cell("overall score"),), (*before, score, Cell("")), style="score")


def _remarks(cases: LevelCases) -> Iterator[Note]:
    for label, curve in cases.labelled:
        case = f"{label}, " if label else ""
        for point in curve.points:
            why = remark(point)
            if why:
                yield Note("doubt", why, f"{case}{level_name(point.level)}")
        doubt = score_remark(curve)
        if doubt:
            yield Note("doubt", doubt, f"{case}overall")


def _lacks(cases: LevelCases, heads: Sequence[Head], groups: Sequence[RowGroup]) -> Iterator[Lack]:
    """Why values are missing; that active idle sends nothing is said once."""
    for (label, curve), group in zip(cases.labelled, groups, strict=True):
        for point, row in zip(curve.points, group.rows, strict=False):
            for head, cell in zip(heads, row.cells, strict=False):
                if cell.missing and point.level == 0 and head.title in _NEED_TRAFFIC:
                    yield Lack(head.title, _NOTHING_SENT)
                elif cell.missing:
                    yield Lack(head.title, cell.reason or "not recorded", label, level_name(point.level))
        if curve.scope and curve.score_bps_per_w is None:
            yield Lack("Overall score", curve.reason or "not recorded", label)
