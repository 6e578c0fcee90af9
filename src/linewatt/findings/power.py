# SPDX-License-Identifier: Apache-2.0
"""Findings on watts that are missing, stand still, or cannot be."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

MIN_UPDATES = 5
BUSY_CORES, BUSY_RATIO = 0.2, 0.1
"""CPU use above idle that a sensor should show: cores, and of all the host's CPUs"""
MAX_PSU_GAIN = 0.05
"""Readings of two sensors may disagree by this much before more out than in is called impossible."""
MAX_RATING_RATIO = 1.05
"""A supply may give a little more than its rating for a while; its sensor may err by as much."""

KINDS = (
    Kind(
        "power-missing",
        "withheld",
        "case",
        ("power", "above_idle"),
        "A source of power gave no number in this window; throughput and CPU are not affected.",
        "The evidence has the source's own words.",
        "See the source's raw readings, put it right, and measure again.",
    ),
    Kind(
        "power-few-updates",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A power reading changed only a few times in the window, so that its mean is of a few moments.",
        f"Fewer than {MIN_UPDATES} updates.",
        "Lengthen window.seconds, or read it more often (interval_s) if it is updated more often.",
    ),
    Kind(
        "power-frozen",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A power reading stood still although the CPU, or what is read beside it, says that it must have moved.",
        f"One value all through the window, the same as idle, with {BUSY_CORES:g} cores and {percent(BUSY_RATIO)} of the "
        "host more in use; or others of its source moved by more than two of its steps.",
        "Do not use this figure; restart the BMC or meter, and see whether it follows a load.",
    ),
    Kind(
        "power-saturated",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A power reading is at the most it can show; the true power is higher.",
        "It reached its sensor's maximum.",
        "Use another source.",
    ),
    Kind(
        "power-implausible",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "Watts that cannot be: below zero, more out of a supply than into it, parts without their sum, or more than the "
        "supplies are rated for.",
        f"Two sensors contradict each other by more than {percent(MAX_PSU_GAIN)}, or a supply gives more than "
        f"{percent(MAX_RATING_RATIO)} of its rating.",
        "Find out which of the sensors is wrong before using either.",
    ),
    Kind(
        "components-exceed-system",
        "note",
        "case",
        (),
        "The parts of a host draw more than all of it: a declared figure is too high, or a part is in another.",
        "Measured and declared parts sum to more than the system's power and the bounds of their errors.",
        "Check the declared watts (of one piece, at this load) and that no part is in another.",
    ),
)
