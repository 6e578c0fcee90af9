# SPDX-License-Identifier: Apache-2.0
"""How the numbers of a report are defined, in words."""

from __future__ import annotations

from linewatt.analysis.metrics import METRICS
from linewatt.analysis.statistics import FEWEST_TO_SKEW, runs_that_exclude
from linewatt.findings import BEYOND_KNEE_GAIN, FULL_RATIO, LITTLE_GAIN_RATIO, percent

GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Trial",
        "One repetition of a case. The trial, never the second, is the unit of statistics.",
    ),
    (
        "Mean ± SD",
        "Mean over the trials of a case and their standard deviation (divisor n − 1). A derived value"
        " is computed in each trial and then averaged. One trial has no standard deviation.",
    ),
    (
        "Instance",
        "One load process with one port. N instances are N processes.",
    ),
    *((metric.term or metric.title, metric.meaning) for metric in METRICS if metric.meaning),
    (
        "App CPU, IRQ CPU",
        "The CPUs that run the load processes, and those that serve the interrupts (or the receive "
        "steering) of the interface. Shares are per CPU: usr (user), sys (kernel), irq (hard "
        "interrupts), soft (soft interrupts), other (nice, steal, guest), idle (waiting for disks, too).",
    ),
    (
        "Flag",
        "Something seen that makes a number doubtful, with the evidence and what to do about it. A "
        "flagged number is kept, never corrected.",
    ),
    (
        "–",
        "Not measured, or not derivable. A missing number is never counted as 0.",
    ),
    (
        "CPU/tput and W/tput (each end in full)",
        "CPU of the app and IRQ CPUs, and watts above idle, ÷ what that end itself sent or received; cut, not"
        " rounded.",
    ),
    (
        "Limited by",
        f"What is nearest to full, if it is at least {percent(FULL_RATIO)} full in every trial and nothing "
        "speaks against it: the line, a slot, the busiest CPU of a role, a buffer, a queue, or a limit "
        "inside the device or path. “No limit found” does not prove that there is room.",
    ),
)

RARE_MODE = 0.1
"""of runs: a mode that so few of them take is told of where they are too few to show it"""


def interval_entry(fewest_runs: int) -> tuple[str, str]:
    """What an interval of a mean assumes; with too few runs, what these could not show."""
    needed = runs_that_exclude(RARE_MODE)
    text = (
        "Where the mean of many more trials would be, if the trials made show how trials are spread. "
        f"From {FEWEST_TO_SKEW} trials on it reaches further on the side where trials are further off."
    )
    if fewest_runs < needed:
        text += (
            f" A mode that takes 1 trial in {1 / RARE_MODE:g} would show with 95 % in {needed} trials; "
            f"{fewest_runs} were made."
        )
    return "95 % interval", text


POWER_GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Regime",
        "Single: one instance. Saturated: something that the instances share is full, or twice the instances "
        f"brought less than {percent(LITTLE_GAIN_RATIO)} (beyond the knee {percent(BEYOND_KNEE_GAIN)}). "
        "Multi: between. Paced: held to a rate.",
    ),
    (
        "Power",
        "Mean over the window: energy ÷ its length. The system’s is that of the scope in the heading, PSU DC "
        "out where it is known, since losses of supplies depend on their load. Scopes are never mixed.",
    ),
    (
        "Bound of sensor error",
        "What the system’s power in one trial may be off by, from the sensor’s tolerance, step and updates, "
        "at about 95 %. It is not the spread over the trials, which is behind ±.",
    ),
    (
        "System efficiency, CPU efficiency, CPU share",
        "Throughput ÷ W of the system, throughput ÷ W of the CPU, and W of the CPU ÷ W of the system. The "
        "throughput is what that end itself sent or received.",
    ),
    (
        "Energy per bit, above idle",
        "W ÷ throughput; 1 W/Gbps is 1000 pJ/bit. Above idle: of the power that the host did not draw "
        "idle, on the same channels with the same settings, before the trials and after them. Its ± is a "
        "bound of the error of both.",
    ),
    (
        "sim, est, sheet",
        "Watts that were not measured: simulated, estimated, or taken from a "
        "datasheet. What is made of such watts is marked in the same way.",
    ),
)
"""For results with power"""

LEVEL_GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "Load level, target",
        "The part of the calibrated maximum that all instances together were asked for. The maximum is the "
        "mean throughput of the same case at full rate; with several pairs of hosts the smallest of their "
        "means, so that all are offered the same. Active idle: everything is ready and nothing is sent.",
    ),
    (
        "Off target, missed",
        "Throughput ÷ target − 1. A level that is more than 2 % off is missed: what it shows is not at "
        "that load.",
    ),
    (
        "Overall score",
        "Throughput of all levels ÷ system watts of all levels, active idle included, in Mbps/W. It compares "
        "only between curves of the same levels and the same kind of watts.",
    ),
)
"""For results with load levels"""
