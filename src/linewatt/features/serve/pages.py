# SPDX-License-Identifier: Apache-2.0
"""Templates of the server, loaded once per process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from linewatt import __version__
from linewatt.features.serve import bundle, report_frame
from linewatt.features.serve.assets import HERE, Assets
from linewatt.report.printing import environment_of_pages

PAGES: Sequence[tuple[str, str]] = (("/", "Results"), ("/history", "History"), ("/live", "Live"))
"""navigation of every page: path and title"""


@cache
def assets() -> Assets:
    """Style sheets and scripts."""
    collection = Assets()
    collection.add(bundle.NAME, bundle.version(), bundle.script)
    return collection


@cache
def templates() -> Environment:
    """The template environment; templates of the server override those of reports."""
    environment = environment_of_pages(HERE / "templates")
    environment.globals["static"] = assets().url
    environment.globals["pages"] = PAGES
    report_frame.install(environment)
    return environment


def rendered(template: str, **values: Any) -> str:
    """Render a template with ``values``."""
    text: str = templates().get_template(template).render(version=__version__, **values)
    return text
