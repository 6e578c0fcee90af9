# SPDX-License-Identifier: Apache-2.0
"""Load levels: in words, as JSON and CSV, and as tables, one a test, end and kind of watts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linewatt.analysis.cases import MISSED_RATIO, LevelCurve, LevelPoint
from linewatt.analysis.metrics import MBPS_PER_W, METRIC_BY_NAME, POWER_BY_NAME
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.declare import (
    BOOLEAN,
    COUNT,
    FLAT,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    keys_of,
    listing,
    maybe,
    record,
    said,
)
from linewatt.json_document import document_of, of_class
from linewatt.model import ENDS, Case, Provenance, Role
from linewatt.report.columns import (
    Shown,
    cell_of,
    end_schema,
    export,
    export_end,
    metric_schema,
    of_case,
    of_cases,
    of_power,
)
from linewatt.report.findings import Marks
from linewatt.report.printing.export import KeyedCase, keyed_case_of
from linewatt.report.provenance import provenance_legend, provenance_mark, provenance_words
from linewatt.report.series import case_names, plural, test_title
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences, legend_notes
from linewatt.report.trials.settings.scalability import TRIALS, trials_cell
from linewatt.units import format_percent, format_rate, mbps_from_bps, percent_from_ratio

TITLE = "Load levels"
_OF_CASE = ("target_bps", "throughput_bps", "lost_ratio", "target_deviation_ratio")
_OF_END = [POWER_BY_NAME[name] for name in ("system_w", "system_bps_per_w")]
_NOTHING_SENT = "nothing is sent at active idle"
_NEED_TRAFFIC = frozenset({"Off target", "Loss", "System efficiency"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelKeys:
    """What a row of JSON or CSV has of the curve of load levels that its case is part of."""

    overall_score_receiver_mbps_per_w: float | None = None
    """Of the curve of load levels that it is part of."""
    overall_score_receiver_mbps_per_w_provenance: Provenance | None = None
    """Whether it was measured; the least sure of its parts."""
    overall_score_sender_mbps_per_w: float | None = None
    """Of the curve of load levels that it is part of."""
    overall_score_sender_mbps_per_w_provenance: Provenance | None = None
    """Whether it was measured; the least sure of its parts."""
    load_level_remark: str | None = None
    """What makes the curve doubtful at this level."""


NO_LEVEL = document_of(LevelKeys())
"""What a case that is not at a load level has under these keys"""


def level_name(level: float) -> str:
    """``75 %``, ``12.5 %``, ``active idle``."""
    return f"{percent_from_ratio(level):.4g} %" if level else "active idle"


def where(curves: Sequence[LevelCurve]) -> str | None:
    """Where the cases at load levels are, for tables that leave them out."""
    if not curves:
        return None
    cases = len({point.summary.case for curve in curves for point in curve.points})
    levels = sorted({point.level for curve in curves for point in curve.points}, reverse=True)
    named = ", ".join(map(level_name, levels))
    return f"{plural(cases, 'case')} at load levels ({named}) {'is' if cases == 1 else 'are'} under “{TITLE}”"


def remark(point: LevelPoint) -> str | None:
    """What makes the curve doubtful at a level; ``None``: nothing does."""
    remarks = [text for text in (_miss(point), _unlike(point)) if text]
    return "; ".join(remarks) or None


def _miss(point: LevelPoint) -> str | None:
    off = point.summary.target_deviation_ratio
    if point.missed is None:
        whys = point.summary.reasons
        why = whys.get("target_deviation_ratio", "target or throughput not recorded")
        return f"not known whether the load was what was asked for: {why}"
    if not point.missed or off is None or point.target_bps is None:
        return None
    side = "below" if off.mean < 0 else "above"
    target_rate = format_rate(point.target_bps.mean, 4)
    return (
        f"missed its target of {target_rate}: throughput is {format_percent(abs(off.mean))} {side} it"
        f"{_offered(point) if off.mean < 0 else ''}; the curve is not at this load here"
    )


def _offered(point: LevelPoint) -> str:
    """Whether it was sent and lost, or never sent."""
    offered, target = point.summary.offered_bps, point.target_bps
    if offered is None or target is None:
        return ""
    if offered.mean >= target.mean * (1 - MISSED_RATIO):
        return "; all of it was sent, but not all arrived"
    return f", and only {format_rate(offered.mean, 4)} was sent"


def _unlike(point: LevelPoint) -> str | None:
    if point.pairs_bps is None:
        return None
    low, high = (format_rate(rate, 4) for rate in point.pairs_bps)
    return f"pairs of hosts were not offered the same rate, but {low} to {high}: do not compare them here"


def score_remark(curve: LevelCurve) -> str | None:
    """What makes a score doubtful: levels that were missed."""
    missed = curve.missed
    if curve.score_bps_per_w is None or not missed:
        return None
    return f"the score counts {plural(len(missed), 'level')} that missed the load asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveDocument:
    case: KeyedCase = field(metadata=FLAT)
    role: Role
    host: str
    system_scope: str | None
    overall_score_mbps_per_w: float | None
    """Sum of throughputs ÷ sum of watts over all levels."""
    overall_score_mbps_per_w_provenance: Provenance | None
    """Whether it was measured; the least sure of its parts."""
    overall_score_mbps_per_w_reason: str | None
    overall_score_mbps_per_w_remark: str | None
    levels: list[dict[str, Any]]
    """Falling."""


def as_documents(curves: Iterable[LevelCurve]) -> list[dict[str, Any]]:
    """The curves of ``show --json``: one a case and end, levels falling."""
    return [document_of(_document(curve)) for curve in curves]


def _document(curve: LevelCurve) -> CurveDocument:
    return CurveDocument(
        case=keyed_case_of(curve.case),
        role=curve.role,
        host=curve.host,
        system_scope=curve.scope,
        overall_score_mbps_per_w=_score(curve),
        overall_score_mbps_per_w_provenance=_score_provenance(curve),
        overall_score_mbps_per_w_reason=curve.reason,
        overall_score_mbps_per_w_remark=score_remark(curve),
        levels=[_level(point) for point in curve.points],
    )


def _level(point: LevelPoint) -> dict[str, Any]:
    summary = point.summary
    row: dict[str, Any] = {
        "load_level": point.level,
        "case_key": summary.case.key,
        "trials_done": summary.trials_done,
        "trials_failed": summary.trials_failed,
    }
    for name in _OF_CASE:
        row |= export(METRIC_BY_NAME[name], summary)
    of_end = export(METRIC_BY_NAME[f"{point.role}_cpu_cores"], summary)
    for power in _OF_END:
        of_end |= export_end(power, point.role, point.power)
    row |= {key.removeprefix(f"{point.role}_"): value for key, value in of_end.items()}
    return row | {"target_missed": point.missed, "remark": remark(point)}


def schema() -> Schema:
    """Of :func:`as_documents`."""
    curve = of_class(CurveDocument)
    curve["properties"]["levels"] |= listing(record(_keys_of_level()))
    return listing(curve, "Cases at load levels: a curve a case and end.")


def _keys_of_level() -> Keys:
    keys: dict[str, Schema] = {
        "load_level": said(NUMBER, "Part of the maximum; 0 is active idle."),
        "case_key": keys_of(of_class(KeyedCase))["case_key"],
        "trials_done": COUNT,
        "trials_failed": COUNT,
    }
    role = ENDS[0]
    for name in _OF_CASE:
        keys |= metric_schema(METRIC_BY_NAME[name])
    of_end = metric_schema(METRIC_BY_NAME[f"{role}_cpu_cores"])
    for power in _OF_END:
        of_end = {**of_end, **end_schema(power, role)}
    keys |= {name.removeprefix(f"{role}_"): value_schema for name, value_schema in of_end.items()}
    return {**keys, "target_missed": maybe(BOOLEAN), "remark": maybe(TEXT)}


def level_keys(curves: Iterable[LevelCurve]) -> dict[Case, dict[str, Any]]:
    """What a row of JSON or CSV has beyond its case: the scores of its curve at both ends, and its remark."""
    keys_by_case: dict[Case, dict[str, Any]] = {}
    for curve in curves:
        key = f"overall_score_{curve.role}_mbps_per_w"
        scores = {key: _score(curve), f"{key}_provenance": _score_provenance(curve)}
        for point in curve.points:
            row = keys_by_case.setdefault(point.summary.case, dict(NO_LEVEL))
            row.update(scores, load_level_remark=remark(point))
    return keys_by_case


def _score(curve: LevelCurve) -> float | None:
    return None if curve.score_bps_per_w is None else mbps_from_bps(curve.score_bps_per_w)


def _score_provenance(curve: LevelCurve) -> Provenance | None:
    return None if curve.score_bps_per_w is None else curve.provenance


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
        return provenance_words(self.provenances)

    @property
    def labelled(self) -> list[tuple[str, LevelCurve]]:
        """The curves, each with its name where there are several."""
        several = len(self.names) > 1
        return [(name if several else "", curve) for name, curve in zip(self.names, self.curves, strict=True)]


def level_cases(curves: Sequence[LevelCurve]) -> tuple[LevelCases, ...]:
    """The cases of every table of load levels of a result."""
    curves_by_end: dict[tuple[str, Role, str | None], list[LevelCurve]] = {}
    for curve in curves:
        curves_by_end.setdefault((curve.case.test, curve.role, curve.scope), []).append(curve)
    names = case_names(dict.fromkeys(curve.case for curve in curves))
    return tuple(
        LevelCases(test, role, tuple(members), tuple(names[curve.case] for curve in members))
        for (test, role, _), members in curves_by_end.items()
    )


def _columns(cases: LevelCases, marks: Marks) -> list[Shown]:
    """What was asked for, which has no spread, what arrived, and what it cost."""
    summaries = [point.summary for point in cases.points]
    names = ("target_bps", "throughput_bps", "target_deviation_ratio", f"{cases.role}_cpu_cores")
    target, rate, off, cpu = (of_case(METRIC_BY_NAME[name], summaries, marks) for name in names)
    loss = of_cases([METRIC_BY_NAME["lost_ratio"]], summaries, marks)
    columns = [target.without_spread, rate, off.without_spread, *loss, cpu]
    if cases.scope:
        scope = cases.curves[0].scope
        powers = {point.summary.case: point.power for point in cases.points if point.power}
        columns += [of_power(column, column.units[0], cases.role, scope, powers, marks) for column in _OF_END]
    return columns


def level_table(cases: LevelCases, marks: Marks) -> Table:
    """The table of one end of a test, a row a level."""
    columns = _columns(cases, marks)
    heads = [column.head for column in columns]
    groups = tuple(
        RowGroup(label, (*(_row(point, columns, marks) for point in curve.points), *_score_row(curve, heads)))
        for label, curve in cases.labelled
    )
    return Table(
        title=cases.title,
        keys=(Head("Level", kind="text"),),
        heads=(*heads, TRIALS),
        groups=groups,
        notes=(
            *_remarks(cases),
            *legend_notes(provenance_legend(cases.provenances)),
            *absences(_lacks(cases, heads, groups), len(cases.points)),
        ),
        provenance=cases.provenance,
        style="numbers levels",
    )


def _row(point: LevelPoint, columns: Sequence[Shown], marks: Marks) -> Row:
    name = Cell(level_name(point.level), warning=_warning(point))
    cells = (*(column.cell(point.summary) for column in columns), trials_cell(point.summary))
    return Row((name,), cells, marks.row(point.summary.case))


def _warning(point: LevelPoint) -> str:
    """What stands at a level where the curve is doubtful; the remarks say why."""
    if point.missed:
        return "missed"
    return "unequal" if point.pairs_bps else "unsure" if point.missed is None else ""


def _score_row(curve: LevelCurve, heads: Sequence[Head]) -> Iterator[Row]:
    """The overall score below the throughput per watt; none without watts."""
    if curve.scope:
        score = cell_of(
            curve.score_bps_per_w, MBPS_PER_W, 0, curve.reason or "", provenance_mark(curve.provenance)
        )
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
