# SPDX-License-Identifier: Apache-2.0
"""Style sheets and scripts: a fixed list of names; no part of a URL becomes a path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import linewatt
from linewatt.features.serve.responses import Body

HERE = Path(__file__).parent
_REPORT = Path(linewatt.__file__).parent / "report"
_MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_LONG_S = 365 * 86_400
FOREVER = f"private, max-age={_LONG_S}, immutable"
"""cache-control of a URL with a version: its content never changes"""


class Assets:
    """Static files by name. A slow file is made at its first request."""

    def __init__(self) -> None:
        files = [_REPORT / "style.css", *sorted((HERE / "static").iterdir())]
        self._files = {
            path.name: Body(path.read_bytes(), _MEDIA[path.suffix])
            for path in files
            if path.suffix in _MEDIA and path.is_file()
        }
        self._makers: dict[str, tuple[str, Callable[[], bytes]]] = {}
        self._lock = Lock()

    def add(self, name: str, version: str, make: Callable[[], bytes]) -> None:
        """Add a file made by ``make``; ``version`` must change with its contents."""
        self._makers[name] = (version, make)

    def url(self, name: str) -> str:
        """The URL of a file. Raises KeyError for an unknown name."""
        version = self._makers[name][0] if name in self._makers else self._files[name].tag.strip('"')[:16]
        return f"/static/{name}?v={version}"

    def get(self, name: str) -> Body | None:
        """A file; None for an unknown name."""
        if name not in self._makers:
            return self._files.get(name)
        with self._lock:  # concurrent requests wait for the first
            if name not in self._files:
                self._files[name] = Body(self._makers[name][1](), _MEDIA[Path(name).suffix])
            return self._files[name]
