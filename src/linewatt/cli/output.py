# SPDX-License-Identifier: Apache-2.0
"""Printing: JSON, CSV and tables on stdout, messages on stderr."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout; NaN is refused, so a missing number can only be null."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def print_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as CSV on stdout; ``None`` is an empty cell."""
    writer = csv.DictWriter(sys.stdout, fieldnames=columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def say(message: str) -> None:
    """A message for the person at the terminal, on stderr."""
    print(message, file=sys.stderr)  # noqa: T201
