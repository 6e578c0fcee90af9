# SPDX-License-Identifier: Apache-2.0
"""How far work is that takes longer than a moment: a bar on a terminal, gone once it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from linewatt.cli.output import console

if TYPE_CHECKING:
    from rich.progress import Progress

MOMENT_S = 2.0
BETWEEN_S = 0.1
"""two pictures of the bar"""


@contextmanager
def how_far(what: str) -> Iterator[Callable[[int, int], None]]:
    """Something to tell how much is done, of how much."""
    bar: Progress | None = None
    began_s = shown_s = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal bar, shown_s
        now_s = time.monotonic()
        if bar is not None and done >= total:
            bar.stop()
            bar = None
        if done >= total or now_s - shown_s < BETWEEN_S or now_s - began_s < MOMENT_S:
            return
        if not sys.stderr.isatty():
            return
        if bar is None:
            bar = _bar()
            bar.add_task(what)
            bar.start()
        shown_s = now_s
        bar.update(bar.task_ids[0], completed=done, total=total, refresh=True)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Progress:
    """Without a thread, which a process that is copied must not have."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console(stderr=True), transient=True, auto_refresh=False)
