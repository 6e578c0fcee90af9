# SPDX-License-Identifier: Apache-2.0
"""Findings on whether a meter can show what the window needs."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

FEWEST_SAMPLES = 4
"""What a meter took less often in the window is no mean of it."""
LEAST_SEEN_RATIO = 0.5
"""A meter that has seen less of the window says nothing of it."""

SLOW_REFRESH_S = 5.0
LONG_AVERAGING_S = 3.0
"""Meters that are slower than this are told of: readers of single readings should know."""
STANDS_WINDOWS = 3
"""Windows in a row, of trials or idle, that one and the same value is read in, for a meter to be called hung."""
HUNG_CORES, LEAST_W_PER_CORE = 0.4, 5.0
"""CPU use must differ by so much between them, and by what makes two steps of the meter at so few watts."""
ENERGY_STEPS = 3.0
"""of the meter, that what bits or packets add must span, for their energy to be told"""
CALIBRATION_DAYS = 365
"""A calibration that is older is told of; laboratories calibrate meters yearly."""
BEYOND_RATIO = 0.1
"""What lies outside a calibration's staircase by more than this part of it, was not compared."""
LONGER = "lengthen window.seconds to what the evidence says, or use a meter that is quicker"

KINDS: tuple[Kind, ...] = (
    Kind(
        "power-window-too-short",
        "withheld",
        "case",
        ("power", "above_idle"),
        "The window is too short for what is known of the meter, so that its readings say too little of it.",
        f"The meter took fewer than {FEWEST_SAMPLES} samples in the part of the window that shows nothing of before the "
        f"load, or has seen less than {percent(LEAST_SEEN_RATIO)} of the window. The evidence names what was learned of it.",
        "Lengthen window.seconds to what the evidence says, or use a meter that is quicker.",
    ),
    Kind(
        "meter-refreshes-slowly",
        "note",
        "host",
        (),
        "A meter is refreshed more slowly than it is read: between refreshes it shows an old value.",
        f"The usual distance of distinct values over the campaign is {SLOW_REFRESH_S:g} s or more, and longer than that of "
        "readings.",
        "Nothing for windows of many refreshes; never take a single reading of it for the power of that moment.",
    ),
    Kind(
        "meter-averages",
        "note",
        "host",
        (),
        "A meter shows the mean of some time past: after a load begins its readings rise slowly.",
        f"What readings did after loads began fits an average over {LONG_AVERAGING_S:g} s or more, and none without one.",
        "Nothing where omit is as long or windows are much longer; the bound of the energy has what is left of it.",
    ),
    Kind(
        "meter-hangs",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "A meter stood at one value over several windows although the CPUs' use changed: it hangs.",
        f"One value all through {STANDS_WINDOWS} or more windows in a row, of trials or idle, whose CPU use differs by more "
        f"than {HUNG_CORES:g} cores, and by two steps of the meter at {LEAST_W_PER_CORE:g} W a core.",
        "Do not use figures of it; restart the BMC or meter, and see whether it follows a load.",
    ),
    Kind(
        "power-corrected",
        "note",
        "host",
        (),
        "Watts of a source are not as its meter read them, but corrected by a calibration that the campaign names.",
        "A calibration is named for the source, and its channels are there; the evidence has both figures of a trial.",
        "Nothing: each corrected figure is marked, and what was read is stored beside it.",
    ),
    Kind(
        "power-not-corrected",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A calibration is named for a source, and its watts are as read: they are not those that were calibrated.",
        "The channels of the calibrated scope are not the ones that were compared.",
        "Calibrate the meter as it is read now, or take the calibration out.",
    ),
    Kind(
        "calibration-extrapolated",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "Watts are corrected at a power at which nobody compared the meters: the line is only supposed to go on there.",
        f"Power or idle power lies outside of what the calibration's loads spanned by more than {percent(BEYOND_RATIO)} of it.",
        "Calibrate the meter over a load that reaches as far.",
    ),
    Kind(
        "calibration-old",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "Watts are corrected by a calibration that is so old that the meter may have drifted since.",
        f"It was made more than {CALIBRATION_DAYS} days before the trial.",
        "Calibrate the meter again: linewatt calibrate.",
    ),
)
