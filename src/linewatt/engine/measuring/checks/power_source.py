# SPDX-License-Identifier: Apache-2.0
"""Watts that are not what they are taken for: RAPL as the system, one supply of two, two wholes, a rise that
the CPUs do not explain. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from linewatt.analysis.power import SCOPE_WORDS, Total, power_of_cpus, power_of_system, total_of_scope
from linewatt.engine.live.feed import Reading
from linewatt.engine.measuring.cut import Seen
from linewatt.findings import (
    CARRIES_W,
    CPU_FACTOR,
    MIN_UNEXPLAINED,
    MIN_UNEXPLAINED_W,
    SUPPLY_IDLE_W,
    TWO_WHOLES_RATIO,
    W_PER_CORE,
)
from linewatt.model import EndResult, Flag, PowerResult, Window
from linewatt.records import Supplies
from linewatt.sensors.power import scope_of_sensor

RAPL = "RAPL"
WHOLE = ("system", "wall", "psys")
BESIDE = ("fan", "gpu", "nic", "memory", "dram")
"""what may draw more without the CPUs"""
TELLING_W = 5.0


def check(seen: Seen) -> Iterator[Flag]:
    """Both ends."""
    for end in seen.ends:
        yield from rapl_as_system(end)
        yield from supply_idle(end, seen.setup.supplies.get(end.host))
        yield from two_wholes(end)
        yield from two_walls(end)
        yield from unexplained(end, seen.setup.idle_cores.get(end.host), seen.readings(end), seen.window)


def rapl_as_system(end: EndResult) -> Iterator[Flag]:
    """The system's power, or what is said to be it, is a model of the processor's."""
    total = power_of_system(end.power)
    if not isinstance(total, Total):
        return
    methods = {result.channel: result.method for result in end.power if result.source == total.source}
    by_rapl = any(methods.get(channel, "").startswith(RAPL) for channel in total.channels)
    if total.scope == "psys" or (total.scope in WHOLE and by_rapl):
        yield Flag(
            "rapl-as-system",
            f"{end.host}: {total.source} {SCOPE_WORDS[total.scope]}",
            f"{total.power_w:.1f} W come from RAPL: the processor firmware computes them from its counters, "
            "without power supplies, fans and cards",
            "use a BMC or a wall meter for the system's power, and RAPL only for the CPUs",
        )


def supply_idle(end: EndResult, supplies: Supplies | None) -> Iterator[Flag]:
    """One supply of several gives nothing: on standby, unplugged, or its sensor is dead."""
    if supplies is not None and supplies.mode == "standby":
        return
    units = {
        (result.source, *result.scope.split(":", 1)): result
        for result in end.power
        if result.scope.startswith("psu-")
    }
    for side in ("psu-out", "psu-in"):
        units_of_side = {
            key: unit for key, unit in units.items() if key[1] == side and unit.power_w is not None
        }
        largest_w = max((unit.power_w or 0.0 for unit in units_of_side.values()), default=0.0)
        dead = [key for key, unit in units_of_side.items() if (unit.power_w or 0.0) <= SUPPLY_IDLE_W]
        for source, _, *part in dead if largest_w >= CARRIES_W else []:
            taken = units.get((source, "psu-in", *part))
            if side == "psu-out" and taken is not None and (taken.power_w or 0.0) > SUPPLY_IDLE_W:
                continue  # it takes what a unit on standby needs
            yield Flag(
                "psu-idle",
                f"{end.host}: {' '.join((source, *part))}",
                f"reads 0 W ({SCOPE_WORDS[side]}) while another supply carries {largest_w:.1f} W",
                "if it is on hot standby or unplugged, declare that (psus: {mode: standby}); otherwise its "
                "sensor is dead and the sum is too small",
            )
        if dead:
            return


def two_wholes(end: EndResult) -> Iterator[Flag]:
    """Two readings of one BMC say of themselves that they are the whole host, and differ."""
    for taken in end.power:
        if taken.power_w is None or taken.scope.partition(":")[0] != "system":
            continue
        for second in end.power:
            name = second.scope.partition(":")[2] if second.scope.startswith("other:") else ""
            claims = (scope_of_sensor(name, "W") or "").startswith("system:")
            if second.source != taken.source or not claims or second.power_w is None:
                continue
            if abs(second.power_w - taken.power_w) > TWO_WHOLES_RATIO * max(taken.power_w, second.power_w):
                yield Flag(
                    "power-two-readings",
                    f"{end.host}: {taken.source} {taken.channel}",
                    f"both claim to be the whole host: {_named(taken)} ({taken.power_w:.1f} W, used) and "
                    f"{name} ({second.power_w:.1f} W). linewatt prefers a reading of the node to one of the "
                    "chassis, which may contain other nodes",
                    "find which of them is this host, and name it under the source's sensors",
                )


def two_walls(end: EndResult) -> Iterator[Flag]:
    """Two sources measure at the wall, of which one is taken: two supplies, or two meters in a row.

    What a calibration corrected was compared with a meter that measures the same.
    """
    taken = power_of_system(end.power)
    if not isinstance(taken, Total) or taken.scope != "wall" or taken.provenance == "estimate":
        return
    if any(result.is_corrected and result.source == taken.source for result in end.power):
        return
    for source in dict.fromkeys(result.source for result in end.power if result.source != taken.source):
        source_results = [
            result for result in end.power if result.source == source and result.provenance != "estimate"
        ]
        second_total = total_of_scope(source_results, "wall")
        if isinstance(second_total, Total):
            yield Flag(
                "power-two-readings",
                f"{end.host}: {taken.source} {SCOPE_WORDS[taken.scope]}",
                f"two sources measure at the wall: {taken.source} ({taken.power_w:.1f} W, used as the whole "
                f"host) and {source} ({second_total.power_w:.1f} W, not added). If they are two outlets of "
                "two supplies, each is only a part, and Mbps/W is too high; if they are two meters in "
                "series, both are the whole host",
                "two outlets: name both as channels of one source, or use a BMC that reads both; two meters "
                "in series: name only the better one, or name it first",
            )


def _named(power_result: PowerResult) -> str:
    return power_result.scope.partition(":")[2] or power_result.channel


def unexplained(
    end: EndResult, idle_cores: float | None, readings: Sequence[Reading], window: Window
) -> Iterator[Flag]:
    """Far more above idle than the CPUs can have drawn."""
    total = power_of_system(end.power)
    if not isinstance(total, Total) or total.idle_w is None or total.provenance == "estimate":
        return
    explained = _explained(end, idle_cores)
    if explained is None:
        return
    explained_w, by = explained
    rise_w = total.power_w - total.idle_w
    sure_w = rise_w - (total.uncertainty_w or 0.0) - (total.idle_uncertainty_w or 0.0)
    if sure_w - explained_w > max(MIN_UNEXPLAINED_W, MIN_UNEXPLAINED * total.idle_w):
        extra_draws = _beside(end, readings, window)
        yield Flag(
            "power-unexplained",
            f"{end.host}: {total.source} {SCOPE_WORDS[total.scope]}",
            f"{rise_w:.1f} W above idle; {by} explains at most {explained_w:.1f} W of them"
            + (f"; {extra_draws}" if extra_draws else ""),
            "check fan speed, GPUs and other cards, and other processes; these watts are not the cost of "
            "traffic",
        )


def _explained(end: EndResult, idle_cores: float | None) -> tuple[float, str] | None:
    """The most that the CPUs add, W, and how it is known; None: it is not."""
    cpu_power = power_of_cpus(end.power)
    if isinstance(cpu_power, Total) and cpu_power.idle_w is not None and cpu_power.provenance != "estimate":
        rise_w = max(0.0, cpu_power.power_w - cpu_power.idle_w)
        return CPU_FACTOR * rise_w, f"the CPUs' power (+{rise_w:.1f} W)"
    if end.cpu_cores is None or idle_cores is None:
        return None
    cores = max(0.0, end.cpu_cores - idle_cores)
    return W_PER_CORE * cores, f"CPU use (+{cores:.2f} cores)"


def _beside(end: EndResult, readings: Sequence[Reading], window: Window) -> str:
    """What is known of parts that draw without the CPUs."""
    phrases = []
    for scope in BESIDE:
        other_total = total_of_scope(end.power, scope)
        if (
            isinstance(other_total, Total)
            and other_total.idle_w is not None
            and other_total.power_w - other_total.idle_w > TELLING_W
        ):
            phrases.append(f"{SCOPE_WORDS[scope]} +{other_total.power_w - other_total.idle_w:.1f} W")
    speeds = [
        value
        for reading in readings
        for name, channel in reading.channels.items()
        if channel.unit == "rpm"
        for _, value in reading.within(name, window)
    ]
    if speeds:
        phrases.append(f"fans at {fmean(speeds):,.0f} rpm, at most {max(speeds):,.0f}")
    return ", ".join(phrases)
