# SPDX-License-Identifier: Apache-2.0
"""Stored results against each other: what can be asked of them, and the comparison of what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linewatt.analysis.comparison import (
    Comparison,
    Matching,
    Options,
    RunKind,
    Side,
    known_properties,
    level_meant,
    levels_of,
    match_hosts,
    match_levels,
    match_tasks,
    match_two,
)
from linewatt.analysis.comparison import compare_sides as compare_sides
from linewatt.errors import InvalidInput
from linewatt.report.comparison.sides import Kept, side_of
from linewatt.report.kinds import KindComparison, result_kind, run_kinds
from linewatt.store import load_manifest
from linewatt.units import first_of

MOST_LEVELS = 4
"""that a message names"""

Loaded = Sequence[Sequence[tuple[Path, Kept]]]
"""the results of one side or two"""


def compared_by_kind(
    sides: Sequence[Sequence[Path]], *, by: str | None = None, base: str | None = None, plain: bool
) -> KindComparison | None:
    """What results of a kind that holds no trials are against each other; None: they have runs.

    Raises InvalidInput for what cannot be compared.
    """
    for path in (path for side in sides for path in side):
        manifest = load_manifest(path)
        kind = result_kind(manifest)
        if kind is None:
            continue
        comparison = kind.comparison(sides, by=by, base=base, plain=plain)
        if comparison is not None:
            return comparison
        if kind.run_kind is None:
            raise InvalidInput(f"{path.name} is {kind.noun(manifest)}, which is not compared")
    return None


def run_kind_of(loaded: Loaded, by: str | None) -> RunKind | None:
    """How results are compared that are one run each; None: they have cases and trials.

    Raises InvalidInput for what cannot be asked of these results.
    """
    kinds = {kind.name: kind for kind in run_kinds()}
    results = [result for side in loaded for result in side]
    single_runs = [(path.name, kinds[stored.kind]) for path, stored in results if stored.kind]
    trials = [path.name for path, stored in results if not stored.kind]
    if not single_runs:
        if any(len(side) > 1 for side in loaded):
            plurals = " and ".join(f"{name}s" for name in kinds) or "other results"
            raise InvalidInput(f"{trials[0]} has cases and trials: only of {plurals} a side may have several")
        return None
    result, kind = single_runs[0]
    if by is not None:
        raise InvalidInput(
            f"--by {by}: {result} is {kind.description} without cases or levels; "
            f"name two {kind.name}s, without --by"
        )
    others = [
        f"{name} is {run_kind.description}" for name, run_kind in single_runs if run_kind.name != kind.name
    ]
    others += [f"{name} has cases and trials" for name in trials]
    if others:
        raise InvalidInput(
            f"{result} is a {kind.name} and {others[0]}; compare a {kind.name} with a {kind.name}"
        )
    return kind


def compare_stored(loaded: Loaded, options: Options, base: str | tuple[str, str] | None = None) -> Comparison:
    """``base`` is a level of one result, or the two hosts of it that are compared.

    Raises InvalidInput for what cannot be compared.
    """
    if run_kind_of(loaded, options.by):
        return compare_tasks(loaded, options)
    a, b, matching = match_stored(loaded, options.by, base)
    return compare_sides(a, b, matching, options)


def compare_tasks(loaded: Loaded, options: Options) -> Comparison:
    """Two sides of results that are one run each. Raises StoreError."""
    sides = []
    for name, results in zip(("A", "B"), loaded, strict=True):
        first, *others = (side_of(*path_and_kept) for path_and_kept in results)
        sides.append(replace(first, name=name, repeats=tuple(others)))
    return compare_sides(sides[0], sides[1], match_tasks(sides[0], sides[1], options.allowed), options)


def match_stored(
    loaded: Loaded, by: str | None, base: str | tuple[str, str] | None = None
) -> tuple[Side, Side, Matching]:
    """Which cases go together: of two results, of levels of one, or of two hosts of it.

    Raises InvalidInput.
    """
    sides = [
        replace(side_of(*result), name=name) for name, (result,) in zip(("A", "B"), loaded, strict=False)
    ]
    properties = known_properties(case for side in sides for case in side.cases)
    if by is not None and by not in properties:
        compared = " and ".join(dict.fromkeys(side.id for side in sides))
        raise InvalidInput(f"--by {by}: must be one of {', '.join(properties)} in {compared}")
    if isinstance(base, tuple):
        return sides[0], sides[0], match_hosts(sides[0], base)
    if len(sides) == 2 or by is None:
        return sides[0], sides[-1], match_two(sides[0], sides[-1], by)
    levels = levels_of(sides[0], by)
    if len(levels) < 2:
        level_names = ", ".join(levels) or "no trial"
        raise InvalidInput(f"--by {by}: {sides[0].id} has nothing to compare, only {level_names}")
    chosen = levels[0] if base is None else level_meant(base, by, levels)
    if chosen is None:
        raise InvalidInput(f"--base {base}: {by} is one of {', '.join(levels)} in {sides[0].id}")
    _refuse_without_trials(sides[0], by, chosen, levels)
    return sides[0], sides[0], match_levels(sides[0], by, chosen)


def _refuse_without_trials(side: Side, by: str, base: str, levels: Sequence[str]) -> None:
    """Raises InvalidInput where no trial of the base succeeded, or none of any other level."""
    with_runs = replace(side, cases={case: runs for case, runs in side.cases.items() if runs.done})
    measured = levels_of(with_runs, by)
    failed = [level for level in levels if level not in measured]
    if base in measured and len(measured) > 1:
        return
    failed_levels = first_of(failed, MOST_LEVELS, between=", ")
    reasons = f"'linewatt show {side.id} --full' says why"
    if len(measured) > 1:
        choice = f"choose another --base ({first_of(measured, MOST_LEVELS, between=', ')}); {reasons}"
        raise InvalidInput(f"--by {by}: no trial at {base}, the base, succeeded in {side.id}; {choice}")
    raise InvalidInput(f"--by {by}: no trial at {failed_levels} succeeded in {side.id}; {reasons}")
