# SPDX-License-Identifier: Apache-2.0
"""Does the CPU accounting of the host agree with what the load says of itself? Pure.

mpstat sees everything on the CPUs, so it may show more than the load used, never less. It does show less
where the kernel charges time by the tick and the load sleeps in step with it: 1 % for a process that used
28 % (docs/sensors.md#mpstat). The load's own figure is getrusage, which the scheduler keeps exactly.
"""

from __future__ import annotations

from linewatt.findings.cpu import EXCESS_CORES, EXCESS_RATIO, TOLERANCE_CORES, TOLERANCE_RATIO
from linewatt.model import EndResult, Flag

_HIDDEN_ADVICE = (
    "do not use this CPU figure; where the kernel charges by the tick, pace the load off the tick "
    "(iperf3 --pacing-timer), or boot with CONFIG_VIRT_CPU_ACCOUNTING_GEN and nohz_full, "
    "CONFIG_IRQ_TIME_ACCOUNTING for interrupts"
)
_EXCESS_ADVICE = (
    "look for another process or kernel thread on the app CPUs (ps -eLo psr,pcpu,comm); where there is none, "
    "a kernel that charges by the tick may charge a paced load too much"
)


def check(
    end: EndResult, *, paced: bool, tick_accounting: bool | None, dedicated: bool = False
) -> list[Flag]:
    """Flags for one end of a trial.

    ``paced``: the load is rate-limited. ``tick_accounting``: the host's kernel charges CPU time by the
    tick (None: unknown). ``dedicated``: nothing but the load is meant to run on the app CPUs, so that
    their usr and sys should be the load's. That ticks may lie is said only where this check cannot tell.
    """
    flags = []
    if paced and tick_accounting and _unchecked(end):
        flags.append(_tick_accounting(end))
    if end.load_cpu_cores is None:
        return flags
    if end.cpu_cores is not None and _hidden(end.cpu_cores, end.load_cpu_cores):
        evidence = (
            f"the load used {_cores(end.load_cpu_cores)}, "
            f"mpstat shows {_cores(end.cpu_cores)} for the whole host"
        )
        flags.append(_disagrees(end, evidence, _HIDDEN_ADVICE))
    app_cores = _app_cores(end)
    if dedicated and app_cores is not None and _excess(app_cores, end.load_cpu_cores):
        evidence = (
            f"mpstat shows {_cores(app_cores)} of usr and sys on the app CPUs, "
            f"the load used {_cores(end.load_cpu_cores)}"
        )
        flags.append(_disagrees(end, evidence, _EXCESS_ADVICE))
    return flags


def _unchecked(end: EndResult) -> bool:
    """Whether there is a CPU figure that could not be compared with the load's own."""
    figures = (end.cpu_cores, end.app_cpu, end.irq_cpu)
    return None in (end.cpu_cores, end.load_cpu_cores) and any(one is not None for one in figures)


def _hidden(host_cores: float, load_cores: float) -> bool:
    return load_cores - host_cores > max(TOLERANCE_CORES, TOLERANCE_RATIO * load_cores)


def _excess(app_cores: float, load_cores: float) -> bool:
    """Interrupts and softirqs that hit the load make no excess: mpstat has them in irq and soft.

    Without CONFIG_IRQ_TIME_ACCOUNTING the load's own figure has them too, and an excess is less to see.
    Source: kernel, kernel/sched/cputime.c and update_rq_clock_task in kernel/sched/core.c.
    """
    return app_cores - load_cores > max(EXCESS_CORES, EXCESS_RATIO * load_cores)


def _app_cores(end: EndResult) -> float | None:
    if end.app_cpu is None:
        return None
    return len(end.app_cpu.cpus) * (end.app_cpu.usr_ratio + end.app_cpu.sys_ratio)


def _disagrees(end: EndResult, evidence: str, advice: str) -> Flag:
    return Flag("cpu-accounting-disagrees", end.host, evidence, advice)


def _tick_accounting(end: EndResult) -> Flag:
    missing = "the load's own CPU use" if end.load_cpu_cores is None else "that of the whole host"
    return Flag(
        "tick-accounting",
        end.host,
        "its kernel charges CPU time by the tick, a paced load can run in step with the tick, "
        f"and {missing} is missing to tell whether it did",
        "do not rely on this CPU figure; measure without a rate, or on a kernel that accounts exactly",
    )


def _cores(cores: float) -> str:
    return f"{cores:.3f} cores"
