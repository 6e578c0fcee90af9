# SPDX-License-Identifier: Apache-2.0
"""Cached rows of all stored results, updated by one thread: pages that list results read no files.

A request gets the rows known so far and the number of results still to read; concurrent requests share one
update. A result is read again when its files change, but a result that changes all the time, such as one
being measured, only after a pause.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread
from typing import Generic, TypeVar

from linewatt.errors import StoreError
from linewatt.store import Damaged, Unproven, reading_results, result_dirs, state_of_result

T = TypeVar("T")

PATIENCE_S = 0.2
"""for which a page waits for an update: enough if nothing changed"""
LISTING_S = 5.0
"""for which a page waits for the names of results: more than any disk needs that still answers"""
FRESH_S = 1.0
"""age below which rows are not updated"""
_EASE = 10.0
"""pause before a changing result is read again, in multiples of its reading time"""
LINK = "is a link; this server follows none"


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """Rows of results sorted by name, and the results among ``total`` whose rows are not read yet."""

    rows: tuple[tuple[Path, T | Damaged], ...]
    unread_paths: tuple[Path, ...]
    total: int
    states: tuple[str, ...]
    """changes with the files that ``rows`` are made of"""

    @property
    def unread(self) -> int:
        """How many results are not read yet."""
        return len(self.unread_paths)


@dataclass(frozen=True, slots=True)
class _Reading(Generic[T]):
    row: T | Damaged
    state: str | None
    read_s: float
    took_s: float


class Shelf(Generic[T]):
    """Rows that ``reader`` makes of the results below ``root``."""

    def __init__(self, root: Path, reader: Callable[[Path], T], *, name: str) -> None:
        self._root = root
        self._reader = reader
        self._name = name
        self._kept: dict[Path, _Reading[T]] = {}
        self._unread: list[Path] = []
        self._total = 0
        self._is_listed = False
        self._thread: Thread | None = None
        self._done_s = float("-inf")
        self._changed = Condition()

    def now(self, patience_s: float = PATIENCE_S, most_unread: int | None = None) -> Seen[T]:
        """The rows known after waiting at most ``patience_s`` for an update; no result is left out.

        With more than ``most_unread`` results to read it does not wait: the time would not be enough.
        """

        def is_ready() -> bool:
            is_hopeless = self._is_listed and most_unread is not None and len(self._unread) > most_unread
            return self._thread is None or is_hopeless

        with self._changed:
            if self._thread is None and time.monotonic() - self._done_s > FRESH_S:
                self._thread = Thread(target=self._update_all, name=f"linewatt-{self._name}", daemon=True)
                self._thread.start()
            self._changed.wait_for(is_ready, patience_s)
            self._changed.wait_for(lambda: self._is_listed or self._thread is None, LISTING_S)
            rows = sorted(self._kept.items(), key=lambda item: item[0].name)
            return Seen(
                tuple((path, reading.row) for path, reading in rows),
                tuple(self._unread),
                max(self._total, len(rows)),
                tuple(f"{path.name} {reading.state or reading.read_s}" for path, reading in rows),
            )

    def _update_all(self) -> None:
        """Update all rows once; runs in its own thread."""
        try:
            paths = result_dirs(self._root)
            with self._changed:
                for gone in self._kept.keys() - set(paths):
                    del self._kept[gone]
                self._total = len(paths)
                self._unread = [
                    path for path in reversed(paths) if path not in self._kept
                ]  # the newest first
                self._is_listed = True
                self._changed.notify_all()
            for path in [*self._unread, *(path for path in paths if path in self._kept)]:
                self._update(path)
        finally:
            with self._changed:
                self._thread, self._unread, self._done_s = None, [], time.monotonic()
                self._changed.notify_all()

    def _update(self, path: Path) -> None:
        previous, began_s = self._kept.get(path), time.monotonic()
        state = state_of_result(path)
        if previous is not None and not _is_due(previous, state, began_s):
            return
        row = self._read(path)
        ended_s = time.monotonic()
        with self._changed:
            self._kept[path] = _Reading(row, state, ended_s, ended_s - began_s)
            if path in self._unread:
                self._unread.remove(path)

    def _read(self, path: Path) -> T | Damaged:
        if path.is_symlink():
            return Damaged(path.name, path, LINK)
        try:
            with reading_results(path):
                return self._reader(path)
        except StoreError as error:
            return Damaged(path.name, path, str(error), not isinstance(error, Unproven))
        except Exception as error:  # noqa: BLE001  an error in linewatt; other results are still shown
            return Damaged(
                path.name, path, f"linewatt failed to read it: {type(error).__name__}", proven=False
            )


def _is_due(previous: _Reading[T], state: str | None, now_s: float) -> bool:
    """Whether a result must be read again."""
    if state is not None:
        return state != previous.state
    return now_s - previous.read_s > _EASE * max(previous.took_s, FRESH_S / _EASE)
