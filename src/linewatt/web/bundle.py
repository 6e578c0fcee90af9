# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite for a browser: the library that draws the charts of a report, as one script without a network."""

from __future__ import annotations

import hashlib
from importlib.metadata import version as version_of

from linewatt.report.charts import specs

NAME = "vega.js"
_SNIPPET = "globalThis.linewattCharts = vegaEmbed;"


def version() -> str:
    """Changes whenever :func:`make` would give something else."""
    known = f"{version_of('vl-convert-python')} {specs.VEGA_LITE} {_SNIPPET}"
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def make() -> bytes:
    """The script. It takes a second to put together."""
    import vl_convert  # starts a JavaScript engine: only whoever draws pays for it

    made: str = vl_convert.javascript_bundle(_SNIPPET, vl_version=specs.VEGA_LITE)
    return made.encode()
