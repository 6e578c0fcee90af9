# SPDX-License-Identifier: Apache-2.0
"""``/``: the list of stored results; filters and sort order are in the URL, so that it can be shared."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from linewatt.features.serve import list_query
from linewatt.features.serve.broadcast.sockets import watchable_ids
from linewatt.features.serve.list_query import ListedResult, ListQuery
from linewatt.features.serve.responses import text_response
from linewatt.features.serve.result_paths import url_of
from linewatt.features.serve.site import Site, site_of
from linewatt.features.serve.sparkline import sparkline
from linewatt.report import Cell, Listed, Note, Table, listing
from linewatt.store import Damaged

router = APIRouter()

_KEYS = {"Id": "id", "Best": "best", "Test": "test", "Mbps/W": "per-watt", "Findings": "findings"}
_KEYS |= {"Done": "done", "When": "when", "Name": "name"}
_WHOLE_S = 60.0
"""for which ``/list.json`` waits until all results are read"""


@dataclass(frozen=True, slots=True)
class Line:
    """One result: ``cells`` as in ``linewatt list``; ``remarks``: why it is damaged, or what it lacks."""

    id: str
    url: str
    cells: tuple[Cell, ...]
    spark: Markup
    remarks: tuple[str, ...]
    damaged: bool
    unfinished: bool
    live: bool
    """whether its run can be watched now"""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column: ``turned`` is the direction if rows are sorted by it."""

    title: str
    kind: str
    url: str
    turned: str


@router.get("/")
def show_list(request: Request) -> Response:
    """One page of the list."""
    site = site_of(request)
    query = list_query.parse_query(request.query_params)
    seen = site.listed.now()
    matches = list_query.select(seen.rows, query)
    pages = max(1, -(-len(matches) // list_query.ROWS))
    at = min(query.page, pages)
    shown = matches[(at - 1) * list_query.ROWS : at * list_query.ROWS]
    table = listing.table_of([row for _, row in shown])
    live = watchable_ids(site.settings.state)
    return site.page(
        request,
        "list.html.j2",
        asked=query,
        kinds=list_query.KINDS,
        states=list_query.STATES,
        finding_kinds=list_query.FINDINGS,
        columns=[_column(head.title, head.kind, query) for head in (*table.keys, *table.heads)],
        lines=[_line(site, match, table, at, live) for at, match in enumerate(shown)],
        notes=_explained_marks(table.notes),
        found=len(matches),
        seen=seen,
        page_number=at,
        pages_count=pages,
        results=site.settings.results,
        plain=query.is_plain,
    )


@router.get("/list.json")
def as_json(request: Request) -> Response:
    """The list as ``linewatt list --json`` prints it."""
    seen = site_of(request).listed.now(_WHOLE_S)
    rows = [row for _, row in seen.rows]
    document = {"schema_version": listing.SCHEMA_VERSION, "results": listing.as_document(rows)}
    if seen.unread:
        document["unread"] = seen.unread
    return text_response(
        request, json.dumps(document, indent=2, allow_nan=False) + "\n", media="application/json"
    )


def _column(title: str, kind: str, query: ListQuery) -> Column:
    key = _KEYS[title]
    turned = ("descending" if query.down else "ascending") if key == query.sort else ""
    return Column(title, "" if kind == "number" else "text", query.sorted_by(key), turned)


def _line(site: Site, match: ListedResult, table: Table, at: int, live: frozenset[str]) -> Line:
    path, listed = match
    table_row = table.rows[at]
    glance = listed.glance if isinstance(listed, Listed) else None
    return Line(
        path.name,
        url_of(path),
        table_row.cells,
        Markup("") if glance is None else sparkline(glance),
        tuple(site.without_root(line) for line in listing.remarks(listed)),
        isinstance(listed, Damaged),
        isinstance(listed, Listed) and not listed.heading["complete"],
        path.name in live,
    )


def _explained_marks(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """Notes without the reasons of missing figures, which are on the page of each result."""
    return tuple(note for note in notes if note.kind != "absence")
