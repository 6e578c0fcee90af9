# SPDX-License-Identifier: Apache-2.0
"""All results of a directory, each by a reader of its own; and what failed because of their files.

Whoever reads only what is cached of results imports no more than this.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from linewatt import foreign
from linewatt.errors import LinewattError, StoreError
from linewatt.store import sums
from linewatt.store.helpers import helpers

T = TypeVar("T")


class Unproven(StoreError):
    """What was made of a result failed, and nothing tells whether its files or linewatt are wrong."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A result that cannot be read, and why; ``proven``: it is no fault of linewatt's own."""

    id: str
    path: Path
    reason: str
    proven: bool = True


ID_BEGINS = re.compile(r"\d{8}-\d{6}-")
"""the beginning of a result's id: when it was begun"""
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG)
"""errors of writing what a command prints"""


@contextmanager
def reading_results(*paths: Path) -> Iterator[None]:
    """Around what reads results and makes something of them.

    Only a reader calls a file damaged, by a StoreError. Any other error may be linewatt's own, and is raised
    as it is where every file is as it was written. Where one is not, that is said beside the error, in a
    StoreError; where no checksums tell, just that, in Unproven. A file of a result that this user may not
    read is named in a StoreError.
    """
    try:
        yield
    except LinewattError:
        raise
    except PermissionError as error:
        if not any(Path(str(error.filename)).is_relative_to(path) for path in paths):
            raise
        raise StoreError(f"{error.filename}: cannot be read: {error.strerror}") from error
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in _OF_OUTPUT:
            raise
        description = foreign.one_line(f"{type(error).__name__}: {error}"[:200])
        for path in sorted(paths, key=sums.has_list, reverse=True):  # what can be proven is said first
            if not sums.has_list(path):
                raise Unproven(
                    f"{path}: {_NOT_SHOWN}: {description}; without {sums.SUMS_FILE} {_UNTOLD}"
                ) from error
            if (problem := sums.damage(path)) is not None:
                raise StoreError(
                    f"{path / problem.name}: {problem.why}; {_NOT_SHOWN}: {description}"
                ) from error
        raise


_NOT_SHOWN = "what is made of the result failed"
_UNTOLD = "nothing tells whether its files or linewatt are wrong"


ALONE_S = 0.5
"""how long results are read before other processes help: of most, what is kept is read in that time"""


def read_each(
    root: Path, reader: Callable[[Path], T], tell: Callable[[int, int], None] | None = None
) -> tuple[list[T], list[Damaged]]:
    """What ``reader`` returns for each result below ``root``, oldest first, and the unreadable results.

    ``tell``, where somebody waits, is told how many have been read, of how many. Other processes help then:
    ``reader`` keeps what it makes (:func:`~linewatt.store.cache.cached_of_result`).
    """
    values: list[T] = []
    unread: list[Damaged] = []
    paths = result_dirs(root)
    began_s = time.monotonic()
    with ExitStack() as helped:
        is_alone = tell is not None
        for at, path in enumerate(paths):
            if is_alone and time.monotonic() - began_s >= ALONE_S:
                is_alone = False
                helped.enter_context(helpers(paths[at + 1 :], reader))
            try:
                with reading_results(path):
                    values.append(reader(path))
            except StoreError as error:
                unread.append(Damaged(path.name, path, str(error), not isinstance(error, Unproven)))
            if tell is not None:
                tell(at + 1, len(paths))
    return values, unread


def result_dirs(root: Path) -> list[Path]:
    """Directories of results below ``root``, by name.

    Also one whose manifest was taken away, and one with the id of a result that this user may not enter.
    """
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError:
        return []
    documents = ("manifest.json", sums.SUMS_FILE)
    return [
        root / name
        for name in names
        if any(os.path.exists(f"{root}/{name}/{document}") for document in documents)  # noqa: PTH110  thousands
        or (ID_BEGINS.match(name) and _is_closed(root / name))
    ]


def _is_closed(folder: Path) -> bool:
    """Whether it is a folder that this user may not enter."""
    return folder.is_dir() and not os.access(folder, os.X_OK)
