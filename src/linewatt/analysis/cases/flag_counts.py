# SPDX-License-Identifier: Apache-2.0
"""How often each flag was raised in a case's trials. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from linewatt.analysis.metrics.of_soak import SoakRun
from linewatt.model import Flag, Trial


@dataclass(frozen=True, slots=True)
class FlagCount:
    """A flag's code, how often it was raised, in how many trials of the case, and its first occurrence."""

    code: str
    count: int
    trials: int
    example: Flag


def count_flags(trials: Iterable[Trial | SoakRun]) -> tuple[FlagCount, ...]:
    """The flags of ``trials`` by code, in order of first appearance, with counts and the first example."""
    counts: dict[str, FlagCount] = {}
    for trial in trials:
        seen: set[str] = set()
        for flag in trial.flags:
            known = counts.get(flag.code, FlagCount(flag.code, 0, 0, flag))
            first = flag.code not in seen
            counts[flag.code] = replace(known, count=known.count + 1, trials=known.trials + first)
            seen.add(flag.code)
    return tuple(counts.values())
