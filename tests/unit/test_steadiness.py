# SPDX-License-Identifier: Apache-2.0
"""Warm-up and drift are told; noise, also that of which neighbours are alike, is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linewatt.analysis import steadiness
from linewatt.analysis.summary import summarise
from linewatt.engine.measuring.checks import steadiness as steady_checks
from linewatt.engine.measuring.window import EndRun
from linewatt.loads.base import LoadEnd, LoadInterval
from linewatt.model import Case, Trial, Window

MEAN_BPS = 94e9
CASE = Case("tcp", "gen", "dut")


def noise(windows: int, n: int, correlation: float, cv: float, seed: int = 4) -> Any:
    """Steady throughput with AR(1) noise, so many windows of ``n`` intervals, bit/s."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(windows, n))
    for at in range(1, n):
        drawn[:, at] = correlation * drawn[:, at - 1] + np.sqrt(1 - correlation**2) * drawn[:, at]
    return MEAN_BPS * (1 + cv * drawn)


def told(windows: Any, at_start: bool | None = None) -> float:
    """In which part of the windows a step or a slope is told; with ``at_start`` only steps up there."""
    found = []
    for values in windows.tolist():
        step = steadiness.step(values)
        if at_start:
            early = step is not None and step.at <= len(values) / 3 and step.before < step.after
            found.append(early)
        else:
            found.append(step is not None or steadiness.slope(values) is not None)
    return float(np.mean(found))


def run_of(rates_bps: list[float]) -> EndRun:
    intervals = tuple(LoadInterval(i, i + 1, round(rate / 8)) for i, rate in enumerate(rates_bps))
    return EndRun(LoadEnd(False, "3.12", intervals, len(rates_bps), None), 0.0, 0.001)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("n", [15, 60])
def test_steady_noise_is_told_in_two_of_a_hundred_windows_at_most(n: int, correlation: float) -> None:
    assert told(noise(600, n, correlation, cv=0.03)) <= 0.02


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("ramp", ["step", "line"])
def test_a_ramp_in_the_first_15_percent_of_a_window_is_told(correlation: float, ramp: str) -> None:
    windows = noise(150, 60, correlation, cv=0.02)
    windows[:, :9] *= 0.8 if ramp == "step" else np.linspace(0.6, 1.0, 9)
    assert told(windows, at_start=True) >= 0.95


def test_a_slow_fall_of_ten_percent_is_told_as_drift() -> None:
    windows = noise(150, 60, 0.3, cv=0.02) * np.linspace(1.05, 0.95, 60)
    assert told(windows) >= 0.95


def test_warm_up_inside_the_window_is_told_with_both_rates_and_when() -> None:
    slow_start = run_of([3e9, 6e9, 9e9, 9.1e9, 9e9, 9e9, 8.9e9, 9e9, 9e9, 9.1e9])
    (flag,) = steady_checks.throughput([slow_start], Window(0, 10))
    assert flag.code == "warm-up-in-window"
    assert "the first 2 of 10 intervals (2 s) run at 4.50 Gbps, the rest at 9.01 Gbps" in flag.evidence
    assert "window.omit" in flag.advice


def test_a_step_late_in_the_window_is_drift_and_no_warm_up() -> None:
    falls = run_of([9e9, 9.1e9, 8.9e9] * 10 + [7e9, 7.1e9, 6.9e9] * 10)
    (flag,) = steady_checks.throughput([falls], Window(0, 60))
    assert flag.code == "throughput-drifts"
    assert "falls at 30 s, from 9.00 Gbps to 7.00 Gbps (−22.2 %)" in flag.evidence


def test_instances_are_looked_at_together() -> None:
    """One that takes over from another is no drift of the throughput."""
    early, late = run_of([6e9] * 15 + [3e9] * 15), run_of([3e9] * 15 + [6e9] * 15)
    assert steady_checks.throughput([early, late], Window(0, 30)) == []
    assert steady_checks.throughput([early, early], Window(0, 30)) != []


@pytest.mark.parametrize(
    "rates",
    [
        [9e9] * 10,
        [9e9, 9.3e9, 8.8e9, 9.1e9, 9e9, 9.2e9, 8.9e9, 9e9, 9.1e9, 9e9],
        [5e9, 9e9, 2e9, 8e9, 3e9, 9e9, 4e9, 7e9, 2e9, 6e9],
        [1e9, 9e9],
        [],
        [0.0] * 20,
    ],
    ids=["steady", "ordinary noise", "wild but without a trend", "too short to tell", "none", "nothing sent"],
)
def test_a_window_without_warm_up_raises_nothing(rates: list[float]) -> None:
    assert steady_checks.throughput([run_of(rates)], Window(0, max(1, len(rates)))) == []


def runs(values: list[float]) -> list[Trial]:
    return [
        Trial(number, number, CASE, CASE.key, "done", 70.0 * number, throughput_bps=bps)
        for number, bps in enumerate(values, start=1)
    ]


def test_runs_that_get_slower_over_the_campaign_are_told_once_for_their_case() -> None:
    values = (MEAN_BPS * np.linspace(1, 0.9, 10) * (1 + 0.005 * noise(1, 10, 0, 1)[0] / MEAN_BPS)).tolist()
    (summary,) = summarise(runs(values))
    (flag,) = summary.case_flags
    assert flag.code == "drifts-over-trials"
    assert "throughput falls over its 10 runs" in flag.evidence
    assert "10 min 30 s" in flag.evidence


def test_steady_runs_are_told_to_drift_in_one_of_a_hundred_cases_at_most() -> None:
    cases = noise(3_000, 10, 0.0, cv=0.02).tolist()
    times_s = [70.0 * number for number in range(10)]
    assert np.mean([steadiness.drift(times_s, values) is not None for values in cases]) <= 0.01


@pytest.mark.parametrize("values", [[94e9] * 10, [94e9, 90e9, 86e9], [0.0] * 8], ids=["alike", "few", "none"])
def test_what_cannot_drift_does_not(values: list[float]) -> None:
    assert steadiness.drift([float(at) for at in range(len(values))], values) is None
