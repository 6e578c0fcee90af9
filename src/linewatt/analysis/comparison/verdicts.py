# SPDX-License-Identifier: Apache-2.0
"""Whether a difference is one, in words. Pure.

A difference counts when it is significant among all that are looked at together (Holm) **and** beyond a
stated factor. Everything else is said as what it is: no measurable effect within so much, not enough
trials, or too wide an interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.statistics.contrasts import ALPHA, Contrast, holm_adjusted
from linewatt.analysis.statistics.student import critical_t
from linewatt.missing import Missing

Kind = Literal["better", "worse", "small", "same", "undecided"]

MATTERS_RATIO = 0.01
"""a smaller relative change is said to be small, however certain it is"""
MATTERS_LOSS = 0.001
"""the same for a difference of shares, such as loss"""
TOO_FEW = "not enough trials"
TOO_WIDE = "interval too wide"
WIDEST = 5.0
"""An effect that may be more than this many times what matters is not told from none."""


Words = tuple[str, str]
"""in brief, and what follows that"""


@dataclass(frozen=True, slots=True)
class Wording:
    """How verdicts of a kind of comparison read: in brief, and what is said behind that.

    They may hold ``{said}``, ``{limit}``, ``{reach}``, ``{family}`` (how many), ``{among}`` (if several).

    ``chance_is_doubt``: what would count alone but not among all is undecided, however narrow its CI. Else it
    is the same within its CI, with the words ``chance``, unless that is too wide.
    """

    same: Words
    small: Words
    chance: Words
    doubt: Words
    chance_is_doubt: bool


EFFECTS = Wording(
    same=("no measurable effect (within ± {reach})", ""),
    small=("less than {limit}", ": {said}"),
    chance=("", ""),
    doubt=("not enough trials to tell it from chance among {family} effects", ": {said}"),
    chance_is_doubt=True,
)
COMPARISON = Wording(
    same=("no difference shown", ", within ± {reach}"),
    small=("no difference that matters", ": {said}, less than the factor of {limit}"),
    chance=("no difference shown", ": {said}, not significant{among}"),
    doubt=("not enough trials to tell it from chance{among}", ": {said}"),
    chance_is_doubt=False,
)


DRIFT_WORDS: Words = (
    "not told from drift",
    ": {said}; one side was measured after the other, and the trend of their trials may be "
    "the difference: measure both in one campaign (order: interleaved), or take more trials",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change against the base: relative (0.031 is + 3.1 %), or a difference of shares.

    ``low`` and ``high`` are its 95 % CI, ``p`` is of this one alone, ``p_holm`` among all of its family,
    ``p_all`` among all rows that are shown together; ``None`` where its family is all of them.
    ``permutation_p`` is that of shuffled runs, alone; ``None`` where it was not asked for.
    """

    value: float
    low: float
    high: float
    p: float
    p_holm: float
    permutation_p: float | None = None
    p_all: float | None = None
    is_within_drift: bool = False
    """beyond chance if nothing drifts, but not beyond the trend of the runs of sides that were measured one
    after the other"""

    @property
    def p_corrected(self) -> float:
        """The p that decides: among all rows that are shown together."""
        return self.p_holm if self.p_all is None else self.p_all

    @property
    def significant(self) -> bool:
        """Whether it is beyond chance among all, and shuffled runs do not contradict."""
        return self.p_corrected < ALPHA and (self.permutation_p is None or self.permutation_p < ALPHA)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``change`` is ``None`` where there are not enough trials for one; ``details`` follow ``brief``.

    ``advice`` says how many runs would be enough, where the interval is too wide for a verdict.
    """

    kind: Kind
    brief: str
    details: str = ""
    change: Change | None = None
    advice: str = ""

    @property
    def words(self) -> str:
        """The whole."""
        return "; ".join(filter(None, (f"{self.brief}{self.details}", self.advice)))


def verdicts_of_family(
    response: Response,
    family: Sequence[Contrast | Missing],
    matters: float | None = None,
    wording: Wording = EFFECTS,
    related_contrasts: Sequence[Contrast | Missing] = (),
    elsewhere: Sequence[Contrast | Missing] | None = None,
) -> tuple[Verdict, ...]:
    """A verdict on each contrast of a family that is looked at together; a reason where there is none.

    ``matters`` is the factor that a change must be beyond; ``related_contrasts`` are contrasts of other
    responses that are of the family, too. ``elsewhere`` are all other contrasts on the
    same screen: then chance is excluded among all of these.
    """
    among_family = _testable((*family, *related_contrasts))
    among_all = None if elsewhere is None else _testable((*family, *elsewhere))
    judge = _Judge(
        response,
        least_factor(response, matters),
        wording,
        len(among_family if among_all is None else among_all),
    )
    holm_ps = iter(holm_adjusted([contrast.p for contrast in among_family]))
    all_ps = iter(holm_adjusted([contrast.p for contrast in among_all or ()]))
    return tuple(
        Verdict("undecided", TOO_FEW, f": {contrast.reason}")
        if isinstance(contrast, Missing)
        else Verdict("undecided", TOO_FEW, f": {contrast.doubt}", _change(response, contrast, 1.0))
        if contrast.doubt is not None
        else judge(_change(response, contrast, next(holm_ps), None if among_all is None else next(all_ps)))
        for contrast in family
    )


def _testable(contrasts: Sequence[Contrast | Missing]) -> list[Contrast]:
    """Those with runs enough for a verdict; what has none does not count as looked at."""
    return [contrast for contrast in contrasts if isinstance(contrast, Contrast) and contrast.doubt is None]


def least_factor(response: Response, matters: float | None = None) -> float:
    """What a change must be beyond: as asked, or the usual of its kind."""
    if matters is not None:
        return matters
    return 1.0 if response.counted else MATTERS_RATIO if response.relative else MATTERS_LOSS


def widest_change(response: Response, matters: float | None = None) -> float:
    """How far the CI of no change may reach: nobody asks for more than a large factor says."""
    return max(least_factor(response, matters), WIDEST * least_factor(response))


MOST_RUNS = 500
"""on each side that are advised"""


def runs_advice(
    response: Response, contrast: Contrast, runs: tuple[int, int], matters: float | None = None
) -> str:
    """How many runs on each side narrow an interval to what a verdict needs, if they spread as before."""
    reach = widest_change(response, matters)
    amount = response_amount(response, reach)
    low, high = contrast.interval
    reach_of_logs = math.log1p(reach) if response.relative else reach
    se_of_run = (high - low) / 2 / critical_t(ALPHA, contrast.df) / math.sqrt(sum(1 / n for n in runs) / 2)
    counts = range(2, MOST_RUNS + 1)
    needed = next(
        (n for n in counts if critical_t(ALPHA, 2 * n - 2) * se_of_run <= reach_of_logs * math.sqrt(n)), None
    )
    if needed is None:
        return f"even {MOST_RUNS} trials on each side would not tell ± {amount}"
    step = 10 ** max(0, len(str(needed)) - 2)
    return f"about {math.ceil(needed / step) * step} trials on each side would tell ± {amount}"


def _change(response: Response, contrast: Contrast, p_holm: float, p_all: float | None = None) -> Change:
    ends = (contrast.value, *contrast.interval)
    value, low, high = map(_relative, ends) if response.relative else ends
    if response.is_share:
        low, high = max(low, -1.0), min(high, 1.0)
    within_drift = contrast.p_of_means < ALPHA <= contrast.p
    return Change(value, low, high, contrast.p, p_holm, contrast.permutation_p, p_all, within_drift)


def _relative(log_ratio: float) -> float:
    """The relative change; one that no float can hold is infinite."""
    return math.expm1(min(log_ratio, 700.0))


@dataclass(frozen=True, slots=True)
class _Judge:
    """What a change of a response means; ``limit`` is the factor it must be beyond."""

    response: Response
    limit: float
    wording: Wording
    family: int

    @property
    def widest(self) -> float:
        """How far the CI of no change may reach."""
        return widest_change(self.response, self.limit)

    def __call__(self, change: Change) -> Verdict:
        beyond = abs(change.value) > self.limit
        if change.significant and beyond:
            better = (change.value > 0) == self.response.higher_is_better
            return Verdict("better" if better else "worse", change_words(self.response, change), "", change)
        if change.significant:
            return self._verdict("small", self.wording.small, change)
        if change.is_within_drift and beyond:
            return self._verdict("undecided", DRIFT_WORDS, change)
        is_narrow = max(abs(change.low), abs(change.high)) <= self.widest
        if change.p < ALPHA and beyond and (self.wording.chance_is_doubt or not is_narrow):
            return self._verdict("undecided", self.wording.doubt, change)
        if not is_narrow:
            return Verdict("undecided", TOO_WIDE, f": anything from {span(self.response, change)}", change)
        chance = change.p < ALPHA and beyond
        return self._verdict("same", self.wording.chance if chance else self.wording.same, change)

    def _verdict(self, kind: Kind, words: Words, change: Change) -> Verdict:
        reach = max(abs(change.low), abs(change.high))
        fill = partial(
            str.format,
            said=change_words(self.response, change),
            limit=response_amount(self.response, self.limit),
            reach=response_amount(self.response, reach),
            family=self.family,
            among=f" among {self.family} comparisons" if self.family > 1 else "",
        )
        brief, details = map(fill, words)
        return Verdict(kind, brief, details, change)


def change_words(response: Response, change: Change) -> str:
    """``faster by 3.1 % (CI 2.2 to 4.0 %)``, ``less loss by 0.3 points (CI …)``."""
    less = change.value < 0
    low, high = (-change.high, -change.low) if less else (change.low, change.high)
    return (
        f"{response.less if less else response.more} by {response_amount(response, abs(change.value))} "
        f"(CI {_number(response, low)} to {response_amount(response, high)})"
    )


def span(response: Response, change: Change) -> str:
    """The CI with signs: ``−3.0 to +8.1 %``."""
    low, high = (signed_change(bound, response) for bound in (change.low, change.high))
    return f"{low} to {high} {unit_of_change(response)}"


def response_amount(response: Response, value: float) -> str:
    """``1.2 %``, ``0.3 points``."""
    return f"{_number(response, value)} {unit_of_change(response)}"


def signed_change(value: float, response: Response | None = None) -> str:
    """A change in its unit with its sign, ``+3.1``, ``−0.4``; none where it rounds to nothing."""
    text = _number(response, abs(value))
    return text if not text.strip("0.") else f"{'−' if value < 0 else '+'}{text}"


def unit_of_change(response: Response) -> str:
    """``%`` of ratios, else ``points``, or what is counted."""
    return "%" if response.relative else response.counted or "points"


def _number(response: Response | None, value: float) -> str:
    """Whole from 100, two decimals below 0.1, else one."""
    percent = value if response and response.counted else 100 * value
    size = abs(percent)
    decimals = 0 if size >= 99.95 else 1 if size >= 0.095 else 2
    return f"{percent:.{decimals}f}".replace("-", "−")
