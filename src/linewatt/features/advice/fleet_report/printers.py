# SPDX-License-Identifier: Apache-2.0
"""Advice on a fleet in a terminal, and as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt import __version__
from linewatt.features.advice.fleet.advice import FleetAdvice
from linewatt.features.advice.fleet_report.chart import trade_off
from linewatt.features.advice.fleet_report.sentences import (
    answer,
    assumptions,
    how_sure,
    next_words,
    supply_lines,
    target_words,
    trade_words,
    warnings,
)
from linewatt.features.advice.fleet_report.sources import FleetSource
from linewatt.features.advice.fleet_report.tables import fleet_table
from linewatt.foreign import one_line
from linewatt.report import Section, text_lines
from linewatt.report.charts import draw_figures
from linewatt.report.printing import pages_of_files, render_table, titled

_NEXT = "What to measure next"
_SUPPLIES = "Power supplies"


def rendered(advice: FleetAdvice, source: FleetSource, width: int | None) -> RenderableType:
    """What a terminal shows: what must be known first, the answer, the table, and what would change it."""
    return Group(*_parts(advice, source, width))


def _parts(advice: FleetAdvice, source: FleetSource, width: int | None) -> Iterator[RenderableType]:
    yield Text(one_line(" · ".join(_subject(advice, source))), style="bold")
    yield from (Text(one_line(f"! {warning}"), style="yellow") for warning in warnings(advice, source))
    yield Text(one_line(f"{answer(advice)}."), style="bold")
    yield from (
        Text(one_line(f"{sentence}.")) for sentence in (how_sure(advice), trade_words(advice)) if sentence
    )
    yield Text()
    yield render_table(fleet_table(advice), width)
    for title, lines in (
        (_NEXT, [next_words(measurement) for measurement in advice.next]),
        (_SUPPLIES, supply_lines(advice)),
    ):
        if lines:
            yield Text()
            yield titled(title, lines)


def _subject(advice: FleetAdvice, source: FleetSource) -> tuple[str, ...]:
    """Which series, of what, and what was asked."""
    target = target_words(advice.question)
    return f"Fleet for {target}", source.name, f"{advice.title}, {advice.role}", assumptions(advice.question)


def page(advice: FleetAdvice, source: FleetSource) -> str:
    """The whole page."""
    figure = trade_off(advice)
    title, *facts = _subject(advice, source)
    sections = (
        Section(
            "Operating points",
            "points",
            (fleet_table(advice),),
            tuple(draw_figures([figure], "fleet")) if figure else (),
        ),
        Section(
            _NEXT, "next", notes=(text_lines("", [next_words(measurement) for measurement in advice.next]),)
        ),
        Section(_SUPPLIES, "supplies", notes=(text_lines("", supply_lines(advice)),)),
    )
    html: str = (
        pages_of_files()
        .get_template("fleet.html.j2")
        .render(
            version=__version__,
            kind="advice",
            name=title,
            complete=True,
            lab=source.is_of_lab,
            elsewhere=None,
            answer=f"{answer(advice)}.",
            said=[f"{sentence}." for sentence in (how_sure(advice), trade_words(advice)) if sentence],
            caveats=warnings(advice, source),
            facts=facts,
            sections=sections,
        )
    )
    return html
