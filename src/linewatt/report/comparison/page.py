# SPDX-License-Identifier: Apache-2.0
"""A comparison as one HTML file with charts of changes and trials; no script, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jinja2 import Environment

from linewatt import __version__
from linewatt.analysis.comparison import (
    METRICS_OF_ROWS,
    Comparison,
    Finding,
    Matching,
    Options,
    Side,
    compare_sides,
    exit_finding,
)
from linewatt.report.charts import forest, specs
from linewatt.report.charts.data import Row
from linewatt.report.charts.figure import DrawnFigure, Figure, draw_figures
from linewatt.report.comparison.first_screen import first_screen_of_comparison
from linewatt.report.comparison.overlaid_courses import ResultPaths
from linewatt.report.comparison.remarks import factor_words, lab_words, lists
from linewatt.report.comparison.tables import ResponseTable, tables
from linewatt.report.comparison.trial_sections import trial_sections
from linewatt.report.printing.html import pages_of_files
from linewatt.report.section import Section, text_lines

MOST_ROWS = 60
"""more cases than this are no chart: those that changed most are drawn"""
_PANEL_PX = 420


def render_comparison_page(
    comparison: Comparison,
    verdict: Finding,
    paths: ResultPaths,
    section: Section | None = None,
    pages: Environment | None = None,
) -> str:
    """The whole page; ``section``: what a feature says of both sides; ``pages``: of a server."""
    sections = [
        *_verdicts(comparison),
        *trial_sections(comparison, paths),
        *((section,) if section else ()),
        _differences(comparison),
    ]
    page = (pages or pages_of_files()).get_template("comparison.html.j2")
    return page.render(
        version=__version__,
        kind="comparison",
        name=_title(comparison),
        complete=True,
        screen=first_screen_of_comparison(comparison, verdict),
        sections=sections,
        lab=bool(lab_words(comparison)),
        elsewhere=None,
    )


def comparison_page_with_section(
    a: Side, b: Side, matching: Matching, by: str | None, paths: ResultPaths, section: Section
) -> str:
    """What was measured on both sides, and below it what a feature says of them."""
    comparison = compare_sides(a, b, matching, Options(by, None, tuple(METRICS_OF_ROWS), ()))
    return render_comparison_page(comparison, exit_finding(comparison, ()), paths, section)


def _verdicts(comparison: Comparison) -> Iterator[Section]:
    """A section a response; those without any verdict share the last one, and open on request."""
    every_table = tables(comparison)
    if not every_table:
        yield Section("Verdicts", "verdicts-1", intro=("Nothing was compared.",))
    shown = [table for table in every_table if table.has_verdicts] or every_table
    for at, (table, chart) in enumerate(zip(shown, drawings(shown), strict=True)):
        yield Section(
            table.title,
            f"verdicts-{at + 1}",
            (table.table,),
            () if chart is None else (chart,),
            intro=() if at else (factor_words(comparison),),
        )
    folded = [replace(table.table, folded=table.table.title) for table in every_table if table not in shown]
    yield Section("Without a verdict", "no-verdict", tuple(folded))


def _differences(comparison: Comparison) -> Section:
    return Section(
        "What differs", "differs", notes=tuple(text_lines(*titled_list) for titled_list in lists(comparison))
    )


def _title(comparison: Comparison) -> str:
    if comparison.levels:
        return f"{comparison.base.id}: {comparison.options.by}"
    return f"{comparison.other.id} against {comparison.base.id}"


def drawings(shown: Sequence[ResponseTable]) -> list[DrawnFigure | None]:
    """A chart for each table; ``None`` where no row has a change."""
    figures = [_figure(table) for table in shown]
    drawn_figures = iter(draw_figures([figure for figure in figures if figure is not None], "comparison"))
    return [None if figure is None else next(drawn_figures) for figure in figures]


def rows_of(table: ResponseTable) -> list[Row]:
    """Rows of the chart: changes in % or points. Of many, those that changed most, in the table's order."""
    changes = [
        (line, change)
        for line in table.lines
        if (change := line.row.verdict.change) is not None
        and (line.row.response.relative or not table.of_task)
    ]
    largest = sorted((abs(change.value) for _, change in changes), reverse=True)[:MOST_ROWS]
    floor = largest[-1] if largest else 0.0
    drawn = [(line, change) for line, change in changes if abs(change.value) >= floor][:MOST_ROWS]
    return [
        {
            "level": line.case,
            "kind": "effect",
            "doubtless": "yes" if line.told else "no",
            "change": 100 * change.value,
            "low": 100 * change.low,
            "high": 100 * change.high,
        }
        for line, change in drawn
    ]


def _figure(table: ResponseTable) -> Figure | None:
    rows = rows_of(table)
    if not rows:
        return None
    labels = list(dict.fromkeys(row["level"] for row in rows))
    unit = "%" if table.of_task or table.lines[0].row.response.relative else "points"
    marked = f" Watts are {table.provenance}, not measured." if table.provenance else ""
    further_cases = len(table.lines) - len(rows)
    more = f" {further_cases} further cases are in the table." if further_cases else ""
    title = f"{table.title} {f'({table.provenance})' if table.provenance else ''}".rstrip()
    panel = forest.panel([title], unit, rows, labels, _PANEL_PX, first=True)
    return Figure(
        name=f"change-{table.name}",
        title=f"{table.title}: change with its 95 % interval",
        caption=f"Filled: significant and above the factor. Hollow: not.{marked}{more}",
        description="; ".join(f"{line.case}: {line.words}" for line in table.lines[:MOST_ROWS]),
        spec=specs.themed(panel | specs.room(labels)),
    )
