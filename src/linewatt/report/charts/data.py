# SPDX-License-Identifier: Apache-2.0
"""Rows that charts draw: plain data, each ``kind`` of row for one layer.

``mean`` rows have ``value`` and, when more than one trial has it, ``low`` and ``high`` one SD away; ``run``
rows are one trial each; ``ideal`` rows are linear growth from one instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from linewatt.analysis.statistics import Estimate
from linewatt.model import Case, Role, Trial

Row = dict[str, Any]
Runs = Mapping[Case, Sequence[Trial]]
Read = Callable[[Trial], float | None]
"""a figure of a trial, SI"""

END_NAMES: dict[Role, str] = {"receiver": "Receiver (remote)", "sender": "Sender (local)"}


def runs_of(trials: Iterable[Trial]) -> Runs:
    """The done trials of each case."""
    runs: dict[Case, list[Trial]] = {}
    for trial in trials:
        if trial.status == "done":
            runs.setdefault(trial.case, []).append(trial)
    return runs


def value_rows(
    base: Row, value: Estimate, from_si: Callable[[float], float], trials: Iterable[Trial], read: Read
) -> list[Row]:
    """The mean of a case, and a row for each of its trials that has the value."""
    runs = [(trial.number, read(trial)) for trial in trials]
    return [base | mean_row(value, from_si)] + [
        base | {"kind": "run", "value": from_si(run), "trial": number}
        for number, run in runs
        if run is not None
    ]


def mean_row(value: Estimate, from_si: Callable[[float], float]) -> Row:
    """Mean and, with more than one trial, one SD to either side."""
    row: Row = {"kind": "mean", "value": from_si(value.mean)}
    if value.sd is not None:
        row |= {"low": from_si(max(0.0, value.mean - value.sd)), "high": from_si(value.mean + value.sd)}
    return row


T = TypeVar("T")


def few(items: Sequence[T], size: Callable[[T], float], limit: int = 20, each_way: int = 5) -> Sequence[T]:
    """Of more than ``limit`` items the largest and the smallest, in their order."""
    if len(items) <= limit:
        return items
    ordered = sorted(range(len(items)), key=lambda at: size(items[at]))
    shown_indices = {*ordered[:each_way], *ordered[-each_way:]}
    return [item for at, item in enumerate(items) if at in shown_indices]


def few_words(shown: Sequence[T], all_items: Sequence[T], noun: str) -> str:
    """What a caption says of items that are left out; nothing where none is."""
    half = len(shown) // 2
    drawn_words = f" Drawn are the {half} highest and the {half} lowest of {len(all_items)} {noun}"
    return f"{drawn_words}; the tables have all." if len(shown) < len(all_items) else ""


LETTER_PX, _ROW_PX = 6.6, 15


def spread_labels(ends: Sequence[tuple[float, int]], px_per_unit: float) -> list[float]:
    """Where names beside the ends of lines stand so that none covers another: about the ends that they name.

    ``ends`` has the value of each, the lowest first, and in how many rows its name is.
    """
    places: list[float] = []
    free = -math.inf
    for value, rows in ends:
        half = rows * _ROW_PX / 2 / px_per_unit
        places.append(max(value, free + half))
        free = places[-1] + half
    above = sum(at - value for at, (value, _) in zip(places, ends, strict=True)) / max(1, len(places))
    return [at - above for at in places]


def largest_drawn(rows: Iterable[Row]) -> float:
    """The largest value that rows draw, error bars included."""
    return max((max(row["value"], row.get("high", 0.0)) for row in rows), default=0.0)
