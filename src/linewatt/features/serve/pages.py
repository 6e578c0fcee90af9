# SPDX-License-Identifier: Apache-2.0
"""Templates of the server, once a process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment

from linewatt import __version__
from linewatt.features.serve import bundle, report_frame
from linewatt.features.serve.assets import HERE, Assets
from linewatt.report.printing.html import environment_of_pages

PAGES: Sequence[tuple[str, str]] = (("/", "Results"), ("/history", "History"), ("/live", "Live"))
"""what stands above every page: path and name"""


@cache
def assets() -> Assets:
    """Style sheets and scripts."""
    made = Assets()
    made.add(bundle.NAME, bundle.version(), bundle.kept)
    return made


@cache
def templates() -> Environment:
    """Those of the server before those of reports."""
    made = environment_of_pages(HERE / "templates")
    made.globals["static"] = assets().url
    made.globals["pages"] = PAGES
    report_frame.install(made)
    return made


def rendered(template: str, **values: Any) -> str:
    """A page as text; ``values`` are for its template."""
    made: str = templates().get_template(template).render(version=__version__, **values)
    return made
