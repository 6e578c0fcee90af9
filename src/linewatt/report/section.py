# SPDX-License-Identifier: Apache-2.0
"""A section of a page: tables, lists and figures under one heading; figures as SVG inside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from linewatt.errors import StoreError
from linewatt.report.table import Note, Table
from linewatt.report.trials.charts.cases import Figure, render_svg

_SVG_ROOT = re.compile(r"<svg\b([^>]*)>")
_XMLNS = re.compile(r'\sxmlns(:\w+)?="[^"]*"')


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure with its SVG."""

    figure: Figure
    svg: Markup


@dataclass(frozen=True, slots=True)
class Lines:
    """A list of lines under a heading of its own, if it has one; ``preformatted`` lines are indented."""

    title: str
    notes: tuple[Note, ...]
    preformatted: bool = False


def listed(title: str, lines: Iterable[str], *, preformatted: bool = False) -> Lines:
    """Lines of text alone."""
    return Lines(title, tuple(Note("remark", line) for line in lines), preformatted)


@dataclass(frozen=True, slots=True)
class Section:
    """A section: ``anchor`` is its id, ``nav`` its name among the contents, where that is shorter."""

    title: str
    anchor: str
    tables: tuple[Table, ...] = ()
    figures: tuple[DrawnFigure, ...] = ()
    notes: tuple[Lines, ...] = ()
    intro: tuple[str, ...] = ()
    nav: str = ""
    elsewhere: bool = False
    """whether cases at load levels are left out of it"""

    def __bool__(self) -> bool:
        return bool(self.tables or self.figures or any(each.notes for each in self.notes))


def drawn(figures: Sequence[Figure], name: str) -> Iterator[DrawnFigure]:
    """Figures with their SVG, whose ids begin with ``name``."""
    for number, figure in enumerate(figures, start=1):
        yield DrawnFigure(figure, inline_svg(render_svg(figure.spec), figure, f"{name}-{number}"))


def inline_svg(svg: str, figure: Figure, name: str) -> Markup:
    """``svg`` for use inside HTML: named for screen readers, with ids that no other chart has."""
    svg = svg.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    svg = svg.replace('xlink:href="#', f'xlink:href="#{name}-')
    root = _SVG_ROOT.match(svg)
    if root is None:
        raise StoreError(f"{figure.name}: the chart library gave no SVG")
    attributes = _XMLNS.sub("", root[1])
    opening = (
        f'<svg{attributes} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(figure.title)}</title>'
        f'<desc id="{name}-desc">{escape(figure.description)}</desc>'
    )
    return Markup(opening + svg[root.end() :])  # noqa: S704 - vl-convert escapes text; a test holds it to that
