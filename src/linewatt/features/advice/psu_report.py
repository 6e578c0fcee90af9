# SPDX-License-Identifier: Apache-2.0
"""Advice about power supplies in words, for ``advise psu`` and for results whose hosts declare theirs."""

from __future__ import annotations

from collections.abc import Iterator

from linewatt.errors import InvalidInput
from linewatt.features.advice.psu.advice import BOTH, Advice, Option, Question, advise
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
    if option.saved_w is None:
        stands_above = advice.operation.reason is not None and advice.operation.reason in str(option.reason)
        return f"{proposal}; what it saves is not known{'' if stands_above else f': {option.reason}'}"
    worth = "" if option.saved_cost_per_year is None else f" worth {option.saved_cost_per_year:.2f}"
    return f"{proposal}; saves {option.saved_w:.1f} W, {option.saved_kwh_per_year:.0f} kWh{worth} a year"


def _footnotes(advice: Advice) -> Iterator[str]:
    table = advice.question.table
    yield ""
    if table is not None:
        loads = ", ".join(percent(load) for load, _ in table.points)
        kind = "the minimums of" if table.certified else "those of"
        yield f"efficiencies are {kind} {table.name} at {loads} of the rating, with straight lines between"
        if table.certified:
            yield "they are what a certificate asks for, not curves of your units, which may do better"
    else:
        yield "watts need --level or --table"
    if any(option.change in ("standby", BOTH) for option in advice.options):
        yield "what a unit on standby draws itself is not in these figures; firmware may wake it early"
