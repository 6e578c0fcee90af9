# SPDX-License-Identifier: Apache-2.0
"""Printing: JSON, CSV and tables on stdout, messages on stderr.

Whatever is said goes through here, and control characters in it are escaped: a process on a host can be
called anything, and a terminal would act on it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt.durable import can_be_made as can_be_made
from linewatt.errors import InvalidInput
from linewatt.foreign import one_line, shown
from linewatt.units import NO_BREAK, unbroken

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text


RESULTS_FOLDER = Path("results")
PIPE_COLUMNS = 100
"""of what is printed to no terminal, where COLUMNS says nothing else"""
HANG = 4
"""columns to the right of its beginning at which a line goes on"""
_ANY_COLUMNS = 100_000


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout; NaN is refused, so a missing number can only be null."""
    sys.stdout.write(json_text(document))


def json_text(document: Mapping[str, Any]) -> str:
    """At once: a large document in the pieces of json.dump is slow to write."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def print_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as CSV on stdout; ``None`` is an empty cell, and no text is a formula to a spreadsheet."""
    from linewatt.report.printing import csv_of

    sys.stdout.write(csv_of(columns, rows))


def say(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    print(shown(message), file=sys.stderr)  # noqa: T201


def put(text: str = "") -> None:
    """Text that was asked for, on stdout; a locale without ± must not end in a traceback."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    print(shown(text))  # noqa: T201


def put_lines(lines: Iterable[str], hang: int = HANG) -> None:
    """Lines of prose on stdout, each in as many lines of the terminal as it needs; see :func:`wrapped`."""
    width = columns_of_output()
    for line in lines:
        put("\n".join(wrapped(line, width, hang)))


def wrapped(line: str, width: int, hang: int = HANG) -> list[str]:
    """A line in lines of at most ``width``; none ends inside a figure, and no path or word is broken.

    What goes on stands ``hang`` columns to the right of the first line.
    """
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    pieces = textwrap.wrap(
        unbroken(line.strip()),
        width,
        initial_indent=indent,
        subsequent_indent=indent + " " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [piece.replace(NO_BREAK, " ") for piece in pieces]


def columns_of_output() -> int:
    """Of the terminal; elsewhere what COLUMNS says, else 100."""
    columns = _columns_of_environment()
    if columns is not None:
        return columns
    if not sys.stdout.isatty():
        return PIPE_COLUMNS
    return shutil.get_terminal_size((PIPE_COLUMNS, 0)).columns


def columns_of_messages() -> int | None:
    """Of the terminal that messages are for; elsewhere what COLUMNS says, else without an end: a log."""
    columns = _columns_of_environment()
    if columns is not None or not sys.stderr.isatty():
        return columns
    return os.get_terminal_size(sys.stderr.fileno()).columns or None


def _columns_of_environment() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if re.fullmatch("[1-9][0-9]{1,5}", columns) else None


def console(**options: Any) -> Console:
    """A console of Rich that escapes what comes in the text of anything it renders."""
    from rich import console as rich
    from rich.segment import Segment
    from rich.text import Text

    class Escaping(rich.Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            if isinstance(renderable, Text) and not (options or self.options).no_wrap:
                renderable = _unbroken(renderable, self, (options or self.options).max_width)
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(shown(segment.text), segment.style)

    return Escaping(markup=False, emoji=False, highlight=False, **options)


_HELD = "\ue000"
"""in the place of a blank at which no line ends: Rich wraps at every other"""


def _unbroken(text: Text, screen: Console, width: int) -> Text:
    """A text in lines of at most ``width``, none of which ends inside a figure if it has room on one."""
    if text.no_wrap or all(len(line) <= width for line in text.plain.split("\n")):
        return text
    held = text.copy()
    held.plain = unbroken(text.plain).replace(NO_BREAK, _HELD)
    if held.plain == text.plain or any(len(word) > width for word in held.plain.split()):
        return text
    lines = held.wrap(screen, width)
    for line in lines:
        line.plain = line.plain.replace(_HELD, " ")
    return type(text)("\n", justify=text.justify, overflow=text.overflow).join(lines)


def results_near(results: Path, *, samples: bool = False) -> Path:
    """The directory of results that somebody named; of a store its copy, what is damaged there being told.

    Raises InvalidInput, StoreError.
    """
    if not str(results).startswith("s3:/"):
        results_there(results)
        return results
    from linewatt.store import mirrored

    mirror = mirrored(results, samples=samples)
    for damaged in mirror.damaged:
        say(one_line(f"left out: {damaged.id}: {damaged.reason}"))
    return mirror.root


def results_there(results: Path) -> None:
    """See that a directory of results that somebody named is one. Raises InvalidInput."""
    if results.is_dir() or (results == RESULTS_FOLDER and not results.exists()):
        return
    wrong = "is not a directory" if results.exists() else "no such directory"
    raise InvalidInput(f"--results {results}: {wrong}; name the one that results are stored in")


def checked_target(target: Path) -> Path:
    """The target, before time is spent on it. Raises InvalidInput when it cannot be a new file."""
    if target.is_dir():
        raise InvalidInput(f"{target}: is a directory; give -o the name of a file in it")
    if target.exists() and not target.is_file():
        raise InvalidInput(f"{target}: is not a regular file; give -o another name")
    if not target.parent.is_dir():
        raise InvalidInput(f"{target}: there is no directory {target.parent}; make it first")
    return target


def print_rich(
    render: Callable[[int | None], RenderableType], *, of_any_width: bool = False, in_lines: bool = False
) -> None:
    """Print for a terminal at its width; elsewhere as wide as COLUMNS says, else 100, without colour.

    ``of_any_width``: elsewhere as wide as it gets, for what programs read, too. ``in_lines``: it is in lines
    already, of which only a command to copy may be longer than that.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    terminal = console()
    if terminal.is_terminal:
        terminal.print(render(terminal.width), soft_wrap=in_lines)
        return
    width = columns_of_output()
    screen = console(width=_ANY_COLUMNS if of_any_width else width, color_system=None)
    with screen.capture() as captured:
        screen.print(render(None if of_any_width else width), soft_wrap=in_lines)
    lines = [line.rstrip() for line in captured.get().rstrip().split("\n")]
    sys.stdout.write("\n".join(lines) + "\n")
