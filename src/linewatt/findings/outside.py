# SPDX-License-Identifier: Apache-2.0
"""Findings on what limits a load from outside: CPUs kept from it, who is preferred to it, limits, memory."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

OUTRANKED_CORES = 0.02
"""of a CPU of the load: what a hypervisor or a quota may take of it unsaid, too"""
NEAR_LIMIT_RATIO = 0.9
"""of a limit of a process (setrlimit): from here on a few streams more are refused"""
WAITED_FOR_MEMORY = 0.05
"""of the time: where reclaim keeps tasks waiting so long, what the load allocates waits, too"""

KINDS = (
    Kind(
        "cpus-withheld",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "A load process could not use all CPUs that it was meant to have: throughput is what fewer CPUs let through, and "
        "figures by role are means over CPUs that it could not use.",
        "Its threads' CPUs (`Cpus_allowed_list`), before the window or after it, lack some of those that the plan put it on; "
        "unpinned, some of the host's that are not isolated. The evidence says whether its control group's cpuset "
        "(`cpuset.cpus.effective`) is what keeps them away.",
        "Widen the cpuset (`systemctl set-property UNIT AllowedCPUs=`, `--cpuset-cpus`) or the affinity that sshd inherits "
        "(`CPUAffinity=`, taskset), or name these CPUs alone in the campaign.",
        name="CPUs kept from the load",
    ),
    Kind(
        "load-priority",
        "note",
        "case",
        (),
        "The load does not run as processes usually do: niced, batch and idle ones give way to others, and real-time ones take "
        "the CPU from everybody else, also from softirqs in threads.",
        "Nice value and policy of the load's threads, before the window or after it, are not 0 and SCHED_OTHER.",
        "Find out what set it (`Nice=`, `CPUSchedulingPolicy=` of sshd's unit, nice, chrt), and compare only with results of "
        "the same priority.",
        name="Priority of the load",
    ),
    Kind(
        "load-outranked",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "A process of a higher scheduling class (deadline, real-time) ran on the load's CPU: it runs first, however long it "
        "wants, and the load has what it leaves.",
        f"Such processes that were seen on a CPU where the load was put used {OUTRANKED_CORES:g} cores or more there, and the "
        "load is of a lower class. Threads of the kernel that take packets or interrupts do not count.",
        "Stop it, put it on other CPUs (taskset), or take its class away (`chrt -o -p 0 PID`), and measure again.",
        name="Others that run before the load",
    ),
    Kind(
        "load-limit-near",
        "note",
        "case",
        (),
        "A load process uses nearly all that its limits (ulimit) let it: more streams or instances would be refused.",
        f"Open files, locked memory or threads are {percent(NEAR_LIMIT_RATIO)} or more of the soft limit in `/proc/PID/limits` after "
        "the window. The limit of threads counts every thread of the user: at least those of the load are used.",
        "Raise the limit (`ulimit -n`, `-l`, `-u`; `limits.conf`, `LimitNOFILE=` of sshd's unit) before the load grows.",
        name="Limit of the load's processes is near",
    ),
    Kind(
        "memory-pressure",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Tasks of a host waited for memory while the load ran: reclaim and swap slow a load without any CPU being full.",
        f"`/proc/pressure/memory`, just before and just after the window: some task waited {percent(WAITED_FOR_MEMORY)} of the "
        "time or more. Where window.omit leaves no time to read before the window, or without PSI, it is not known.",
        "Find what fills memory (`ps --sort=-rss`, `memory.max` of control groups), stop it, and measure again.",
    ),
)
