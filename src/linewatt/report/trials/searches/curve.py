# SPDX-License-Identifier: Apache-2.0
"""What a campaign of load levels is about: the score and the curve, blocks of its first screen."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.analysis.cases import LevelPoint
from linewatt.analysis.metrics import MBPS_PER_W, METRIC_BY_NAME, POWER_BY_NAME
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.report.columns import case_cell, cell_of, power_cell
from linewatt.report.printing.screen import Block, Entry, Line
from linewatt.report.provenance import provenance_mark
from linewatt.report.series import case_names, plural, test_title
from linewatt.report.trials.answer.answer import CORES, figure, letters
from linewatt.report.trials.answer.trust import Best
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.settings.levels import LevelCases, level_cases, level_name, score_remark
from linewatt.report.trials.subject import Subject
from linewatt.units import first_of, format_rate


def levels_subject(view: Digest) -> Subject | None:
    """The score of each curve, then one of them: of the first case, at an end whose watts are known."""
    curve_cases = level_cases(view.levels)
    if not any(point.throughput_bps for level in view.levels for point in level.points):
        return None
    scores = [entry for cases in curve_cases for entry in _scores(cases, view)]
    scored = [level for level in view.levels if level.score_bps_per_w is not None]
    shown = scored[0] if scored else view.levels[0]
    name = case_names(dict.fromkeys(level.case for level in view.levels), with_test=True)[shown.case]
    rows = [_level(point, view) for point in shown.points]
    more = len(view.levels) - 1
    others = f"{plural(more, 'other curve')}: show --full" if more else ""
    curve = Block(
        "Curve of", tuple(rows), of=f"{name}, {shown.role} {shown.host}", rest="level", beyond=others
    )
    lead = next((entry[0] for entry in scores if entry[0].figures), scores[0][0])
    lead_words = "; ".join(filter(None, (" ".join(lead.figures), lead.prose)))
    score = Block("Overall score", tuple(scores), "Σ throughput ÷ Σ power over the levels", rest="score")
    curves = [level for level in view.levels if level is shown or level.score_bps_per_w is not None]
    bests = [Best(level_name(point.level), point.summary) for curve in curves for point in curve.points]
    costs = [(point.summary, curve.role) for curve in curves for point in curve.points]
    return Subject(f"Overall score of {lead.name}: {lead_words}.", (score, curve), tuple(bests), tuple(costs))


def _scores(cases: LevelCases, view: Digest) -> Iterator[Entry]:
    for name, curve in zip(cases.names, cases.curves, strict=True):
        about = f"{curve.role} {curve.host}" if len(cases.names) == 1 else f"{name}, {curve.role}"
        about = f"{test_title(cases.test)}, {about}"
        if curve.score_bps_per_w is None:
            yield (Line(about, prose=f"no score: {curve.reason}"),)
            continue
        codes = view.doubts_of_watts((point.summary for point in curve.points), curve.role)
        cell = cell_of(curve.score_bps_per_w, MBPS_PER_W, 0, "", provenance_mark(curve.provenance))
        scope = f"watts: {SCOPE_WORDS.get(curve.scope or '', curve.scope)}"
        prose = "; ".join(filter(None, (scope, score_remark(curve))))
        yield (Line(about, (figure(cell, MBPS_PER_W.name, view.marks.of(codes)),), prose),)


def _level(point: LevelPoint, view: Digest) -> Entry:
    """A level, and why trials of it have no number."""
    failures = point.summary.failures
    why = first_of(failures, 1)
    return (Line(level_name(point.level), tuple(_point(point, view)), why, "yellow" if failures else ""),)


def _point(point: LevelPoint, view: Digest) -> Iterator[str]:
    """What arrived at a level, and what its end took for it, each with its letters."""
    arrived, case, marks = point.throughput_bps, point.summary.case, view.marks
    if point.level == 0:
        yield "nothing sent" if point.summary.trials_done else "no trial is done"
    elif arrived is None:
        yield "no throughput"
    else:
        missed = "(missed its target)" if point.missed else ""
        parts = (format_rate(arrived.mean, 4), missed, letters(marks.cell(case, "throughput")))
        yield " ".join(filter(None, parts))
    cores = case_cell(METRIC_BY_NAME[f"{point.role}_cpu_cores"], point.summary, CORES)
    busy = figure(cores, CORES.name, marks.cell(case, "cpu", point.role))
    yield "CPU not known" if cores.missing else busy
    for name in ("system_w", "system_bps_per_w"):
        metric = POWER_BY_NAME[name]
        if point.power is not None and point.power.values.get(name) is not None:
            cell = power_cell(metric, point.power, metric.units[0], point.summary.trials_done)
            yield figure(cell, metric.units[0].name, marks.cell(case, metric.figure, point.role))
