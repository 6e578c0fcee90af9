# SPDX-License-Identifier: Apache-2.0
"""Findings on CPU time: whether its accounting is right, who used it, and how fast the CPUs ran."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent
from linewatt.findings.limits import FULL_RATIO

BUSY_IDLE_CORES, BUSY_IDLE_HOST = 0.1, 0.002
"""cores; cores per CPU of the host, because the kernel's own work grows with the number of CPUs"""
BUSY_IDLE_USED = 0.05
"""part of the case's CPU use: less than this in idle changes no figure much"""
HIDDEN_CORES, HIDDEN_RATIO, HIDDEN_SDS, TICKS_HZ = 0.01, 0.10, 4.0, 100
"""The load may use this much more than its CPUs show: cores, ratio, standard errors of a tick count."""
EXCESS_CORES, EXCESS_RATIO = 0.15, 0.10
"""The CPUs may show more beyond the load's use, because sensors and daemons run there, too. 0.15 is three
standard deviations of a half-busy CPU that is sampled by 100 ticks."""
FOREIGN_CORES, FOREIGN_RATIO = 0.1, 0.05
"""CPU use of others above idle: cores, and ratio to the load's use"""
STOLEN_CORES, STOLEN_RATIO = 0.02, 0.02
"""steal time: cores, and part of used and stolen time together"""
THROTTLED_CORES, THROTTLED_RATIO = 0.02, 0.02
"""time throttled by a CPU quota: cores, and part of used and throttled time together"""
FREQUENCY_DIFFERENCE = 0.05
FREQUENCY_SDS = 3.0
SIBLING_BUSY = 0.1
"""The threads of a core share its execution units: a busy thread slows the other."""
POWER_LIMIT_RATIO = 0.98

KINDS = (
    Kind(
        "cpu-missing",
        "withheld",
        "trial",
        ("cpu",),
        "The CPU use of a host in this trial is unknown.",
        "No mpstat readings cover the window, or mpstat failed.",
        "See the trial's raw mpstat records; lengthen window.tail.",
    ),
    Kind(
        "cpu-accounting-disagrees",
        "doubtful",
        "case",
        ("cpu",),
        "The CPU time that the load reports contradicts mpstat: the kernel may charge by the tick, or "
        "something else runs on the load's CPUs.",
        "The load used more than mpstat shows on its CPUs (unpinned: on the whole host), by "
        f"{HIDDEN_CORES:g} cores, {percent(HIDDEN_RATIO)} and {HIDDEN_SDS:g} standard errors of a count of "
        f"{TICKS_HZ} ticks a second. Or the case is rate-limited, its kernel charges by the tick, and the "
        f"load's CPUs show {EXCESS_CORES:g} cores and {percent(EXCESS_RATIO)} more usr and sys than the load "
        "used, but enough idle time that ticks alone can explain it.",
        "Do not use this CPU figure; see docs/sensors.md, mpstat.",
    ),
    Kind(
        "tick-accounting",
        "doubtful",
        "case",
        ("cpu",),
        "The kernel charges CPU time by the tick, and a rate-limited load can run in step with it. Data to "
        "check this is missing.",
        "The kernel uses tick accounting, the case is rate-limited, and the CPU time of the load or the "
        "host is missing.",
        "Measure without a rate, or on a kernel that accounts exactly.",
    ),
    Kind(
        "host-not-idle",
        "doubtful",
        "host",
        ("cpu", "above_idle"),
        "A host was busy before any load ran: its CPU figures include other work.",
        f"CPU use in the idle window was more than {BUSY_IDLE_CORES:g} cores, {BUSY_IDLE_HOST:g} cores per "
        f"CPU of the host, and {percent(BUSY_IDLE_USED)} of what the case used.",
        "Find what else runs there (top, systemd timers) and measure again.",
    ),
    Kind(
        "foreign-load",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "Other processes used the host's CPUs in the window; the CPU figures include them.",
        f"Above idle, others used more than {FOREIGN_CORES:g} cores and {percent(FOREIGN_RATIO)} of the "
        "load's use. This counts usr and sys on CPUs without load, and on the load's CPUs (unpinned: all) "
        f"if they exceed its use by {EXCESS_CORES:g} cores and {percent(EXCESS_RATIO)}. The figure, "
        "`foreign_cores`, is a lower bound if the kernel charges softirqs to the interrupted process.",
        "Find what else runs there (top, systemd timers), stop it, and measure again.",
    ),
    Kind(
        "limiting-cpu-shared",
        "doubtful",
        "case",
        ("throughput", "cpu", "power", "above_idle"),
        "Other processes used part of a full CPU that the load or its interrupts need: throughput may be "
        "different without them, even if no limit is found. This also applies if they ran in the idle "
        "windows. The evidence names the processes seen; short-lived ones are missing.",
        f"An app or IRQ CPU is {percent(FULL_RATIO)} or more busy, and others used part of it. Either usr "
        f"and sys exceed the load's use by {FOREIGN_CORES:g} of a CPU where no load was placed, "
        f"{EXCESS_CORES:g} where it was (not tested if the load is rate-limited and the kernel charges by "
        f"the tick). Or processes that were seen only on that CPU used more than {FOREIGN_CORES:g} of it; "
        "kernel threads that take packets (ksoftirqd, threaded NAPI) do not count.",
        "Find what runs there (ps -eLo psr,pcpu,comm), stop it or put it on other CPUs, and measure again.",
        name="Other processes on a full CPU",
    ),
    Kind(
        "limiting-cpu-not-tested",
        "note",
        "case",
        (),
        "An app or IRQ CPU was full, and mpstat cannot show whether other processes used part of it "
        "(`limiting-cpu-shared`). Processes that were seen only on that CPU, with more than "
        f"{FOREIGN_CORES:g} of it, are ruled out.",
        f"An app or IRQ CPU is {percent(FULL_RATIO)} or more busy, the load is rate-limited, and the kernel "
        "charges CPU time by the tick, or whether it does is unknown.",
        "Look for other processes there (ps -eLo psr,pcpu,comm). Or measure without a rate, or on a kernel "
        "that accounts exactly.",
        name="Not tested: other processes on a full CPU",
        untested="other processes on a full CPU",
    ),
    Kind(
        "cpu-stolen",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "A hypervisor took CPU time that this host needed: the host did less than its CPUs can.",
        f"Steal time in mpstat is {STOLEN_CORES:g} cores and {percent(STOLEN_RATIO)} of used and stolen time "
        "together. Steal time is not CPU use.",
        "Give the virtual machine dedicated CPUs, or measure on bare metal.",
    ),
    Kind(
        "cpu-quota-throttled",
        "doubtful",
        "case",
        ("throughput", "cpu", "power", "above_idle"),
        "The CPU quota of a control group throttled the load: throughput is what the quota allows, not what "
        "the host can do.",
        f"A control group of the load's processes, or a parent of it, was throttled for {THROTTLED_CORES:g} "
        f"cores and {percent(THROTTLED_RATIO)} of used and throttled time together. The source is `cpu.stat` "
        "(version 2, or the controller cpu of version 1), just before and just after the window. If "
        "window.omit leaves no time for the first read, throttling is unknown.",
        "Raise or remove the quota (`systemctl set-property UNIT CPUQuota=`, `cpu.max`; for containers "
        "`--cpus`) and measure again; or state the quota in the result's name.",
        name="CPU quota used up",
    ),
    Kind(
        "cpu-throttled",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The hardware throttled hot CPUs of the load or its interrupts.",
        "The throttle counters of their cores or package rose in the window.",
        "Check cooling, fans and the power cap (turbostat shows temperature and power); measure again.",
    ),
    Kind(
        "frequency-dropped",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Busy CPUs ran below their base frequency, or slowed down during the window, for a while or until "
        "its end.",
        f"The mean frequency of a role's busy CPUs is {percent(FREQUENCY_DIFFERENCE)} below the base "
        f"frequency. Or it is lower by as much and by {FREQUENCY_SDS:g} standard errors in the last third of "
        "the window than in the first, or in the middle third than in both others.",
        "Set the governor to performance, check cooling and the power cap (turbostat), measure again.",
    ),
    Kind(
        "smt-sibling-busy",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Another thread of a core that the load used was busy, too: the load had only part of that core, "
        "but its CPU figures count a whole core.",
        f"Another CPU of the same core was {percent(SIBLING_BUSY)} or more busy in the window.",
        "Find what runs there, or keep siblings of the load's CPUs free (isolcpus, cgroups, another "
        "placement).",
    ),
    Kind(
        "power-capped",
        "doubtful",
        "case",
        ("throughput", "cpu", "power"),
        "A CPU package drew as much as its power limit allows: it may run slower than without the limit.",
        f"RAPL's package power is {percent(POWER_LIMIT_RATIO)} or more of the lowest long-term limit in the "
        "kernel's powercap tree.",
        "Raise the limit if it was lowered (BIOS, powercap), or state the limit in the result's name.",
    ),
)
