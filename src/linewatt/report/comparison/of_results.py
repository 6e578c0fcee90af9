# SPDX-License-Identifier: Apache-2.0
"""Stored results against each other: what can be asked of them, and the comparison of what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linewatt.analysis.comparison.compare import Comparison
from linewatt.analysis.comparison.compare import compare as compare_sides
from linewatt.analysis.comparison.jobs import match_jobs
from linewatt.analysis.comparison.matching import (
    Matching,
    Side,
    known_properties,
    level_meant,
    levels_of,
    match_levels,
    match_two,
)
from linewatt.analysis.comparison.rows import Options
from linewatt.analysis.comparison.within import match_hosts
from linewatt.errors import InvalidInput
from linewatt.report.comparison.sides import Kept, side_of
from linewatt.report.kinds import KindComparison, result_kind
from linewatt.store.read import load_manifest

Loaded = Sequence[Sequence[tuple[Path, Kept]]]
"""the results of one side or two"""


def compared_by_kind(sides: Sequence[Sequence[Path]], *, plain: bool) -> KindComparison | None:
    """What results of a kind that holds no trials are against each other; None: they have runs.

    Raises InvalidInput for what cannot be compared.
    """
    for path in (path for side in sides for path in side):
        kind = result_kind(load_manifest(path))
        comparison = None if kind is None else kind.comparison(sides, plain=plain)
        if comparison is not None:
            return comparison
    return None


def of_soaks(loaded: Loaded, by: str | None) -> bool:
    """Whether soaks are compared. Raises InvalidInput for what cannot be asked of these results."""
    every = [one for side in loaded for one in side]
    soaks = [path.name for path, one in every if one.is_soak]
    trials = [path.name for path, one in every if not one.is_soak]
    if soaks and by is not None:
        raise InvalidInput(
            f"--by {by}: {soaks[0]} is a soak, one long load without cases or levels; "
            "name two soaks, without --by"
        )
    if soaks and trials:
        raise InvalidInput(
            f"{soaks[0]} is a soak and {trials[0]} has cases and trials; compare a soak with a soak"
        )
    for side in loaded:
        if len(side) > 1 and trials:
            raise InvalidInput(f"{trials[0]} has cases and trials: only of soaks a side may have several")
    return bool(soaks)


def compared(loaded: Loaded, options: Options, base: str | tuple[str, str] | None = None) -> Comparison:
    """``base`` is a level of one result, or the two hosts of it that are compared.

    Raises InvalidInput for what cannot be compared.
    """
    if of_soaks(loaded, options.by):
        return _of_jobs(loaded, options)
    a, b, matching = matched(loaded, options.by, base)
    return compare_sides(a, b, matching, options)


def _of_jobs(loaded: Loaded, options: Options) -> Comparison:
    sides = []
    for name, results in zip(("A", "B"), loaded, strict=True):
        first, *others = (side_of(*one) for one in results)
        sides.append(replace(first, name=name, repeats=tuple(others)))
    return compare_sides(sides[0], sides[1], match_jobs(sides[0], sides[1], options.allowed), options)


def matched(
    loaded: Loaded, by: str | None, base: str | tuple[str, str] | None = None
) -> tuple[Side, Side, Matching]:
    """Which cases go together: of two results, of levels of one, or of two hosts of it.

    Raises InvalidInput.
    """
    sides = [replace(side_of(*one), name=name) for name, (one,) in zip(("A", "B"), loaded, strict=False)]
    known = known_properties(case for side in sides for case in side.cases)
    if by is not None and by not in known:
        raise InvalidInput(f"--by {by}: must be one of {', '.join(known)}")
    if isinstance(base, tuple):
        return sides[0], sides[0], match_hosts(sides[0], base)
    if len(sides) == 2 or by is None:
        return sides[0], sides[-1], match_two(sides[0], sides[-1], by)
    levels = levels_of(sides[0], by)
    if len(levels) < 2:
        there = ", ".join(levels) or "no trial"
        raise InvalidInput(f"--by {by}: {sides[0].id} has nothing to compare, only {there}")
    chosen = levels[0] if base is None else level_meant(base, by, levels)
    if chosen is None:
        raise InvalidInput(f"--base {base}: {by} is one of {', '.join(levels)}")
    return sides[0], sides[0], match_levels(sides[0], by, chosen)
