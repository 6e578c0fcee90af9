# SPDX-License-Identifier: Apache-2.0
"""What counters of CPUs make of a window: instructions per cycle, the clock really run, cycles per packet."""

from __future__ import annotations

from dataclasses import dataclass

from linewatt.features.profiles.perf.counters import CYCLES, INSTRUCTIONS, MISSES, REFERENCE
from linewatt.features.profiles.perf.model import Counted, HostProfile, Place

LEAST_RUNNING = 0.5
"""of the window, below which a count is an extrapolation of too little"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of counters, or why there is none."""

    value: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PlaceCounters:
    """Of the CPUs of a place, while they were not halted: ``frequency_hz`` is the clock really run,
    ``misses_per_kilo`` last-level misses of loads per 1,000 instructions, ``cycles_hz`` cycles a second of
    all of them."""

    place: Place
    cycles_hz: Figure
    ipc: Figure
    frequency_hz: Figure
    misses_per_kilo: Figure


_NOT_COUNTED = Figure(None, "not counted")


def place_counters(host: HostProfile) -> tuple[PlaceCounters, ...]:
    """One for each place that was counted; none where the hardware counts nothing."""
    return tuple(_of_place(host, place) for place in host.cpus if any(_of(host, place)))


def _of(host: HostProfile, place: Place) -> list[Counted]:
    return [counted for counted in host.counted if counted.place == place]


def _of_place(host: HostProfile, place: Place) -> PlaceCounters:
    counts = {counted.event: _counted(counted) for counted in _of(host, place)}
    seconds = host.slices * host.slice_s
    cycles = counts.get(CYCLES, _NOT_COUNTED)
    base = host.base_frequency_hz
    run = _ratio(cycles, counts.get(REFERENCE))
    if base is None:
        run = Figure(None, "the base clock of its CPUs is not known")
    elif run.value is not None:
        run = Figure(run.value * base)
    misses = _ratio(counts.get(MISSES), counts.get(INSTRUCTIONS))
    return PlaceCounters(
        place,
        Figure(cycles.value / seconds) if cycles.value is not None and seconds else cycles,
        _ratio(counts.get(INSTRUCTIONS), cycles),
        run,
        Figure(misses.value * 1000) if misses.value is not None else misses,
    )


def _counted(counted: Counted) -> Figure:
    if counted.value is not None and (counted.running_ratio or 0.0) < LEAST_RUNNING:
        share = round(100 * (counted.running_ratio or 0.0))
        return Figure(None, f"its counter was shared, and counted in {share} % of the window only")
    return Figure(counted.value, counted.reason)


def _ratio(numerator: Figure | None, denominator: Figure | None) -> Figure:
    if numerator is None or numerator.value is None:
        return numerator or _NOT_COUNTED
    if denominator is None or denominator.value is None:
        return denominator or _NOT_COUNTED
    return (
        Figure(numerator.value / denominator.value)
        if denominator.value > 0
        else Figure(None, "nothing ran there")
    )


def _cycles_hz(host: HostProfile) -> Figure:
    """Of all of its CPUs that were looked at."""
    figures = [place_counter.cycles_hz for place_counter in place_counters(host)]
    cycles_hz = [figure.value for figure in figures if figure.value is not None]
    if not figures:
        return Figure(None, host.no_counters or "not counted")
    if len(cycles_hz) < len(figures):
        return Figure(None, next(figure.reason for figure in figures if figure.value is None))
    return Figure(sum(cycles_hz))


def cycles_per_packet(host: HostProfile) -> Figure:
    """Cycles of all of its CPUs that were looked at, by the packets of its data interface both ways."""
    cycles_hz = _cycles_hz(host)
    if cycles_hz.value is None:
        return cycles_hz
    if host.packets_hz is None:
        return Figure(None, "the packets of its data interface are not known")
    if not host.packets_hz:
        return Figure(None, "its data interface passed no packet")
    return Figure(cycles_hz.value / host.packets_hz)


def bits_per_cycle(host: HostProfile, throughput_bps: float | None) -> Figure:
    """What arrived for each cycle of its CPUs that were looked at."""
    cycles_hz = _cycles_hz(host)
    if cycles_hz.value is None:
        return cycles_hz
    if throughput_bps is None:
        return Figure(None, "no throughput is known")
    return Figure(throughput_bps / cycles_hz.value) if cycles_hz.value else Figure(None, "nothing ran there")
