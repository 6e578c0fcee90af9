# SPDX-License-Identifier: Apache-2.0
"""Designs of factor experiments: which settings a campaign runs, and what they cannot tell apart. Pure.

One at a time changes one factor from the base. Full is every combination. Fractional is the smallest regular
fraction of the two-level full design (Box, Hunter and Hunter, *Statistics for Experimenters*; NIST/SEMATECH
e-Handbook 5.3.3.4) in which no main effect is mixed up with an interaction of two factors (resolution IV), or
where such a fraction does not exist, as for three factors, the one of resolution III; pydoe makes fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Literal

from linewatt.errors import InvalidInput

MAX_SETTINGS = 10_000
Design = Literal["one-at-a-time", "full", "fractional"]
MAX_FRACTION = 100
"""factors of a fractional design"""
MOST_WORDS = 12
"""lines of confounded effects that are said one by one"""

Setting = tuple[tuple[str, str], ...]
"""(factor, level) pairs, sorted by factor"""
Effect = tuple[str, ...]
"""a main effect (one factor) or the interaction of two"""
Factors = Mapping[str, Sequence[str]]
_Rows = list[tuple[int, ...]]


def settings_of_design(factors: Factors, design: Design) -> tuple[Setting, ...]:
    """The settings of a design, the base (every factor at its first level) first, each once.

    Without factors there is one setting, the empty one. Raises InvalidInput where there is no such design:
    a factor without levels, more than MAX_SETTINGS settings, a fraction with more than two levels.
    """
    levels = {name: tuple(dict.fromkeys(factor_levels)) for name, factor_levels in factors.items()}
    for name, factor_levels in levels.items():
        if not factor_levels:
            raise InvalidInput(f"{name}: has no levels; name at least two, the base first")
    counts = [len(factor_levels) for factor_levels in levels.values()]
    rows = {"one-at-a-time": _one_at_a_time, "full": _full, "fractional": _fractional}[design](
        counts, tuple(levels)
    )
    names = tuple(levels)
    return tuple(
        tuple(sorted((name, levels[name][at]) for name, at in zip(names, row, strict=True))) for row in rows
    )


def _one_at_a_time(counts: Sequence[int], names: Sequence[str]) -> _Rows:
    _check_size(1 + sum(counts) - len(counts), "one-at-a-time design", "name fewer levels")
    base = (0,) * len(counts)
    changed = [(*base[:at], level, *base[at + 1 :]) for at, n in enumerate(counts) for level in range(1, n)]
    return [base, *changed]


def _full(counts: Sequence[int], names: Sequence[str]) -> _Rows:
    _check_size(math.prod(counts), "full design", "use design one-at-a-time, or name fewer factors or levels")
    return [levels[::-1] for levels in product(*map(range, reversed(counts)))]


def _fractional(counts: Sequence[int], names: Sequence[str]) -> _Rows:
    for name, count in zip(names, counts, strict=True):
        if count > 2:
            raise InvalidInput(
                f"{name}: has {count} levels, and a fractional design is for two a factor; use design full "
                "or one-at-a-time, or name two levels"
            )
    varied = [at for at, count in enumerate(counts) if count == 2]
    if len(varied) > MAX_FRACTION:
        raise InvalidInput(
            f"a fractional design has at most {MAX_FRACTION} factors, got {len(varied)}; use design "
            "one-at-a-time, or name fewer factors"
        )
    if len(varied) < 3:
        return _full(counts, names)
    rows = []
    for chosen in _fraction(len(varied)):
        levels = dict(zip(varied, chosen, strict=True))
        rows.append(tuple(levels.get(at, 0) for at in range(len(counts))))
    return rows


def _fraction(count: int) -> _Rows:
    """The smallest regular fraction of resolution IV; of V for five factors, and of III for three.

    Five reach V in the settings that IV takes, as no other number does, and three have no fraction of IV.
    """
    from pydoe import fracfact_by_res  # a second of imports: only fractions need it

    matrix = fracfact_by_res(count, {3: 3, 5: 5}.get(count, 4))
    # signs of columns are free: chosen so that the first row, and so the fraction, has the base
    first = matrix[0]
    return [tuple(int(sign != base) for sign, base in zip(row, first, strict=True)) for row in matrix]


def _check_size(count: int, what: str, instead: str) -> None:
    if count > MAX_SETTINGS:
        raise InvalidInput(f"the {what} has {count} settings; at most {MAX_SETTINGS} are possible; {instead}")


def aliases(chosen: Sequence[Setting]) -> tuple[tuple[Effect, ...], ...]:
    """Main effects and interactions of two factors that settings of a two-level design cannot tell apart.

    Each tuple is effects of which only the sum is seen, main effects first. Factors with another number of
    levels are left out: such settings are full or one at a time. One at a time has no interactions to see.
    """
    columns = _columns(chosen)
    seen: dict[int, list[Effect]] = {}
    for name, column in columns.items():
        seen.setdefault(column, []).append((name,))
    for (first_name, first), (second_name, second) in combinations(columns.items(), 2):
        # of ±1 columns that start alike, the product is the exclusive or, up to sign
        seen.setdefault(first ^ second, []).append((first_name, second_name))
    return tuple(tuple(effects) for column, effects in seen.items() if column and len(effects) > 1)


def _columns(chosen: Sequence[Setting]) -> dict[str, int]:
    """Each two-level factor's column as bits, 0 where it has the level of the first setting."""
    columns: dict[str, int] = {}
    for name, first in chosen[0] if chosen else ():
        levels = [dict(setting)[name] for setting in chosen]
        if len(set(levels)) == 2:
            columns[name] = sum(1 << at for at, level in enumerate(levels) if level != first)
    return columns


def design_words(factors: Factors, design: Design) -> tuple[str, ...]:
    """What a design runs and what it cannot tell, in sentences; nothing without factors."""
    if not factors:
        return ()
    counts = [len(dict.fromkeys(levels)) for levels in factors.values()]
    combination_count = math.prod(counts)
    if design == "one-at-a-time":
        count = 1 + sum(counts) - len(counts)
        return (f"One factor at a time: {count} settings. How factors act together is not seen.",)
    chosen = settings_of_design(factors, design) if design == "fractional" else ()
    if design == "full" or len(chosen) == combination_count:
        return (
            f"Every combination: {combination_count} settings, so that factors acting together are seen.",
        )
    return tuple(_fraction_words(chosen, combination_count))


def _fraction_words(chosen: Sequence[Setting], combination_count: int) -> Iterator[str]:
    groups = aliases(chosen)
    mixed = [group for group in groups if len(group[0]) == 1]
    resolution = "III" if mixed else "IV" if groups else "V or more"
    yield f"Fraction of resolution {resolution}: {len(chosen)} of {combination_count} settings."
    if not mixed:
        yield "No main effect is mixed up with factors that act together in twos."
    for group in groups[:MOST_WORDS]:
        yield f"Not told apart: {' and '.join(' × '.join(effect) for effect in group)}."
    if len(groups) > MOST_WORDS:
        yield f"And {len(groups) - MOST_WORDS} more such groups of interactions."
