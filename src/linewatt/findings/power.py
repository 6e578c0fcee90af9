# SPDX-License-Identifier: Apache-2.0
"""Findings on watts that are missing, frozen, or impossible."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

MIN_UPDATES = 5
BUSY_CORES, BUSY_RATIO = 0.2, 0.1
"""CPU use above idle that a sensor should show: cores, and fraction of all the host's CPUs"""
SCOPES_THAT_FOLLOW_THE_CPU = ("psu-in", "psu-out", "system", "wall", "cpu", "psys", "package", "core")
"""scopes of power that go up and down with the CPU"""
SWUNG_CORES, SWUNG_RATIO = 0.5, 0.25
"""How far CPU use must vary in a soak before a constant power reading is called frozen: from the 10th to
the 90th percentile of the slices, in cores and as a fraction of all the host's CPUs"""
MAX_PSU_GAIN = 0.05
"""Readings of two sensors may disagree by this much before more out than in is called impossible."""
MIN_OUT_RATIO = 0.6
"""No supply in use loses more than the rest of its input. If less comes out, some supplies are not read."""
REPEATED_TOTAL_RATIO = 0.05
"""Supplies that each read as much as the whole host, within this fraction, repeat its total."""
FAR_MORE_RATIO = 1.5
"""Supplies that read this many times the whole host also feed other hosts, or report their ratings."""
MAX_RATING_RATIO = 1.05
"""A supply may exceed its rating a little for a while; its sensor may err by as much."""

LEAST_HOST_W, LEAST_W_PER_CPU = 1.0, 0.05
MOST_HOST_W, MOST_W_PER_CPU = 5_000.0, 100.0
"""Limits for the power of any running host: W, and W for each of its CPUs. A meter in mW or kW that is read
in W is outside; a host with eight accelerators of 1 kW is not."""
ALIKE_CHANGES, ALIKE_RATIO = 5, 0.8
"""fewest changes, and fraction of all changes, that readings of two hosts share if they are of one meter;
independent meters share hardly any"""

SUPPLY_IDLE_W, CARRIES_W = 1.0, 20.0
"""Up to the first value a supply delivers nothing; from the second on it carries the host."""
TWO_WHOLES_RATIO = 0.05
"""Two readings of the whole host may differ by this much."""
W_PER_CORE, CPU_FACTOR = 40.0, 1.3
"""the most W that a busy core adds to a host; the most W that the host adds per W of its CPUs"""
MIN_UNEXPLAINED_W, MIN_UNEXPLAINED = 60.0, 0.3
"""unexplained power that is accepted (memory, cards and fans follow the load): W, and fraction of idle"""
MIN_OUTLIER_W, MIN_OUTLIER, SAME_CORES = 20.0, 0.1, 0.2
"""A trial is reported if it exceeds the median of its case by more W, and a larger fraction, with CPU use at
most ``SAME_CORES`` above the median."""
FEWEST_RUNS_OF_CASE = 3

KINDS = (
    Kind(
        "power-missing",
        "withheld",
        "case",
        ("power", "above_idle"),
        "A power source gave no value in this window. Throughput and CPU are not affected.",
        "The evidence quotes the source's message.",
        "Check the raw readings of the source, repair it, and measure again.",
    ),
    Kind(
        "power-few-updates",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A power reading changed only a few times in the window, so its mean is of few samples.",
        f"Fewer than {MIN_UPDATES} updates. Not raised if the meter's refresh time is known and "
        f"{MIN_UPDATES} refreshes were read.",
        "Lengthen window.seconds, or read it more often (interval_s) if it updates more often.",
    ),
    Kind(
        "power-frozen",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A power reading did not change, although CPU use or other readings of its source did.",
        f"One value all through the window, the same as idle, with {BUSY_CORES:g} cores and "
        f"{percent(BUSY_RATIO)} of the host more in use; or other readings of its source moved by more than "
        "two of its steps. In a soak: one value throughout, while the cores in use of its host varied by "
        f"{SWUNG_CORES:g} and by {percent(SWUNG_RATIO)} of its CPUs or more.",
        "Do not use this figure. Restart the BMC or meter, and check whether it follows a load.",
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
        "These watts are impossible, or not those of this host: negative, more out of a supply than into it, "
        "parts or CPUs above the whole host, output above its rating, a wrong unit, one meter for two hosts.",
        f"Two sensors contradict each other by more than {percent(MAX_PSU_GAIN)}; a supply gives more than "
        f"{percent(MAX_RATING_RATIO)} of its rating; or a whole host reads less than {LEAST_HOST_W:g} W or "
        f"{LEAST_W_PER_CPU:g} W per CPU, or more than {MOST_HOST_W:g} W plus {MOST_W_PER_CPU:g} W per CPU. "
        f"Or readings of two hosts share at least {ALIKE_CHANGES} changes in the window, and "
        f"{percent(ALIKE_RATIO)} of all: same time, same value. If the reading of another host of the trial "
        "would fit, the evidence names it.",
        "Find the wrong sensor before you use these watts. Check its unit (mW, W, kW), that it measures only "
        "this host, and that two sensors were not swapped.",
    ),
    Kind(
        "components-exceed-system",
        "note",
        "case",
        (),
        "The parts of a host draw more than the whole: a declared value is too high, or one part contains "
        "another.",
        "Measured and declared parts sum to more than the system's power. The evidence has the error bounds.",
        "Check the declared watts (of one piece, at this load) and that no part contains another.",
    ),
    Kind(
        "rapl-as-system",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "The system's power is from RAPL: the firmware's model of the processor or platform, not a "
        "measurement at the wall or the supplies.",
        "The best scope available is RAPL's platform (psys), or a source that reads RAPL is declared as the "
        "system.",
        "Use a BMC or a meter at the plug for the system's power, and RAPL only for the CPUs.",
    ),
    Kind(
        "psu-idle",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "One of several power supplies shows 0 W while another carries the host. It is on standby or "
        "unplugged, or its sensor is dead and the sum too small.",
        f"A unit at {SUPPLY_IDLE_W:g} W or less, another at {CARRIES_W:g} W or more. Not raised if psus "
        "declares standby, or if the unit still takes input power.",
        "If it is on standby, declare it under psus; else repair the sensor, or measure at the plug.",
    ),
    Kind(
        "power-two-readings",
        "note",
        "host",
        (),
        "Two readings claim to be the whole host: two of one BMC that differ, or two sources at the wall. "
        "The evidence says which one was used.",
        f"Those of one BMC differ by more than {percent(TWO_WHOLES_RATIO)}, or two sources at the wall both "
        "have a value. Outlets of two supplies look the same as two meters in series.",
        "Find which one measures this host, and name it under the source's sensors. For two supplies, name "
        "both outlets as channels of one source.",
    ),
    Kind(
        "power-unexplained",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "The host drew far more than its CPUs explain: faster fans, a GPU or another card, or another "
        "machine on the same meter.",
        f"Power above idle, less its error bounds, exceeds {CPU_FACTOR:g} times the rise of the CPUs' own "
        f"power (or {W_PER_CORE:g} W a core) by more than {MIN_UNEXPLAINED_W:g} W and "
        f"{percent(MIN_UNEXPLAINED)} of idle. Or a trial is {MIN_OUTLIER_W:g} W and {percent(MIN_OUTLIER)} "
        f"above the median of its case ({FEWEST_RUNS_OF_CASE} or more trials) without more CPU use.",
        "Check fan speed, GPUs, other cards and other processes. Do not take it for the cost of traffic.",
    ),
)
