# SPDX-License-Identifier: Apache-2.0
"""The application: routers behind one guard, and error pages."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Executor

from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from linewatt import __version__
from linewatt.errors import InvalidInput, LinewattError
from linewatt.features.serve import (
    asset_page,
    compare_page,
    file_page,
    history_page,
    list_page,
    live,
    login,
    result_page,
    save_page,
)
from linewatt.features.serve.guard import Guard
from linewatt.features.serve.settings import Settings
from linewatt.features.serve.site import site_for, site_of
from linewatt.foreign import shortened

ROUTERS: Sequence[APIRouter] = (
    asset_page.router,
    list_page.router,
    result_page.router,
    file_page.router,
    save_page.router,
    compare_page.router,
    history_page.router,
    live.router,
    login.router,
)
"""routers of all pages"""

LOG = logging.getLogger("linewatt.features.serve")
_TITLES = {404: "Not found", 405: "Only reads", 422: "Not understood", 503: "Busy"}


class _Application(FastAPI):
    """A FastAPI application with the guard around everything, including error handlers."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(
            title="linewatt", version=__version__, docs_url=None, redoc_url=None, openapi_url=None
        )
        self._settings = settings

    def build_middleware_stack(self) -> ASGIApp:
        return Guard(super().build_middleware_stack(), self._settings)


def create_app(settings: Settings, pool: Executor | None = None) -> FastAPI:
    """The application for checked settings. Reads and writes no file.

    ``pool`` makes slow pages; by default a pool of processes.
    """
    app = _Application(settings)
    app.state.settings = settings
    app.state.site = site_for(settings, pool)
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(LinewattError, _refused)
    app.add_exception_handler(Exception, _failed)
    return app


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else ""
    return _page(request, status, detail)


def _refused(request: Request, error: Exception) -> Response:
    """An error page for an expected error, with its one-line message."""
    message = site_of(request).without_root(shortened(str(error)))
    return _page(request, 400 if isinstance(error, InvalidInput) else 404, message)


def _failed(request: Request, error: Exception) -> Response:
    """An error page for an unexpected error, without details; these are logged to the terminal."""
    LOG.error("%s: %s: %s", request.url.path, type(error).__name__, shortened(str(error)))
    return _page(request, 500, "linewatt failed to make this page; the terminal of the server says why")


def _page(request: Request, status: int, why: str) -> Response:
    title = _TITLES.get(status, "Not understood" if status < 500 else "Failed")
    return site_of(request).page(request, "error.html.j2", status=status, heading=title, why=why)
