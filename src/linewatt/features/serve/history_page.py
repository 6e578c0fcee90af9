# SPDX-License-Identifier: Apache-2.0
"""``/history``: cases followed over results, with what changed on record between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from linewatt.analysis.comparison.rows import METRICS
from linewatt.errors import InvalidInput
from linewatt.features.history.build import history_of
from linewatt.features.history.page import render
from linewatt.features.serve.pages import rendered, templates
from linewatt.features.serve.report_frame import Within, within
from linewatt.features.serve.responses import Body, made
from linewatt.features.serve.result_paths import refused_link, result_at
from linewatt.features.serve.site import site_of
from linewatt.report.comparison.factor import parse_factor
from linewatt.report.comparison.sides import Kept, kept
from linewatt.store.read import read_each, readable

router = APIRouter()
_PATIENCE_S = 1.0


@router.get("/history")
async def history(request: Request) -> Response:
    """By metric, test, case, since and factor as the command; of results by ``id`` if there are any."""
    site = site_of(request)
    query = request.query_params
    ids = tuple(query.getlist("id"))
    asked = {name: query.get(name, "").strip() for name in ("metric", "test", "case", "since", "factor")}
    if asked["metric"] and asked["metric"] not in METRICS:
        raise InvalidInput(f"metric={asked['metric'][:40]!r}: must be one of {', '.join(METRICS)}")
    factor = parse_factor(asked["factor"]) if asked["factor"] else None
    seen = await run_in_threadpool(site.cases.now, _PATIENCE_S)
    if seen.unread or not seen.rows:
        return site.page(request, "history_wait.html.j2", seen=seen, results=site.settings.results)
    since = await run_in_threadpool(result_at, site, asked["since"]) if asked["since"] else None
    key = ("history", ids, *asked.values(), seen.states)
    page = await site.making.page(key, history_page, site.settings.results, asked, ids, since, factor)
    return made(request, page)


def _kept(path: Path) -> tuple[Path, Kept]:
    refused_link(path)
    return path, kept(path)


def history_page(
    results: Path, asked: Mapping[str, str], ids: tuple[str, ...], since: Path | None, factor: float | None
) -> Body:
    """Courses of what is asked for. Raises InvalidInput, StoreError."""
    every, damaged = read_each(results, _kept)
    loaded = sorted(every, key=lambda one: one[1].created_s or 0)
    if ids:
        loaded = [(path, one) for path, one in loaded if path.name in ids]
        damaged = [one for one in damaged if one.id in ids]
    names = [path.name for path, _ in loaded]
    if since is not None:
        if since.name not in names:
            raise InvalidInput(f"since={since.name}: is none of the results that can be read")
        loaded = loaded[names.index(since.name) :]
    metrics = (asked["metric"] or "throughput",)
    with readable(*(path for path, _ in loaded)):
        case, test = asked["case"] or None, asked["test"] or None
        found = history_of(results, loaded, metrics, case, test, factor, damaged)
    tests = sorted({case.case.test for _, one in loaded for case in one.cases})
    beside = Markup(  # noqa: S704  our own template
        rendered("followed.html.j2", asked=asked, metrics=list(METRICS), tests=tests, ids=ids)
    )
    with within(Within(beside=beside)):
        return Body(render(found, templates()).encode(), "text/html")
