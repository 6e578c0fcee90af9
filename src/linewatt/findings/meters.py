# SPDX-License-Identifier: Apache-2.0
"""Findings on whether a meter can follow the power in the window."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

FEWEST_SAMPLES = 4
"""With fewer samples in the window, a meter gives no mean."""
LEAST_SEEN_RATIO = 0.5
"""A meter that covers a smaller part of the window gives no figure."""

SLOW_REFRESH_S = 5.0
LONG_AVERAGING_S = 3.0
"""Slower meters are reported, because a single reading can mislead."""
LATE_S = 5.0
"""A meter is late if it shows a load this long after its start, and no smaller delay explains this."""
STANDS_WINDOWS = 3
"""A meter hangs if it shows the same value in this many windows in a row, of trials or idle."""
HUNG_CORES, LEAST_W_PER_CORE = 0.4, 5.0
"""Their CPU use must differ by this many cores, and by two steps of the meter at this many watts per core."""
HUNG_TWO_CORES, HUNG_TWO_STEPS = 0.8, 4.0
"""The same for only two windows: cores, and steps of the meter."""
SLOWEST_REFRESH_S = 30.0
"""A meter with unknown refresh may hold its value this long without hanging."""
ENERGY_STEPS = 3.0
"""Energy per bit or packet needs a power difference of this many steps of the meter."""
LONGER_WINDOW_ADVICE = "lengthen window.seconds to what the evidence says, or use a meter that is quicker"

KINDS: tuple[Kind, ...] = (
    Kind(
        "power-window-too-short",
        "withheld",
        "case",
        ("power", "above_idle"),
        "The window is too short for this meter: its readings say too little about the power.",
        f"The meter took fewer than {FEWEST_SAMPLES} samples in the part of the window that no longer shows "
        f"the time before the load, or this part is less than {percent(LEAST_SEEN_RATIO)} of the window. The "
        "evidence describes the meter.",
        "Lengthen window.seconds as the evidence says, or use a faster meter.",
    ),
    Kind(
        "meter-refreshes-slowly",
        "note",
        "host",
        (),
        "A meter refreshes more slowly than linewatt reads it: between refreshes it shows an old value.",
        f"The usual time between distinct values over the campaign is {SLOW_REFRESH_S:g} s or more, and "
        "longer than between readings.",
        "Use windows of many refreshes; never take a single reading as the power at that moment.",
    ),
    Kind(
        "meter-averages",
        "note",
        "host",
        (),
        "A meter averages over some past time: after a load begins, its readings rise slowly.",
        f"The readings after loads began fit an average over {LONG_AVERAGING_S:g} s or more, and no model "
        "without averaging.",
        "Make omit as long as the average, or windows much longer; the bound of the energy includes the "
        "remaining error.",
    ),
    Kind(
        "meter-late",
        "note",
        "host",
        (),
        "A meter shows the power with a delay: readings in a short window may show the time before it, or "
        "another trial.",
        f"Readings follow the loads of the campaign {LATE_S:g} s or more late, and no smaller delay explains "
        "them.",
        "Make omit longer than the delay, or windows much longer; a window that is too short has no power "
        "figure.",
    ),
    Kind(
        "meter-shows-peaks",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "A meter shows the highest power of some past time, not its mean: its watts are too high if power "
        "varies.",
        "Readings rise when a load begins and stay high for a fixed time after its end; no average or delay "
        "explains both.",
        "Take its watts as an upper limit; set the meter to averages, or use another meter.",
    ),
    Kind(
        "meter-hangs",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "A meter showed the same value over several windows although CPU use changed: it hangs.",
        f"The value is the same in {STANDS_WINDOWS} or more windows in a row (trials or idle) whose CPU use "
        f"differs by more than {HUNG_CORES:g} cores, and by two steps of the meter at {LEAST_W_PER_CORE:g} W "
        f"a core. Or it is the same in two windows whose CPU use differs by more than {HUNG_TWO_CORES:g} "
        f"cores and {HUNG_TWO_STEPS:g} steps, and the meter had time to follow: its refresh and settling "
        f"time, or {SLOWEST_REFRESH_S:g} s if unknown.",
        "Do not use its figures; restart the BMC or meter, and check whether it follows a load.",
    ),
)
