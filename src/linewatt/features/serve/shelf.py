# SPDX-License-Identifier: Apache-2.0
"""What is made of each stored result, kept up to date by one thread: a page that lists results reads none.

Whoever asks has what is known now, and how many results are still being read; two that ask at once have it
done once. A result is read again when a file of it changed; one that changes all the time, as while it is
measured, not more often than its reading allows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread
from typing import Generic, TypeVar

from linewatt.errors import StoreError
from linewatt.store.read import Damaged, Unproven, readable, result_dirs
from linewatt.store.remembered import state_of

T = TypeVar("T")

PATIENCE_S = 0.2
"""that a page waits for results to be read: with nothing new they are by then"""
FRESH_S = 1.0
"""what is known for less is not looked at again"""
_EASE = 10.0
"""A result whose files change all the time is read again after so many times what its reading took."""
LINK = "is a link; this server follows none"


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """What is known of results, by name, and how many are still to be read of how many."""

    rows: tuple[tuple[Path, T | Damaged], ...]
    unread: int
    total: int
    states: tuple[str, ...]
    """changes whenever what ``rows`` are made of does"""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    row: T | Damaged
    state: str | None
    read_s: float
    took_s: float


class Shelf(Generic[T]):
    """Of results below ``root`` what ``reader`` makes of each."""

    def __init__(self, root: Path, reader: Callable[[Path], T], *, name: str) -> None:
        self._root = root
        self._reader = reader
        self._name = name
        self._kept: dict[Path, _Kept[T]] = {}
        self._left: list[Path] = []
        self._total = 0
        self._thread: Thread | None = None
        self._done_s = float("-inf")
        self._changed = Condition()

    def now(self, patience_s: float = PATIENCE_S) -> Seen[T]:
        """What is known, after at most ``patience_s`` of waiting for what is not."""
        with self._changed:
            if self._thread is None and time.monotonic() - self._done_s > FRESH_S:
                self._thread = Thread(target=self._look, name=f"linewatt-{self._name}", daemon=True)
                self._thread.start()
            self._changed.wait_for(lambda: self._thread is None, patience_s)
            rows = sorted(self._kept.items(), key=lambda item: item[0].name)
            return Seen(
                tuple((path, one.row) for path, one in rows),
                len(self._left),
                max(self._total, len(rows)),
                tuple(f"{path.name} {one.state or one.read_s}" for path, one in rows),
            )

    def _look(self) -> None:
        """Look at every result once; in a thread of its own."""
        try:
            paths = result_dirs(self._root)
            with self._changed:
                for gone in self._kept.keys() - set(paths):
                    del self._kept[gone]
                self._total = len(paths)
                self._left = [path for path in reversed(paths) if path not in self._kept]  # the newest first
            for path in [*self._left, *(path for path in paths if path in self._kept)]:
                self._see(path)
        finally:
            with self._changed:
                self._thread, self._left, self._done_s = None, [], time.monotonic()
                self._changed.notify_all()

    def _see(self, path: Path) -> None:
        known, began_s = self._kept.get(path), time.monotonic()
        state = state_of(path)
        if known is not None and not _is_due(known, state, began_s):
            return
        row = self._read(path)
        ended_s = time.monotonic()
        with self._changed:
            self._kept[path] = _Kept(row, state, ended_s, ended_s - began_s)
            if path in self._left:
                self._left.remove(path)

    def _read(self, path: Path) -> T | Damaged:
        if path.is_symlink():
            return Damaged(path.name, path, LINK)
        try:
            with readable(path):
                return self._reader(path)
        except StoreError as error:
            return Damaged(path.name, path, str(error), not isinstance(error, Unproven))
        except Exception as error:  # noqa: BLE001  linewatt's own mistake; others are shown all the same
            return Damaged(
                path.name, path, f"linewatt failed to read it: {type(error).__name__}", proven=False
            )


def _is_due(known: _Kept[T], state: str | None, now_s: float) -> bool:
    """Whether a result is read again."""
    if state is not None:
        return state != known.state
    return now_s - known.read_s > _EASE * max(known.took_s, FRESH_S / _EASE)
