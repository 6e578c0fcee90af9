# SPDX-License-Identifier: Apache-2.0
"""Findings on processes and settings that were not where, or what, they had been made."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

ELSEWHERE_RATIO = 0.25
"""more of a receiver's interrupt time on other CPUs than this is not what was asked for"""
ELSEWHERE_CORES = 0.05
"""less interrupt time than this on other CPUs changes no figure"""

KINDS = (
    Kind(
        "placement-not-read",
        "note",
        "trial",
        (),
        "It is not known where the load's threads ran in this trial.",
        "No load process answered when the host was asked in the tail of the load.",
        "Lengthen window.tail.",
    ),
    Kind(
        "placement-not-verified",
        "note",
        "trial",
        (),
        "A check of placement could not be made: it is not known that a process, or receive work, stayed where it was "
        "put.",
        "A process on one CPU was not there in the tail while others of its host were; or the kernel does not count "
        "migrations (CONFIG_SCHED_DEBUG); or the count of neither its start nor the time before the window is known; or "
        "the use of a CPU that takes receive work is not known. The evidence says which.",
        "As the evidence says: lengthen window.tail or window.omit, or see what is said of mpstat.",
    ),
    Kind(
        "process-moved",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A load process ran on other CPUs than those it was put on: figures by role are of other CPUs.",
        "Its threads may run, or ran last, on another CPU than the plan says, before the window or after it.",
        "Find out what moved it (taskset, a cgroup, numad).",
    ),
    Kind(
        "process-migrated",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A load process that was put on one CPU ran on another meanwhile and was put back: figures by role are of other "
        "CPUs for part of the time.",
        "The kernel counted migrations of its threads (se.nr_migrations) after it had been put there, or after the read "
        "before the window where the first count is not known; on one CPU there can be none.",
        "Find out what moved it (taskset, a cgroup, numad).",
    ),
    Kind(
        "load-threads-differ",
        "note",
        "case",
        (),
        "The load's processes do not have as many threads at both ends: one end works in another way than the other.",
        "Threads counted in the tail of the load: a version may have one a stream, and another one in all (loads.md).",
        "Use the same version at both ends.",
    ),
    Kind(
        "setting-changed",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A setting did not read in the trial as it had been made.",
        "The knob's read-back, before the window or after it, differs from what was written.",
        "Find out what changed it (a network manager, tuned, irqbalance, a udev rule); compare nothing with it.",
    ),
    Kind(
        "setting-not-read",
        "note",
        "trial",
        (),
        "Whether a setting was in force in this trial is not known.",
        "Its read-back failed.",
        "See the evidence for why; measure again.",
    ),
    Kind(
        "interrupts-elsewhere",
        "doubtful",
        "case",
        ("cpu",),
        "Receive work was done on other CPUs than those it was steered to: figures of the IRQ CPUs are not all of it.",
        f"More than {ELSEWHERE_CORES:g} cores, and more than {percent(ELSEWHERE_RATIO)}, of the receiver's interrupt and "
        f"softirq time fell on other CPUs; and more than {percent(ELSEWHERE_RATIO)} of its packets, where the kernel counted them "
        "by CPU (softnet_stat): timers take time on every CPU.",
        "Look at /proc/interrupts and RPS.",
    ),
    Kind(
        "configuration-changed",
        "doubtful",
        "campaign",
        ("throughput", "cpu", "comparison"),
        "Something else than linewatt changed a host in mid-campaign: trials before and after are not of the same "
        "configuration.",
        "Offloads, sysctls, MTU, link speed, queueing discipline and governor are read again in every trial, twice where "
        "omit leaves time, and compared with the start of the campaign; what settings of the campaign change, with the "
        "first trial under the same settings.",
        "Find out what changed it (tuned, a network manager, an administrator), undo it, and measure again.",
    ),
    Kind(
        "interface-changed",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "The data interface was changed while the window ran, perhaps only for a moment: the figures are of both states.",
        "The kernel gave notice of it (the sensor link): features (offloads), MTU, state, or a queueing discipline.",
        "Find out what changes it (a network manager, tuned, a script), and measure again.",
    ),
)
