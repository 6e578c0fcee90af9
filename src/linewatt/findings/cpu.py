# SPDX-License-Identifier: Apache-2.0
"""Findings on CPU time: whether the accounting can be believed, whose it is, and how fast the CPUs ran."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent
from linewatt.findings.limits import FULL_RATIO

BUSY_IDLE_CORES, BUSY_IDLE_HOST = 0.1, 0.002
"""cores; cores for each CPU of the host: the kernel's own work grows with them"""
BUSY_IDLE_USED = 0.05
"""of what a case used: less of it in idle changes no figure much"""
HIDDEN_CORES, HIDDEN_RATIO, HIDDEN_SDS, TICKS_HZ = 0.01, 0.10, 4.0, 100
"""What the load may have used beyond what its CPUs show: cores, part of it, standard errors of counting ticks."""
EXCESS_CORES, EXCESS_RATIO = 0.15, 0.10
"""More is allowed the other way: sensors and daemons run there too, and 0.15 is three standard deviations
of a half-busy CPU that is sampled by 100 ticks."""
FOREIGN_CORES, FOREIGN_RATIO = 0.1, 0.05
"""what others used beyond idle: cores, and part of what the load used"""
STOLEN_CORES, STOLEN_RATIO = 0.02, 0.02
"""what a hypervisor took: cores, and part of what was wanted"""
THROTTLED_CORES, THROTTLED_RATIO = 0.02, 0.02
"""what a CPU quota kept the load from: cores, and part of what was used and kept from it together"""
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
        f"On the CPUs that it was put on (unpinned: the whole host) the load used more than mpstat shows, by "
        f"{HIDDEN_CORES:g} cores, {percent(HIDDEN_RATIO)} and {HIDDEN_SDS:g} standard errors of a count of {TICKS_HZ} ticks a "
        f"second. Or the case is paced, its kernel charges by the tick, and the load's CPUs show {EXCESS_CORES:g} cores and "
        f"{percent(EXCESS_RATIO)} more usr and sys than it used, but as much idle as ticks leave that all hit the load.",
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
        f"More than {BUSY_IDLE_CORES:g} cores, more than {BUSY_IDLE_HOST:g} for each CPU of the host, and more than "
        f"{percent(BUSY_IDLE_USED)} of what the case used, were busy in the idle window.",
        "Find what else runs there (top, systemd timers) and measure again.",
    ),
    Kind(
        "foreign-load",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "Processes that are not the load's used the host's CPUs in the window; the CPU figures contain them.",
        "Its usr and sys on CPUs that no load was put on, and what CPUs of the load (unpinned: all) show beyond its own use "
        f"by {EXCESS_CORES:g} cores and {percent(EXCESS_RATIO)}, are together more than {FOREIGN_CORES:g} cores and "
        f"{percent(FOREIGN_RATIO)} of the load's above what was busy in idle. On a kernel that charges softirqs to "
        "whom they interrupt it is a least value. `foreign_cores` has the figure.",
        "Find what else runs there (top, systemd timers), stop it, and measure again.",
    ),
    Kind(
        "limiting-cpu-shared",
        "doubtful",
        "case",
        ("throughput", "cpu", "power", "above_idle"),
        "Processes that are not the load's used a part of a full CPU that the load or its interrupts need: without them "
        "throughput would be another. It does not matter whether they ran in the idle windows, too. The evidence names those "
        "that were seen; short-lived ones are not.",
        f"A CPU of a role is {percent(FULL_RATIO)} or more busy, and usr and sys there are more than the load on it used by "
        f"{FOREIGN_CORES:g} of a CPU where no load was put, by {EXCESS_CORES:g} where one was; of a paced load on a kernel that "
        f"charges by the tick this is not asked. Or other processes that were seen on that CPU alone used more than "
        f"{FOREIGN_CORES:g} of it. Threads of the kernel that take packets (ksoftirqd, threaded NAPI) do not count.",
        "Find what runs there (ps -eLo psr,pcpu,comm), stop it or put it on other CPUs, and measure again.",
        name="Others on a CPU that limits",
    ),
    Kind(
        "cpu-stolen",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "A hypervisor gave CPU time to others while this host wanted it: it could do less than its CPUs can.",
        f"mpstat's steal: {STOLEN_CORES:g} cores and {percent(STOLEN_RATIO)} of what was used and stolen together. Stolen "
        "time is no CPU use.",
        "Give the virtual machine CPUs of its own, or measure on the metal.",
    ),
    Kind(
        "cpu-quota-throttled",
        "doubtful",
        "case",
        ("throughput", "cpu", "power", "above_idle"),
        "A CPU quota of a control group kept the load from running: throughput is what the quota lets through, not what the "
        "host can do.",
        "`cpu.stat` of the control groups that the load's processes are in and of all their parents (version 2, or the "
        f"controller cpu of version 1), just before and just after the window: throttled for {THROTTLED_CORES:g} cores and "
        f"{percent(THROTTLED_RATIO)} of what was used and throttled together. Where window.omit leaves no time to read before "
        "the window, it is not known.",
        "Raise the quota (`systemctl set-property UNIT CPUQuota=`, `cpu.max`; of containers `--cpus`) or take it away, and "
        "measure again; or say in the result's name that it is in force.",
        name="CPU quota used up",
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
        "Busy CPUs ran more slowly at the end of the window than at its start, or for a while in between, or below their base "
        "frequency.",
        f"The mean of a role's busy CPUs is {percent(FREQUENCY_DIFFERENCE)} below the base frequency, or fell by as much "
        f"and by {FREQUENCY_SDS:g} standard errors from the first third of the window to the last, or is lower by as much in "
        "the middle third than in both others.",
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
