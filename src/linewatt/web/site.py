# SPDX-License-Identifier: Apache-2.0
"""What every page of one server shares: settings, templates, what is known of results, pages being made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from jinja2 import Environment
from starlette.responses import Response

from linewatt import __version__
from linewatt.report import listing
from linewatt.report.comparison import sides
from linewatt.report.comparison.sides import Kept
from linewatt.report.listing import Listed
from linewatt.report.printing.html import environment_of_pages
from linewatt.web import bundle, within
from linewatt.web.answers import page
from linewatt.web.assets import HERE, Assets
from linewatt.web.making import Making
from linewatt.web.settings import Settings
from linewatt.web.shelf import Shelf

PAGES: Sequence[tuple[str, str]] = (("/", "Results"), ("/history", "History"))
"""what stands above every page: path and name"""


@dataclass(frozen=True)
class Site:
    """One of these stands behind all requests. ``frames`` makes pages of templates; ``listed`` and ``cases``
    are what is known of all results, for a list and for a history."""

    settings: Settings
    assets: Assets
    frames: Environment
    listed: Shelf[Listed]
    cases: Shelf[Kept]
    making: Making

    def render(self, template: str, **values: Any) -> str:
        """A page as text; ``values`` are for its template."""
        made: str = self.frames.get_template(template).render(version=__version__, **values)
        return made

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page as an answer."""
        return page(request, self.render(template, here=request.url.path, **values), status)

    def without_root(self, text: str) -> str:
        """What is said of a file, without where on this machine results are."""
        return text.replace(f"{self.settings.results}/", "")


def site_for(settings: Settings) -> Site:
    """What pages of a server share. Reads no result yet."""
    assets = Assets()
    assets.add(bundle.NAME, bundle.version(), bundle.make)
    frames = environment_of_pages(HERE / "templates")
    frames.globals["static"] = assets.url
    frames.globals["pages"] = PAGES
    within.install(frames)
    return Site(
        settings,
        assets,
        frames,
        Shelf(settings.results, listing.kept, name="list"),
        Shelf(settings.results, sides.kept, name="cases"),
        Making(),
    )


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site = request.app.state.site
    if not isinstance(site, Site):
        raise TypeError("the application was not made by create_app")
    return site
