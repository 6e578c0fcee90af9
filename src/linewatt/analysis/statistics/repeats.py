# SPDX-License-Identifier: Apache-2.0
"""When a case has run often enough: at a few fixed numbers of runs, and nowhere in between. Pure.

Looking after every run and stopping at the first narrow interval would favour intervals that are narrow by
luck; with a handful of looks what is lost of their coverage is known (docs/metrics.md, "Statistics").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from linewatt.analysis.statistics.stats import estimate, student
from linewatt.model import Case, Trial

LOOKS = (10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Numbers of runs at which a case may stop, as far as they are within its own bounds."""


@dataclass(frozen=True, slots=True)
class RepeatRule:
    """A case stops once the CI half-width of its mean throughput is at most ``until_ratio`` × the mean.

    At the earliest after ``fewest`` runs, and after ``most`` trials whatever the interval is.
    """

    fewest: int
    most: int
    until_ratio: float

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of runs at which is looked, ascending: both bounds, and :data:`LOOKS` between them."""
        between = (n for n in LOOKS if self.fewest < n < self.most)
        return tuple(dict.fromkeys((self.fewest, *between, self.most)))


def half_width_ratio(values: Sequence[float]) -> float | None:
    """CI half-width (Student's t at every n) ÷ mean; ``None`` below two runs or without throughput."""
    mean = estimate(values)
    if mean is None or mean.sd is None or mean.mean <= 0:
        return None
    return student(mean.mean, mean.sd, mean.n).half_width / mean.mean


def met(values: Sequence[float], rule: RepeatRule) -> bool:
    """Whether runs are enough for a rule; asked at its looks only, where ``len(values)`` is one of them."""
    reach = half_width_ratio(values)
    return len(values) in rule.looks and reach is not None and reach <= rule.until_ratio


def comparison(case: Case) -> Case:
    """The same for cases that differ in their network or levels of factors only: what is compared."""
    return replace(case, network="bare", factors=())


@dataclass(slots=True)
class _Runs:
    values: list[float] = field(default_factory=list)
    failed: int = 0
    enough: bool = False
    """whether a look has found its interval narrow enough"""
    stopped: bool = False


class Repeats:
    """Which cases need further trials, as trials come in. The same trials in the same order, the same answer.

    Cases that are compared stop together, so that their runs stay side by side in time; one that has no run
    yet, as its turn comes later or all its trials fail, does not delay other cases. A failed trial is no run.
    """

    def __init__(self, rule: RepeatRule, cases: Iterable[Case], trials: Iterable[Trial] = ()) -> None:
        self.rule = rule
        self._runs = {case: _Runs() for case in cases}
        self._groups: dict[Case, list[Case]] = {}
        for case in self._runs:
            self._groups.setdefault(comparison(case), []).append(case)
        for trial in sorted(trials, key=lambda trial: trial.number):
            self.learn(trial)

    def learn(self, trial: Trial) -> tuple[Case, ...]:
        """Take a stored trial into account; the cases that need no more because of it."""
        runs = self._runs[trial.case]
        if trial.status == "failed" or trial.throughput_bps is None:
            runs.failed += 1
            return ()
        runs.values.append(trial.throughput_bps)
        runs.enough = runs.enough or met(runs.values, self.rule)
        together = [case for case in self._groups[comparison(trial.case)] if self._runs[case].values]
        if not all(self._runs[case].enough for case in together):
            return ()
        stopped = tuple(case for case in together if not self._runs[case].stopped)
        for case in stopped:
            self._runs[case].stopped = True
        return stopped

    def needs(self, case: Case) -> bool:
        """Whether a case needs the trials that are planned for it."""
        return not self._runs[case].stopped

    def outcome(self, case: Case) -> RepeatOutcome:
        """What became of a case so far."""
        runs = self._runs[case]
        return RepeatOutcome(
            len(runs.values), runs.failed, half_width_ratio(runs.values), runs.stopped, self.rule
        )


@dataclass(frozen=True, slots=True)
class RepeatOutcome:
    """How often a case ran, and how sure its mean is; ``half_width_ratio`` is None below two runs."""

    runs: int
    failed: int
    half_width_ratio: float | None
    stopped: bool
    rule: RepeatRule

    @property
    def why(self) -> str:
        """Why no more trials were run, in words."""
        target_words = f"± {100 * self.rule.until_ratio:g} %"
        reach = self.half_width_ratio
        reach_words = "unknown" if reach is None else f"± {100 * reach:.2g} %"
        ran = f"{self.runs} trial{'' if self.runs == 1 else 's'}"
        if self.stopped and reach is not None and reach <= self.rule.until_ratio:
            return f"{reach_words} after {ran}, {target_words} was asked for"
        if self.stopped:  # it was narrow enough, and went on for a case that it is compared with
            return (
                f"{reach_words} after {ran}: {target_words} was met before, and it ran on "
                f"beside what it compares with"
            )
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{reach_words} after {ran}{failed}: {target_words} was not reached in {self.rule.most} trials"
