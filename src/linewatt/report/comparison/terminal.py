# SPDX-License-Identifier: Apache-2.0
"""A comparison for a terminal or a mail: verdicts first, then surroundings, then what was not compared."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.comparison.compare import Comparison
from linewatt.analysis.comparison.finding import Finding
from linewatt.foreign import one_line
from linewatt.report.comparison.trials import (
    difference_text,
    factor_words,
    heading,
    left_over_lines,
    remark_lines,
    shown_differences,
    tables,
)
from linewatt.report.series import plural
from linewatt.report.text_table import render, titled


def show(found: Comparison, verdict: Finding, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt compare``; ``width`` is the terminal's, ``None`` for no limit."""
    parts: list[RenderableType] = [titled("Comparison", heading(found))]
    parts += [render(one.table, width) for one in tables(found)]
    if found.rows:
        parts.append(Text(factor_words(found)))
    parts += _differences(found)
    refused = _refused(found)
    if refused:
        parts.append(titled("Not comparable", refused, style="yellow"))
    left = left_over_lines(found)
    if left:
        parts.append(titled("Unmatched", left))
    remarks = remark_lines(found)
    if remarks:
        parts.append(titled("Notes", remarks))
    if verdict.words:
        style = {0: "green", 3: "red", 4: "yellow"}[verdict.exit_code]
        parts.append(Text(one_line(f"{ENDS[verdict.exit_code]}: {verdict.words}."), style=style))
    return Group(*(part for each in parts for part in (each, Text())))


ENDS = {0: "No regression", 3: "Regression", 4: "Not enough evidence"}


def _differences(found: Comparison) -> list[RenderableType]:
    matter, expected, others = shown_differences(found)
    parts = []
    if expected:
        title = f"What differs with {found.options.by}"
        parts.append(titled(title, _most(list(map(difference_text, expected)))))
    if matter or others:
        lines = _most(list(map(difference_text, matter)))
        if others:
            lines.append(f"and {plural(others, 'other difference')}, which --json has")
        parts.append(titled("What else differs", lines, style="yellow" if matter else ""))
    elif not found.levels and found.pairs:
        parts.append(Text("Nothing else that is on record of the hosts differs."))
    return parts


_SHOWN = 40


def _most(lines: Sequence[str]) -> list[str]:
    shown = list(lines[:_SHOWN])
    if len(lines) > _SHOWN:
        shown.append(f"and {len(lines) - _SHOWN} more of these, which --json has")
    return shown


def _refused(found: Comparison) -> list[str]:
    """Reasons with the rows they refuse."""
    groups: dict[str, list[str]] = {}
    for table in tables(found):
        for line in table.lines:
            if line.row.outcome == "refused":
                groups.setdefault(line.row.verdict.words, []).append(f"{table.response.title}: {line.case}")
    return [
        f"{words.removeprefix('not comparable: ')}: {plural(len(cases), 'comparison')} ({cases[0]}"
        f"{', …' if len(cases) > 1 else ''})"
        for words, cases in groups.items()
    ]
