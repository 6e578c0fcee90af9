# SPDX-License-Identifier: Apache-2.0
"""Printing: JSON, CSV and tables on stdout, messages on stderr."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout; NaN is refused, so a missing number can only be null."""
    # at once: a large document in the pieces of json.dump is slow to write
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def print_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as CSV on stdout; ``None`` is an empty cell."""
    writer = csv.DictWriter(sys.stdout, fieldnames=columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def say(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    print(message, file=sys.stderr)  # noqa: T201


def print_rich(render: Callable[[int | None], RenderableType]) -> None:
    """Print for a terminal at its width; elsewhere at any width, without colour or trailing blanks."""
    from rich.console import Console

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a locale without ± must not end in a traceback
    console = Console(markup=False, emoji=False, highlight=False)
    if console.is_terminal:
        console.print(render(console.width))
        return
    wide = Console(width=100_000, color_system=None, markup=False, emoji=False, highlight=False)
    with wide.capture() as captured:
        wide.print(render(None))
    lines = [line.rstrip() for line in captured.get().rstrip().split("\n")]
    sys.stdout.write("\n".join(lines) + "\n")
