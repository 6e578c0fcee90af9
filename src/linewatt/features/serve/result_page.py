# SPDX-License-Identifier: Apache-2.0
"""``/results/ID``: the report of a result with interactive charts; ``…/trials/N``: one trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, HTTPException, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from linewatt.errors import StoreError
from linewatt.features.serve import listed_files as listed
from linewatt.features.serve.broadcast.sockets import watchable_ids
from linewatt.features.serve.listed_files import Entry
from linewatt.features.serve.pages import rendered, templates
from linewatt.features.serve.report_frame import ReportFrame, in_frame
from linewatt.features.serve.responses import Body, body_response
from linewatt.features.serve.result_paths import key_of, refuse_links, result_at, url_of
from linewatt.features.serve.site import site_of
from linewatt.model import Trial
from linewatt.report import page_of_result
from linewatt.report.trials import digest_of, trial_sections
from linewatt.store import Result, load_result, reading_results, trial_dirs
from linewatt.units import format_seconds, format_time_utc

router = APIRouter()
T = TypeVar("T")


@router.get("/results/{name}")
async def show_result(request: Request, name: str) -> Response:
    """The report of a result."""
    site = site_of(request)
    path = await run_in_threadpool(result_at, site, name)
    if path.name != name:  # last or a baseline: redirect to the permanent URL
        return RedirectResponse(url_of(path), 302)
    key = await run_in_threadpool(key_of, path)
    live = path.name in await run_in_threadpool(watchable_ids, site.settings.state)
    return body_response(request, await site.page_pool.page(("result", live, *key), result_page, path, live))


@router.get("/results/{name}/trials/{number}")
async def show_trial(request: Request, name: str, number: int) -> Response:
    """The page of one trial."""
    site = site_of(request)
    path = await run_in_threadpool(result_at, site, name)
    key = await run_in_threadpool(key_of, path)
    return body_response(
        request, await site.page_pool.page(("trial", number, *key), trial_page, path, number)
    )


def of_result(path: Path, make: Callable[[Result], T], only: Sequence[int] | None = None) -> T:
    """Load a result and call ``make``. Raises StoreError naming a damaged file."""
    refuse_links(path)
    with reading_results(path):
        return make(load_result(path, only))


def result_page(path: Path, live: bool) -> Body:
    """Render the page of a result; ``live``: its run can be watched now. Raises StoreError."""

    def render(stored: Result) -> str:
        kind = {"soak": stored.is_soak, "table": stored.imported_kind is not None}
        text = rendered("result_links.html.j2", url=url_of(path), id=path.name, live=live, **kind)
        navigation = Markup(text)  # noqa: S704  our own template
        with in_frame(ReportFrame(url_of(path), navigation, _codes_by_trial(stored.trials))):
            return page_of_result(stored, templates())

    return Body(of_result(path, render).encode(), "text/html")


def _codes_by_trial(trials: Sequence[Trial]) -> Mapping[int, Sequence[str]]:
    """Finding codes by the number of the trial."""
    return {
        trial.number: list(dict.fromkeys(flag.code for flag in trial.flags))
        for trial in trials
        if trial.flags
    }


def trial_page(path: Path, number: int) -> Body:
    """Render the page of a trial. Raises HTTPException (404) for an unknown number, StoreError."""

    def render(stored: Result) -> str:
        if not stored.trials:
            raise HTTPException(404, f"{path.name}: has no trial {number}")
        with in_frame(ReportFrame(url_of(path))):
            return rendered("trial.html.j2", url=url_of(path), **_trial_values(stored))

    return Body(of_result(path, render, (number,)).encode(), "text/html")


def _trial_values(result: Result) -> dict[str, Any]:
    """Template values of a result that was loaded with one trial only."""
    view, (trial,) = digest_of(result), result.trials
    numbers = [int(folder.name) for folder in trial_dirs(result.path) if folder.name.isdecimal()]
    at = numbers.index(trial.number)
    return {
        "trial": trial,
        "view": view,
        "name": result.manifest.name or result.id,
        "describe": view.describe(trial.case),
        "started": format_time_utc(trial.started_s),
        "window": format_seconds(trial.window.seconds if trial.window else None),
        "lab": any(host.lab for host in view.hosts.values()),
        "sections": trial_sections(view),
        "files": _stored_files(result, f"trials/{trial.number:05d}"),
        "before": numbers[at - 1] if at else None,
        "after": numbers[at + 1] if at + 1 < len(numbers) else None,
        "elsewhere": None,
    }


def _stored_files(result: Result, folder: str) -> list[Entry]:
    """Stored files of the trial, packed texts last; empty without a list of files."""
    try:
        entries = listed.entries(result.path, folder)
        packs = [entry.name for entry in entries if entry.is_pack]
        return [*entries, *(text for pack in packs for text in listed.entries(result.path, pack))]
    except StoreError:
        return []
