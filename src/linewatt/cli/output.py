# SPDX-License-Identifier: Apache-2.0
"""Printing: JSON, CSV and tables on stdout, messages on stderr.

Whatever is said goes through here, and control characters in it are escaped: a process on a host can be
called anything, and a terminal would act on it.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linewatt.foreign import shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout; NaN is refused, so a missing number can only be null."""
    # at once: a large document in the pieces of json.dump is slow to write
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def print_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as CSV on stdout; ``None`` is an empty cell."""
    writer = csv.DictWriter(sys.stdout, fieldnames=columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: shown(one) if isinstance(one, str) else one for name, one in row.items()})


def say(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    print(shown(message), file=sys.stderr)  # noqa: T201


def put(text: str = "") -> None:
    """Text that was asked for, on stdout; a locale without ± must not end in a traceback."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    print(shown(text))  # noqa: T201


def console(**options: Any) -> Console:
    """A console of Rich that escapes what comes in the text of anything it renders."""
    from rich import console as rich
    from rich.segment import Segment

    class Escaping(rich.Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for one in super().render(renderable, options):
                yield one if one.control else Segment(shown(one.text), one.style)

    return Escaping(markup=False, emoji=False, highlight=False, **options)


def print_rich(render: Callable[[int | None], RenderableType]) -> None:
    """Print for a terminal at its width; elsewhere at any width, without colour or trailing blanks."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    terminal = console()
    if terminal.is_terminal:
        terminal.print(render(terminal.width))
        return
    wide = console(width=100_000, color_system=None)
    with wide.capture() as captured:
        wide.print(render(None))
    lines = [line.rstrip() for line in captured.get().rstrip().split("\n")]
    sys.stdout.write("\n".join(lines) + "\n")
