# SPDX-License-Identifier: Apache-2.0
"""Advice on a fleet in sentences: the cheapest and how sure, what to doubt, and what is given up for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.analysis.power import SCOPE_WORDS, least_sure
from linewatt.features.advice.fleet.advice import FleetAdvice
from linewatt.features.advice.fleet.choice import By, Sure
from linewatt.features.advice.fleet.measure_next import Measurement
from linewatt.features.advice.fleet.question import HOURS_PER_YEAR, Question
from linewatt.features.advice.fleet.totals import Fleet, Totals
from linewatt.features.advice.fleet_report.sources import FleetSource
from linewatt.features.advice.psu_report import lines
from linewatt.findings import LOSS_SHOWN
from linewatt.missing import Missing
from linewatt.model import Provenance
from linewatt.report import plural, provenance_mark
from linewatt.report import provenance_words as sources
from linewatt.units import (
    format_given_rate,
    format_percent,
    format_significant,
    gbps_from_bps,
    number_ranges,
)

_WHOLE_FROM = 100
_MORE: dict[By, str] = {"cost_year": "costs {} more", "energy_kwh_year": "takes {} more energy"}


def amount(value: float) -> str:
    """``48,512``, ``3.25``: whole from 100 on."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:,.2f}"


def target_words(question: Question) -> str:
    """``10,000 Gbps``."""
    gbps = gbps_from_bps(question.target_bps)
    return f"{gbps:,.10g} Gbps" if 1 <= gbps < 1e9 else format_given_rate(question.target_bps)


def watts(power_w: float) -> str:
    """``28.4 kW``, ``249 W``."""
    kilo = abs(power_w) >= 999.5
    return f"{format_significant(power_w / 1000 if kilo else power_w)} {'kW' if kilo else 'W'}"


def assumptions(question: Question) -> str:
    """What was asked, in one line."""
    parts = [
        f"{format_percent(question.headroom_ratio, 0)} of each server's rate left free"
        if question.headroom_ratio
        else "no headroom",
        f"redundancy {question.redundancy}",
        f"PUE {question.pue:g}",
        f"{question.price_per_kwh:g} a kWh" if question.price_per_kwh is not None else "no price of energy",
    ]
    if question.server_cost is not None:
        parts.append(f"{question.server_cost:,g} a server over {question.server_years:g} years")
    if question.load_share < 1:
        parts.append(f"under load {format_percent(question.load_share, 0)} of the year, idle in the rest")
    return ", ".join(parts)


def figures(totals: Totals, fleet: Fleet) -> str:
    """``114 servers, 28.4 kW, 323,260 kWh and a bill of 48,489 a year``."""
    word = provenance_mark(fleet.point.provenance)
    parts = [plural(totals.servers, "server")]
    if totals.power_w is not None:
        parts.append(f"{watts(totals.power_w)}{f' {word}' if word else ''}")
    sign = provenance_mark(energy_provenance(fleet))
    energy = ""
    if totals.energy_kwh_year is not None:
        energy = f"{amount(totals.energy_kwh_year)} kWh{f' {sign}' if sign else ''}"
    money = "" if totals.cost_year is None else f"a bill of {amount(totals.cost_year)}"
    yearly = " and ".join(part for part in (energy, money) if part)
    return ", ".join([*parts, *([f"{yearly} a year"] if yearly else [])])


def energy_provenance(fleet: Fleet) -> Provenance | None:
    """Of energy and money: what goes into power supplies is an estimate, whoever measured what comes out."""
    estimate: Provenance | None = None if fleet.through is None else "estimate"
    return least_sure((fleet.point.provenance, estimate))


def answer(advice: FleetAdvice) -> str:
    """The cheapest, in one sentence."""
    best, question = advice.choice.cheapest, advice.question
    target = target_words(question)
    if best is None:
        return f"Which point is the cheapest for {target} is not known: {_no_choice(advice)}"
    lead = "Cheapest for" if advice.choice.second else "For"
    instances = plural(best.point.instances, "instance")
    return f"{lead} {target}: {instances} a server, {figures(best.totals, best)}"


def _no_choice(advice: FleetAdvice) -> str:
    reasons = dict.fromkeys(advice.choice.left_out.values())
    return "; ".join(reasons) or "nothing was measured"


def how_sure(advice: FleetAdvice) -> str:
    """How sure the cheapest is, and by how much the next is dearer."""
    choice = advice.choice
    if choice.cheapest is None:
        return ""
    if choice.second is None or choice.dearer_ratio is None:
        return "There is no other point to compare it with"
    second = plural(choice.second.point.instances, "instance")
    next_one = f"the next, {second}, {_MORE[choice.by].format(format_percent(choice.dearer_ratio))}"
    rivals = number_ranges(rival.point.instances for rival in choice.rivals)
    if choice.cheapest.point.doubts:
        next_one += ". Its own figures are doubtful"
    words: dict[Sure, str] = {
        "clear": f"Sure: its 95 % interval is apart from that of every other point; {next_one}",
        "clear-if-meter-errs-alike": f"Sure only as far as the meter errs alike at all points: its interval "
        f"is apart from that of {rivals} instances by the spread of trials, not by the meter's error; "
        f"{next_one}",
        "open": f"Not sure: {rivals} instances may be as cheap, their 95 % intervals overlap; {next_one}",
        "not-known": f"How sure is not known, as points have no interval; {next_one}",
        "alone": "There is no other point to compare it with",
    }
    return words[choice.sure]


def trade_words(advice: FleetAdvice) -> str:
    """More cores in one box against more boxes, in figures; empty where one point is the best of both."""
    trade = advice.trade
    if trade is None:
        return ""
    many, few = trade.per_watt, trade.per_core
    return (
        f"More cores in a box or more boxes: {plural(many.point.instances, 'instance')} a server "
        f"{_do(many.point.instances)} {trade.core_ratio:.2f} × the Mbps/core and {trade.watt_ratio:.2f} × "
        f"the Mbps/W of {few.point.instances}. {_boxes(many)}; {_boxes(few)}"
    )


def _do(instances: int) -> str:
    return "has" if instances == 1 else "have"


def _boxes(fleet: Fleet) -> str:
    totals = fleet.totals
    cores = "" if totals.cores is None else f" with {totals.cores:,.0f} busy cores"
    draw = "draws" if totals.servers == 1 else "draw"
    power = "" if totals.power_w is None else f" {draw} {watts(totals.power_w)}"
    return f"{plural(totals.servers, 'server')}{cores}{power}"


def next_words(measurement: Measurement) -> str:
    """``8 instances again (up to 3.1 % of it): its watts stand out …``; "it" is the bill or the energy."""
    part = f" (up to {format_percent(measurement.change_ratio)} of it)" if measurement.change_ratio else ""
    return f"{measurement.what}{part}: {measurement.why}"


def warnings(advice: FleetAdvice, source: FleetSource) -> tuple[str, ...]:
    """What must be known before any figure is acted on."""
    return tuple(
        dict.fromkeys(
            [
                *source.caveats,
                *_of_power(advice),
                *_of_intervals(advice.fleets),
                *_of_points(advice),
                *_of_use(advice),
                *_of_source(source),
            ]
        )
    )


def _of_power(advice: FleetAdvice) -> Iterator[str]:
    points = [fleet.point for fleet in advice.fleets if fleet.point.power_w is not None]
    if not points:
        return
    provenances = [point.provenance for point in points]
    kinds = sources(provenances)
    if kinds and "measured" in provenances:
        yield f"Watts are {kinds}: those are marked, and not compared with measured ones"
    elif kinds:
        yield f"Watts are {kinds}, not measured: their results are not advice on hardware"
    scopes = {point.scope for point in points}
    if scopes == {"psu-out"} and (advice.question.supply is None or advice.not_through_supplies):
        lost = "what power supplies lose is not in energy and money"
        why = advice.not_through_supplies
        yield f"Watts are PSU DC output: {lost} ({why or '--psu-rating-w and --psu-level'})"
    elif scopes == {"system"}:
        yield "Watts are the system's: whether they have the loss of power supplies in them is not known"
    elif scopes == {"psys"}:
        yield f"Watts are of the {SCOPE_WORDS['psys']}, not of the whole server"
    elif advice.question.supply is not None and advice.not_through_supplies:
        yield f"Power supplies are left out: {advice.not_through_supplies}"
    yield from _of_supplies(advice)


def _of_supplies(advice: FleetAdvice) -> Iterator[str]:
    """How far off what goes into power supplies may be, which no interval has in it."""
    table = advice.question.table
    if table is None or not any(fleet.through for fleet in advice.fleets):
        return
    if table.certified:
        yield (
            f"Energy is by the least efficiency that {table.name} certifies: at the same output, units that "
            "are better take less, which W read at their input would show; no interval has that in it"
        )
    else:
        yield f"Energy is by the efficiency in {table.name}, whose own error is in no interval"


def _of_intervals(fleets: Sequence[Fleet]) -> Iterator[str]:
    alone = [fleet for fleet in fleets if fleet.low is None and fleet.point.throughput_bps.runs == 1]
    if alone:
        yield f"{_points(alone, fleets)}: one trial: no interval, and nothing tells a difference from chance"
    wide = [fleet for fleet in fleets if fleet.low is None and fleet.point.throughput_bps.runs > 1]
    if wide:
        yield f"{_points(wide, fleets)}: trials spread so far that no interval of servers can be told"
    watts_alone = [
        fleet
        for fleet in fleets
        if fleet.low is not None and fleet.point.power_w is not None and fleet.low.power_w is None
    ]
    if watts_alone:
        yield f"{_points(watts_alone, fleets)}: one trial with watts: no interval of power, energy and money"
    boundless = [
        fleet for fleet in fleets if fleet.low and fleet.low.power_w is not None and _boundless(fleet)
    ]
    if boundless:
        yield (
            f"{_points(boundless, fleets)}: how far off the meter may be is not known, and not in the "
            "intervals (--tolerance-percent)"
        )


def _boundless(fleet: Fleet) -> bool:
    return fleet.point.power_w is not None and fleet.point.power_w.bound is None


def _of_points(advice: FleetAdvice) -> Iterator[str]:
    alike: dict[str, list[Fleet]] = {}
    for fleet in advice.fleets:
        why = advice.choice.left_out.get(fleet.point.instances)
        if why is not None:
            alike.setdefault(f"not compared: {why}", []).append(fleet)
        if fleet.point.held_back:
            other_role = "sender" if advice.role == "receiver" else "receiver"
            more = f"the {other_role} limits it: the {advice.role} may carry more"
            alike.setdefault(f"{more}, and servers and watts are an upper end", []).append(fleet)
        for doubt in fleet.point.doubts.values():
            alike.setdefault(f"doubtful: {doubt}", []).append(fleet)
        if fleet.point.lost_ratio and fleet.point.lost_ratio >= LOSS_SHOWN:
            lost = format_percent(fleet.point.lost_ratio)
            alike.setdefault(f"{lost} of the datagrams were lost: its rate is what arrived", []).append(fleet)
        if fleet.point.failed:
            of = f"{fleet.point.failed} of {plural(fleet.point.failed + fleet.point.runs, 'trial')} failed"
            alike.setdefault(of, []).append(fleet)
    for words, fleets in alike.items():
        yield f"{_points(fleets, advice.fleets)}: {words}"


def _of_use(advice: FleetAdvice) -> Iterator[str]:
    question = advice.question
    counted = [fleet for fleet in advice.fleets if fleet.totals.spare and _idle_unknown(fleet)]
    if counted:
        at_idle = "what goes into supplies at idle" if counted[0].point.idle_w else "idle power"
        as_load = "is not known, so spare servers are counted as under load"
        yield f"{_points(counted, advice.fleets)}: {at_idle} {as_load}"
    small = [
        fleet
        for fleet in advice.fleets
        if question.target_bps < fleet.point.throughput_bps.mean * (1 - question.headroom_ratio)
    ]
    if small:
        yield (
            f"{_points(small, advice.fleets)}: one server carries more than the target, and its watts "
            "are of its whole rate: an upper end"
        )


def _idle_unknown(fleet: Fleet) -> bool:
    if fleet.point.power_w is None:
        return False
    return fleet.point.idle_w is None or (fleet.through is not None and fleet.through.idle_ratio is None)


def _of_source(source: FleetSource) -> Iterator[str]:
    for why, count in source.left.items():
        yield f"Left out, {plural(count, 'case')}: {why}"


def _points(fleets: Sequence[Fleet], all_fleets: Sequence[Fleet]) -> str:
    numbers = sorted({fleet.point.instances for fleet in fleets})
    if len(numbers) == len(all_fleets) > 1:
        return "Every point"
    return f"{', '.join(map(str, numbers))} {'instance' if numbers == [1] else 'instances'}"


def limits_of(advice: FleetAdvice) -> Iterator[tuple[str, str]]:
    """What limits points, where that was found: more of it, not more instances, would carry more."""
    alike: dict[str, list[Fleet]] = {}
    for fleet in advice.fleets:
        if fleet.point.limit is not None:
            words = fleet.point.limit[:1].lower() + fleet.point.limit[1:]
            alike.setdefault(words, []).append(fleet)
    for words, fleets in alike.items():
        yield _points(fleets, advice.fleets), words


def remarks(advice: FleetAdvice) -> Iterator[str]:
    """How the figures are made, for who recomputes them."""
    question = advice.question
    free = question.headroom_ratio
    rate = f"(throughput × (1 − {free:g}))" if free else "throughput"
    yield f"Servers: the target ÷ {rate}, rounded up{_spare_words(question)}."
    lower = " It carries less and may draw less: what it draws then was not measured." if free else ""
    yield f"Watts: each server that carries the target counts with what it drew at its measured rate.{lower}"
    of = "W into the power supplies" if any(fleet.through for fleet in advice.fleets) else "W"
    hours = f"{of} × {HOURS_PER_YEAR:,} h × PUE {question.pue:g}"
    yield f"Energy: {hours}{_share_words(question)}."
    if question.price_per_kwh is not None:
        lacks = "the price of the servers is not in it (--server-cost)"
        price = lacks if question.server_cost is None else "servers and their energy"
        yield f"Money: in the unit of --price-kwh; {price}."
    other_role = "sender" if advice.role == "receiver" else "receiver"
    yield f"Of the {advice.role} alone: CPU and watts of the {other_role}, switches and cables are not in it."
    if any(fleet.low is not None for fleet in advice.fleets):
        yield (
            "Intervals: from the most throughput with the least watts to the reverse, each at the end of its "
            "95 % CI over trials; watts also by the whole of the meter's error, which no trial makes smaller."
        )


def _spare_words(question: Question) -> str:
    redundancy = question.redundancy
    return f", and {redundancy} makes the spare ones" if redundancy.more or redundancy.twice else ""


def _share_words(question: Question) -> str:
    if question.load_share >= 1:
        return ", all year at the operating point"
    share = format_percent(question.load_share, 0)
    return f", {share} of the year at the operating point and the rest at active idle, nothing in between"


def supply_lines(advice: FleetAdvice) -> tuple[str, ...]:
    """What other power supplies would save over all servers that carry the target at the cheapest point."""
    supply_advice, best = advice.supplies, advice.choice.cheapest
    if isinstance(supply_advice, Missing):
        return (f"Nothing can be said of power supplies: {supply_advice.reason}",)
    if supply_advice is None or best is None:
        return ()

    sentences = [line for line in lines(supply_advice, bullet="") if line]
    active, question = best.totals.active, advice.question
    for option in supply_advice.options:
        if option.saved_w is not None:
            kwh = question.kwh_year(active * option.saved_w)
            price = question.price_per_kwh
            worth = "" if price is None else f" worth {amount(kwh * price)}"
            sentences.append(
                f"over {plural(active, 'server')}, {option.change}: {watts(active * option.saved_w)} less, "
                f"{amount(kwh)} kWh{worth} a year, PUE in it"
            )
    return tuple(sentences)
