# SPDX-License-Identifier: Apache-2.0
"""Whether CPU time can be believed, and whose it is. Pure.

mpstat sees everything on the CPUs, so it may show more than the load used, never less. It does show less
where the kernel charges time by the tick and the load sleeps in step with it: 1 % for a process that used
28 % (docs/sensors.md#mpstat). The load's own figure is getrusage, which the scheduler keeps exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from linewatt.analysis.cases import whole_sum
from linewatt.analysis.limits import (
    process_names,
    processes_on,
    quota_words,
    throttled_ratio,
    throttled_words,
    waited_words,
)
from linewatt.engine.measuring.accounts import (
    Account,
    account,
    full_cpus,
    load_by_cpus,
    load_cores,
    may_be_misjudged,
    on_one_machine,
)
from linewatt.engine.measuring.cut import Seen
from linewatt.findings import (
    BUSY_IDLE_CORES,
    BUSY_IDLE_HOST,
    BUSY_IDLE_USED,
    EXCESS_CORES,
    EXCESS_RATIO,
    FOREIGN_CORES,
    FOREIGN_RATIO,
    HIDDEN_CORES,
    HIDDEN_RATIO,
    HIDDEN_SDS,
    STOLEN_CORES,
    STOLEN_RATIO,
    THROTTLED_CORES,
    THROTTLED_RATIO,
    TICKS_HZ,
)
from linewatt.hosts.facts import format_cpulist
from linewatt.missing import Missing
from linewatt.model import CgroupThrottling, CpuShares, EndResult, Flag, OutsideLimits, SharedCpu
from linewatt.units import format_percent

_HIDDEN_ADVICE = (
    "do not use this CPU figure; if the kernel charges CPU time by the tick, pace the load out of step with "
    "the tick{option}, or boot a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN and nohz_full "
    "(CONFIG_IRQ_TIME_ACCOUNTING for interrupts)"
)


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends; of ends that share their CPUs what others used is told once."""
    reported_hosts: set[str] = set()
    for end in seen.ends:
        shares = seen.cpu_shares(end)
        yield from unchecked(end, seen.case.paced, seen.setup.tick_accounting.get(end.host))
        yield from hidden(seen, end, shares)
        if end.host not in reported_hosts:
            yield from foreign(seen, end)
        yield from on_full(end)
        yield from untested_on_full(seen, end)
        yield from out_of_quota(end)
        reported_hosts |= {machine_end.host for machine_end in on_one_machine(seen, end)}
        yield from stolen(end)
        yield from background(end, seen.setup.idle_cores.get(end.host), len(shares))


def unchecked(end: EndResult, paced: bool, tick_accounting: bool | None) -> Iterator[Flag]:
    """That ticks may lie is said only where there is a figure and nothing to compare it with."""
    figures = (end.cpu_cores, end.app_cpu, end.irq_cpu)
    if not paced or not tick_accounting or all(figure is None for figure in figures):
        return
    if None in (end.cpu_cores, end.load_cpu_cores):
        missing = "CPU use of the load" if end.load_cpu_cores is None else "CPU use of the whole host"
        yield Flag(
            "tick-accounting",
            end.host,
            "its kernel charges CPU time by the tick; a paced load may run in step with the tick, and the "
            f"{missing} that would show this is missing",
            "do not rely on this CPU figure; measure without a rate, or on a kernel that accounts exactly",
        )


def hidden(seen: Seen, end: EndResult, shares: dict[int, CpuShares | None]) -> Iterator[Flag]:
    """A load that used more than its own CPUs show: softirqs of another CPU must not make up for it."""
    worst: tuple[float, str] | None = None
    for where, busy, load in _compared(seen, end, shares):
        missing = load - busy
        if missing > _tolerance(load, seen.window.seconds) and (worst is None or missing > worst[0]):
            worst = missing, f"the load used {load:.3f} cores, mpstat shows {busy:.3f} cores for {where}"
    if worst is not None:
        made_by = seen.load
        option = f" ({made_by.name} {made_by.timer_option})" if made_by.timer_option else ""
        yield Flag("cpu-accounting-disagrees", end.host, worst[1], _HIDDEN_ADVICE.format(option=option))


def _compared(
    seen: Seen, end: EndResult, shares: dict[int, CpuShares | None]
) -> Iterator[tuple[str, float, float]]:
    """Where, what mpstat shows there, what the load used there: by CPU where it was put, else the host."""
    for cpus, loads in load_by_cpus(seen, end).items():
        role_shares = [share for cpu, share in shares.items() if share and (cpus is None or cpu in cpus)]
        load = whole_sum(loads)
        if load is None or len(role_shares) < (len(shares) if cpus is None else len(cpus)):
            continue
        if not shares:  # the use of the host is known, if at all, and not that of each CPU
            if end.cpu_cores is not None:
                yield "the whole host", end.cpu_cores, load
            continue
        where = "the whole host" if cpus is None else f"CPU {format_cpulist(cpus)}"
        yield where, sum(share.busy_ratio for share in role_shares), load


def _tolerance(load: float, window_s: float) -> float:
    """What ticks may miss of a load by chance, and what its start and end may add to its own figure."""
    by_chance = HIDDEN_SDS * math.sqrt(load / (TICKS_HZ * window_s))
    return max(HIDDEN_CORES, HIDDEN_RATIO * load, by_chance)


def foreign(seen: Seen, end: EndResult) -> Iterator[Flag]:
    """Work of others in the window, beyond what was there when the host was idle."""
    host_account = account(seen, end)
    if isinstance(host_account, Missing):
        return
    excess = (
        host_account.excess
        if host_account.excess > max(EXCESS_CORES, EXCESS_RATIO * host_account.load)
        else 0.0
    )
    beyond = sum(host_account.elsewhere.values()) + excess - (seen.setup.idle_cores.get(end.host) or 0.0)
    if beyond <= max(FOREIGN_CORES, FOREIGN_RATIO * host_account.load):
        return
    surely = host_account.at_least - host_account.load > EXCESS_CORES
    if excess > sum(host_account.elsewhere.values()) and may_be_misjudged(seen, end) and not surely:
        yield Flag(
            "cpu-accounting-disagrees",
            end.host,
            f"mpstat shows {host_account.there:.3f} cores of usr and sys on "
            f"{_where(host_account)}, the load used "
            f"{host_account.load:.3f} cores",
            "look for another process or kernel thread there (ps -eLo psr,pcpu,comm); without one, the cause "
            "is a kernel that charges by the tick and charges a paced load too much",
        )
        return
    hosts = [machine_end.host for machine_end in on_one_machine(seen, end)]
    yield Flag(
        "foreign-load",
        ", ".join(hosts),
        f"other processes used {host_account.foreign:.2f} cores in the window: "
        f"{'; '.join(_shares_of(end, host_account, excess))}",
        "find what else runs there (top, ps -eLo psr,pcpu,comm, systemd timers), stop it, and measure again",
    )


def on_full(end: EndResult) -> Iterator[Flag]:
    """Work of others on a full CPU of a role: the load had less of it than there is."""
    if end.shared_cpus:
        yield Flag(
            "limiting-cpu-shared",
            end.host,
            "; ".join(
                [
                    *(_shared_words(end, shared) for shared in end.shared_cpus),
                    *waited_words(end.load_waited_ratio),
                ]
            ),
            "find what else runs there (ps -eLo psr,pcpu,comm), stop it or move it, and measure again",
        )


def untested_on_full(seen: Seen, end: EndResult) -> Iterator[Flag]:
    """A full CPU of a role of which ticks cannot tell whether others used it, where none were seen there."""
    host_account = account(seen, end)
    if end.shared_cpus or not may_be_misjudged(seen, end) or isinstance(host_account, Missing):
        return
    for full_cpu in full_cpus(seen, end, host_account)[:1]:
        by_tick = (
            "the kernel charges CPU time by the tick"
            if seen.setup.tick_accounting.get(end.host)
            else "how the kernel charges CPU time is unknown"
        )
        yield Flag(
            "limiting-cpu-not-tested",
            end.host,
            f"{_where_shared(full_cpu)}; the load is rate-limited and {by_tick}, so mpstat cannot show "
            "whether other processes used part of it",
            "look for other processes there (ps -eLo psr,pcpu,comm); or measure without a rate, or on a "
            "kernel that accounts exactly",
        )


def out_of_quota(end: EndResult) -> Iterator[Flag]:
    """A CPU quota of the load's control group, or of a parent, that kept the load from running."""
    limits = end.outside_limits
    cgroups = (
        [] if limits is None else [cgroup for cgroup in limits.cgroups if _is_material(cgroup, limits, end)]
    )
    if limits is None or not cgroups:
        return
    yield Flag(
        "cpu-quota-throttled",
        end.host,
        "; ".join(_throttled_words(cgroup, limits) for cgroup in cgroups),
        "raise the quota (cpu.max, systemctl set-property, docker --cpus) and measure again, or mention the "
        "quota in the result's name",
    )


def _is_material(cgroup: CgroupThrottling, limits: OutsideLimits, end: EndResult) -> bool:
    throttled_cores = cgroup.throttled_s / limits.between_s
    wanted_cores = (load_cores(end) or 0.0) + throttled_cores
    return throttled_cores >= max(THROTTLED_CORES, THROTTLED_RATIO * wanted_cores)


def _throttled_words(cgroup: CgroupThrottling, limits: OutsideLimits) -> str:
    """``cgroup /a of the load was throttled 9.0 s of 10.0 s, in 100.0 % of its periods: …``."""
    throttled = throttled_words(cgroup.throttled_s, limits.between_s)
    part = format_percent(throttled_ratio(cgroup, limits))
    quota = "".join(f": {words}" for words in quota_words(cgroup))
    return f"cgroup {cgroup.path} of the load was {throttled}, in {part} of its periods{quota}"


def _shared_words(end: EndResult, shared: SharedCpu) -> str:
    """``app CPU 1 98 % busy: the load 0.48, other processes 0.50 (stress-ng), softirqs 0.00 cores``."""
    load = "" if shared.load_cores is None else f"the load {shared.load_cores:.2f}, "
    others = f"other processes {shared.other_cores:.2f}{_names(end, shared.cpus, shared.other_cores)}"
    return f"{_where_shared(shared)}: {load}{others}, softirqs {shared.softirq_cores:.2f} cores"


def _where_shared(shared: SharedCpu) -> str:
    """``app CPU 1 98 % busy``."""
    where = f"{'IRQ' if shared.role == 'irq' else 'app'} CPU {format_cpulist(shared.cpus)}"
    return f"{where} {format_percent(shared.busy_ratio, 0)} busy"


def _names(end: EndResult, cpus: Iterable[int], cores: float) -> str:
    names = process_names(processes_on(end.other_processes, tuple(cpus)), cores)
    return f" ({names})" if names else ""


def _shares_of(end: EndResult, host_account: Account, excess: float) -> Iterator[str]:
    """Where others used CPU time, in words."""
    busy = {cpu: cores for cpu, cores in host_account.elsewhere.items() if cores >= FOREIGN_CORES / 2}
    for cpu in sorted(busy, key=busy.__getitem__, reverse=True):
        role = "IRQ CPU" if cpu in host_account.irq_cpus else "CPU"
        names = _names(end, (cpu,), busy[cpu])
        yield f"{busy[cpu]:.2f} of usr and sys on {role} {cpu}, which has no load process{names}"
    if excess:
        cpus = host_account.placed or {cpu for process in end.other_processes for cpu in process.cpus}
        names = _names(end, cpus, excess)
        used = (
            f"{host_account.there:.2f} of usr and sys on {_where(host_account)}, of these the "
            f"load used {host_account.load:.2f}"
        )
        yield used + names


def _where(host_account: Account) -> str:
    return (
        "the whole host" if host_account.placed is None else f"app CPU {format_cpulist(host_account.placed)}"
    )


def stolen(end: EndResult) -> Iterator[Flag]:
    """CPU time that a hypervisor gave to others while it was wanted here."""
    taken = end.steal_cores
    if taken is None or end.cpu_cores is None:
        return
    if taken >= max(STOLEN_CORES, STOLEN_RATIO * (end.cpu_cores + taken)):
        yield Flag(
            "cpu-stolen",
            end.host,
            f"the hypervisor took {taken:.2f} cores (steal), {end.cpu_cores:.2f} cores were used",
            "give the virtual machine dedicated CPUs (pinned, no overcommitment), or measure on bare metal",
        )


def background(end: EndResult, idle_cores: float | None, cpus: int) -> Iterator[Flag]:
    """A host that was busy before any load ran: its CPU figures contain somebody else's work."""
    if idle_cores is None or idle_cores <= max(BUSY_IDLE_CORES, BUSY_IDLE_HOST * cpus):
        return
    if end.cpu_cores is not None and idle_cores <= BUSY_IDLE_USED * end.cpu_cores:
        return
    used = "" if end.cpu_cores is None else f", {end.cpu_cores:.2f} cores in the window of the trial"
    yield Flag(
        "host-not-idle",
        end.host,
        f"{idle_cores:.2f} cores were busy in the idle window{used}",
        "find what else runs there (top, systemd timers) and measure again",
    )
