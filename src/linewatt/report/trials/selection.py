# SPDX-License-Identifier: Apache-2.0
"""Which series of a large result stand open on a page: of many the ten fastest and the ten slowest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from linewatt.model import Case
from linewatt.report.charts.data import few
from linewatt.report.series import TestGroup
from linewatt.report.trials.charts.cases import top_bps

MOST_SERIES = 20
_EACH_WAY = 10


@dataclass(frozen=True)
class Selection:
    """The series of each test that are shown, and the others of those tests that have any."""

    shown: tuple[TestGroup, ...]
    others: tuple[TestGroup, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """What a section says that leaves the others out."""
        if not self.others:
            return ()
        return (
            f"Of a test with more than {MOST_SERIES} series the ten with the most and the ten with the least "
            "throughput; 'linewatt show --full' has all.",
        )

    @cached_property
    def left_out(self) -> frozenset[Case]:
        """The cases of the others."""
        return frozenset(summary.case for group in self.others for summary in group.summaries)

    def title(self, group: TestGroup) -> str:
        """What stands above the series of a test that are shown."""
        others_count = next(
            (len(test_group.series) for test_group in self.others if test_group.test == group.test), 0
        )
        series_count = len(group.series) + others_count
        return (
            f"{group.title}: the ten fastest and the ten slowest of {series_count} series"
            if others_count
            else ""
        )


def selection(groups: Sequence[TestGroup]) -> Selection:
    """All series of tests with few of them; of others those with the most and the least throughput."""
    chosen = {group.test: few(group.series, top_bps, MOST_SERIES, _EACH_WAY) for group in groups}
    shown = [TestGroup(group.test, tuple(chosen[group.test])) for group in groups]
    shown_ids = {id(series) for test_series in chosen.values() for series in test_series}
    others = [
        TestGroup(group.test, tuple(series for series in group.series if id(series) not in shown_ids))
        for group in groups
        if len(chosen[group.test]) < len(group.series)
    ]
    return Selection(tuple(shown), tuple(others))
