# SPDX-License-Identifier: Apache-2.0
"""What counters of CPUs make of a window: instructions per cycle, the clock really run, cycles per packet."""

from __future__ import annotations

from dataclasses import dataclass

from linewatt.profiles.counters import CYCLES, INSTRUCTIONS, MISSES, REFERENCE
from linewatt.profiles.model import Counted, HostProfile, Place

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


def place_counters(host: HostProfile) -> tuple[PlaceCounters, ...]:
    """One for each place that was counted; none where the hardware counts nothing."""
    return tuple(_of_place(host, place) for place in host.cpus if any(_of(host, place)))


def _of(host: HostProfile, place: Place) -> list[Counted]:
    return [one for one in host.counted if one.place == place]


def _of_place(host: HostProfile, place: Place) -> PlaceCounters:
    counts = {one.event: _counted(one) for one in _of(host, place)}
    seconds = host.slices * host.slice_s
    cycles = counts.get(CYCLES, Figure(None, "not counted"))
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


def _counted(one: Counted) -> Figure:
    if one.value is not None and (one.running_ratio or 0.0) < LEAST_RUNNING:
        share = round(100 * (one.running_ratio or 0.0))
        return Figure(None, f"its counter was shared, and counted in {share} % of the window only")
    return Figure(one.value, one.reason)


def _ratio(part: Figure | None, whole: Figure | None) -> Figure:
    for one in (part, whole):
        if one is None or one.value is None:
            return Figure(None, one.reason if one is not None else "not counted")
    assert part is not None and part.value is not None  # noqa: S101, PT018
    assert whole is not None and whole.value is not None  # noqa: S101, PT018
    return Figure(part.value / whole.value) if whole.value > 0 else Figure(None, "nothing ran there")


def cycles_per_packet(host: HostProfile) -> Figure:
    """Cycles of all of its CPUs that were looked at, by the packets of its data interface both ways."""
    found = [one.cycles_hz for one in place_counters(host)]
    lacking = next((one for one in found if one.value is None), None)
    if not found or lacking is not None:
        return Figure(None, lacking.reason if lacking is not None else host.no_counters or "not counted")
    if not host.packets_hz:
        return Figure(None, "the packets of its data interface are not known")
    return Figure(sum(one.value or 0.0 for one in found) / host.packets_hz)


def bits_per_cycle(host: HostProfile, throughput_bps: float | None) -> Figure:
    """What arrived for each cycle of its CPUs that were looked at."""
    found = [one.cycles_hz for one in place_counters(host)]
    cycles_hz = sum(one.value or 0.0 for one in found)
    if throughput_bps is None or not cycles_hz or any(one.value is None for one in found):
        return Figure(None, cycles_per_packet(host).reason or "no throughput is known")
    return Figure(throughput_bps / cycles_hz)
