# SPDX-License-Identifier: Apache-2.0
"""Server-only parts of a report page: links to trials, interactive charts, links to sections.

The report templates (``report/templates``) call global functions; these return the parts of the frame that is
set for the current thread.
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

from linewatt.features.serve.interactive_chart import interactive
from linewatt.report import Row, Table
from linewatt.report.charts import DrawnFigure
from linewatt.report.printing import rows_html
from linewatt.report.trials import EVERY_TRIAL_TITLE as EVERY_TRIAL

_NOTHING = Markup("")


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """URL of the result, navigation above the sections, and finding codes by trial number."""

    url: str = ""
    navigation: Markup = _NOTHING
    findings: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def trial(self, number: str | int) -> str:
        """The URL of a trial."""
        return f"{self.url}/trials/{quote(str(number), safe='')}"


_FRAME: ContextVar[ReportFrame] = ContextVar("frame", default=ReportFrame())  # noqa: B039  frozen


@contextmanager
def in_frame(frame: ReportFrame) -> Iterator[None]:
    """Set the frame while a page is rendered."""
    reset_token = _FRAME.set(frame)
    try:
        yield
    finally:
        _FRAME.reset(reset_token)


def install(pages: Environment) -> None:
    """Install the functions that templates call."""
    pages.globals["rows_html"] = _rows_with_links
    pages.globals["permalink"] = _permalink
    pages.globals["figure_data"] = _figure_data
    pages.globals["navigation"] = _navigation


def _rows_with_links(table: Table, rows: Sequence[Row], *, flagged: bool) -> Markup:
    frame = _FRAME.get()
    if not frame.url or table.title != EVERY_TRIAL:
        return rows_html(table, rows, flagged=flagged)
    return rows_html(table, rows, flagged=flagged, href=lambda row: frame.trial(row.keys[0].text))


def _permalink(anchor: str) -> Markup:
    return Markup(' <a class="permalink" href="#{}" aria-label="Link to this section">#</a>').format(anchor)


def _figure_data(drawn: DrawnFigure) -> Markup:
    return data(interactive(drawn.figure), "spec")


def _navigation() -> Markup:
    frame = _FRAME.get()
    if not frame.url:
        return frame.navigation
    about = {
        "trials": f"{frame.url}/trials/",
        "findings": {str(at): list(codes) for at, codes in frame.findings.items()},
    }
    return frame.navigation + data(about, "about-trials")


def data(value: Any, kind: str) -> Markup:
    """A JSON element for scripts of the page; escaped, so that the value cannot end the element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    element = f'<script type="application/json" class="{escape(kind)}">{text}</script>'
    return Markup(element)  # noqa: S704  the text has no HTML characters
