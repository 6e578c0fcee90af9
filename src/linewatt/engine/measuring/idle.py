# SPDX-License-Identifier: Apache-2.0
"""Whether a host is quiet, and what it used in an idle window. Pure: readings in, plain values out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from linewatt.analysis.power import CPU_SCOPES, SYSTEM_SCOPES
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.ends import UNUSED, USED, cpus_of, end_result
from linewatt.engine.measuring.thermal import thermal
from linewatt.engine.measuring.window import COVERAGE_NEEDED, overlap_s
from linewatt.engine.measuring.window_power import Meters, with_power
from linewatt.findings import FLAT_CORES, FLAT_CPU_S, FLAT_POWER, FLAT_SHARE, METER_RESPONSES, QUIET_S
from linewatt.hosts import HostSpec
from linewatt.model import Channel, EndResult, PowerResult, Window
from linewatt.records import IdleHost, Look

NOISE_SDS = 2.0
"""A slope counts as far as it is more than the readings' own noise makes of it."""
FEWEST_READINGS = 3
WATCHED = (*SYSTEM_SCOPES, *CPU_SCOPES)

Points = Sequence[tuple[float, float]]


def needed_s(updates_s: Iterable[Mapping[str, float]], meters: Meters) -> float:
    """How long a host must be quiet, by the slowest of its meters; ``updates_s`` is of each, by channel."""
    responses = [response_s for by_channel in updates_s for response_s in by_channel.values()]
    responses += [max(dynamics.refresh_s or 0.0, dynamics.settle_s or 0.0) for dynamics in meters.values()]
    return max(QUIET_S, METER_RESPONSES * max(responses, default=0.0))


class BusyCores:
    """How many cores of a host were busy, by mpstat's records: of each once, however often it is asked."""

    def __init__(self, host: HostSpec) -> None:
        self._cpus: dict[int, list[str]] = {}
        self._is_every = host.cpus is None
        self._add(host.cpus or ())
        self._latest_s = -math.inf
        self._records: list[tuple[Record, int, float]] = []
        """with how many of the host's CPUs are known, and how many of these were busy"""

    def _add(self, cpus: Iterable[int]) -> None:
        self._cpus |= {cpu: [f"cpu{cpu}.{name}_ratio" for name in (*USED, *UNUSED)] for cpu in cpus}

    def take(self, readings: Sequence[Reading]) -> None:
        """What is new in them."""
        for reading in readings:
            new = [record for record in reading.records if record.time_s > self._latest_s]
            if reading.source != "mpstat" or not new:
                continue
            if self._is_every:
                self._add(set(cpus_of(reading)) - self._cpus.keys())
            self._latest_s = new[-1].time_s
            self._records += [(record, *self._counted(record)) for record in new]

    def _counted(self, record: Record) -> tuple[int, float]:
        covered_cpus, busy = 0, 0.0
        for names in self._cpus.values():
            shares = [value for name in names if (value := record.values.get(name)) is not None]
            if len(shares) == len(names):
                covered_cpus += 1
                busy += 1 - sum(shares[len(USED) :])
        return covered_cpus, busy

    def over(self, window: Window) -> tuple[float, int] | None:
        """Busy cores, and how many CPUs there are; ``None`` where they were not all read."""
        weighted = covered_s = 0.0
        for record, covered_cpus, busy in self._records:
            if covered_cpus == len(self._cpus):
                share_s = overlap_s(record.time_s - record.span_s, record.time_s, window)
                weighted += share_s * busy
                covered_s += share_s
        if not self._cpus or covered_s < COVERAGE_NEEDED * window.seconds or not covered_s:
            return None
        return weighted / covered_s, len(self._cpus)


def moving(
    host: HostSpec, readings: Sequence[Reading], window: Window, cores: BusyCores | None = None
) -> str | None:
    """What of a host is not steady over a look, in words; ``None``: nothing is.

    ``cores`` knows the host's CPUs from earlier looks, so that only what is new of them is looked at.
    """
    cores = cores or BusyCores(host)
    cores.take(readings)
    return _cpu_moves(cores, window) or next(_power_moves(readings, window), None)


def _cpu_moves(cores: BusyCores, window: Window) -> str | None:
    half_s = window.seconds / 2
    halves = [
        cores.over(Window(start_s, start_s + half_s)) for start_s in (window.start_s, window.start_s + half_s)
    ]
    if halves[0] is None or halves[1] is None:
        return None  # the window itself will say why
    (before, cpus), (after, _) = halves[0], halves[1]
    allowed = max(FLAT_CORES, FLAT_SHARE * cpus, FLAT_CPU_S / half_s)
    if abs(after - before) <= allowed:
        return None
    went = "rose" if after > before else "fell"
    return f"CPU use {went} from {before:.2f} to {after:.2f} cores in {window.seconds:.0f} s"


def _power_moves(readings: Sequence[Reading], window: Window) -> Iterator[str]:
    for reading in readings:
        for channel in reading.channels.values():
            if channel.scope.partition(":")[0] not in WATCHED:
                continue
            course = _course(reading, channel, window)
            trend = slope(course)
            if trend is None:
                continue
            change_w, noise_w = trend
            mean_w = fmean(value for _, value in course)
            allowed_w = max(_step_w(channel, course), FLAT_POWER * abs(mean_w))
            if abs(change_w) - NOISE_SDS * noise_w > allowed_w:
                went = "rose" if change_w > 0 else "fell"
                name = f"power ({reading.source} {channel.name})"
                yield f"{name} {went} by {abs(change_w):.1f} W of {mean_w:.1f} W in {window.seconds:.0f} s"


def slope(course: Points) -> tuple[float, float] | None:
    """Change over a course by least squares, and its standard error; ``None`` for too few points."""
    if len(course) < FEWEST_READINGS:
        return None
    span_s = course[-1][0] - course[0][0]
    mid_s, mid_w = fmean(time_s for time_s, _ in course), fmean(value for _, value in course)
    spread = math.fsum((time_s - mid_s) ** 2 for time_s, _ in course)
    if spread == 0:
        return None
    per_s = math.fsum((time_s - mid_s) * (value - mid_w) for time_s, value in course) / spread
    residual = math.fsum((value - mid_w - per_s * (time_s - mid_s)) ** 2 for time_s, value in course)
    return per_s * span_s, span_s * math.sqrt(residual / (len(course) - 2) / spread)


def _course(reading: Reading, channel: Channel, window: Window) -> list[tuple[float, float]]:
    """The watts of a channel in a window: as they were read, or as a total of energy grew."""
    if channel.unit not in ("W", "J"):
        return []
    values = [(time_s, value) for time_s, value in reading.values(channel.name) if value is not None]
    if channel.unit == "J":
        values = [
            ((t0 + t1) / 2, (after - before) / (t1 - t0))
            for (t0, before), (t1, after) in pairwise(values)
            if t1 > t0 and after >= before
        ]
    return [(time_s, value) for time_s, value in values if window.start_s <= time_s <= window.end_s]


def _step_w(channel: Channel, course: Points) -> float:
    if channel.step is None or channel.unit == "W":
        return channel.step or 0.0
    return channel.step * (len(course) - 1) / (course[-1][0] - course[0][0])


def host_values(
    host: HostSpec, readings: Sequence[Reading], window: Window, look: Look | None, meters: Meters
) -> IdleHost:
    """What one host did in an idle window; ``meters`` is of its meters."""
    bare = end_result(host, "receiver", readings, window, (), None, None)
    end = with_power(bare, readings, window, {}, meters)
    looked: dict[str, Any] = {}
    if look is not None:
        looked = {"look": look, "moving": moving(host, readings, look.window)}
    return IdleHost(
        cpu_cores=end.cpu_cores,
        reason=end.reasons.get("cpu_cores"),
        **looked,
        power=tuple(_bounded(end, readings, look)),
        power_reasons={key: why for key, why in end.reasons.items() if key.startswith("power.")},
        thermal=tuple(thermal(readings, window)),
    )


def _bounded(end: EndResult, readings: Sequence[Reading], look: Look | None) -> Iterator[PowerResult]:
    """Each channel's power with the bound of its error as idle power."""
    by_source = {reading.source: reading for reading in readings}
    for result in end.power:
        bound_w = _own_bound_w(result)
        if bound_w is not None and look is not None:
            bound_w += _unsettled_w(result, by_source[result.source], look)
        yield replace(result, idle_uncertainty_w=bound_w)


def _own_bound_w(power_result: PowerResult) -> float | None:
    if not power_result.energy_j or power_result.energy_uncertainty_j is None or power_result.power_w is None:
        return None
    return power_result.energy_uncertainty_j * power_result.power_w / power_result.energy_j


def _unsettled_w(power_result: PowerResult, reading: Reading, look: Look) -> float:
    """How far power may still go where there was no time to look for long enough.

    What was seen to change, or as much as counts as steady, may go on for the time that was not looked at.
    """
    short = look.needed_s / look.window.seconds - 1 if look.window.seconds > 0 else 0.0
    if short <= 0 or power_result.power_w is None:
        return 0.0
    channel = reading.channels[power_result.channel]
    course = _course(reading, channel, look.window)
    trend = slope(course)
    seen_w = 0.0 if trend is None else abs(trend[0]) - NOISE_SDS * trend[1] - _step_w(channel, course)
    return short * max(seen_w, FLAT_POWER * abs(power_result.power_w))
