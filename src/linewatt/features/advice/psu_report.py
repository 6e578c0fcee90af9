# SPDX-License-Identifier: Apache-2.0
"""Advice about power supplies in words, for ``advise psu`` and for results whose hosts declare theirs."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.errors import InvalidInput
from linewatt.features.advice.psu.advice import (
    BOTH,
    Advice,
    Option,
    Payback,
    Question,
    advise,
    kwh_per_year,
)
from linewatt.features.advice.psu.supplies import Measured, Operation, Supply, in_words
from linewatt.features.advice.psu.tables import EfficiencyTable, certified, percent
from linewatt.records import Supplies
from linewatt.report import Lines, text_lines
from linewatt.report.trials import Digest, EndBreakdown, end_breakdowns, power_cases


def power_notes(view: Digest) -> Iterator[Lines]:
    """Advice for each host that declares its supplies, from its highest power."""
    if power_cases(view.groups):
        yield text_lines("Power supplies", _host_lines(view), preformatted=True)


def _host_lines(view: Digest) -> list[str]:
    declared = view.result.manifest.asked.psus
    lines: list[str] = []
    for end_breakdown in end_breakdowns(view):
        supplies = declared.get(end_breakdown.breakdown.host)
        if supplies is not None and end_breakdown.breakdown.system_w is not None:
            lines += [f"{end_breakdown.breakdown.host}:", *_advice(end_breakdown, supplies)]
    return lines


def _advice(breakdown: EndBreakdown, supplies: Supplies) -> list[str]:
    load_w = round(breakdown.breakdown.system_w or 0.0, 1)
    if breakdown.breakdown.system_scope != "psu-out":
        return ["    their DC output is not read, so nothing can be said of them"]
    supply = Supply(supplies.count, supplies.rating_w, supplies.mode)
    table = certified(supplies.level) if supplies.level else None
    try:
        advice = advise(Question(supply, load_w, load_w, table))
    except InvalidInput as error:
        return [f"    {error}"]
    provenance = (
        f" ({breakdown.breakdown.system_provenance})"
        if breakdown.breakdown.system_provenance != "measured"
        else ""
    )
    return [f"    {line}{provenance if at == 0 else ''}" for at, line in enumerate(lines(advice)) if line]


def lines(advice: Advice, bullet: str = "- ") -> Iterator[str]:
    """The advice for people; ``bullet`` leads each proposal."""
    now, question = advice.operation, advice.question
    yield _situation(now)
    yield f"{_active(now)} {'needs' if now.active == 1 else 'need'} {now.good_from_w:g} W to reach 20 %"
    if now.efficiency_ratio is None:
        yield f"efficiency: not known: {now.reason}"
        if now.input_bounds_w is not None:
            yield f"extrapolated: {_extrapolated(now)}"
    else:
        yield f"efficiency: {_efficiency(now, question.table)}, {now.loss_w:.1f} W of loss"
    if question.measured is not None:
        yield f"measured: {_readings(question.measured)}"
    yield ""
    if advice.options:
        yield f"better, as long as the server never draws more than {question.peak_w:g} W:"
    else:
        yield "no hot standby, number or rating of units is known to be better and carries the load as safely"
    yield from (f"{bullet}{_proposal(option, advice)}" for option in advice.options)
    yield from _footnotes(advice)


def _situation(now: Operation) -> str:
    """``two 800 W units share 249 W: 124.5 W each, 15.6 % of the rating``."""
    rate = f"{percent(now.load_ratio)} of its rating"
    if now.supply.count == 1:
        return f"{now.supply} carries {now.load_w:g} W, {rate}"
    if now.active == now.supply.count:
        return f"{now.supply} share {now.load_w:g} W: each carries {now.unit_w:g} W, {rate}"
    how = "the other carries" if now.active == 1 else "each of the others carries"
    return f"{now.supply} for {now.load_w:g} W, one on hot standby: {how} {now.unit_w:g} W, {rate}"


def _active(now: Operation) -> str:
    return str(Supply(now.active, now.supply.rating_w))


def _extrapolated(now: Operation) -> str:
    low_w, high_w = now.input_bounds_w or (now.load_w, now.load_w)
    efficiencies = f"{percent(now.load_w / high_w)} to {percent(now.load_w / low_w)}"
    return f"{efficiencies}, {low_w:.1f} to {high_w:.1f} W in (estimate)"


def _efficiency(operation: Operation, table: EfficiencyTable | None) -> str:
    if operation.efficiency_ratio is None or operation.input_w is None:
        return "efficiency not known"
    qualifier = "minimum " if table is not None and table.certified else ""
    return f"{qualifier}{percent(operation.efficiency_ratio)}, {operation.input_w:.1f} W in (estimate)"


def _readings(measured: Measured) -> str:
    readings = f"{measured.in_w:g} W in, {measured.out_w:g} W out at {percent(measured.load_ratio)} load"
    if measured.efficiency_ratio is None or measured.lowest_ratio is None or measured.highest_ratio is None:
        return f"{readings}: {measured.reason}"
    between = f"between {percent(measured.lowest_ratio)} and {percent(measured.highest_ratio)}"
    off = f"each reading ± {percent(measured.tolerance_ratio)}"
    return (
        f"{readings}: {percent(measured.efficiency_ratio)}, {between} ({off}); "
        f"{measured.loss_w:.1f} ± {measured.error_w:.1f} W of loss"
    )


def _proposal(option: Option, advice: Advice) -> str:
    new = option.operation
    count = in_words(new.supply.count)
    what = {
        "standby": f"one of the {count} units on hot standby",
        "share": f"all {count} units sharing the load",
        "fewer": f"{new.supply} only",
        BOTH: f"{new.supply} in their place, one of them on hot standby",
        "smaller": f"{new.supply} in their place" if new.supply.count > 1 else f"{new.supply} in its place",
    }[option.change]
    proposal = f"{what}: {percent(new.load_ratio)} of the rating, {_efficiency(new, advice.question.table)}"
    money, price_per_kwh = _currency(advice.question), advice.question.price_per_kwh
    paid = _paid(option.payback, money)
    if option.saved_bounds_w is not None:
        return f"{proposal}; {_saved_between(option.saved_bounds_w, price_per_kwh, money)}{paid}"
    if option.saved_w is None:
        stands_above = advice.operation.reason is not None and advice.operation.reason in str(option.reason)
        return f"{proposal}; what it saves is not known{'' if stands_above else f': {option.reason}'}{paid}"
    worth = "" if option.saved_cost_per_year is None else f" worth {option.saved_cost_per_year:.2f}{money}"
    saved = f"{option.saved_w:.1f} W, {option.saved_kwh_per_year:.0f} kWh{worth}"
    return f"{proposal}; saves {saved} a year{paid}"


def _currency(question: Question) -> str:
    """What stands behind an amount of money."""
    return f" {question.currency}" if question.currency else ""


def _saved_between(saved_w: tuple[float, float], price_per_kwh: float | None, money: str) -> str:
    low_kwh, high_kwh = map(kwh_per_year, saved_w)
    worth = ""
    if price_per_kwh is not None:
        worth = f" worth {price_per_kwh * low_kwh:.2f} to {price_per_kwh * high_kwh:.2f}{money}"
    watts = f"{saved_w[0]:.1f} to {saved_w[1]:.1f} W"
    return f"saves {watts} (extrapolated), {low_kwh:.0f} to {high_kwh:.0f} kWh{worth} a year"


def _paid(payback: Payback | None, money: str) -> str:
    """What the units of a change cost and when they are paid, behind what it saves."""
    if payback is None:
        return ""
    if payback.cost == 0:
        return "; nothing to buy"
    cost = "" if payback.cost is None else f"the units cost {payback.cost:.2f}{money}, "
    if payback.years is None:
        return f"; {cost}years until paid not known: {payback.reason}"
    shortest, longest = (f"{count:.1f}" for count in payback.years)
    years = shortest if shortest == longest else f"{shortest} to {longest}"
    return f"; {cost}paid after {years} years"


def _footnotes(advice: Advice) -> Iterator[str]:
    table = advice.question.table
    yield ""
    if table is not None:
        loads = ", ".join(percent(load) for load, _ in table.points)
        kind = "the minimums of" if table.certified else "those of"
        yield f"efficiencies are {kind} {table.name} at {loads} of the rating, with straight lines between"
        if table.certified:
            yield "they are what a certificate asks for, not curves of your units, which may do better"
        if any(option.saved_bounds_w for option in advice.options) or advice.operation.input_bounds_w:
            lowest = percent(table.points[0][0])
            yield f"extrapolated: below {lowest} load neither efficiency nor loss is above that at {lowest}"
    else:
        yield "watts need --level or --table"
    if any(option.payback is not None and option.payback.cost for option in advice.options):
        yield "paid: by saved energy at this load all year, without interest and the value of the old units"
    if any(option.change in ("standby", BOTH) for option in advice.options):
        yield "what a unit on standby draws itself is not in these figures; firmware may wake it early"
