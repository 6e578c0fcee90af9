# SPDX-License-Identifier: Apache-2.0
"""A published table in a terminal, as a page, and as data."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment
from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.declare import TEXT, Schema, keys_of, listing, one_of, record
from linewatt.features.tables.view import View, view_schemas
from linewatt.foreign import one_line
from linewatt.json_document import document_of, of_class
from linewatt.report import Section, text_lines
from linewatt.report.charts import draw_figures
from linewatt.report.printing import Identity, html_page, identity_of_result, render_table
from linewatt.units import format_time_utc


def show(view: View, width: int | None = None) -> RenderableType:
    """The whole of ``linewatt show`` for a published table."""
    manifest = view.result.manifest
    head = [
        Text(one_line(str(manifest.name or view.result.id)), style="bold"),
        Text(one_line(f"{view.result.id} · {format_time_utc(manifest.created_s)}")),
        Text(f"! {one_line(view.caveat)}", style="yellow"),
    ]
    parts: list[RenderableType] = [Group(*head), Text(one_line(view.answer), style="bold")]
    parts += [render_table(table, width) for table in view.tables]
    parts += [Group(*(Text(one_line(note)) for note in view.notes))] if view.notes else []
    return Group(*(part for renderable in parts for part in (renderable, Text())))


def render_page(view: View, pages: Environment | None = None) -> str:
    """The whole page; ``pages`` are templates of a server in place of those of a file."""
    tables = Section("Published figures", "published", view.tables, notes=(text_lines("", view.notes),))
    figures = Section("Figures", "figures", figures=tuple(draw_figures(view.figures, "figure")))
    return html_page(
        "published.html.j2",
        view.result,
        {},
        pages,
        kind="report",
        complete=True,
        view=view,
        tables=tables,
        figures=figures,
        campaign_title="Imported table",
        campaign_words=f"The table that was imported, {view.result.imported_from}.",
        elsewhere=None,
        glossary=(),
    )


def document(view: View) -> dict[str, Any]:
    """The document of ``show --json``."""
    return {
        **document_of(identity_of_result(view.result)),
        "imported_kind": view.result.imported_kind,
        "provenance": "published",
        "answer": view.answer,
        **view.document,
        "warnings": list(view.notes),
    }


def schema() -> Schema:
    """Of :func:`document`: of each kind of table what it adds."""
    keys = {
        **keys_of(of_class(Identity)),
        "provenance": {"const": "published", "description": "linewatt did not measure it."},
        "answer": TEXT,
        "warnings": listing(TEXT),
    }
    return one_of(
        *(
            record({**keys, "imported_kind": {"const": kind}, **more}, "A published table.")
            for kind, schemas in view_schemas().items()
            for more in schemas
        )
    )
