# SPDX-License-Identifier: Apache-2.0
"""What every page of one server shares: settings, templates, style sheets and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from jinja2 import Environment
from starlette.responses import Response

from linewatt import __version__
from linewatt.report.printing.html import environment_of_pages
from linewatt.web.answers import page
from linewatt.web.assets import HERE, Assets
from linewatt.web.settings import Settings

PAGES: Sequence[tuple[str, str]] = (("/", "Results"),)
"""what stands above every page: path and name"""


@dataclass(frozen=True)
class Site:
    """One of these stands behind all requests; ``frames`` makes pages of templates."""

    settings: Settings
    assets: Assets
    frames: Environment

    def render(self, template: str, **values: Any) -> str:
        """A page as text; ``values`` are for its template."""
        made: str = self.frames.get_template(template).render(version=__version__, **values)
        return made

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page as an answer."""
        return page(request, self.render(template, here=request.url.path, **values), status)


def site_for(settings: Settings) -> Site:
    """What pages of a server share."""
    assets = Assets()
    frames = environment_of_pages(HERE / "templates")
    frames.globals["static"] = assets.url
    frames.globals["pages"] = PAGES
    return Site(settings, assets, frames)


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site = request.app.state.site
    if not isinstance(site, Site):
        raise TypeError("the application was not made by create_app")
    return site
