# SPDX-License-Identifier: Apache-2.0
"""Settings of an experiment of which no trial succeeded, while trials of others did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linewatt.model import Case, Trial
from linewatt.report.series import setting_text

Setting = tuple[tuple[str, str], ...]
"""levels of factors"""
MOST_SETTINGS = 3
"""that a heading names"""


@dataclass(frozen=True, slots=True)
class FailedSetting:
    """``levels`` are those that all failed trials have in common and no other trial has."""

    levels: Setting
    trials_failed: int
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """``mtu=9000: no trial succeeded, 3 failed: h2: cannot set …``."""
        failed = f"{self.trials_failed} failed{', the first' if len(self.reasons) > 1 else ''}"
        return f"{setting_text(self.levels)}: no trial succeeded, {failed}: {self.reasons[0]}"

    def includes(self, case: Case) -> bool:
        return set(self.levels) <= set(case.factors)


def failed_settings(trials: Sequence[Trial]) -> tuple[FailedSetting, ...]:
    """A level that no successful trial has, else a setting; none where all trials failed."""
    succeeded = {trial.case.factors for trial in trials if trial.status == "done"}
    failed = [trial for trial in trials if trial.case.factors and trial.case.factors not in succeeded]
    if not succeeded or not failed:
        return ()
    trials_by_levels: dict[Setting, list[Trial]] = {}
    for trial in failed:
        trials_by_levels.setdefault(_levels_of_none(trial.case.factors, succeeded), []).append(trial)
    return tuple(
        FailedSetting(levels, len(alike), tuple(dict.fromkeys(_reason(trial) for trial in alike)))
        for levels, alike in trials_by_levels.items()
    )


def failed_settings_lines(trials: Sequence[Trial]) -> Iterator[str]:
    """A sentence each for the first ones, then how many more there are."""
    settings = failed_settings(trials)
    yield from (setting.text for setting in settings[:MOST_SETTINGS])
    more = settings[MOST_SETTINGS:]
    if more:
        yield f"no trial succeeded at {len(more)} more settings either"


def _levels_of_none(setting: Setting, succeeded: Iterable[Setting]) -> Setting:
    """The levels of a setting that no successful trial has; all of them where each has one elsewhere."""
    levels_that_ran = {level for factors in succeeded for level in factors}
    return tuple(level for level in setting if level not in levels_that_ran) or setting


def _reason(trial: Trial) -> str:
    return trial.reason or "no reason recorded"
