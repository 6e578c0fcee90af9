# SPDX-License-Identifier: Apache-2.0
"""Fans and temperatures beside watts that stand out: which of them were other than usual. Pure.

That a fan turned faster is no proof that it drew what stands out: what fans draw is said only where it is
measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from linewatt.model import EndResult

FAN_CHANGED = 0.2
"""of the median of the others"""
DEGREES_CHANGED = 5.0
DEGREES = "°C"
MOST_NAMED = 3
UNITS = ("rpm", DEGREES)

Beside = Mapping[str, float]
"""a reading's name with its unit, ``FAN1 (rpm)``, and its mean"""


def beside_of(ends: Sequence[EndResult]) -> dict[str, float]:
    """What stood beside the watts of a host, the mean over some trials; of readings that all have."""
    every = [{f"{one.channel} ({one.unit})": one.mean for one in end.thermal} for end in ends]
    shared = [name for name in (every[0] if every else ()) if all(name in one for one in every)]
    return {name: sum(one[name] for one in every) / len(every) for name in shared}


def fans_measured(ends: Sequence[EndResult]) -> bool:
    """Whether it is known what the fans drew."""
    return all(any(one.scope.partition(":")[0] == "fan" for one in end.power) for end in ends)


def changed(own: Beside, others: Sequence[Beside]) -> Iterator[tuple[str, bool]]:
    """Each reading in words beside that of the others, and whether it was another; the most changed first."""
    found = []
    for name, value in own.items():
        usual = [one[name] for one in others if name in one]
        if usual:
            middle = median(usual)
            by = _by(name, value, middle)
            said = f"{name} {value:,.0f}, in the others {middle:,.0f}" + (
                ": it changed too" if by >= 1 else ""
            )
            found.append((by, said))
    ranked = sorted(found, key=lambda one: -one[0])
    yield from ((said, by >= 1) for by, said in ranked)


def _by(name: str, value: float, usual: float) -> float:
    """How much of what counts as a change; 1 and more is one."""
    if DEGREES in name:
        return abs(value - usual) / DEGREES_CHANGED
    return abs(value / usual - 1) / FAN_CHANGED if usual else (1.0 if value else 0.0)


def evidence(own: Beside, others: Sequence[Beside], *, fans_measured: bool = False) -> Iterator[str]:
    """What is told of readings beside watts that stand out."""
    told = list(changed(own, others))
    other = [said for said, is_other in told if is_other]
    if len(told) <= MOST_NAMED:
        yield from (said for said, _ in told)
    else:
        yield from other[:MOST_NAMED]
        if len(other) > MOST_NAMED:
            yield f"{len(other) - MOST_NAMED} more fans or temperatures changed too"
        elif not other:
            yield f"none of {len(told)} fans and temperatures changed with it"
    if not any(is_fan(name) for name in own):
        yield "fan speed is not known: look at it first"
    elif not fans_measured and any(is_other and is_fan(said) for said, is_other in told):
        yield "what fans draw is not measured, so how much of it is theirs is not known"


def is_fan(name: str) -> bool:
    """Whether a reading's name with its unit is that of a fan."""
    return "(rpm)" in name or "fan" in name.lower()
