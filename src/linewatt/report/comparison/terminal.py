# SPDX-License-Identifier: Apache-2.0
"""A comparison for a terminal or a mail: verdicts first, then surroundings, then what was not compared."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.comparison import Comparison, Finding
from linewatt.foreign import one_line
from linewatt.report.comparison.remarks import factor_words, heading, lab_words, lists
from linewatt.report.comparison.tables import tables
from linewatt.report.printing.text_table import render_table, titled

ENDING_BY_EXIT_CODE = {0: "No regression", 3: "Regression", 4: "Not enough evidence"}
COLOUR_BY_EXIT_CODE = {0: "green", 3: "red", 4: "yellow"}
_STYLES = {"What else differs": "yellow", "Not comparable": "yellow"}


def show_comparison(comparison: Comparison, verdict: Finding, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt compare``; ``width`` is the terminal's, ``None`` for no limit."""
    parts: list[RenderableType] = [titled("Comparison", [*lab_words(comparison), *heading(comparison)])]
    parts += [render_table(table.table, width) for table in tables(comparison)]
    if comparison.rows:
        parts.append(Text(factor_words(comparison)))
    if not comparison.differences and not comparison.levels and comparison.pairs:
        parts.append(Text("Nothing else that is on record of the hosts differs."))
    parts += [titled(title, lines, style=_STYLES.get(title, "")) for title, lines in lists(comparison)]
    if verdict.words:
        style = COLOUR_BY_EXIT_CODE[verdict.exit_code]
        parts.append(
            Text(one_line(f"{ENDING_BY_EXIT_CODE[verdict.exit_code]}: {verdict.words}."), style=style)
        )
    return Group(*(part for block in parts for part in (block, Text())))
