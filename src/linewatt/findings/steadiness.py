# SPDX-License-Identifier: Apache-2.0
"""Findings on what a mean over the window hides."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

VISIBLE = 0.05
"""of the mean: the least change of a step, or from end to end of a slope, that is told"""
WARM_UP_PART = 1 / 3
"""of the window: a step up or down that is later is no warm-up"""

KINDS = (
    Kind(
        "warm-up-in-window",
        "doubtful",
        "trial",
        ("throughput",),
        "The beginning of the window runs at another rate than the rest: the mean is of both.",
        f"A step of {percent(VISIBLE)} or more in the first third of the window that the noise of the intervals does "
        "not explain.",
        "Raise window.omit until it goes away.",
    ),
    Kind(
        "throughput-drifts",
        "doubtful",
        "trial",
        ("throughput",),
        "Throughput rises or falls within the window: the mean is of neither rate.",
        f"A step later than the first third, or a slope, of {percent(VISIBLE)} or more that the noise does not explain.",
        "Raise window.omit if it is warm-up; else look at temperature, frequency (cpufreq) and other traffic.",
    ),
)
