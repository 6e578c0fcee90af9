# SPDX-License-Identifier: Apache-2.0
"""What was made of each result of a directory, kept for the next time it is asked for.

It stands in the user's own cache (``$XDG_CACHE_HOME``, else ``~/.cache``), not beside the results: these
never change once written, may be read-only, and may be somebody else's, whose word on them is not taken. What
is kept counts only while every file that it was made of is as it was (name, size, times, inode) and the
program is the same; else it is made again. Where it cannot be kept, or is damaged, it is made each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from linewatt import durable, foreign
from linewatt.errors import LinewattError

FOLDER = "linewatt-results"
SCHEMA_VERSION = 1
SETTLED_S = 2.0
"""A file that changed so shortly ago may change again without its times showing it: clocks of file systems
stand still for milliseconds, on some for two seconds."""
OLD_S = 90 * 86_400.0
_MOST_BYTES = 64 << 20

Row = dict[str, Any]


class Remembered:
    """What is kept of the results below one directory. ``kind`` names what it is."""

    def __init__(self, root: Path, kind: str) -> None:
        self._root = root
        self._kind = f"{kind} {SCHEMA_VERSION} {_program()}"
        name = hashlib.sha256(os.fsencode(root.resolve()) + b"\0" + kind.encode()).hexdigest()[:32]
        cache = _cache()
        self._file = None if cache is None else cache / f"{name}.json"
        self._before = self._read()
        self._now: dict[str, Row] = {}

    def of(self, result: Path, make: Callable[[], Row]) -> Row:
        """What is kept of a result, or is made of it now and kept from then on."""
        state = state_of(result)
        kept = self._before.get(result.name)
        if state is not None and kept is not None and kept.get("state") == state:
            self._now[result.name] = kept
            row: Row = kept["row"]
            return row
        made = make()
        if state is not None and state_of(result) == state:
            self._now[result.name] = {"state": state, "row": made}
        return made

    def keep(self) -> None:
        """Have on disk what was made, where something was."""
        if self._file is None or self._now == self._before:
            return
        document = {"kind": self._kind, "root": str(self._root), "results": self._now}
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            durable.write_whole(self._file, json.dumps(document).encode())
            _forget_old(self._file.parent)
        except (OSError, ValueError):
            return

    def _read(self) -> Mapping[str, Row]:
        if self._file is None:
            return {}
        try:
            with self._file.open("rb") as file:
                if not _is_ours(os.fstat(file.fileno()), self._file.parent.stat()):
                    return {}
                document = foreign.read_json(file.read(_MOST_BYTES).decode(), "it", foreign.STORED)
        except (OSError, ValueError, LinewattError):
            return {}
        if not isinstance(document, dict) or document.get("kind") != self._kind:
            return {}
        results = document.get("results")
        if not isinstance(results, dict) or not all(map(_is_row, results.values())):
            return {}
        return results


def _forget_old(cache: Path) -> None:
    """Remove what was made for directories that were last another long ago. Raises OSError."""
    for file in cache.glob("*.json"):
        if file.stat().st_mtime < time.time() - OLD_S:
            file.unlink()


def _is_ours(file: os.stat_result, folder: os.stat_result) -> bool:
    """Whether nobody else can have written a file."""
    return (
        stat.S_ISREG(file.st_mode)
        and all(seen.st_uid == os.geteuid() for seen in (file, folder))
        and not folder.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    )


def _is_row(kept: object) -> bool:
    return isinstance(kept, dict) and isinstance(kept.get("row"), dict)


def _cache() -> Path | None:
    """The user's cache; None where there is no home. A relative XDG_CACHE_HOME does not count."""
    given = Path(os.environ.get("XDG_CACHE_HOME") or "")
    try:
        return (given if given.is_absolute() else Path.home() / ".cache") / FOLDER
    except RuntimeError:
        return None


def state_of(result: Path) -> str | None:
    """Which files a result has, and when they were changed; None where that cannot be told for certain.

    Of trials the documents count: samples and what tools wrote are not what a list is made of.
    """
    found = hashlib.sha256()
    newest_ns = 0
    try:
        for path in _files(str(result)):
            seen = os.stat(path)  # noqa: PTH116  thousands of them
            times = seen.st_mtime_ns, seen.st_ctime_ns
            newest_ns = max(newest_ns, *times)
            what = (path[len(str(result)) :], seen.st_mode, seen.st_dev, seen.st_ino, seen.st_size, *times)
            found.update(repr(what).encode())
    except OSError:
        return None
    return found.hexdigest() if newest_ns < (time.time() - SETTLED_S) * 1e9 else None


def _files(folder: str, *, trials: bool = False) -> Iterator[str]:
    """A folder, and all below it; ``trials``: it holds trials. Raises OSError, also where there is a link."""
    yield folder
    with os.scandir(folder) as entries:
        own = sorted(entries, key=lambda one: one.name)
    for one in own:
        if one.is_symlink():
            raise OSError(f"{one.path}: is a link")
        if not one.is_dir():
            yield one.path
        elif not trials:
            yield from _files(one.path, trials=one.name == "trials")
        else:  # a trial, or what a crash left of one
            yield one.path if one.name.startswith(".") else f"{one.path}/trial.json"


def _program() -> str:
    """Which linewatt this is: one of the same version may still make something else of a result."""
    import linewatt

    found = hashlib.sha256()
    for base, folders, names in os.walk(Path(linewatt.__file__).parent):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                seen = Path(base, name).stat()
                found.update(f"{name} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return found.hexdigest()
