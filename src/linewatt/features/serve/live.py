# SPDX-License-Identifier: Apache-2.0
"""``/live``: running campaigns, and the button that stops one, the only action of this server that writes.

Without scripts a page shows the state at loading time; with scripts, server-sent events update it. A new
connection first gets the full state, so that it misses no earlier event.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from linewatt.errors import ParseError, StoreError
from linewatt.features.serve import live_words
from linewatt.features.serve.broadcast import client
from linewatt.features.serve.broadcast.client import NotRunning
from linewatt.features.serve.broadcast.view import View
from linewatt.features.serve.guard import HEAD
from linewatt.features.serve.live_hub import Hub, TooMany
from linewatt.features.serve.live_words import Words
from linewatt.features.serve.result_paths import result_at, url_of
from linewatt.features.serve.settings import Settings
from linewatt.features.serve.site import Site, site_of
from linewatt.foreign import contained

BEAT_S = 15.0
"""interval of comments on an idle stream, so that dead connections are detected"""
AGAIN_MS = 2000
"""before a browser that lost its stream connects again"""
FORM_BYTES = 4096
FORM_LIMIT_S = 10.0
_TOKEN = secrets.token_urlsafe(32)
"""form token of this process: only its own pages can send it back"""
_NO_STOP = (
    "this server was started with --no-token, so it stops no run; press Ctrl-C where the run was started, or "
    "start linewatt serve without --no-token"
)

router = APIRouter()


@router.get("/live")
async def list_running(request: Request) -> Response:
    """All running campaigns, including those that store results elsewhere."""
    settings = site_of(request).settings
    rows = [_row_of_run(settings, snapshot) for snapshot in await client.running(settings.state)]
    return site_of(request).page(request, "live.html.j2", runs=rows)


@router.get("/live/{result_id}")
async def show_run(request: Request, result_id: str) -> Response:
    """The page of one run."""
    try:
        view = await _view(request, result_id)
    except NotRunning as error:
        return _ended_page(request, result_id, str(error), 404)
    words = live_words.full_page(view)
    return site_of(request).page(
        request,
        "live_run.html.j2",
        id=result_id,
        words=words,
        token=_form_token(request),
        results=_foreign_folder(site_of(request).settings, view),
    )


@router.get("/live/{result_id}/events")
async def events(request: Request, result_id: str) -> Response:
    """Server-sent events of a run: ``whole``, then ``change``, and ``closed`` at its end."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if HEAD in request.scope:
        return Response(media_type="text/event-stream", headers=headers)
    stream = _event_stream(_hub(request), site_of(request), result_id)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/live/{result_id}/stop")
async def ask_to_stop(request: Request, result_id: str) -> Response:
    """The page that asks to confirm a stop, for browsers without scripts."""
    token = _form_token(request)
    if token is None:
        raise HTTPException(403, _NO_STOP)
    try:
        view = await _view(request, result_id)
    except NotRunning as error:
        return _ended_page(request, result_id, str(error), 404)
    head = live_words.head(view)
    return site_of(request).page(request, "live_stop.html.j2", id=result_id, head=head, token=token)


@router.post("/live/{result_id}/stop")
async def stop(request: Request, result_id: str) -> Response:
    """Stop a run like an interrupt; a repeated request is accepted, too."""
    if _form_token(request) is None:
        raise HTTPException(403, _NO_STOP)
    if not secrets.compare_digest((await _token(request)).encode(), _TOKEN.encode()):
        raise HTTPException(403, "this form is not of this server as it runs now; load the page again")
    where = request.client.host if request.client is not None else "an unknown address"
    try:
        accepted, text = await client.stop(
            site_of(request).settings.state, result_id, f"linewatt serve, for a browser at {where}"
        )
    except NotRunning as error:
        return _ended_page(request, result_id, str(error), 409)
    if not accepted:
        return _ended_page(request, result_id, f"It is not stopped: {text}.", 409)
    return RedirectResponse(f"/live/{result_id}", status_code=303)


def _form_token(request: Request) -> str | None:
    """The form token; None if the server has no token, so that anybody could use the form."""
    return None if site_of(request).settings.token is None else _TOKEN


async def _view(request: Request, result_id: str) -> View:
    """The state of a run. Raises NotRunning."""
    snapshot = await client.look(site_of(request).settings.state, result_id)
    try:
        with contained(f"what {result_id} tells"):
            view = View(snapshot)
            live_words.full_page(view)
    except ParseError as error:
        raise NotRunning(str(error)) from error
    return view


def _hub(request: Request) -> Hub:
    """The hub of this application, created in its event loop at first use."""
    state = request.app.state
    if not hasattr(state, "live_hub"):
        state.live_hub = Hub(site_of(request).settings.state)
    hub: Hub = state.live_hub
    return hub


async def _event_stream(hub: Hub, site: Site, result_id: str) -> AsyncIterator[bytes]:
    yield f"retry: {AGAIN_MS}\n\n".encode()
    try:
        async with hub.listening(result_id) as listener:
            while True:
                event = await listener.next(BEAT_S)
                if event is None:
                    yield b": nothing new\n\n"
                    continue
                name, words = event
                if name == "closed":
                    words = {**words, "result": _result_url(site, result_id)}
                yield _format_event(name, words)
                if name == "closed":
                    return
    except NotRunning as error:  # it ended while this browser was away
        over = hub.ended(result_id) or {"how": "Over", "text": f"Not running: {error}", "good": False}
        yield _format_event("closed", {**over, "result": _result_url(site, result_id)})
    except TooMany as error:
        yield _format_event("refused", {"text": str(error)})


def _format_event(name: str, words: Words) -> bytes:
    return f"event: {name}\ndata: {json.dumps(words, allow_nan=False)}\n\n".encode()


def _row_of_run(settings: Settings, snapshot: Words) -> Words:
    """A run in the list; a run that does not answer, or answers invalid data, has only its id."""
    result_id = str(snapshot["id"])
    try:
        with contained(f"what {result_id} tells"):
            view = View(snapshot)
            head = live_words.head(view) if "seq" in snapshot else None
            return {"id": result_id, "head": head, "results": _foreign_folder(settings, view)}
    except ParseError:
        return {"id": result_id, "head": None, "results": None}


def _foreign_folder(settings: Settings, view: View) -> str | None:
    """The folder of a run's results, if this server does not serve it; else None."""
    path = view.state["path"]
    if not path or Path(path).parent.resolve() == settings.results.resolve():
        return None
    return str(Path(path).parent)


def _result_url(site: Site, result_id: str) -> str | None:
    """The URL of a result; None if it is not stored here."""
    try:
        return url_of(result_at(site, result_id))
    except (HTTPException, StoreError):
        return None


def _ended_page(request: Request, result_id: str, why: str, status: int) -> Response:
    """The page of a run that ended or is unknown."""
    site = site_of(request)
    url = _result_url(site, result_id)
    ended = _hub(request).ended(result_id)
    why = f"{result_id}: {ended['text']}" if ended is not None and status != 409 else why
    if url is not None and status == 404:  # it is over: nothing is wrong with that
        status = 200
    return site.page(request, "live_gone.html.j2", status=status, why=why, result=url)


async def _token(request: Request) -> str:
    """The token of a form; "" if it is missing, too large or late."""
    data = b""
    try:
        async with asyncio.timeout(FORM_LIMIT_S):
            async for part in request.stream():
                data += part
                if len(data) > FORM_BYTES:
                    return ""
    except TimeoutError:
        return ""
    try:
        fields = parse_qs(data.decode("ascii"), max_num_fields=8)
    except ValueError:
        return ""
    return fields.get("token", [""])[0]
