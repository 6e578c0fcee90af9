# SPDX-License-Identifier: Apache-2.0
"""``/history``: cases over many results, with recorded changes of hosts and campaign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from linewatt.analysis.comparison import METRICS_OF_ROWS
from linewatt.errors import InvalidInput
from linewatt.features.history.build import history_of
from linewatt.features.history.page import render
from linewatt.features.serve.pages import rendered, templates
from linewatt.features.serve.report_frame import ReportFrame, in_frame
from linewatt.features.serve.responses import Body, body_response
from linewatt.features.serve.result_paths import refuse_links, result_at
from linewatt.features.serve.site import site_of
from linewatt.report.comparison import Kept, kept_side, parse_factor
from linewatt.store import read_each, reading_results

router = APIRouter()
_PATIENCE_S = 1.0


@router.get("/history")
async def history(request: Request) -> Response:
    """The history, filtered by metric, test, case, since and factor like the command, and by ``id``."""
    site = site_of(request)
    query = request.query_params
    ids = tuple(query.getlist("id"))
    filters = {name: query.get(name, "").strip() for name in ("metric", "test", "case", "since", "factor")}
    if filters["metric"] and filters["metric"] not in METRICS_OF_ROWS:
        raise InvalidInput(f"metric={filters['metric'][:40]!r}: must be one of {', '.join(METRICS_OF_ROWS)}")
    factor = parse_factor(filters["factor"]) if filters["factor"] else None
    seen = await run_in_threadpool(site.cases.now, _PATIENCE_S)
    if seen.unread or not seen.rows:
        return site.page(request, "history_wait.html.j2", seen=seen, results=site.settings.results)
    since = await run_in_threadpool(result_at, site, filters["since"]) if filters["since"] else None
    key = ("history", ids, *filters.values(), seen.states)
    page = await site.page_pool.page(key, history_page, site.settings.results, filters, ids, since, factor)
    return body_response(request, page)


def _load_sides(path: Path) -> tuple[Path, Kept]:
    refuse_links(path)
    return path, kept_side(path)


def history_page(
    results: Path, filters: Mapping[str, str], ids: tuple[str, ...], since: Path | None, factor: float | None
) -> Body:
    """The history page for these filters. Raises InvalidInput, StoreError."""
    readable_results, damaged = read_each(results, _load_sides)
    loaded = sorted(readable_results, key=lambda entry: entry[1].created_s or 0)
    if ids:
        loaded = [(path, recorded) for path, recorded in loaded if path.name in ids]
        damaged = [unreadable for unreadable in damaged if unreadable.id in ids]
    names = [path.name for path, _ in loaded]
    if since is not None:
        if since.name not in names:
            raise InvalidInput(f"since={since.name}: no readable result of this name")
        loaded = loaded[names.index(since.name) :]
    metrics = (filters["metric"] or "throughput",)
    with reading_results(*(path for path, _ in loaded)):
        case, test = filters["case"] or None, filters["test"] or None
        case_history = history_of(results, loaded, metrics, case, test, factor, damaged)
    tests = sorted({case.case.test for _, recorded in loaded for case in recorded.cases})
    navigation = Markup(  # noqa: S704  our own template
        rendered(
            "history_filters.html.j2", asked=filters, metrics=list(METRICS_OF_ROWS), tests=tests, ids=ids
        )
    )
    with in_frame(ReportFrame(navigation=navigation)):
        return Body(render(case_history, templates()).encode(), "text/html")
