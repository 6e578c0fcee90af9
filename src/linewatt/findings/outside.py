# SPDX-License-Identifier: Apache-2.0
"""Findings on what limits a load from outside: withheld CPUs, processes that run first, ulimits, memory."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

OUTRANKED_CORES = 0.02
"""cores on CPUs of the load; losses to a hypervisor or a quota have the same threshold"""
NEAR_LIMIT_RATIO = 0.9
"""fraction of a process limit (setrlimit): above it, a few more streams would be refused"""
WAITED_FOR_MEMORY = 0.05
"""fraction of the time: if reclaim delays tasks this long, it also delays the load's allocations"""

KINDS = (
    Kind(
        "cpus-withheld",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "A load process could not use all of its intended CPUs. Throughput is that of fewer CPUs, and "
        "figures by role are means over CPUs that include unusable ones.",
        "Before or after the window, the allowed CPUs of its threads (`Cpus_allowed_list`) lack CPUs of the "
        "plan; if unpinned, CPUs of the host that are not isolated. The evidence says whether its control "
        "group's cpuset (`cpuset.cpus.effective`) is the cause.",
        "Widen the cpuset (`systemctl set-property UNIT AllowedCPUs=`, `--cpuset-cpus`) or the affinity "
        "inherited from sshd (`CPUAffinity=`, taskset), or name only the allowed CPUs in the campaign.",
        name="CPUs kept from the load",
    ),
    Kind(
        "load-priority",
        "note",
        "case",
        (),
        "The load does not run at normal priority. Niced, batch and idle processes give way to others; "
        "real-time processes run before all others, even softirqs in threads.",
        "Before or after the window, a thread of the load has a nice value other than 0 or a policy other "
        "than SCHED_OTHER.",
        "Find what set it (`Nice=`, `CPUSchedulingPolicy=` of sshd's unit, nice, chrt), and compare only "
        "with results of the same priority.",
        name="Priority of the load",
    ),
    Kind(
        "load-outranked",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "A process of a higher scheduling class (deadline, real-time) ran on the load's CPU. It always runs "
        "first, and the load gets only the remaining time.",
        f"Processes of a higher class than the load, seen only on its CPUs, used {OUTRANKED_CORES:g} cores "
        "or more there. Kernel threads that process packets or interrupts do not count.",
        "Stop it, move it to other CPUs (taskset), or make its class normal (`chrt -o -p 0 PID`), and "
        "measure again.",
        name="Others that run before the load",
    ),
    Kind(
        "load-limit-near",
        "note",
        "case",
        (),
        "A load process is close to one of its limits (ulimit): more streams or instances would be refused.",
        f"After the window, open files, locked memory or threads are at {percent(NEAR_LIMIT_RATIO)} or more "
        "of the soft limit in `/proc/PID/limits`. The thread limit covers all threads of the user; linewatt "
        "counts only those of the load.",
        "Raise the limit (`ulimit -n`, `-l`, `-u`; `limits.conf`, `LimitNOFILE=` of sshd's unit) before the "
        "load grows.",
        name="Limit of the load's processes is near",
    ),
    Kind(
        "memory-pressure",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Tasks of a host waited for memory during the load. Reclaim and swap slow a load although no CPU is "
        "full.",
        "In `/proc/pressure/memory`, just before and just after the window, some task waited "
        f"{percent(WAITED_FOR_MEMORY)} of the time or more. Not checked without PSI, or if window.omit is "
        "too short for the first read.",
        "Find what fills memory (`ps --sort=-rss`, `memory.max` of control groups), stop it, and measure "
        "again.",
    ),
)
