# SPDX-License-Identifier: Apache-2.0
"""Fans, heat, clocks and power limits beside watts that stand out: which were other than usual. Pure.

That a fan turned faster is no proof that it drew what stands out: fans explain watts only where it is
measured what they draw, and a power limit or throttling only watts that are lower than usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from linewatt.analysis.cases.totals import whole_sum
from linewatt.findings import FREQUENCY_DIFFERENCE, POWER_LIMIT_RATIO
from linewatt.model import Counters, EndResult
from linewatt.units import ghz_from_hz

FAN_CHANGED = 0.2
"""of the median of the others"""
DEGREES_CHANGED = 5.0
DEGREES = "°C"
HERTZ = "Hz"
MOST_NAMED = 3
UNITS = ("rpm", DEGREES)
EXPLAINS = 0.8
"""What draws so much of the watts that stand out explains them."""
THROTTLED = "CPUs throttled (times)"
AT_LIMIT = "CPU package power of its limit (%)"


@dataclass(frozen=True, slots=True)
class Beside:
    """What stood beside the watts of a host: readings by a name with its unit, ``FAN1 (rpm)``, their means.

    ``fans_w`` is what its fans drew, where that is measured.
    """

    readings: Mapping[str, float] = field(default_factory=dict)
    fans_w: float | None = None


def beside_of(ends: Sequence[EndResult]) -> Beside:
    """The mean over some trials, of readings that all have."""
    readings_of_ends = [_readings(end) for end in ends]
    shared = [
        name
        for name in (readings_of_ends[0] if readings_of_ends else ())
        if all(name in readings for readings in readings_of_ends)
    ]
    fans = [_fans_w(end) for end in ends]
    total_w = whole_sum(fans)
    return Beside(
        {name: fmean(readings[name] for readings in readings_of_ends) for name in shared},
        None if total_w is None else total_w / len(fans),
    )


def _readings(end: EndResult) -> dict[str, float]:
    readings = {
        f"{thermal_result.channel} ({thermal_result.unit})": thermal_result.mean
        for thermal_result in end.thermal
        if thermal_result.unit != HERTZ
    }
    readings |= {
        f"{thermal_result.channel} (GHz)": ghz_from_hz(thermal_result.mean)
        for thermal_result in end.thermal
        if thermal_result.unit == HERTZ
    }
    times, part = throttled(end), of_limit(end)
    readings |= {} if times is None else {THROTTLED: times}
    return readings | ({} if part is None else {AT_LIMIT: 100 * part})


def throttled(end: EndResult) -> float | None:
    """How often its CPUs and packages were throttled in the window; ``None``: nothing counts it."""
    counters = end.counters if isinstance(end.counters, Counters) else Counters(end.counters)
    return whole_sum(counters[name] for name in counters.names_with("_throttle_count"))


def of_limit(end: EndResult) -> float | None:
    """The most that a CPU package drew, as a part of its power limit; ``None`` where one is not known."""
    drawn_w = [
        power_result.power_w
        for power_result in end.power
        if power_result.scope.partition(":")[0] == "package"
    ]
    known_w = [power_w for power_w in drawn_w if power_w is not None]
    return max(known_w) / end.package_limit_w if known_w and end.package_limit_w else None


def _fans_w(end: EndResult) -> float | None:
    return whole_sum(
        power_result.power_w for power_result in end.power if power_result.scope.partition(":")[0] == "fan"
    )


def _changed(readings: Mapping[str, float], others: Sequence[Beside]) -> Iterator[tuple[str, str, bool]]:
    """Each reading: its name, what it was beside that of the others, whether it was another; most first."""
    changes = []
    for name, value in readings.items():
        usual = [peer.readings[name] for peer in others if name in peer.readings]
        if usual:
            middle, places = median(usual), 2 if "(GHz)" in name else 0
            by = _by(name, value, middle)
            sentence = f"{name} {value:,.{places}f}, in the others {middle:,.{places}f}" + (
                ": it changed too" if by >= 1 else ""
            )
            changes.append((by, name, sentence))
    ranked = sorted(changes, key=lambda change: -change[0])
    yield from ((name, sentence, by >= 1) for by, name, sentence in ranked)


def _by(name: str, value: float, usual: float) -> float:
    """How much of what counts as a change; 1 and more is one."""
    if DEGREES in name:
        return abs(value - usual) / DEGREES_CHANGED
    if name == AT_LIMIT:
        return float((value >= 100 * POWER_LIMIT_RATIO) != (usual >= 100 * POWER_LIMIT_RATIO))
    if name == THROTTLED:
        return float((value > 0) != (usual > 0))
    smallest_change = FREQUENCY_DIFFERENCE if "(GHz)" in name else FAN_CHANGED
    return abs(value / usual - 1) / smallest_change if usual else (1.0 if value else 0.0)


def evidence(outlier: Beside, others: Sequence[Beside], above_w: float) -> Iterator[str]:
    """What is told of readings beside watts that are ``above_w`` off, and whether they explain these."""
    changes = list(_changed(outlier.readings, others))
    changed_sentences = [sentence for _, sentence, is_other in changes if is_other]
    if len(changes) <= MOST_NAMED:
        yield from (sentence for _, sentence, _ in changes)
    else:
        yield from changed_sentences[:MOST_NAMED]
        if len(changed_sentences) > MOST_NAMED:
            yield f"{len(changed_sentences) - MOST_NAMED} more of {len(changes)} readings changed too"
    yield from _explained(
        outlier, others, above_w, {name for name, _, is_other in changes if is_other}, len(changes)
    )


def _explained(
    outlier: Beside, others: Sequence[Beside], above_w: float, changed: set[str], read: int
) -> Iterator[str]:
    if not any(map(is_fan, outlier.readings)):
        yield "fan speed is not known: look at it first"
    usual_w = [peer.fans_w for peer in others if peer.fans_w is not None]
    if outlier.fans_w is not None and usual_w:
        yield _by_fans(outlier.fans_w, median(usual_w), above_w)
    elif any(map(is_fan, changed)):
        yield "what fans draw is not measured, so how much of it is theirs is not known"
    elif above_w < 0 and changed & {AT_LIMIT, THROTTLED}:
        yield "a power limit and throttling make CPUs draw less; how much of it is theirs is not known"
    elif changed:
        yield "not explained: what changes with it need not be the cause"
    elif read:
        yield f"not explained: none of {read} readings beside it changed"


def _by_fans(own_w: float, usual_w: float, above_w: float) -> str:
    """Watts of fans, which are measured, beside the watts that stand out."""
    more_w = own_w - usual_w
    part = more_w / above_w
    sentence = f"fans drew {own_w:.1f} W, in the others {usual_w:.1f} W"
    if part >= EXPLAINS:
        return f"{sentence}: explained by fans"
    return f"{sentence}: {more_w:+.1f} W of {above_w:+.1f} W, so not explained by fans alone".replace(
        "-", "−"
    )


def is_fan(name: str) -> bool:
    """Whether a reading's name with its unit is that of a fan."""
    return "(rpm)" in name or "fan" in name.lower()
