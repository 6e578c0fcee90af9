# SPDX-License-Identifier: Apache-2.0
"""Findings on CPU time: whether the accounting can be believed, whose it is, and how fast the CPUs ran."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

BUSY_IDLE_CORES = 0.1
TOLERANCE_CORES, TOLERANCE_RATIO = 0.05, 0.10
EXCESS_CORES, EXCESS_RATIO = 0.15, 0.25
"""More is allowed the other way: sensors and daemons run there too, and 0.15 is three standard deviations
of a half-busy CPU that is sampled by 100 ticks."""
FREQUENCY_DIFFERENCE = 0.05
FREQUENCY_SDS = 3.0
SIBLING_BUSY = 0.1
"""Two threads of a core share its units: a busy one costs the other a part of its speed."""
POWER_LIMIT_RATIO = 0.98

KINDS = (
    Kind(
        "cpu-missing",
        "withheld",
        "trial",
        ("cpu",),
        "The CPU use of an end is not known in this trial.",
        "No readings of mpstat cover the window, or it failed.",
        "See the trial's raw mpstat records; lengthen window.tail.",
    ),
    Kind(
        "cpu-accounting-disagrees",
        "doubtful",
        "case",
        ("cpu",),
        "mpstat and the load's own account of its CPU time contradict each other: the kernel may charge by the tick, or "
        "something else runs on the load's CPUs.",
        f"The load used {TOLERANCE_CORES:g} cores and {percent(TOLERANCE_RATIO)} more than mpstat shows, or CPUs that "
        f"are the load's alone show {EXCESS_CORES:g} cores and {percent(EXCESS_RATIO)} more usr and sys than it used.",
        "Do not use this CPU figure; see docs/sensors.md, mpstat.",
    ),
    Kind(
        "tick-accounting",
        "doubtful",
        "case",
        ("cpu",),
        "The kernel charges CPU time by the tick, a paced load can run in step with it, and the comparison that would "
        "tell is not possible.",
        "The kernel's configuration says so, the case is paced, and the load's own CPU time or the host's is missing.",
        "Measure without a rate, or on a kernel that accounts exactly.",
    ),
    Kind(
        "host-not-idle",
        "doubtful",
        "host",
        ("cpu", "above_idle"),
        "A host was busy before any load ran: its CPU figures contain somebody else's work.",
        f"More than {BUSY_IDLE_CORES:g} cores were busy in the idle window.",
        "Find what else runs there (top, systemd timers) and measure again.",
    ),
    Kind(
        "cpu-throttled",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The hardware slowed CPUs that take part because they were too hot.",
        "Throttle counters of their cores or package moved in the window.",
        "Look at cooling, fans and the power cap (turbostat shows temperature and power); measure again.",
    ),
    Kind(
        "frequency-dropped",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Busy CPUs ran more slowly at the end of the window than at its start, or below their base frequency.",
        f"The mean of a role's busy CPUs is {percent(FREQUENCY_DIFFERENCE)} below the base frequency, or fell by as much "
        f"and by {FREQUENCY_SDS:g} standard errors from the first third of the window to the last.",
        "Set the governor to performance, look at cooling and the power cap (turbostat), measure again.",
    ),
    Kind(
        "smt-sibling-busy",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Another thread of a core that the load ran on was busy, too: the load had a part of that core, and its CPU "
        "figures count it as a whole one.",
        f"A CPU beside those of the load, of the same core, was {percent(SIBLING_BUSY)} or more busy in the window.",
        "Find what runs there, or keep siblings of the load's CPUs free (isolcpus, cgroups, another placement).",
    ),
    Kind(
        "power-capped",
        "doubtful",
        "case",
        ("throughput", "cpu", "power"),
        "A CPU package drew as much as its power limit lets it: it may run below the speed it would have without.",
        f"RAPL's package power is {percent(POWER_LIMIT_RATIO)} or more of the lowest long-term limit in the kernel's "
        "powercap tree.",
        "Raise the limit if it was lowered (BIOS, powercap), or say in the result's name that it is in force.",
    ),
)
