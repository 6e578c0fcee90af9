# SPDX-License-Identifier: Apache-2.0
"""Sections of the page of a comparison that show single trials of both sides."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.analysis.comparison import Comparison
from linewatt.report.charts.figure import draw_figures
from linewatt.report.comparison.drawn_cases import comparable_throughput, drawn_cases
from linewatt.report.comparison.overlaid_courses import ResultPaths, overlaid_figures
from linewatt.report.comparison.remarks import side_names
from linewatt.report.comparison.trial_strips import strip_figure
from linewatt.report.section import Lines, Section, text_lines

STRIPS_TITLE, COURSES_TITLE = "Throughput of every trial", "Throughput over time"


def trial_sections(comparison: Comparison, paths: ResultPaths) -> Iterator[Section]:
    """Every trial of the most important cases, and their courses; nothing where no throughput is compared."""
    cases = drawn_cases(comparison)
    if not cases:
        return
    courses, missing_sentences = overlaid_figures(cases, paths)
    missing = text_lines("Not drawn over time", missing_sentences)
    strips = [strip_figure(drawn, number) for number, drawn in enumerate(cases, start=1)]
    yield Section(
        STRIPS_TITLE,
        "every-trial",
        figures=tuple(draw_figures(strips, "strip")),
        notes=() if courses else _if_any(missing),
        intro=(
            "A dot is one trial; dots go down in the order of the trials. The line is the mean, the band "
            "its 95 % CI. Both sides of a case have one scale; it does not begin at 0.",
            _choice_words(len(cases), len(comparable_throughput(comparison))),
        ),
    )
    if courses:
        base, compared = side_names(comparison)
        yield Section(
            COURSES_TITLE,
            "over-time",
            figures=tuple(draw_figures(courses, "course")),
            notes=_if_any(missing),
            intro=(
                f"A line is one trial: {base} solid, {compared} dashed. Each reading is the mean since the "
                "reading before. Shaded: the window that the figures are from. The scale may not begin at 0.",
            ),
        )


def _if_any(lines: Lines) -> tuple[Lines, ...]:
    return (lines,) if lines.notes else ()


def _choice_words(drawn_count: int, compared_count: int) -> str:
    order = "Significant changes come first, then the other cases; the largest change first."
    if drawn_count == compared_count:
        return order
    return f"{order} Drawn are {drawn_count} of {compared_count} cases; the table of throughput has all."
