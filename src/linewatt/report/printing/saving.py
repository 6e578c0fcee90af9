# SPDX-License-Identifier: Apache-2.0
"""What a page lets its reader save: figures as SVG, tables as CSV and Markdown, all inside its own file.

A link holds the whole of a file, so that neither a script nor a network is needed. What is large stands in
the page once, not twice, and its place says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from linewatt.foreign import one_line
from linewatt.report.charts.figure import DrawnFigure
from linewatt.report.printing import markdown
from linewatt.report.printing.export import csv_lines
from linewatt.report.table import Cell, Head, Table
from linewatt.units import NO_BREAK

MOST_ROWS = 200
"""of a table that is also there as Markdown: nobody pastes more"""
MOST_ROWS_OF_CSV = 500
"""a longer one is not made only to find that it is too large"""
MOST_BYTES = 64 << 10
"""of a file: pages of a thousand cases would be of twice their size"""
_ELSEWHERE = "--json has its numbers"
_NUMBER = re.compile(r"[+−-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[+−-]?[0-9]+(?:\.[0-9]+)?")
_ENCODED = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "%#\"'<>&:`\n\r\t"})
"""what a URL or an attribute would take for its own"""
_NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def save_table(table: Table) -> Markup:
    """Links to a table as CSV and, unless it is long, as Markdown; else where its numbers are."""
    if not table.rows:
        return Markup("")
    if len(table.rows) > MOST_ROWS_OF_CSV:
        return _links(
            [Markup("CSV ({:,} rows are not in this file twice; {})").format(len(table.rows), _ELSEWHERE)]
        )
    links = [_link(table.title, "csv", "text/csv", csv_text(table))]
    if len(table.rows) <= MOST_ROWS:
        links.append(
            _link(table.title, "md", "text/markdown", markdown.document(markdown.markdown_table(table)))
        )
    return _links(links)


def save_figure(drawn: DrawnFigure) -> Markup:
    """A link to a figure as an SVG file of its own."""
    svg = str(drawn.svg).replace("<svg ", f"<svg {_NAMESPACES} ", 1)
    return _links([_link(drawn.figure.title, "svg", "image/svg+xml", svg)])


def _links(markups: Sequence[Markup]) -> Markup:
    return Markup('<p class="save">Save: {}</p>').format(Markup(", ").join(markups))


def _link(title: str, kind: str, media: str, text: str) -> Markup:
    name = f"{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')[:60] or 'table'}.{kind}"
    word = {"svg": "SVG", "csv": "CSV", "md": "Markdown"}[kind]
    if len(text) > MOST_BYTES:
        instead = "" if kind == "svg" else f"; {_ELSEWHERE}"
        return Markup("{} ({:,} kB are not in this file twice{})").format(word, len(text) // 1000, instead)
    url = f"data:{media};charset=utf-8,{text.translate(_ENCODED)}"
    link_html = (
        f'<a download="{name}" href="{url}" aria-label="Save {escape(one_line(title))} as {word}">{word}</a>'
    )
    return Markup(link_html)  # noqa: S704 - a test holds it to what is encoded and escaped here


def csv_text(table: Table) -> str:
    """A table for a spreadsheet: a column a thing, numbers without separators, empty where there is none.

    Beside a figure stand its SD, its 95 % CI and whether it was measured, in columns of their own where any
    row has them.
    """
    columns = list(_columns(table))
    cells = zip(*(texts for _, texts in columns), strict=True)
    return csv_lines([title for title, _ in columns], cells)


_PARTS: tuple[tuple[str, Callable[[Cell], str | None]], ...] = (
    ("SD", lambda cell: cell.sd),
    ("95 % CI", lambda cell: cell.ci),
    ("is", lambda cell: cell.mark),
    ("note", lambda cell: cell.note),
    ("why missing", lambda cell: cell.reason if cell.missing else None),
)
"""what a cell may have beside its text"""


def _columns(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Title and texts of each, from the first row to the last."""
    rows = table.rows
    if any(group.label for group in table.groups):
        yield table.group_title, [group.label for group in table.groups for _ in group.rows]
    for at, head in enumerate(table.keys):
        yield _title(head), [_value(row.keys[at]) for row in rows]
    for at, head in enumerate(table.heads):
        title, cells = _title(head), [row.cell(at) for row in rows]
        yield title, [_value(cell) for cell in cells]
        for name, part in _PARTS:
            texts = [part(cell) or "" for cell in cells]
            if any(texts):
                yield f"{title}: {name}", [_plain(text) for text in texts]
    if table.flagged:
        yield "Findings", [" ".join(row.marks) for row in rows]


def _title(head: Head) -> str:
    return f"{head.full_title} ({head.unit})" if head.unit else head.full_title


def _value(cell: Cell) -> str:
    return "" if cell.missing else _plain(cell.text)


def _plain(text: str) -> str:
    """A number as programs read it; other text as it is, in one line."""
    text = one_line(text.replace(NO_BREAK, " "))
    return text.replace(",", "").replace("−", "-") if _NUMBER.fullmatch(text) else text
