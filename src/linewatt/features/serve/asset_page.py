# SPDX-License-Identifier: Apache-2.0
"""``/static/NAME``: style sheets and scripts."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from linewatt.features.serve.assets import FOREVER
from linewatt.features.serve.pages import assets
from linewatt.features.serve.responses import made

router = APIRouter()


@router.get("/favicon.ico")
def icon(request: Request) -> Response:
    """What browsers ask for by themselves, beside a file that is no page."""
    return static_file(request, "icon.svg")


@router.get("/static/{name}")
def static_file(request: Request, name: str) -> Response:
    """A style sheet or a script; kept by the browser as long as it is asked for by its checksum."""
    known = assets()
    body = known.get(name)
    if body is None:
        raise HTTPException(404, "there is no such file")
    current = known.url(name) == f"/static/{name}?{request.url.query}"
    return made(request, body, cache_control=FOREVER if current else "private, no-cache")
