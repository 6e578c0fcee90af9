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
LATE_S = 5.0
"""A meter that shows nothing of a load for so long is late: no model with a smaller delay explains its course."""
STANDS_WINDOWS = 3
"""Windows in a row, of trials or idle, that one and the same value is read in, for a meter to be called hung."""
HUNG_CORES, LEAST_W_PER_CORE = 0.4, 5.0
"""CPU use must differ by so much between them, and by what makes two steps of the meter at so few watts."""
HUNG_TWO_CORES, HUNG_TWO_STEPS = 0.8, 4.0
"""Between two windows alone, CPU use must differ by so much, and by what makes so many steps of the meter."""
SLOWEST_REFRESH_S = 30.0
"""A meter of which nothing is known may hold its value for so long, and does not hang yet."""
ENERGY_STEPS = 3.0
"""of the meter, that what bits or packets add must span, for their energy to be told"""
LONGER_WINDOW_ADVICE = "lengthen window.seconds to what the evidence says, or use a meter that is quicker"

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
        "meter-late",
        "note",
        "host",
        (),
        "A meter shows the power of some time ago: a short window may have readings of what was before it, or of another "
        "trial.",
        f"Readings follow the loads of the campaign {LATE_S:g} s or more late, and no smaller delay explains them.",
        "Let omit be longer than the delay, or windows much longer; a window that is too short for it has no power.",
    ),
    Kind(
        "meter-shows-peaks",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "A meter shows the highest power of some time past, not its mean: its watts are too high where power varies.",
        "Readings rise when a load begins and stay up for a fixed time after its end; no average and no delay explains both.",
        "Take its watts for an upper limit; set the meter to averages, or use another one.",
    ),
    Kind(
        "meter-hangs",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "A meter stood at one value over several windows although the CPUs' use changed: it hangs.",
        f"One value all through {STANDS_WINDOWS} or more windows in a row, of trials or idle, whose CPU use differs by more "
        f"than {HUNG_CORES:g} cores, and by two steps of the meter at {LEAST_W_PER_CORE:g} W a core; or through two windows "
        f"whose CPU use differs by more than {HUNG_TWO_CORES:g} cores and {HUNG_TWO_STEPS:g} steps, the later one ending "
        f"after the meter had time to follow: its refresh and what it needs after a step, {SLOWEST_REFRESH_S:g} s where that "
        "is not known.",
        "Do not use figures of it; restart the BMC or meter, and see whether it follows a load.",
    ),
)
