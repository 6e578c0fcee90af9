# SPDX-License-Identifier: Apache-2.0
"""``/results/ID``: the report of a result, with charts that answer; ``…/trials/N``: one trial of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fastapi import APIRouter, HTTPException, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from linewatt.features.serve.broadcast.sockets import listened
from linewatt.features.serve.pages import rendered, templates
from linewatt.features.serve.report_frame import Within, within
from linewatt.features.serve.responses import Body, made
from linewatt.features.serve.result_paths import key_of, refused_link, result_at, url_of
from linewatt.features.serve.site import site_of
from linewatt.features.serve.trial_view import trial_values
from linewatt.model import Trial
from linewatt.report.whole import page_of
from linewatt.store import read
from linewatt.store.read import Result, readable

router = APIRouter()
T = TypeVar("T")


@router.get("/results/{name}")
async def result(request: Request, name: str) -> Response:
    """The same sections as the report."""
    site = site_of(request)
    path = await run_in_threadpool(result_at, site, name)
    if path.name != name:  # last, or a baseline: what it stands for has a URL that stays
        return RedirectResponse(url_of(path), 302)
    key = await run_in_threadpool(key_of, path)
    live = path.name in await run_in_threadpool(listened, site.settings.state)
    return made(request, await site.making.page(("result", live, *key), result_page, path, live))


@router.get("/results/{name}/trials/{number}")
async def trial(request: Request, name: str, number: int) -> Response:
    """What is on record of one trial."""
    site = site_of(request)
    path = await run_in_threadpool(result_at, site, name)
    key = await run_in_threadpool(key_of, path)
    return made(request, await site.making.page(("trial", number, *key), trial_page, path, number))


def of_result(path: Path, make: Callable[[Result], T], only: Sequence[int] | None = None) -> T:
    """What is made of a stored result; a damaged file of it is named. Raises StoreError."""
    refused_link(path)
    with readable(path):
        return make(read.load(path, only))


def result_page(path: Path, live: bool) -> Body:
    """The page of a result; ``live``: its run can be watched now. Raises StoreError."""

    def render(found: Result) -> str:
        kind = {"soak": found.is_soak, "table": found.imported_kind is not None}
        above = rendered("beside.html.j2", url=url_of(path), id=path.name, live=live, **kind)
        beside = Markup(above)  # noqa: S704  our own template
        with within(Within(url_of(path), beside, _findings(found.trials))):
            return page_of(found, templates())

    return Body(of_result(path, render).encode(), "text/html")


def _findings(trials: Sequence[Trial]) -> Mapping[int, Sequence[str]]:
    """Of each trial with findings their codes."""
    return {one.number: list(dict.fromkeys(flag.code for flag in one.flags)) for one in trials if one.flags}


def trial_page(path: Path, number: int) -> Body:
    """The page of a trial. Raises HTTPException (404) where there is none, StoreError."""

    def render(found: Result) -> str:
        if not found.trials:
            raise HTTPException(404, f"{path.name}: has no trial {number}")
        with within(Within(url_of(path))):
            return rendered("trial.html.j2", url=url_of(path), **trial_values(found))

    return Body(of_result(path, render, (number,)).encode(), "text/html")
