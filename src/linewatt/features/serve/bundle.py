# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite for a browser: the chart library as one script that needs no network.

Bundling takes seconds and blocks all threads of a process, so another process does it, and the script is kept
in the user's cache.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.metadata import version as version_of

from linewatt.errors import StoreError
from linewatt.report.charts import specs
from linewatt.store import cached_bytes

NAME = "vega.js"
_SNIPPET = "globalThis.linewattCharts = vegaEmbed;"
_MAKE = (
    "import sys, vl_convert; "
    "sys.stdout.buffer.write(vl_convert.javascript_bundle(sys.argv[1], vl_version=sys.argv[2]).encode())"
)
_LONGEST_S = 120.0


def version() -> str:
    """Version of :func:`script`; changes with its content."""
    ingredients = f"{version_of('vl-convert-python')} {specs.VEGA_LITE} {_SNIPPET}"
    return hashlib.sha256(ingredients.encode()).hexdigest()[:16]


def script() -> bytes:
    """The script, from the cache if it is there. Raises StoreError if it cannot be made."""
    return cached_bytes(NAME, version(), _make_script)


def _make_script() -> bytes:
    argv = [sys.executable, "-c", _MAKE, _SNIPPET, specs.VEGA_LITE]
    try:
        process = subprocess.run(argv, capture_output=True, timeout=_LONGEST_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise StoreError(f"{NAME}: cannot be put together by {sys.executable}: {error}") from error
    return process.stdout
