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
from linewatt.findings.cpu import FREQUENCY_DIFFERENCE, POWER_LIMIT_RATIO
from linewatt.model import EndResult
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


NOTHING = Beside()


def beside_of(ends: Sequence[EndResult]) -> Beside:
    """The mean over some trials, of readings that all have."""
    every = [_readings(end) for end in ends]
    shared = [name for name in (every[0] if every else ()) if all(name in one for one in every)]
    fans = [_fans_w(end) for end in ends]
    total_w = whole_sum(fans)
    return Beside(
        {name: fmean(one[name] for one in every) for name in shared},
        None if total_w is None else total_w / len(fans),
    )


def _readings(end: EndResult) -> dict[str, float]:
    found = {f"{one.channel} ({one.unit})": one.mean for one in end.thermal if one.unit != HERTZ}
    found |= {f"{one.channel} (GHz)": ghz_from_hz(one.mean) for one in end.thermal if one.unit == HERTZ}
    times, part = throttled(end), of_limit(end)
    found |= {} if times is None else {THROTTLED: times}
    return found | ({} if part is None else {AT_LIMIT: 100 * part})


def throttled(end: EndResult) -> float | None:
    """How often its CPUs and packages were throttled in the window; ``None``: nothing counts it."""
    return whole_sum(value for name, value in end.counters.items() if name.endswith("_throttle_count"))


def of_limit(end: EndResult) -> float | None:
    """The most that a CPU package drew, as a part of its power limit; ``None`` where one is not known."""
    drawn_w = [one.power_w for one in end.power if one.scope.partition(":")[0] == "package"]
    known_w = [power_w for power_w in drawn_w if power_w is not None]
    return max(known_w) / end.package_limit_w if known_w and end.package_limit_w else None


def _fans_w(end: EndResult) -> float | None:
    return whole_sum(one.power_w for one in end.power if one.scope.partition(":")[0] == "fan")


def _changed(own: Mapping[str, float], others: Sequence[Beside]) -> Iterator[tuple[str, str, bool]]:
    """Each reading: its name, what it was beside that of the others, whether it was another; most first."""
    found = []
    for name, value in own.items():
        usual = [one.readings[name] for one in others if name in one.readings]
        if usual:
            middle, places = median(usual), 2 if "(GHz)" in name else 0
            by = _by(name, value, middle)
            said = f"{name} {value:,.{places}f}, in the others {middle:,.{places}f}" + (
                ": it changed too" if by >= 1 else ""
            )
            found.append((by, name, said))
    ranked = sorted(found, key=lambda one: -one[0])
    yield from ((name, said, by >= 1) for by, name, said in ranked)


def _by(name: str, value: float, usual: float) -> float:
    """How much of what counts as a change; 1 and more is one."""
    if DEGREES in name:
        return abs(value - usual) / DEGREES_CHANGED
    if name == AT_LIMIT:
        return float((value >= 100 * POWER_LIMIT_RATIO) != (usual >= 100 * POWER_LIMIT_RATIO))
    if name == THROTTLED:
        return float((value > 0) != (usual > 0))
    least = FREQUENCY_DIFFERENCE if "(GHz)" in name else FAN_CHANGED
    return abs(value / usual - 1) / least if usual else (1.0 if value else 0.0)


def evidence(own: Beside, others: Sequence[Beside], above_w: float) -> Iterator[str]:
    """What is told of readings beside watts that are ``above_w`` off, and whether they explain these."""
    told = list(_changed(own.readings, others))
    other = [said for _, said, is_other in told if is_other]
    if len(told) <= MOST_NAMED:
        yield from (said for _, said, _ in told)
    else:
        yield from other[:MOST_NAMED]
        if len(other) > MOST_NAMED:
            yield f"{len(other) - MOST_NAMED} more of {len(told)} readings changed too"
    yield from _explained(own, others, above_w, {name for name, _, is_other in told if is_other}, len(told))


def _explained(
    own: Beside, others: Sequence[Beside], above_w: float, changed: set[str], read: int
) -> Iterator[str]:
    if not any(map(is_fan, own.readings)):
        yield "fan speed is not known: look at it first"
    usual_w = [one.fans_w for one in others if one.fans_w is not None]
    if own.fans_w is not None and usual_w:
        yield _by_fans(own.fans_w, median(usual_w), above_w)
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
    said = f"fans drew {own_w:.1f} W, in the others {usual_w:.1f} W"
    if part >= EXPLAINS:
        return f"{said}: explained by fans"
    return f"{said}: {more_w:+.1f} W of {above_w:+.1f} W, so not explained by fans alone".replace("-", "−")


def is_fan(name: str) -> bool:
    """Whether a reading's name with its unit is that of a fan."""
    return "(rpm)" in name or "fan" in name.lower()
