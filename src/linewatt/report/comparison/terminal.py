# SPDX-License-Identifier: Apache-2.0
"""A comparison for a terminal or a mail: verdicts first, then surroundings, then what was not compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis.comparison.compare import Comparison
from linewatt.analysis.comparison.finding import Finding
from linewatt.foreign import one_line
from linewatt.report.comparison.trials import (
    ResponseTable,
    difference_text,
    factor_words,
    heading,
    left_over_lines,
    remark_lines,
    shown_differences,
    side_names,
    tables,
)
from linewatt.report.series import plural
from linewatt.report.text_table import TextColumn
from linewatt.report.text_table import tables as text_tables


def show(found: Comparison, verdict: Finding, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt compare``; ``width`` is the terminal's, ``None`` for no limit."""
    parts: list[RenderableType] = [_lines("Comparison", heading(found))]
    parts += [_table(table, found, width) for table in tables(found)]
    if found.rows:
        parts.append(Text(factor_words(found)))
    parts += _differences(found)
    refused = _refused(found)
    if refused:
        parts.append(_lines("Not comparable", refused, style="yellow"))
    left = left_over_lines(found)
    if left:
        parts.append(_lines("Left over", left))
    remarks = remark_lines(found)
    if remarks:
        parts.append(_lines("To be known", remarks))
    if verdict.words:
        style = {0: "green", 3: "red", 4: "yellow"}[verdict.exit_code]
        parts.append(Text(one_line(f"{_ENDS[verdict.exit_code]}: {verdict.words}."), style=style))
    return Group(*(part for each in parts for part in (each, Text())))


_ENDS = {0: "No regression", 3: "Regression", 4: "Not enough evidence"}


def _lines(title: str, lines: Iterable[str], style: str = "") -> RenderableType:
    shown = (Padding(Text(one_line(line), style=style), (0, 0, 0, 2)) for line in lines)
    return Group(Text(title, style="bold"), *shown)


def _table(table: ResponseTable, found: Comparison, width: int | None) -> RenderableType:
    lines = table.lines
    names = side_names(found)
    columns = [
        TextColumn("Case", tuple(one_line(line.case) for line in lines), key=True, left=True),
        TextColumn(f"{names[0]}: mean\n± SD (n)", tuple(line.base for line in lines)),
        TextColumn(f"{names[1]}: mean\n± SD (n)", tuple(line.other for line in lines)),
        TextColumn(f"{names[1]} ÷ {names[0]}\n(95 % CI)", tuple(line.ratio for line in lines)),
        TextColumn("p\n(Holm)", tuple(line.p for line in lines)),
        TextColumn("p\n(shuffled)", tuple(line.shuffled for line in lines)),
        TextColumn("Verdict", tuple(one_line(line.words) for line in lines), left=True, free=True),
    ]
    if not table.response.relative:
        columns[3] = TextColumn(f"{names[1]} − {names[0]}\n(95 % CI)", columns[3].cells)
    if any(line.flags for line in lines):
        columns.append(
            TextColumn("Flags", tuple(one_line(line.flags) for line in lines), left=True, free=True)
        )
    marked = f", {table.provenance}" if table.provenance else ""
    return Group(
        Text(one_line(f"{table.title}, {table.unit}{marked}: {table.tally}"), style="bold"),
        _plain(columns) if width is None else text_tables(columns, width),
        *(Text(line, style="yellow") for line in table.legend),
    )


def _plain(columns: Sequence[TextColumn]) -> Text:
    """The same table for a file: a thousand rows take rich some seconds."""
    lines = max(column.heading.count("\n") for column in columns) + 1
    padded = []
    for column in columns:
        width = column.width
        head = column.heading.split("\n")
        cells = [*[""] * (lines - len(head)), *head, "─" * width, *column.cells]
        padded.append([cell.ljust(width) if column.left else cell.rjust(width) for cell in cells])
    rows = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    rows[lines] = rows[lines].replace(" ", "─")
    return Text("\n".join(rows), no_wrap=True, overflow="ignore")


def _differences(found: Comparison) -> list[RenderableType]:
    matter, expected, others = shown_differences(found)
    parts = []
    if expected:
        title = f"What differs with {found.options.by}"
        parts.append(_lines(title, _most(list(map(difference_text, expected)))))
    if matter or others:
        lines = _most(list(map(difference_text, matter)))
        if others:
            lines.append(f"and {plural(others, 'other difference')}, which --json has")
        parts.append(_lines("What else differs", lines, style="yellow" if matter else ""))
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
