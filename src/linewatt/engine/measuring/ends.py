# SPDX-License-Identifier: Apache-2.0
"""What a window cost one host: CPU by role, and what its counters counted. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from linewatt.analysis.cases import mean_shares, whole_sum
from linewatt.analysis.limits import used_ratio
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.clocks import busy_frequency
from linewatt.engine.measuring.window import COVERAGE_NEEDED, mean_over, overlap_s
from linewatt.engine.measuring.window_power import POWER_UNITS
from linewatt.findings import FULL_RATIO, IN_TURN_BESIDE_RATIO, IN_TURN_RATIO
from linewatt.hosts import HostSpec
from linewatt.hosts.facts import format_cpulist
from linewatt.model import CpuShares, EndResult, Role, Window
from linewatt.sensors import CPU_SHARE_SOURCES, WHOLE_HOST, counter_delta

_CPU = re.compile(r"cpu(\d+)\.idle_ratio")
_OTHER = ("nice", "guest", "gnice")
_WAITING = ("idle", "iowait")
"""a CPU that waits for a disk has nothing to run"""
USED, UNUSED = ("usr", "sys", "irq", "soft", *_OTHER), (*_WAITING, "steal")
_COLUMNS = (*USED, *UNUSED)


def end_result(  # noqa: PLR0913  an end has this many sides
    host: HostSpec,
    role: Role,
    readings: Sequence[Reading],
    window: Window,
    app_cpus: Iterable[int],
    load_cpu_cores: float | None,
    base_frequency_hz: float | None,
    load_nice: int | None = None,
) -> EndResult:
    """One end of a trial; what cannot be told is ``None`` with its reason."""
    cpu = _mpstat(readings)
    reasons: dict[str, str] = {}
    shares = cpu_shares(host, readings, window)
    app = tuple(sorted(set(app_cpus)))
    busy_hz, why = busy_frequency(shares, readings, window)
    if busy_hz is None:
        reasons["busy_frequency_hz"] = why
    return EndResult(
        host=host.name,
        role=role,
        cpu_cores=_cores(shares, reasons, cpu, window),
        app_cpu=_shares(app, shares, "app_cpu", "not pinned", reasons),
        irq_cpu=_shares(host.irq_cpus or (), shares, "irq_cpu", "no IRQ CPUs named", reasons),
        load_cpu_cores=load_cpu_cores,
        base_frequency_hz=base_frequency_hz,
        counters=_counters(readings, window, reasons),
        reasons=reasons,
        hottest_app=_hottest(app, shares, load_nice),
        hottest_irq=_hottest(host.irq_cpus or (), shares, load_nice),
        hottest=_hottest(tuple(shares), shares, load_nice),
        softirq_in_turn=_softirq_in_turn(tuple(shares), cpu, window) if cpu else None,
        steal_cores=_stolen(shares),
        busy_frequency_hz=busy_hz,
        load_nice=load_nice,
    )


def _hottest(
    cpus: tuple[int, ...], shares: dict[int, CpuShares | None], load_nice: int | None
) -> CpuShares | None:
    """The one of ``cpus`` that had least left for the load; ``None`` where one of them is not known."""
    role_shares = [share for cpu in cpus if (share := shares.get(cpu)) is not None]
    busy_ratio = partial(used_ratio, load_niced=bool(load_nice))
    return max(role_shares, key=busy_ratio) if role_shares and len(role_shares) == len(cpus) else None


def _softirq_in_turn(cpus: Sequence[int], reading: Reading, window: Window) -> CpuShares | None:
    """The CPU that softirqs filled at each reading, where it is not always the same: they were moved, and the
    mean of no CPU shows it."""
    inside = [
        record
        for record in reading.records
        if window.start_s <= record.time_s - record.span_s and record.time_s <= window.end_s
    ]
    filled: list[CpuShares] = []
    for record in inside:
        first, second = _most_serving(cpus, record)
        shares = None if first is None else _one_cpu(first[0], record.values.get)
        if shares is not None and used_ratio(shares) >= FULL_RATIO and second < IN_TURN_BESIDE_RATIO:
            filled.append(shares)
    in_turn = {shares.cpus for shares in filled}
    if len(in_turn) < 2 or len(filled) < IN_TURN_RATIO * len(inside):
        return None
    return mean_shares(filled)


def _most_serving(cpus: Sequence[int], record: Record) -> tuple[tuple[int, float] | None, float]:
    """The CPU with most interrupt and softirq time, how much that is, and how much the next one has."""
    serving = sorted(
        (-(soft + (record.values.get(f"cpu{cpu}.irq_ratio") or 0.0)), cpu)
        for cpu in cpus
        if (soft := record.values.get(f"cpu{cpu}.soft_ratio")) is not None
    )[:2]
    if not serving:
        return None, 0.0
    highest_ratio, cpu = serving[0]
    return (cpu, -highest_ratio), -serving[1][0] if len(serving) > 1 else 0.0


def cpu_shares(host: HostSpec, readings: Sequence[Reading], window: Window) -> dict[int, CpuShares | None]:
    """Shares of each of the host's CPUs; ``None`` where samples do not cover the window."""
    cpu = _mpstat(readings)
    return _by_cpu(_cpus(host, cpu), cpu, window) if cpu else {}


def shares_of(
    cpus: Iterable[int], readings: Sequence[Reading], window: Window
) -> dict[int, CpuShares | None]:
    """Shares of these CPUs, whether they are the host's own or another's on the same machine."""
    cpu = _mpstat(readings)
    return _by_cpu(cpus, cpu, window) if cpu else {}


def _mpstat(readings: Sequence[Reading]) -> Reading | None:
    usable = [
        reading for reading in readings if reading.records
    ] or readings  # imports may have files of another time
    reading_by_source = {reading.source: reading for reading in reversed(usable)}
    return next((reading_by_source[name] for name in CPU_SHARE_SOURCES if name in reading_by_source), None)


def _cpus(host: HostSpec, cpu: Reading | None) -> tuple[int, ...]:
    """The host's own CPUs, or all that mpstat shows."""
    if host.cpus is not None or cpu is None:
        return host.cpus or ()
    return cpus_of(cpu)


def cpus_of(reading: Reading) -> tuple[int, ...]:
    """Every CPU that mpstat shows."""
    return tuple(sorted(int(match[1]) for name in reading.channels if (match := _CPU.fullmatch(name))))


def _by_cpu(cpus: Iterable[int], reading: Reading, window: Window) -> dict[int, CpuShares | None]:
    """Shares of each CPU over the window; ``None`` unless the samples cover it."""
    parts = [
        (share_s, record.values)
        for record in reading.records
        if (share_s := overlap_s(record.time_s - record.span_s, record.time_s, window)) > 0
    ]  # once: hundreds of CPUs have a dozen columns each

    def mean(name: str) -> float | None:
        if name not in reading.channels or reading.channels[name].kind != "mean":
            return None
        weighted = covered_s = 0.0
        for share_s, values in parts:
            if (value := values.get(name)) is not None:
                weighted += share_s * value
                covered_s += share_s
        if covered_s <= 0 or covered_s / window.seconds < COVERAGE_NEEDED:
            return None
        return weighted / covered_s

    return {cpu: _one_cpu(cpu, mean) for cpu in cpus}


def _one_cpu(cpu: int, mean: Callable[[str], float | None]) -> CpuShares | None:
    """Shares of one CPU, of the means of its columns."""
    ratios = {name: value for name in _COLUMNS if (value := mean(f"cpu{cpu}.{name}_ratio")) is not None}
    if len(ratios) < len(_COLUMNS):
        return None
    waiting, other_ratio = (sum(ratios[name] for name in names) for names in (_WAITING, (*_OTHER, "steal")))
    usr, system, irq, soft = (ratios[name] for name in ("usr", "sys", "irq", "soft"))
    steal, guest = ratios["steal"], ratios["guest"]
    return CpuShares(
        (cpu,), usr, system, irq, soft, waiting, other_ratio, steal_ratio=steal, guest_ratio=guest
    )


def _cores(
    shares: dict[int, CpuShares | None], reasons: dict[str, str], cpu: Reading | None, window: Window
) -> float | None:
    cores = whole_sum(None if share is None else share.busy_ratio for share in shares.values())
    if cores is not None:
        return cores
    if cpu is None:
        reasons["cpu_cores"] = f"no {CPU_SHARE_SOURCES[0]} readings"
        return None
    host_mean = mean_over(cpu.samples(WHOLE_HOST), window)
    if host_mean is None:
        missing = [number for number, share in shares.items() if share is None]
        where = f" on CPU {format_cpulist(missing)}" if missing else ""
        reasons["cpu_cores"] = f"{cpu.source} does not cover the window{where}{_cause(cpu, missing, window)}"
    return host_mean


def _cause(cpu: Reading, missing: Sequence[int], window: Window) -> str:
    """Why mpstat's readings do not cover a window, as far as they say."""
    if cpu.failure:
        return f"; it {cpu.failure}"
    if cpu.problems:
        return f"; {cpu.problems[0]}"
    names = [f"cpu{number}.idle_ratio" for number in missing] or [WHOLE_HOST]
    samples = (sample for name in names for sample in cpu.samples(name))
    reason = next((sample.reason for sample in samples if sample.value is None), None)
    if reason:
        return f"; {reason}"
    last_s = max((record.time_s for record in cpu.records), default=window.start_s)
    if last_s < window.end_s:
        return f"; its last reading came {window.end_s - last_s:.1f} s before the window's end"
    return ""


def _stolen(shares: dict[int, CpuShares | None]) -> float | None:
    """Cores that a hypervisor gave to others; known where all CPUs are."""
    return whole_sum(None if share is None else share.steal_ratio for share in shares.values())


def _shares(
    cpus: tuple[int, ...],
    shares: dict[int, CpuShares | None],
    name: str,
    none_named: str,
    reasons: dict[str, str],
) -> CpuShares | None:
    """Mean shares over the CPUs of a role."""
    covered_shares = [share for cpu in cpus if (share := shares.get(cpu)) is not None]
    mean = mean_shares(covered_shares)
    if mean is None or len(covered_shares) < len(cpus):
        reasons[name] = none_named if not cpus else "mpstat does not cover the window on these CPUs"
        return None
    return replace(mean, cpus=cpus)


def _counters(
    readings: Sequence[Reading], window: Window, reasons: dict[str, str]
) -> dict[str, float | None]:
    deltas: dict[str, float | None] = {}
    for reading in readings:
        for name, channel in reading.channels.items():
            if channel.kind == "counter" and channel.unit not in POWER_UNITS:
                delta = counter_delta(reading.values(name), window, channel.bits)
                deltas[name] = delta.value
                if delta.reason is not None:
                    reasons[name] = delta.reason
    return deltas
