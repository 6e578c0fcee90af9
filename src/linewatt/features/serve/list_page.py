# SPDX-License-Identifier: Apache-2.0
"""``/``: stored results, a row each; filtered and sorted by the URL alone, so that a list can be sent on."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from linewatt.features.serve import list_query
from linewatt.features.serve.broadcast.sockets import listened
from linewatt.features.serve.list_query import Asked, Found
from linewatt.features.serve.responses import page
from linewatt.features.serve.result_paths import url_of
from linewatt.features.serve.site import Site, site_of
from linewatt.features.serve.sparkline import sparkline
from linewatt.report import listing
from linewatt.report.listing import Listed
from linewatt.report.table import Cell, Note, Table
from linewatt.store.read import Damaged

router = APIRouter()

_KEYS = {"Id": "id", "Best": "best", "Test": "test", "Mbps/W": "per-watt", "Findings": "findings"}
_KEYS |= {"Done": "done", "When": "when", "Name": "name"}
_WHOLE_S = 60.0
"""that a program waits for the whole list"""


@dataclass(frozen=True, slots=True)
class Line:
    """One result: ``cells`` are those of ``linewatt list``; ``said`` why it is damaged, or what it lacks."""

    id: str
    url: str
    cells: tuple[Cell, ...]
    spark: Markup
    said: tuple[str, ...]
    damaged: bool
    unfinished: bool
    live: bool
    """whether it can be watched, as it runs now"""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column: ``turned`` is how rows are sorted by it, if they are."""

    title: str
    kind: str
    url: str
    turned: str


@router.get("/")
def every_result(request: Request) -> Response:
    """The list, a page of it."""
    site = site_of(request)
    wanted = list_query.asked(request.query_params)
    seen = site.listed.now()
    found = list_query.chosen(seen.rows, wanted)
    pages = max(1, -(-len(found) // list_query.ROWS))
    at = min(wanted.page, pages)
    shown = found[(at - 1) * list_query.ROWS : at * list_query.ROWS]
    table = listing.table_of([one for _, one in shown])
    live = listened(site.settings.state)
    return site.page(
        request,
        "list.html.j2",
        asked=wanted,
        kinds=list_query.KINDS,
        states=list_query.STATES,
        finding_kinds=list_query.FINDINGS,
        columns=[_column(head.title, head.kind, wanted) for head in (*table.keys, *table.heads)],
        lines=[_line(site, one, table, at, live) for at, one in enumerate(shown)],
        notes=_short(table.notes),
        found=len(found),
        seen=seen,
        page_number=at,
        pages_count=pages,
        results=site.settings.results,
        plain=wanted.is_plain,
    )


@router.get("/list.json")
def as_json(request: Request) -> Response:
    """What ``linewatt list --json`` prints."""
    seen = site_of(request).listed.now(_WHOLE_S)
    rows = [one for _, one in seen.rows]
    document = {"schema_version": listing.SCHEMA_VERSION, "results": listing.as_document(rows)}
    if seen.unread:
        document["unread"] = seen.unread
    return page(request, json.dumps(document, indent=2, allow_nan=False) + "\n", media="application/json")


def _column(title: str, kind: str, wanted: Asked) -> Column:
    key = _KEYS[title]
    turned = ("descending" if wanted.down else "ascending") if key == wanted.sort else ""
    return Column(title, "" if kind == "number" else "text", wanted.sorted_by(key), turned)


def _line(site: Site, found: Found, table: Table, at: int, live: frozenset[str]) -> Line:
    path, one = found
    row = table.rows[at]
    glance = one.glance if isinstance(one, Listed) else None
    return Line(
        path.name,
        url_of(path),
        row.cells,
        Markup("") if glance is None else sparkline(glance),
        tuple(site.without_root(line) for line in listing.remarks(one)),
        isinstance(one, Damaged),
        isinstance(one, Listed) and not one.heading["complete"],
        path.name in live,
    )


def _short(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """What the table's marks mean; why a figure is missing says the page of its result."""
    return tuple(note for note in notes if note.kind != "absence")
