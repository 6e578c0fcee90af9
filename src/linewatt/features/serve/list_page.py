# SPDX-License-Identifier: Apache-2.0
"""``/``: the list of stored results; filters and sort order are in the URL, so that it can be shared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import Response

from linewatt.features.serve import list_query
from linewatt.features.serve.broadcast.sockets import watchable_ids
from linewatt.features.serve.list_query import ListedResult, ListQuery, ResultRow
from linewatt.features.serve.responses import text_response
from linewatt.features.serve.result_paths import url_of
from linewatt.features.serve.shelf import Seen
from linewatt.features.serve.site import Site, site_of
from linewatt.features.serve.sparkline import sparkline
from linewatt.features.serve.unread_result import UnreadResult, unread_result, with_manifests
from linewatt.report import Cell, Listed, Note, Row, document_of_list, listing, plural
from linewatt.store import Damaged
from linewatt.units import format_time_utc

router = APIRouter()

_KEYS = {"Id": "id", "Best": "best", "Test": "test", "Mbps/W": "per-watt", "Findings": "findings"}
_KEYS |= {"Done": "done", "When": "when", "Name": "name"}
_FIGURES = ("Best", "Test", "Mbps/W", "Findings", "Done")
"""columns that a result has only once it is read"""
BEING_READ = "being read"
_MOST_AWAITED = 200
"""unread results for which the list waits a moment; more are not read in that time"""
_WHOLE_S = 60.0
"""for which ``/list.json`` waits until all results are read"""


@dataclass(frozen=True, slots=True)
class Line:
    """One result: ``cells`` as in ``linewatt list``; ``remarks``: why it is damaged, or what it lacks.

    A result that is not read yet has ``None`` for each of its figures.
    """

    id: str
    url: str
    cells: tuple[Cell | None, ...]
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
    seen = site.listed.now(most_unread=_MOST_AWAITED)
    unread = [(path, unread_result(path)) for path in seen.unread_paths]
    matches = list_query.select([*seen.rows, *unread], query)
    pages = max(1, -(-len(matches) // list_query.ROWS))
    at = min(query.page, pages)
    shown = _named(matches[(at - 1) * list_query.ROWS : at * list_query.ROWS])
    table = listing.table_of([row for _, row in shown if not isinstance(row, UnreadResult)])
    heads = (*table.keys, *table.heads)
    live = watchable_ids(site.settings.state)
    return site.page(
        request,
        "list.html.j2",
        asked=query,
        kinds=list_query.KINDS,
        states=list_query.STATES,
        finding_kinds=list_query.FINDINGS,
        columns=[_column(head.title, head.kind, query) for head in heads],
        lines=_lines(site, shown, table.rows, live),
        figures_count=len(_FIGURES) + 1,  # and the sparkline
        being_read=BEING_READ,
        unread_words=_unread_words(seen, query),
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
    document = document_of_list(rows)
    if seen.unread:
        document["unread"] = seen.unread
    return text_response(
        request, json.dumps(document, indent=2, allow_nan=False) + "\n", media="application/json"
    )


def _column(title: str, kind: str, query: ListQuery) -> Column:
    key = _KEYS[title]
    turned = ("descending" if query.down else "ascending") if key == query.sort else ""
    return Column(title, "" if kind == "number" else "text", query.sorted_by(key), turned)


def _named(matches: Sequence[ListedResult]) -> list[ListedResult]:
    """The results of one page; those that are not read yet with the names in their manifests."""
    unread = [row for _, row in matches if isinstance(row, UnreadResult)]
    named: dict[str, ResultRow] = {result.id: result for result in with_manifests(unread)}
    return [(path, named.get(path.name, row)) for path, row in matches]


def _unread_words(seen: Seen[Listed], query: ListQuery) -> str:
    """What the list lacks as long as results are being read; empty if all are read."""
    if not seen.unread:
        return ""
    if not query.is_plain:
        return f"{plural(seen.unread, 'result')} not read yet; more may match"
    unsorted = "; until then they come last" if query.sorts_by_figure else ""
    return f"figures of {seen.unread} are still being read{unsorted}"


def _lines(
    site: Site, matches: Sequence[ListedResult], table_rows: Sequence[Row], live: frozenset[str]
) -> list[Line]:
    """The lines of a page; ``table_rows`` are those of the results that are read."""
    remaining_rows = iter(table_rows)
    return [
        _unread_line(row, live)
        if isinstance(row, UnreadResult)
        else _line(site, path, row, next(remaining_rows), live)
        for path, row in matches
    ]


def _unread_line(result: UnreadResult, live: frozenset[str]) -> Line:
    when = BEING_READ if result.created_s is None else format_time_utc(result.created_s)
    cells = (*(None for _ in _FIGURES), Cell(when), Cell(result.name or BEING_READ))
    is_live = result.id in live
    return Line(result.id, url_of(result.path), cells, Markup(""), (), False, False, is_live)


def _line(site: Site, path: Path, listed: Listed | Damaged, table_row: Row, live: frozenset[str]) -> Line:
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
