# SPDX-License-Identifier: Apache-2.0
"""Whether a difference is one, in words. Pure.

A difference counts when it is significant among all that are looked at together (Holm) **and** beyond a
stated factor. Everything else is said as what it is: no measurable effect within so much, or not enough runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.analysis.contrasts import ALPHA, Contrast, holm
from linewatt.analysis.responses import Response

Kind = Literal["better", "worse", "small", "same", "undecided"]

MATTERS_RATIO = 0.01
"""a smaller relative change is said to be small, however certain it is"""
MATTERS_LOSS = 0.001
"""the same for a difference of shares, such as loss"""
WIDEST = 5.0
"""An effect that may be more than this many times what matters is not told from none: too few runs."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change against the base: relative (0.031 is + 3.1 %), or a difference of shares.

    ``low`` and ``high`` are its 95 % CI, ``p`` is of this one alone, ``p_holm`` among all of its family.
    """

    value: float
    low: float
    high: float
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """``change`` is ``None`` where there are not enough runs for one; ``words`` say the whole."""

    kind: Kind
    words: str
    change: Change | None = None


def verdicts(
    response: Response, family: Sequence[Contrast | str], matters: float | None = None
) -> tuple[Verdict, ...]:
    """A verdict on each contrast of a family that is looked at together; a text says why there is none.

    ``matters`` is the factor that a change must be beyond.
    """
    limit = matters if matters is not None else MATTERS_RATIO if response.relative else MATTERS_LOSS
    known = [one for one in family if isinstance(one, Contrast)]
    adjusted = iter(holm([one.p for one in known]))
    return tuple(
        Verdict("undecided", f"not enough runs: {one}")
        if isinstance(one, str)
        else _judged(response, _change(response, one, next(adjusted)), limit, len(known))
        for one in family
    )


def _change(response: Response, contrast: Contrast, p_holm: float) -> Change:
    ends = (contrast.value, *contrast.interval)
    value, low, high = map(_relative, ends) if response.relative else ends
    return Change(value, low, high, contrast.p, p_holm)


def _relative(log_ratio: float) -> float:
    """The relative change; one that no float can hold is infinite."""
    return math.expm1(min(log_ratio, 700.0))


def _judged(response: Response, change: Change, limit: float, looked_at: int) -> Verdict:
    said = change_words(response, change)
    beyond = abs(change.value) > limit
    reach = max(abs(change.low), abs(change.high))
    if change.p_holm < ALPHA:
        if not beyond:
            return Verdict("small", f"less than {amount(response, limit)}: {said}", change)
        return Verdict("better" if (change.value > 0) == response.higher_is_better else "worse", said, change)
    if change.p < ALPHA and beyond:
        words = f"not enough runs to tell it from chance among {looked_at} effects: {said}"
        return Verdict("undecided", words, change)
    if reach > WIDEST * limit:
        return Verdict("undecided", f"not enough runs: anything from {span(response, change)}", change)
    return Verdict("same", f"no measurable effect (within ± {amount(response, reach)})", change)


def change_words(response: Response, change: Change) -> str:
    """``faster by 3.1 % (CI 2.2 to 4.0 %)``, ``less loss by 0.3 points (CI …)``."""
    less = change.value < 0
    low, high = (-change.high, -change.low) if less else (change.low, change.high)
    unit = _unit(response)
    return (
        f"{response.less if less else response.more} by {_number(abs(change.value))} {unit} "
        f"(CI {_number(low)} to {_number(high)} {unit})"
    )


def span(response: Response, change: Change) -> str:
    """The CI with signs: ``−3.0 to +8.1 %``."""
    return f"{signed(change.low)} to {signed(change.high)} {_unit(response)}"


def amount(response: Response, value: float) -> str:
    """``1.2 %``, ``0.3 points``."""
    return f"{_number(value)} {_unit(response)}"


def signed(value: float) -> str:
    """A change in % or points with its sign, ``+3.1``, ``−0.4``; none where it rounds to nothing."""
    text = _number(abs(value))
    return text if not text.strip("0.") else f"{'−' if value < 0 else '+'}{text}"


def _unit(response: Response) -> str:
    return "%" if response.relative else "points"


def _number(ratio: float) -> str:
    """Percent: whole from 100, two decimals below 0.1, else one."""
    percent = 100 * ratio
    size = abs(percent)
    decimals = 0 if size >= 99.95 else 1 if size >= 0.095 else 2
    return f"{percent:.{decimals}f}".replace("-", "−")
