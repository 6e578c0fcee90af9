# SPDX-License-Identifier: Apache-2.0
"""How often a history is right, on simulated results; the table of docs/compare.md has the same numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.comparison.history import Point, course
from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.soak.job import Job
from linewatt.analysis.statistics.stats import Estimate
from linewatt.records import Campaign

COURSES = 100
CV = 0.02
_JOB = Job({"users": 4}, "dut", ("dut", "c1"))
_SIDE = Side("s", "s", Campaign(written={}), {}, {})
_ROW = re.compile(
    r"\| (\d+) \| (\d+) \| (\d+) % \| ([\d.]+) % \| (none|\d+ %) \| (\d+) % \| (\d+) % \| (\d+ %|–) \|"
)
_TABLE = _ROW.findall(Path("docs/compare.md").read_text())


def simulated(
    runs: int, results: int, between: float, step: float, bad: float | None
) -> tuple[int, int, int]:
    """Of 100 courses: right ones, those with a change that is none, and those that name the bad night.

    The step is after six of ten results, the bad night is the first of the second third.
    """
    draw = np.random.default_rng(5)
    step_at, bad_at = math.ceil(0.6 * results), results // 3
    right = wrong = named = 0
    for _ in range(COURSES):
        levels = draw.normal(0, between, results)
        levels[step_at:] += math.log(1 - step)
        if bad is not None:
            levels[bad_at] += math.log(1 - bad)
        points = [
            Point(_SIDE, _JOB, tuple(map(float, draw.normal(level, CV, runs))), Estimate(1, 0, runs))
            for level in levels
        ]
        found = course(points, THROUGHPUT)
        changes, true = [change.at for change in found.changes], [step_at] if step else []
        right += changes == true
        wrong += bool(set(changes) - set(true))
        named += [one.at for one in found.unlike] == [bad_at]
    return right, wrong, named


def test_the_document_has_a_table_of_them() -> None:
    assert len(_TABLE) >= 12


@pytest.mark.parametrize("row", _TABLE, ids=" ".join)
def test_the_document_says_how_often_a_history_is_right(row: tuple[str, ...]) -> None:
    runs, results, between, step, bad, right, wrong, named = row
    share = None if bad == "none" else int(bad.removesuffix(" %")) / 100
    found = simulated(int(runs), int(results), int(between) / 100, float(step) / 100, share)
    assert found[0] == pytest.approx(int(right), abs=2)
    assert found[1] == pytest.approx(int(wrong), abs=2)
    if named != "–":
        assert found[2] == pytest.approx(int(named.removesuffix(" %")), abs=2)
