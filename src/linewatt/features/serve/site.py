# SPDX-License-Identifier: Apache-2.0
"""State that all pages of a server share: settings, cached rows of results, the page pool."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.responses import Response

from linewatt.features.serve.page_pool import PagePool
from linewatt.features.serve.pages import rendered
from linewatt.features.serve.responses import text_response
from linewatt.features.serve.settings import Settings
from linewatt.features.serve.shelf import Shelf
from linewatt.report import Listed, listing
from linewatt.report.comparison import kept_side


@dataclass(frozen=True)
class Site:
    """Shared state of all requests.

    ``listed`` has the list rows of all results, ``cases`` the results whose comparison data are cached on
    disk.
    """

    settings: Settings
    listed: Shelf[Listed]
    cases: Shelf[bool]
    page_pool: PagePool

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """Render a template as a response."""
        return text_response(request, rendered(template, here=request.url.path, **values), status)

    def without_root(self, text: str) -> str:
        """A message without the path of the results directory."""
        return text.replace(f"{self.settings.results}/", "")


def site_for(settings: Settings, pool: Executor | None = None) -> Site:
    """Create the shared state; ``pool`` makes slow pages. Reads no result yet."""
    return Site(
        settings,
        Shelf(settings.results, listing.kept, name="list"),
        Shelf(settings.results, _cache_sides, name="cases"),
        PagePool(pool),
    )


def _cache_sides(result: Path) -> bool:
    """Read the comparison data of a result, which caches them on disk."""
    kept_side(result)
    return True


def site_of(request: Request) -> Site:
    """The shared state of a request's application."""
    site = request.app.state.site
    if not isinstance(site, Site):
        raise TypeError("the application was not made by create_app")
    return site
