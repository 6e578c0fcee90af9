# SPDX-License-Identifier: Apache-2.0
"""Findings on changes that a mean over the window hides."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent
from linewatt.findings.verdict import VISIBLE_DRIFT

VISIBLE_CHANGE_RATIO = 0.05
"""fraction of the mean: the smallest step, or end-to-end change of a slope, that is reported"""
LOW_DEPTH_RATIO = 0.2
"""fraction of the other intervals: how far below them the lowest must be to be reported"""
MATTERING_RATIO = 0.01
"""fraction of the mean: a dip, or lowest intervals, that change it by less are not reported"""
LIGHT_RATIO = 0.01
"""fraction of the figure of a single run: a smaller change does not make it doubtful"""
FEWEST_TO_DIFFER = 4
"""runs, including the first"""
LEAST_CHANGE_CORES = 0.05
"""the smallest change of CPU use that is reported"""
LEAST_METER_STEPS = 3
"""of the meter: the smallest change of watts that its resolution does not explain"""
WARM_UP_PART = 1 / 3
"""of the window: a later step up or down is not a warm-up"""

KINDS = (
    Kind(
        "warm-up-in-window",
        "doubtful",
        "trial",
        ("throughput",),
        "The window begins at another rate than the rest; the mean mixes both.",
        f"A step of {percent(VISIBLE_CHANGE_RATIO)} or more in the first third of the window that noise does "
        "not explain. If the load already had the later rate just before the window, it is a dip or a drift "
        "instead.",
        "Increase window.omit until the finding disappears.",
        weighed="throughput",
        is_course=True,
    ),
    Kind(
        "throughput-drifts",
        "doubtful",
        "trial",
        ("throughput",),
        "Throughput rises or falls within the window; the mean is of neither rate.",
        f"A step after the first third, a temporary rise, or a slope, of {percent(VISIBLE_CHANGE_RATIO)} or "
        "more that noise does not explain.",
        "Increase window.omit if it is warm-up; else check temperature, frequency (cpufreq) and other "
        "traffic.",
        weighed="throughput",
        is_course=True,
    ),
    Kind(
        "throughput-dips",
        "doubtful",
        "trial",
        ("throughput", "cpu", "power", "above_idle"),
        "For part of the window the rate was lower than before and after. The mean, and figures divided by "
        "it, mix two states.",
        f"A stretch of intervals {percent(VISIBLE_CHANGE_RATIO)} or more below its neighbours that noise "
        f"does not explain; or intervals anywhere {percent(LOW_DEPTH_RATIO)} or more below the others, with "
        f"a clear gap. Either lowers the mean by {percent(MATTERING_RATIO)} or more.",
        "Check other traffic, shapers, temperature, frequency, and what else ran at that time.",
        weighed="throughput",
        is_course=True,
    ),
    Kind(
        "throughput-oscillates",
        "doubtful",
        "trial",
        ("throughput", "cpu", "power", "above_idle"),
        "The rate oscillates within the window, so the mean describes no stable state.",
        f"The strongest period has an amplitude of {percent(VISIBLE_CHANGE_RATIO)} or more that "
        "autocorrelated noise does not explain.",
        "Check congestion control, queues and shapers on the path, other traffic, and power limits.",
        is_course=True,
    ),
    Kind(
        "cpu-unsteady",
        "doubtful",
        "trial",
        ("cpu",),
        "CPU use changes within the window although throughput is steady: something else ran for part of it.",
        "A step, dip, oscillation or slope as for throughput, in ten or more mpstat records, by "
        f"{LEAST_CHANGE_CORES:g} cores or more. Not raised if throughput itself is unsteady.",
        "Check other processes (top, systemd timers), frequency and interrupts.",
        weighed="cpu",
    ),
    Kind(
        "power-unsteady",
        "doubtful",
        "trial",
        ("power", "above_idle"),
        "Watts change within the window although throughput and CPU use are steady.",
        f"The same changes in a meter with ten or more updates, by {LEAST_METER_STEPS} of its steps or more.",
        "Check fans, temperature, power caps, and whether the meter averages over time before the window.",
    ),
    Kind(
        "first-trial-differs",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The first trial of a case is unlike the others: something was not warm yet, or still busy with "
        "earlier work. The means include it.",
        f"Its throughput, or the CPU use of an end, is {percent(VISIBLE_DRIFT)} or more from the mean of at "
        f"least {FEWEST_TO_DIFFER - 1} others and outside their prediction interval.",
        "Compare its raw readings with those of the next trial. Let hosts warm up (longer window.omit, or "
        "discard a first case).",
    ),
)
