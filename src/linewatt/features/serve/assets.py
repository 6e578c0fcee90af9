# SPDX-License-Identifier: Apache-2.0
"""Style sheets and scripts: a fixed list, known by name; no part of a URL becomes a path."""

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
"""what stands under a URL with its checksum never becomes anything else"""


class Assets:
    """Files of our own by name. One that takes long to make is made when it is first asked for."""

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
        """A file that ``make`` gives; ``version`` changes whenever its contents would."""
        self._makers[name] = (version, make)

    def url(self, name: str) -> str:
        """Where a file is found. Raises KeyError for one that is not there."""
        version = self._makers[name][0] if name in self._makers else self._files[name].tag.strip('"')[:16]
        return f"/static/{name}?v={version}"

    def get(self, name: str) -> Body | None:
        """A file; None where there is none of this name."""
        if name not in self._makers:
            return self._files.get(name)
        with self._lock:  # two that ask at once wait for one
            if name not in self._files:
                self._files[name] = Body(self._makers[name][1](), _MEDIA[Path(name).suffix])
            return self._files[name]
