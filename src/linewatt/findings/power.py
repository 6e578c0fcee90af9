# SPDX-License-Identifier: Apache-2.0
"""Findings on watts that are missing, stand still, or cannot be."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

MIN_UPDATES = 5
BUSY_CORES, BUSY_RATIO = 0.2, 0.1
"""CPU use above idle that a sensor should show: cores, and of all the host's CPUs"""
SCOPES_THAT_FOLLOW_THE_CPU = ("psu-in", "psu-out", "system", "wall", "cpu", "psys", "package", "core")
"""scopes of power that go up and down with the CPU"""
SWUNG_CORES, SWUNG_RATIO = 0.5, 0.25
"""How far CPU use must have gone up and down in a soak before a power reading that never moved is called frozen:
between a tenth and nine tenths of the slices, cores, and of all the host's CPUs"""
MAX_PSU_GAIN = 0.05
"""Readings of two sensors may disagree by this much before more out than in is called impossible."""
MIN_OUT_RATIO = 0.6
"""No supply in use loses more than the rest of what it takes: if less comes out, some are not read."""
REPEATED_TOTAL_RATIO = 0.05
"""Supplies of which each reads as much as the whole host, within this part, repeat its total."""
FAR_MORE_RATIO = 1.5
"""Supplies that read so many times the whole host feed more than it, or say their ratings."""
MAX_RATING_RATIO = 1.05
"""A supply may give a little more than its rating for a while; its sensor may err by as much."""

LEAST_HOST_W, LEAST_W_PER_CPU = 1.0, 0.05
MOST_HOST_W, MOST_W_PER_CPU = 5_000.0, 100.0
"""What no host that runs takes less, or more, than: W, and W for each of its CPUs. A meter in mW or kW that is read
in W is beyond it; eight accelerators of 1 kW are not."""
ALIKE_CHANGES, ALIKE_RATIO = 5, 0.8
"""changes that readings of two hosts share, at the fewest, and of all of them: independent meters share hardly any"""

SUPPLY_IDLE_W, CARRIES_W = 1.0, 20.0
"""A supply that shows less gives nothing, while another that shows more carries the host."""
TWO_WHOLES_RATIO = 0.05
"""Two readings of the whole host may differ by this much."""
W_PER_CORE, CPU_FACTOR = 40.0, 1.3
"""Watts that a core in use can add to a host; and what the host adds to each watt of its CPUs."""
MIN_UNEXPLAINED_W, MIN_UNEXPLAINED = 60.0, 0.3
"""What may be left unexplained: memory, cards and fans that follow the load; W, and of idle."""
MIN_OUTLIER_W, MIN_OUTLIER, SAME_CORES = 20.0, 0.1, 0.2
"""A trial may draw so much more than the median of its case at the same CPU use: W, and of the median; cores."""
FEWEST_RUNS_OF_CASE = 3

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
        f"Fewer than {MIN_UPDATES} updates, of a meter that does not refresh at {MIN_UPDATES} of the readings, as far as was learned.",
        "Lengthen window.seconds, or read it more often (interval_s) if it is updated more often.",
    ),
    Kind(
        "power-frozen",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "A power reading stood still, although CPU use or the other readings of its source changed.",
        f"One value all through the window, the same as idle, with {BUSY_CORES:g} cores and {percent(BUSY_RATIO)} of the "
        "host more in use; or others of its source moved by more than two of its steps. In a soak: one value all through it, while "
        f"the cores in use of its host went up and down by {SWUNG_CORES:g} and {percent(SWUNG_RATIO)} of its CPUs or more.",
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
        "These watts are impossible, or not those of this host: below zero, more out of a supply than into it, parts that exceed "
        "the whole, CPUs that draw more than their host, more than the supplies are rated for, another unit, or one meter that feeds "
        "two hosts.",
        f"Any of these. Two sensors contradict each other by more than {percent(MAX_PSU_GAIN)}. A supply gives more than "
        f"{percent(MAX_RATING_RATIO)} of its rating. A whole host reads less than {LEAST_HOST_W:g} W or {LEAST_W_PER_CPU:g} W per CPU, or "
        f"more than {MOST_HOST_W:g} W plus {MOST_W_PER_CPU:g} W per CPU. The readings of two hosts change together: at least "
        f"{ALIKE_CHANGES} changes in the window, and {percent(ALIKE_RATIO)} of all, at the same time to the same value. If the reading of "
        "another host of the trial would fit, the evidence names it.",
        "Find the wrong sensor before you use any of them: check its unit (mW, W, kW), that it measures this host alone, and that two "
        "were not exchanged.",
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
    Kind(
        "rapl-as-system",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "The system's power is of RAPL: firmware's model of the processor or platform, not what the host takes from the "
        "wall or its supplies.",
        "The first scope that the host has is RAPL's platform (psys), or a source that reads RAPL is declared as the system.",
        "Name a BMC or a meter at the plug for the system's power, and keep RAPL for the CPUs.",
    ),
    Kind(
        "psu-idle",
        "doubtful",
        "host",
        ("power", "above_idle"),
        "One power supply of several shows 0 W while another carries the host: on standby, unplugged, or a dead sensor, "
        "with which the sum is too small.",
        f"A unit at {SUPPLY_IDLE_W:g} W or less, another at {CARRIES_W:g} W or more; not where psus says standby, nor where it "
        "takes in what a unit on standby needs.",
        "Say so under psus where it is on standby; else repair the sensor, or measure at the plug.",
    ),
    Kind(
        "power-two-readings",
        "note",
        "host",
        (),
        "Two readings both say that they are the whole host, of one BMC that differ, or of two sources at the wall; which "
        "was taken is said.",
        f"Those of one BMC differ by more than {percent(TWO_WHOLES_RATIO)}; or two sources at the wall both have a number: two "
        "outlets of two supplies look like two meters in a row.",
        "Find out which of them is this host, and name it under the source's sensors; of two supplies name both outlets "
        "as channels of one source.",
    ),
    Kind(
        "power-unexplained",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "The host drew far more than its CPUs explain: fans that sped up by themselves, a GPU or another card, another "
        "machine on the same meter.",
        f"Above idle, beyond the bounds: more than {CPU_FACTOR:g} times what the CPUs' own power rose by (or {W_PER_CORE:g} W a "
        f"core) and {MIN_UNEXPLAINED_W:g} W ({percent(MIN_UNEXPLAINED)} of idle) on top. In a case: a trial "
        f"{MIN_OUTLIER_W:g} W and {percent(MIN_OUTLIER)} above the median of {FEWEST_RUNS_OF_CASE} or more at the same CPU use.",
        "Look at fan speed, GPUs and other cards, and at what else ran; do not take it for the cost of traffic.",
    ),
)
