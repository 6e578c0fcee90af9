# SPDX-License-Identifier: Apache-2.0
"""``/static/NAME``: style sheets and scripts."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from linewatt.features.serve.assets import FOREVER
from linewatt.features.serve.pages import assets
from linewatt.features.serve.responses import body_response

router = APIRouter()


@router.get("/favicon.ico")
def icon(request: Request) -> Response:
    """The icon, which browsers request by default."""
    return static_file(request, "icon.svg")


@router.get("/static/{name}")
def static_file(request: Request, name: str) -> Response:
    """A style sheet or a script; the browser caches it for good if the URL has its current version."""
    files = assets()
    body = files.get(name)
    if body is None:
        raise HTTPException(404, "there is no such file")
    current = files.url(name) == f"/static/{name}?{request.url.query}"
    return body_response(request, body, cache_control=FOREVER if current else "private, no-cache")
