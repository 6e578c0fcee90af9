# SPDX-License-Identifier: Apache-2.0
"""The lies of a CPU that is slower than it is taken to be: throttled, capped, on a core that is shared.

Pure. Frequencies are judged by role, as CPU use is shown: one CPU of eight that is slower moves the result
by an eighth of that, and so it moves the mean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, stdev

from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.ends import shares_of
from linewatt.engine.measuring.window import mean_over
from linewatt.findings import FREQUENCY_DIFFERENCE, FREQUENCY_SDS, POWER_LIMIT_RATIO, SIBLING_BUSY
from linewatt.hosts.facts import format_cpulist
from linewatt.model import EndResult, Flag, Window

BUSY_IDLE_RATIO = 0.5
"""A CPU that idles more than this may run as slowly as it likes: that is what governors are for."""

MIN_READINGS = 3
"""So many in each third of the window, or in the whole of it, before a mean of them is judged."""

_THROTTLE = re.compile(r"cpu(\d+)\.(core|package)_throttle_count")
_FREQUENCY = re.compile(r"cpu(\d+)\.frequency_hz")

_Readings = Mapping[int, Sequence[tuple[float, float]]]
"""CPU → its frequencies in the window, (time_s, Hz)"""


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from throttled(end)
        yield from frequency(end, seen.readings(end), seen.window)
        yield from capped(end, seen.setup.package_limit_w.get(end.host))
    for end in seen.ends:
        yield from siblings(seen, end)


def throttled(end: EndResult) -> Iterator[Flag]:
    """CPUs that take part and that the hardware slowed down in the window because they were too hot."""
    counted = {
        (int(match[1]), match[2]): value
        for name, value in end.counters.items()
        if value and (match := _THROTTLE.fullmatch(name))
    }
    part = _taking_part(end)
    by_cpu: dict[int, list[str]] = {}
    for (cpu, what), value in sorted(counted.items()):
        if part is None or cpu in part:
            # a count on the window's edge is in it in proportion: less than one is one
            by_cpu.setdefault(cpu, []).append(f"{what} {max(1, round(value))} times")
    if by_cpu:
        evidence = "; ".join(f"CPU {cpu}: {', '.join(times)}" for cpu, times in by_cpu.items())
        yield Flag(
            "cpu-throttled",
            end.host,
            f"throttled because of heat in the window: {evidence}",
            "check cooling, fans and the power cap (turbostat shows temperature and power); measure again",
        )


def frequency(end: EndResult, readings: Sequence[Reading], window: Window) -> Iterator[Flag]:
    """Busy CPUs that ran slower at the end of the window than at its start, or for a while in between, or
    below the base frequency."""
    by_name = {reading.source: reading for reading in readings}
    if not {"cpufreq", "mpstat"} <= by_name.keys():
        return
    busy = _frequencies(by_name["cpufreq"], by_name["mpstat"], window)
    evidence = [
        sentence
        for name, cpus in _roles(end, busy)
        for sentence in _slow(name, {cpu: busy[cpu] for cpu in cpus if cpu in busy}, end, window)
    ]
    if evidence:
        yield Flag(
            "frequency-dropped",
            end.host,
            "; ".join(evidence),
            "set the governor to performance, check cooling and the power cap (turbostat), measure again",
        )


def capped(end: EndResult, limit_w: float | None) -> Iterator[Flag]:
    """Packages that draw what their power limit allows."""
    if limit_w is None:
        return
    for result in end.power:
        if (
            result.scope.startswith("package")
            and result.power_w is not None
            and result.power_w >= POWER_LIMIT_RATIO * limit_w
        ):
            yield Flag(
                "power-capped",
                f"{end.host}: {result.source} {result.channel}",
                f"{result.power_w:.1f} W, its power limit is {limit_w:g} W",
                "raise the limit if somebody lowered it (BIOS, powercap), and measure again",
            )


def _taking_part(end: EndResult) -> set[int] | None:
    """The CPUs of both roles; ``None``: any may be among them, as the load is not pinned."""
    if end.app_cpu is None:
        return None
    return {*end.app_cpu.cpus, *(end.irq_cpu.cpus if end.irq_cpu else ())}


def _roles(end: EndResult, busy: _Readings) -> Iterator[tuple[str, Iterable[int]]]:
    if end.app_cpu is None:
        yield "busy", busy
        return
    yield "app", end.app_cpu.cpus
    if end.irq_cpu is not None:
        yield "IRQ", end.irq_cpu.cpus


def _frequencies(cpufreq: Reading, mpstat: Reading, window: Window) -> _Readings:
    """Of each CPU that was busy in the window, its frequencies."""
    by_cpu: dict[int, list[tuple[float, float]]] = {}
    for name in cpufreq.channels:
        match = _FREQUENCY.fullmatch(name)
        if match is None or not _is_busy(int(match[1]), mpstat, window):
            continue
        frequencies = cpufreq.within(name, window)
        if frequencies:
            by_cpu[int(match[1])] = frequencies
    return by_cpu


def _is_busy(cpu: int, mpstat: Reading, window: Window) -> bool:
    idle_ratio = mean_over(mpstat.samples(f"cpu{cpu}.idle_ratio"), window)
    return idle_ratio is not None and idle_ratio < BUSY_IDLE_RATIO


def _slow(name: str, role: _Readings, end: EndResult, window: Window) -> Iterator[str]:
    """What is slow about the busy CPUs of one role, in words."""
    means = {cpu: fmean(value for _, value in values) for cpu, values in role.items()}
    if not means or len({time_s for values in role.values() for time_s, _ in values}) < MIN_READINGS:
        return
    who, mean = f"{name} CPU {format_cpulist(role)}", fmean(means.values())
    base = end.base_frequency_hz
    if base is not None and mean < (1 - FREQUENCY_DIFFERENCE) * base:
        yield f"{who} ran at {mean / 1e9:.2f} GHz, below the base frequency of {base / 1e9:.2f} GHz"
    first, middle, last = _thirds(role, means, window)
    if min(len(first), len(last)) < MIN_READINGS:
        return
    ghz = [mean * fmean(third) / 1e9 if third else math.nan for third in (first, middle, last)]
    if _is_lower(last, first):
        yield (
            f"{who} ran at {ghz[0]:.2f} GHz in the first third of the window, {ghz[2]:.2f} GHz in the last"
        )
    elif len(middle) >= MIN_READINGS and _is_lower(middle, first) and _is_lower(middle, last):
        yield (
            f"{who} ran at {ghz[1]:.2f} GHz in the middle third of the window, {ghz[0]:.2f} GHz before and "
            f"{ghz[2]:.2f} GHz after"
        )


def _is_lower(third: Sequence[float], reference: Sequence[float]) -> bool:
    """Whether a third of the window is below another by more than its noise explains."""
    noise = math.sqrt(stdev(third) ** 2 / len(third) + stdev(reference) ** 2 / len(reference))
    fell = fmean(reference) - fmean(third)
    return fell > max(FREQUENCY_DIFFERENCE * fmean(reference), FREQUENCY_SDS * noise)


def _thirds(role: _Readings, means: Mapping[int, float], window: Window) -> list[list[float]]:
    """Readings in each third of the window, each the mean over CPUs of the frequency over the CPU's own mean.

    Over its own, because a record may lack a CPU, and CPUs differ.
    """
    thirds: list[dict[float, list[float]]] = [{}, {}, {}]
    for cpu, values in role.items():
        for time_s, value in values:
            third = min(2, int(3 * (time_s - window.start_s) / window.seconds))
            thirds[third].setdefault(time_s, []).append(value / means[cpu])
    return [[fmean(values) for values in at.values()] for at in thirds]


def siblings(seen: Seen, end: EndResult) -> Iterator[Flag]:
    """Threads beside those of the load that were busy with something else."""
    load_cpus = {cpu for role in (end.app_cpu, end.irq_cpu) if role is not None for cpu in role.cpus}
    cores = [
        (sorted(load_cpus & set(core)), sorted(set(core) - load_cpus))
        for core in seen.setup.cores.get(end.host, ())
        if load_cpus & set(core)
    ]
    shares = shares_of(
        {cpu for _, sibling_cpus in cores for cpu in sibling_cpus}, seen.readings(end), seen.window
    )
    for used, sibling_cpus in cores:
        busy = {cpu: share.busy_ratio for cpu in sibling_cpus if (share := shares.get(cpu)) is not None}
        worst = max(busy, key=lambda cpu: busy[cpu], default=None)
        if worst is not None and busy[worst] >= SIBLING_BUSY:
            yield Flag(
                "smt-sibling-busy",
                end.host,
                f"CPU {worst} was {100 * busy[worst]:.0f} % busy; it shares a core with CPU "
                f"{format_cpulist(used)} of the load",
                "find what runs there, or keep that CPU free (isolcpus, cgroups, another placement)",
            )
