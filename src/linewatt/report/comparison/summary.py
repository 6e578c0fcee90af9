# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown, for a pull request or the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from linewatt.analysis.comparison import Comparison, Finding
from linewatt.report.comparison.first_screen import first_screen_of_comparison
from linewatt.report.comparison.remarks import factor_words, lists
from linewatt.report.comparison.tables import tables
from linewatt.report.printing import markdown
from linewatt.report.section import text_lines


def render_summary(comparison: Comparison, verdict: Finding, full: bool = False) -> str:
    """The first screen; ``full``: every verdict and note below it."""
    screen = first_screen_of_comparison(comparison, verdict)
    parts = [*markdown.screen(screen, rest_place=screen.full)]
    return markdown.document([*parts, *(_rest(comparison) if full else markdown.more(screen.more))])


def _rest(comparison: Comparison) -> Iterator[str]:
    yield from ("## Every verdict", "")
    yield from chain.from_iterable(markdown.markdown_table(table.table) for table in tables(comparison))
    yield from (markdown.plain(factor_words(comparison)), "")
    yield from chain.from_iterable(
        markdown.markdown_lines(text_lines(title, entries)) for title, entries in lists(comparison)
    )
