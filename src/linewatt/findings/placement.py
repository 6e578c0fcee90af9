# SPDX-License-Identifier: Apache-2.0
"""Findings on processes and settings that were not where, or what, linewatt had set."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

ELSEWHERE_RATIO = 0.25
"""fraction of a receiver's interrupt time on other CPUs: above it, steering did not work as asked"""
ELSEWHERE_CORES = 0.05
"""less interrupt time than this on other CPUs changes no figure"""

KINDS = (
    Kind(
        "placement-not-read",
        "note",
        "trial",
        (),
        "It is not known where the load's threads ran in this trial.",
        "The host showed no load process in the tail of the load.",
        "Lengthen window.tail.",
    ),
    Kind(
        "placement-not-verified",
        "note",
        "trial",
        (),
        "It is not known whether a process, or receive work, stayed where it was placed.",
        "A pinned process had ended before the tail while others of its host still ran; the kernel does not "
        "count migrations (CONFIG_SCHED_DEBUG); linewatt read no migration count at its start or before the "
        "window; or CPU use of an IRQ CPU is unknown. The evidence says which.",
        "Follow the evidence: lengthen window.tail or window.omit, or see the findings on mpstat.",
    ),
    Kind(
        "process-moved",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A load process ran on CPUs other than its assigned ones. Figures by role are of the wrong CPUs.",
        "Before or after the window, a thread may run, or last ran, on a CPU that is not in the plan.",
        "Find what moved it (taskset, a cgroup, numad).",
    ),
    Kind(
        "process-migrated",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A load process pinned to one CPU ran on another for a while. Figures by role are of the wrong CPU "
        "for that time.",
        "The kernel counted migrations of its threads (se.nr_migrations) after pinning or, if that first "
        "count is unknown, after the read before the window. On one CPU there can be none.",
        "Find what moved it (taskset, a cgroup, numad).",
    ),
    Kind(
        "load-threads-differ",
        "note",
        "case",
        (),
        "The load runs a different number of threads at each end, so the two ends work differently.",
        "Threads counted in the tail of the load. Some versions use one thread per stream, others one in "
        "all (loads.md).",
        "Use the same version at both ends.",
    ),
    Kind(
        "setting-changed",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "In the trial, a setting did not have the value that linewatt had set.",
        "Before or after the window, the value read back differs from the value written.",
        "Find what changed it (a network manager, tuned, irqbalance, a udev rule). Do not compare this "
        "trial.",
    ),
    Kind(
        "setting-not-read",
        "note",
        "trial",
        (),
        "It is not known whether a setting was in force in this trial.",
        "Reading it back failed.",
        "See the evidence for the reason, and measure again.",
    ),
    Kind(
        "interrupts-elsewhere",
        "doubtful",
        "case",
        ("cpu",),
        "Receive work ran on CPUs other than those it was steered to. Figures of the IRQ CPUs miss part of "
        "it.",
        f"Other CPUs took more than {ELSEWHERE_CORES:g} cores, and more than {percent(ELSEWHERE_RATIO)}, of "
        "the receiver's interrupt and softirq time. They also processed more than "
        f"{percent(ELSEWHERE_RATIO)} of its packets, if the kernel counts packets per CPU (softnet_stat).",
        "Check /proc/interrupts and RPS.",
    ),
    Kind(
        "configuration-changed",
        "doubtful",
        "campaign",
        ("throughput", "cpu", "comparison"),
        "Something other than linewatt changed a host during the campaign. Trials before and after have "
        "different configurations.",
        "Every trial reads offloads, sysctls, MTU, link speed, queueing discipline and governor, twice if "
        "omit is long enough, and compares them with the start of the campaign. Values that the campaign "
        "sets are compared with the first trial of the same settings.",
        "Find what changed it (tuned, a network manager, an administrator), undo it, and measure again.",
    ),
    Kind(
        "interface-changed",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "The data interface changed during the window, perhaps only for a moment. The figures mix both "
        "states.",
        "The kernel reported it (sensor link): features (offloads), MTU, state, or a queueing discipline.",
        "Find what changes it (a network manager, tuned, a script), and measure again.",
    ),
)
