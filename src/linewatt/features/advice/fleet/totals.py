# SPDX-License-Identifier: Apache-2.0
"""What a fleet of servers at one operating point is, draws and costs, and how far that may be off. Pure.

All figures grow with watts and shrink with throughput, so that their ends are those of the fewest servers
with the least watts and of the most with the most. Servers are whole: a fleet's interval goes in steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linewatt.errors import InvalidInput
from linewatt.features.advice.fleet.points import OperatingPoint, Reading
from linewatt.features.advice.fleet.question import Question
from linewatt.features.advice.psu.supplies import Supply, operate
from linewatt.features.advice.psu.tables import EfficiencyTable
from linewatt.missing import Missing


@dataclass(frozen=True, slots=True)
class Totals:
    """A whole fleet. ``active`` servers carry the target, ``spare`` ones stand by; only the former use cores.

    ``power_w`` is what all draw at the operating point, as it was read. ``input_w`` is what goes into their
    power supplies where that is worked out, and energy is then of it.
    """

    servers: int
    active: int
    spare: int
    cores: float | None
    power_w: float | None
    input_w: float | None
    energy_kwh_year: float | None
    cost_year: float | None


@dataclass(frozen=True, slots=True)
class Supplied:
    """W into the power supplies for a W out of them, under load and at idle; or why that is not known."""

    load_ratio: float | None = None
    idle_ratio: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Fleet:
    """One operating point's fleet. ``low`` and ``high`` are its 95 % interval, ``None``: that is not known.

    ``low_runs`` and ``high_runs`` are the same by the spread of runs alone: what is left where the meter errs
    alike at all points.
    """

    point: OperatingPoint
    totals: Totals
    low: Totals | None = None
    high: Totals | None = None
    low_runs: Totals | None = None
    high_runs: Totals | None = None
    through: Supplied | None = None
    """the power supplies that energy is counted before, if it is"""
    reasons: dict[str, str] = field(default_factory=dict)
    """why figures are missing, by name"""


def supplied(point: OperatingPoint, question: Question) -> Supplied:
    """What the power supplies that are asked about take in for what a server draws from them."""
    if question.supply is None or question.table is None:
        return Supplied(reason="no efficiency of power supplies was named")
    if point.scope != "psu-out":
        return Supplied(reason="the watts are not those that come out of power supplies")
    if point.power_w is None:
        return Supplied(reason=point.reasons.get("power_w"))
    load = _input_ratio(point.power_w.mean, question.supply, question.table)
    idle = None if point.idle_w is None else _input_ratio(point.idle_w.mean, question.supply, question.table)
    return Supplied(
        None if isinstance(load, Missing) else load,
        None if isinstance(idle, Missing) else idle,
        next((reason.reason for reason in (load, idle) if isinstance(reason, Missing)), None),
    )


def _input_ratio(output_w: float, supply: Supply, table: EfficiencyTable) -> float | Missing:
    """W in for a W out, or why that is not known."""
    try:
        now = operate(supply, output_w, table)
    except InvalidInput as error:
        return Missing(str(error))
    return Missing(str(now.reason)) if now.input_w is None else now.input_w / output_w


@dataclass(frozen=True, slots=True)
class _Server:
    """What one server does: somewhere in its interval."""

    rate_bps: float
    cores: float | None
    power_w: float | None
    idle_w: float | None


def fleets(points: Sequence[OperatingPoint], question: Question) -> tuple[Fleet, ...]:
    """A fleet a point. All are priced by what goes into power supplies, or none is."""
    through = question.supply is not None and why_not_through_supplies(points, question) is None
    return tuple(_fleet(point, supplied(point, question) if through else None, question) for point in points)


def why_not_through_supplies(points: Sequence[OperatingPoint], question: Question) -> str | None:
    """Why energy is of the watts as read although power supplies were named; ``None``: it is not."""
    if question.supply is None:
        return None
    for point in points:
        supply_input = supplied(point, question)
        rests = question.load_share < 1 and point.idle_w is not None
        if point.power_w is not None and (
            supply_input.load_ratio is None or (rests and supply_input.idle_ratio is None)
        ):
            return f"{plural(point.instances)}: {supply_input.reason}"
    return None


def plural(instances: int) -> str:
    """``1 instance``, ``4 instances``."""
    return f"{instances} instance{'' if instances == 1 else 's'}"


def _fleet(point: OperatingPoint, through: Supplied | None, question: Question) -> Fleet:
    def whole(at: _Server | None) -> Totals | None:
        return None if at is None else totals(at, through, question)

    mean = _Server(point.throughput_bps.mean, _mean(point.cores), _mean(point.power_w), _mean(point.idle_w))
    low, high = _ends(point, meter=True)
    low_runs, high_runs = _ends(point, meter=False)
    mean_totals = totals(mean, through, question)
    return Fleet(
        point,
        mean_totals,
        low=whole(low),
        high=whole(high),
        low_runs=whole(low_runs),
        high_runs=whole(high_runs),
        through=through,
        reasons=dict(_reasons(point, mean_totals, question)),
    )


def _reasons(point: OperatingPoint, mean_totals: Totals, question: Question) -> list[tuple[str, str]]:
    reasons = []
    if mean_totals.cores is None:
        reasons.append(("cores", point.reasons.get("cores", "not known")))
    no_watts = point.reasons.get("power_w", "no watts")
    if mean_totals.power_w is None:
        reasons.append(("power_w", no_watts))
    if mean_totals.energy_kwh_year is None:
        of_idle = f"idle power is not known: {point.reasons.get('idle_w', 'not measured')}"
        reasons.append(("energy_kwh_year", no_watts if mean_totals.power_w is None else of_idle))
    if mean_totals.cost_year is None:
        priced = question.price_per_kwh is not None
        reasons.append(("cost_year", reasons[-1][1] if priced else "no --price-kwh was named"))
    return reasons


def _mean(reading: Reading | None) -> float | None:
    return None if reading is None else reading.mean


def _ends(point: OperatingPoint, *, meter: bool) -> tuple[_Server | None, _Server | None]:
    """A server at its best and at its worst; ``None`` where throughput has no interval, or one down to 0."""
    rate = point.throughput_bps.ends(meter=meter)
    if rate is None or rate[0] <= 0:
        return None, None
    others = [
        (None, None) if reading is None else reading.ends(meter=meter) or (None, None)
        for reading in (point.cores, point.power_w, point.idle_w)
    ]
    best, worst = ([ends[at] for ends in others] for at in (0, 1))
    return _Server(rate[1], *best), _Server(rate[0], *worst)


def totals(server: _Server, through: Supplied | None, question: Question) -> Totals:
    """A fleet of such servers. What a spare one draws is its idle power; unknown, it counts as under load."""
    active = question.active(server.rate_bps)
    spare = question.redundancy.spare(active)
    power_w = None
    if server.power_w is not None:
        power_w = active * server.power_w + spare * _or(server.idle_w, server.power_w)
    input_w, mean_w = _input(server, through, question, active, spare)
    energy = None if mean_w is None else question.kwh_year(mean_w)
    return Totals(
        servers=active + spare,
        active=active,
        spare=spare,
        cores=None if server.cores is None else active * server.cores,
        power_w=power_w,
        input_w=input_w if through is not None else None,
        energy_kwh_year=energy,
        cost_year=None if energy is None else question.cost_year(active + spare, energy),
    )


def _input(
    server: _Server, through: Supplied | None, question: Question, active: int, spare: int
) -> tuple[float | None, float | None]:
    """W that are paid for at the operating point, and their mean over the year."""
    load_w, idle_w = server.power_w, server.idle_w
    if through is not None:
        load_w = None if load_w is None or through.load_ratio is None else load_w * through.load_ratio
        idle_w = None if idle_w is None or through.idle_ratio is None else idle_w * through.idle_ratio
    if load_w is None:
        return None, None
    at_rest_w = spare * _or(idle_w, load_w)
    at_load_w = active * load_w + at_rest_w
    if question.load_share >= 1:
        return at_load_w, at_load_w
    if idle_w is None:
        return at_load_w, None
    share = question.load_share
    return at_load_w, active * (share * load_w + (1 - share) * idle_w) + at_rest_w


def at_watts(fleet: Fleet, power_w: float, through: Supplied | None, question: Question) -> Totals:
    """The same fleet, had a server drawn so many W under load."""
    point = fleet.point
    idle_w = _mean(point.idle_w)
    return totals(_Server(point.throughput_bps.mean, _mean(point.cores), power_w, idle_w), through, question)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
