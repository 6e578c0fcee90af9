# SPDX-License-Identifier: Apache-2.0
"""What every page of one server shares: settings, what is known of results, pages being made."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from starlette.responses import Response

from linewatt.features.serve.page_pool import Making
from linewatt.features.serve.pages import rendered
from linewatt.features.serve.responses import page
from linewatt.features.serve.settings import Settings
from linewatt.features.serve.shelf import Shelf
from linewatt.report import listing
from linewatt.report.comparison.sides import kept
from linewatt.report.listing import Listed


@dataclass(frozen=True)
class Site:
    """One of these stands behind all requests. ``listed`` is what is known of all results for a list,
    ``cases`` which of them a history can be made of without reading any."""

    settings: Settings
    listed: Shelf[Listed]
    cases: Shelf[bool]
    making: Making

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page as an answer."""
        return page(request, rendered(template, here=request.url.path, **values), status)

    def without_root(self, text: str) -> str:
        """What is said of a file, without where on this machine results are."""
        return text.replace(f"{self.settings.results}/", "")


def site_for(settings: Settings, pool: Executor | None = None) -> Site:
    """What pages of a server share; ``pool`` makes those that take long. Reads no result yet."""
    return Site(
        settings,
        Shelf(settings.results, listing.kept, name="list"),
        Shelf(settings.results, _is_kept, name="cases"),
        Making(pool),
    )


def _is_kept(result: Path) -> bool:
    """What comparing reads of a result, read once and kept on disk."""
    kept(result)
    return True


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site = request.app.state.site
    if not isinstance(site, Site):
        raise TypeError("the application was not made by create_app")
    return site
