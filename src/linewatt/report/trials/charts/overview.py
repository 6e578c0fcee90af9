# SPDX-License-Identifier: Apache-2.0
"""A test at a glance: throughput, CPU and watts of both ends, small, side by side, on one axis of instances.

Of several series the one with the most throughput is drawn, as the first screen tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from linewatt.analysis.cases import CaseSummary
from linewatt.analysis.power import SCOPE_WORDS, EndPower
from linewatt.model import ENDS
from linewatt.report.charts.data import END_NAMES, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.provenance import provenance_words
from linewatt.report.series import Series, TestGroup, plural
from linewatt.report.trials.charts.cases import line_charts, measured, top_bps
from linewatt.report.trials.charts.lines import MOST_DOTS, Line, LineChart, Point, spread_words
from linewatt.report.trials.charts.power import POWER, read_power
from linewatt.report.trials.digest import system_power

MOST_TESTS = 3
_PART = "fastest-"
"""how the name of a figure begins that has one of several series"""
_SIZE_PX = (340, 190)
_NAMES_PX = 85
_SHORT = {name: role for role, name in END_NAMES.items()}


def overview_figures(groups: Sequence[TestGroup], runs: Runs) -> tuple[Figure, ...]:
    """Three figures a test whose instances vary, as far as they are measured."""
    varied = [
        (group, max(series, key=top_bps))
        for group in groups
        if (series := [case_series for case_series in group.series if measured(case_series) > 1])
    ]
    charts = [chart for group, series in varied[:MOST_TESTS] for chart in _charts(group, series, runs)]
    return tuple(figure for chart in charts if (figure := chart.figure(runs)) is not None)


def overview_words(groups: Sequence[TestGroup], figures: Sequence[Figure]) -> tuple[str, ...]:
    """How to read them, and what is not among them."""
    spread = any("high" in row for figure in figures for row in figure.spec["data"]["values"])
    dots = any(row["kind"] == "run" for figure in figures for row in figure.spec["data"]["values"])
    shown = {figure.name.removeprefix(_PART) for figure in figures}
    without = [
        f"{group.title}: {words} not measured at either end."
        for group in groups
        for name, words in (("cpu", "CPU"), ("watts", "watts"))
        if f"throughput-{group.test}" in shown and f"{name}-{group.test}" not in shown
    ]
    return (" ".join([spread_words(0 if dots else MOST_DOTS + 1, spread=spread), *without]),)


def _charts(group: TestGroup, series: Series, runs: Runs) -> Iterator[LineChart]:
    throughput, cpu, _ = line_charts(group, [series], runs)
    name = group.title if len(group.series) == 1 else series.title
    counts = tuple(float(summary.case.instances) for summary in series.summaries)
    cpu = replace(cpu, lines=_plain(cpu.lines))
    for chart, subject in ((throughput, "throughput"), (cpu, "CPU"), (_watts(group, series), "watts")):
        ends = " of both ends" if chart is not throughput else ""
        title = f"{name}: {subject}{ends}{f', {chart.axis_note}' if chart.axis_note else ''}"
        yield replace(
            chart,
            name=chart.name if len(group.series) == 1 else f"{_PART}{chart.name}",
            title=title,
            size_px=_SIZE_PX,
            names_px=_NAMES_PX,
            places=counts,
            brief=True,
        )


def _plain(lines: Sequence[Line]) -> list[Line]:
    """The lines with ends named in one word: charts are small."""
    return [
        replace(line, points=tuple(replace(point, part=_SHORT[point.part]) for point in line.points))
        for line in lines
    ]


def _watts(group: TestGroup, series: Series) -> LineChart:
    """Watts of the system at both ends, with what they cover and whether they were measured."""
    of_ends = {role: [(summary, summary.power(role)) for summary in series.summaries] for role in ENDS}
    known_powers = {
        role: [(summary, power) for summary, power in powers if power and power.values.get(POWER.system)]
        for role, powers in of_ends.items()
    }
    sources = {
        role: provenance_words([power.system_provenance for _, power in powers])
        for role, powers in known_powers.items()
    }
    common = {sources[role] for role, powers in known_powers.items() if powers}
    points = [
        Point(
            summary.case.instances,
            plural(summary.case.instances, "instance"),
            summary.case,
            value,
            partial(read_power, POWER, system_power, role),
            role if len(common) == 1 or not sources[role] else f"{role} ({sources[role]})",
        )
        for role, powers in known_powers.items()
        for summary, power in powers
        if (value := power.values[POWER.system]) is not None
    ]
    scope_words = {role: _scopes(powers, len(of_ends[role])) for role, powers in known_powers.items()}
    scopes_differ = len(set(scope_words.values())) > 1
    scopes = (
        "; ".join(f"{role}: {scope}" for role, scope in scope_words.items())
        if scopes_differ
        else scope_words["receiver"]
    )
    note = next(iter(common)) if len(common) == 1 else ""
    return LineChart(
        f"watts-{group.test}",
        "",
        POWER.shown,
        [Line(series.label, tuple(points))] if points else [],
        f"Watts of the system; {scopes}.",
        axis_note=note,
    )


def _scopes(known_powers: Sequence[tuple[CaseSummary, EndPower]], case_count: int) -> str:
    """What the watts of an end cover, and whether some are missing."""
    scopes = dict.fromkeys(SCOPE_WORDS.get(power.system_scope or "", "system") for _, power in known_powers)
    missing = (
        f" for {len(known_powers)} of {plural(case_count, 'case')}"
        if 0 < len(known_powers) < case_count
        else ""
    )
    return f"{' and '.join(scopes) or 'not measured'}{missing}"
