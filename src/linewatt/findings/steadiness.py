# SPDX-License-Identifier: Apache-2.0
"""Findings on what a mean over the window hides."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent
from linewatt.findings.verdict import VISIBLE_DRIFT

VISIBLE_CHANGE_RATIO = 0.05
"""of the mean: the least change of a step, or from end to end of a slope, that is told"""
LOW_DEPTH_RATIO = 0.2
"""of the other intervals: how far below them the lowest must be to be told apart"""
MATTERING_RATIO = 0.01
"""of the mean: less than this a time apart or some lowest intervals may take from it untold"""
LIGHT_RATIO = 0.01
"""of the figure of a single run: what changes less of it does not make it doubtful"""
FEWEST_TO_DIFFER = 4
"""runs, the first among them"""
LEAST_CHANGE_CORES = 0.05
"""CPU use must change by this much to be told"""
LEAST_METER_STEPS = 3
"""of the meter: watts must change by more than reading it does"""
WARM_UP_PART = 1 / 3
"""of the window: a step up or down that is later is no warm-up"""

KINDS = (
    Kind(
        "warm-up-in-window",
        "doubtful",
        "trial",
        ("throughput",),
        "The beginning of the window runs at another rate than the rest: the mean is of both.",
        f"A step of {percent(VISIBLE_CHANGE_RATIO)} or more in the first third of the window that the noise of the intervals does "
        "not explain; where just before the window the rate was that of the rest, it is a dip or a drift.",
        "Raise window.omit until it goes away.",
        weighed="throughput",
    ),
    Kind(
        "throughput-drifts",
        "doubtful",
        "trial",
        ("throughput",),
        "Throughput rises or falls within the window: the mean is of neither rate.",
        f"A step later than the first third, a rise for a while, or a slope, of {percent(VISIBLE_CHANGE_RATIO)} or more that the "
        "noise does not explain.",
        "Raise window.omit if it is warm-up; else look at temperature, frequency (cpufreq) and other traffic.",
        weighed="throughput",
    ),
    Kind(
        "throughput-dips",
        "doubtful",
        "trial",
        ("throughput", "cpu", "power", "above_idle"),
        "For a part of the window the rate was lower than before and after: the mean, and what is divided by it, is of "
        "two states.",
        f"A stretch of intervals {percent(VISIBLE_CHANGE_RATIO)} or more below those around it that the noise does not explain; or "
        f"intervals, wherever they are, {percent(LOW_DEPTH_RATIO)} or more below all others with a gap between. Either takes "
        f"{percent(MATTERING_RATIO)} or more from the mean.",
        "Look for other traffic, a shaper, temperature and frequency, and what else ran at that time.",
        weighed="throughput",
    ),
    Kind(
        "throughput-oscillates",
        "doubtful",
        "trial",
        ("throughput", "cpu", "power", "above_idle"),
        "The rate swings with a period within the window: the mean is of no state that lasts.",
        f"The best period has an amplitude of {percent(VISIBLE_CHANGE_RATIO)} or more that the noise, with its autocorrelation, does "
        "not explain.",
        "Look at congestion control, queues and shapers on the way, other traffic, and power limits.",
    ),
    Kind(
        "cpu-unsteady",
        "doubtful",
        "trial",
        ("cpu",),
        "CPU use changes within the window although throughput is steady: something else ran for a part of it.",
        f"A step, a stretch, lowest readings, an oscillation or a slope as of throughput, in ten or more records of "
        f"mpstat, by {LEAST_CHANGE_CORES:g} cores or more. Not told where throughput is unsteady itself.",
        "Look for what else ran (top, systemd timers), at frequency and at interrupts.",
        weighed="cpu",
    ),
    Kind(
        "power-unsteady",
        "doubtful",
        "trial",
        ("power", "above_idle"),
        "Watts change within the window although throughput and CPU use are steady.",
        f"The same in the readings of a meter with ten or more updates, by {LEAST_METER_STEPS} of its steps or more.",
        "Look at fans, temperature, a power cap, and whether the meter averages over a time that began before the window.",
    ),
    Kind(
        "first-trial-differs",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The first run of a case is none of those that the others are of: something was still cold, or still busy with "
        "what came before. It is part of the means.",
        f"Its throughput, or the CPU use of an end, is {percent(VISIBLE_DRIFT)} or more from the mean of at least "
        f"{FEWEST_TO_DIFFER - 1} others and outside of their prediction interval.",
        "Compare its raw readings with the next; let hosts warm up (a longer window.omit, a first case to throw away).",
    ),
)
