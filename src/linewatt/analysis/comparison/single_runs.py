# SPDX-License-Identifier: Apache-2.0
"""Results that are one run each, of what they were asked to do, as two sides of a comparison. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from linewatt.analysis.comparison.case_runs import Measured
from linewatt.analysis.comparison.differences import Difference, differences_of_sides, rank_of
from linewatt.analysis.comparison.matching import Match, Matching
from linewatt.analysis.comparison.side import Obstacle, Quantity, RunKind, Side
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.power.totals import SCOPE_WORDS, least_sure
from linewatt.errors import InvalidInput
from linewatt.units import first_of

_MOST_NAMED = 4


def advice_on_single_runs(kind: RunKind) -> str:
    """Why one run decides nothing, and what to do."""
    return (
        f"One {kind.name} is one measurement, however long it was: one against one gives no verdict. "
        "Run each four times before and after what you changed, and name all of a side (compare A1,A2,A3,A4 "
        "B1,B2,B3,B4); or run each at least three times and follow them with linewatt history."
    )


def match_tasks(base: Side, other: Side, allowed: Collection[str]) -> Matching:
    """The task of one side with that of the other. Raises InvalidInput where runs of a side are not alike."""
    for side in (base, other):
        kind = side.single_runs[0].kind
        for repeat in side.repeats:
            obstacles = kind.obstacles((replace(side, name=side.id), repeat))
            barred = [obstacle for obstacle in obstacles if obstacle.code not in allowed]
            if barred:
                why, code = barred[0].words, barred[0].code
                raise InvalidInput(
                    f"{side.id} and {repeat.id} are not runs of the same: {why} (--allow {code})"
                )
    match = Match(base.single_runs[0].task, other.single_runs[0].task)
    renamed = [(base_host, other_host) for base_host, other_host in match.hosts if base_host != other_host]
    words = [
        f"{base_host} in {base.name} is compared with {other_host} in {other.name}"
        for base_host, other_host in renamed[:_MOST_NAMED]
    ]
    if len(renamed) > _MOST_NAMED:
        words.append(f"and so on for {len(renamed) - _MOST_NAMED} more, in their order")
    return Matching((match,), (), (), tuple(words))


def measured_by_response(side: Side) -> dict[Response, Measured]:
    """The figures that any run of a side has, or says why it has not."""
    runs = side.single_runs
    quantities = {
        response: [run.quantities[response.name] for run in runs if response.name in run.quantities]
        for response in runs[0].kind.responses
    }
    return {response: _measured(response, values) for response, values in quantities.items() if values}


def _measured(response: Response, quantities: Sequence[Quantity]) -> Measured:
    scopes = dict.fromkeys(quantity.scope for quantity in quantities if quantity.scope is not None)
    if len(scopes) > 1:
        scope_words = " and ".join(SCOPE_WORDS.get(scope, scope) for scope in scopes)
        return Measured((), reason=f"watts of {scope_words}")
    values = [
        quantity.value
        for quantity in quantities
        if quantity.value is not None and (quantity.value > 0 or not response.relative)
    ]
    return Measured(
        tuple(math.log(value) if response.relative else value for value in values),
        next(iter(scopes), None),
        least_sure(quantity.provenance for quantity in quantities),
        next((quantity.reason or "0, of which nothing is a part" for quantity in quantities), None),
    )


def task_differences(base: Side, other: Side, matches: Sequence[Match]) -> tuple[Difference, ...]:
    """Those of hosts and of what was asked otherwise and refuses nothing; what matters first."""
    asked_differences = [
        Difference("campaign", fact, base_text, other_text, rank_of(fact))
        for fact, base_text, other_text in base.single_runs[0].kind.asked_otherwise((base, other))
    ]
    facts_and_task = [*differences_of_sides(base, other, matches), *asked_differences]
    return tuple(
        sorted(facts_and_task, key=lambda difference: (difference.rank is None, difference.rank or 0))
    )


def run_remarks(sides: tuple[Side, Side], allowed: Sequence[Obstacle]) -> tuple[str, ...]:
    """What is to be known of runs: what was cut off, flagged, doubtful, or was allowed to differ."""
    remarks = [f"differs, and was allowed: {obstacle.words} [{obstacle.code}]" for obstacle in allowed]
    measured = [measured_by_response(side) for side in sides]
    for response in dict.fromkeys(response for by_response in measured for response in by_response):
        reasons = [
            by_response[response].reason
            for by_response in measured
            if response in by_response and not by_response[response].values
        ]
        if len(reasons) == len(measured):
            remarks.append(f"{response.title}: no value on either side: {reasons[0] or 'not read'}")
    for side in sides:
        for result in side.runs:
            name = f"{side.name}, {result.id}" if side.repeats else side.name
            remarks += [f"{name}: {words}" for words in _of_run(result)]
        task = side.single_runs[0].task
        of_repeats = (
            difference
            for repeat in side.repeats
            for difference in differences_of_sides(side, repeat, [Match(task, task)])
        )
        facts = dict.fromkeys(
            f"{difference.where}: {difference.fact}"
            for difference in of_repeats
            if difference.rank is not None
        )
        if facts:
            kind = side.single_runs[0].kind
            remarks.append(f"{side.name}: its {kind.name}s differ in {first_names(list(facts))}")
    return tuple(remarks)


def _of_run(side: Side) -> Iterator[str]:
    run = side.single_run
    if run is None:
        return
    yield from run.remarks(side.id)
    codes = Counter(flag.code for flag in run.flags)
    if codes:
        named = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in codes.items())
        yield f"flags: {named} (linewatt show {side.id} says why)"


def first_names(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    return first_of(list(dict.fromkeys(names)), _MOST_NAMED, between=", ")
