# SPDX-License-Identifier: Apache-2.0
"""What only a server can lead to from a report's page: trials, charts that answer, links to sections.

Reports are printed by their own templates (``report/templates``), which ask functions of these names; a page
that is being made has its own answers, in its own thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from linewatt.report.charts.figure import DrawnFigure
from linewatt.report.charts.interactive import interactive
from linewatt.report.printing.page_rows import rows_html
from linewatt.report.table import Row, Table
from linewatt.report.trials.every_trial import TITLE as EVERY_TRIAL

_NOTHING = Markup("")


@dataclass(frozen=True, slots=True)
class Within:
    """Of a page: where its result is, what stands above its sections, and the findings of its trials."""

    url: str = ""
    beside: Markup = _NOTHING
    findings: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def trial(self, number: str | int) -> str:
        """Where the page of a trial is."""
        return f"{self.url}/trials/{quote(str(number), safe='')}"


_WITHIN: ContextVar[Within] = ContextVar("within", default=Within())  # noqa: B039  frozen


@contextmanager
def within(one: Within) -> Iterator[None]:
    """Around the making of a page."""
    token = _WITHIN.set(one)
    try:
        yield
    finally:
        _WITHIN.reset(token)


def install(pages: Environment) -> None:
    """Have templates ask here."""
    pages.globals["rows_html"] = _rows
    pages.globals["permalink"] = _permalink
    pages.globals["figure_data"] = _figure_data
    pages.globals["beside"] = _beside


def _rows(table: Table, rows: Sequence[Row], *, flagged: bool) -> Markup:
    page = _WITHIN.get()
    if not page.url or table.title != EVERY_TRIAL:
        return rows_html(table, rows, flagged=flagged)
    return rows_html(table, rows, flagged=flagged, href=lambda row: page.trial(row.keys[0].text))


def _permalink(anchor: str) -> Markup:
    return Markup(' <a class="permalink" href="#{}" aria-label="Link to this section">#</a>').format(anchor)


def _figure_data(drawn: DrawnFigure) -> Markup:
    return data(interactive(drawn.figure), "spec")


def _beside() -> Markup:
    page = _WITHIN.get()
    if not page.url:
        return page.beside
    about = {
        "trials": f"{page.url}/trials/",
        "findings": {str(at): list(one) for at, one in page.findings.items()},
    }
    return page.beside + data(about, "about-trials")


def data(value: Any, kind: str) -> Markup:
    """A value that a script of the page reads; no browser runs it, and it cannot end before its end."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    made = f'<script type="application/json" class="{escape(kind)}">{text}</script>'
    return Markup(made)  # noqa: S704  no sign that HTML knows is left in the text
