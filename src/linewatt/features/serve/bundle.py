# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite for a browser: the library that draws the charts of a report, as one script without a network.

Putting it together takes seconds in which no thread of a process runs, so another process does it, and the
script is kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.metadata import version as version_of

from linewatt.errors import StoreError
from linewatt.report.charts import specs
from linewatt.store import remembered

NAME = "vega.js"
_SNIPPET = "globalThis.linewattCharts = vegaEmbed;"
_MAKE = (
    "import sys, vl_convert; "
    "sys.stdout.buffer.write(vl_convert.javascript_bundle(sys.argv[1], vl_version=sys.argv[2]).encode())"
)
_LONGEST_S = 120.0


def version() -> str:
    """Changes whenever :func:`kept` would give something else."""
    known = f"{version_of('vl-convert-python')} {specs.VEGA_LITE} {_SNIPPET}"
    return hashlib.sha256(known.encode()).hexdigest()[:16]


def kept() -> bytes:
    """The script. Raises StoreError where it cannot be made."""
    return remembered.kept(NAME, version(), _made)


def _made() -> bytes:
    argv = [sys.executable, "-c", _MAKE, _SNIPPET, specs.VEGA_LITE]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_LONGEST_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise StoreError(f"{NAME}: cannot be put together by {sys.executable}: {error}") from error
    return done.stdout
