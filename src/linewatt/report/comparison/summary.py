# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown, for a pull request or the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from linewatt.analysis.comparison.compare import Comparison, Finding
from linewatt.report.comparison.first_screen import first_screen
from linewatt.report.comparison.tables import tables
from linewatt.report.comparison.words import factor_words, lists
from linewatt.report.printing import markdown
from linewatt.report.section import listed


def render(found: Comparison, verdict: Finding, full: bool = False) -> str:
    """The first screen; ``full``: every verdict and note below it."""
    screen = first_screen(found, verdict)
    parts = [*markdown.screen(screen, rest=screen.full)]
    return markdown.document([*parts, *(_rest(found) if full else markdown.more(screen.more))])


def _rest(found: Comparison) -> Iterator[str]:
    yield from ("## Every verdict", "")
    yield from chain.from_iterable(markdown.table(one.table) for one in tables(found))
    yield from (markdown.plain(factor_words(found)), "")
    yield from chain.from_iterable(markdown.lines(listed(title, every)) for title, every in lists(found))
