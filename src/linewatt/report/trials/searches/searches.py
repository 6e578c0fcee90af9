# SPDX-License-Identifier: Apache-2.0
"""Searched rates: what was found and how far it carries, in words, as JSON, and as a table of every step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TypeVar

from linewatt.analysis.cases import (
    Bound,
    Goal,
    GoalState,
    InstanceSearch,
    RateSearch,
    RateStep,
    find_rate_searches,
    next_rate_step,
)
from linewatt.declare import FLAT
from linewatt.json_document import document_of, fill
from linewatt.model import Case
from linewatt.records import Count
from linewatt.report.printing.export import KeyedCase, keyed_case_of
from linewatt.report.series import case_labels, case_names, plural, test_title
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, text_cells
from linewatt.sizes import RULE_OF_THREE
from linewatt.store import Result
from linewatt.units import MISSING, format_percent, format_rate, format_seconds, format_significant

S = TypeVar("S", RateSearch, InstanceSearch)

TITLE = "Searched rates"
RATES_ARE = "rates are what the sender offered, payload of all instances"


def searches_of(result: Result) -> tuple[RateSearch, ...]:
    """The searches of a result, as far as they got."""
    rule = result.manifest.asked.search
    return () if rule is None else find_rate_searches(result.trials, rule)


def named(all_searches: Sequence[S]) -> list[tuple[S, str]]:
    """Each with its name: ``UDP 1500`` where a test has one search; else its case, too."""
    tests, cases = [search.case.test for search in all_searches], [search.case for search in all_searches]
    if len(set(tests)) == len(tests):
        return [(search, test_title(search.case.test)) for search in all_searches]
    if any(case.search == "instances" for case in cases):
        labels = case_labels(cases)
        return [(search, f"{test_title(search.case.test)}, {labels[search.case]}") for search in all_searches]
    of_cases = case_names(cases, with_test=True)
    return [(search, of_cases[search.case]) for search in all_searches]


def goal_name(goal: Goal) -> str:
    """``NDR``, ``PDR 0.5 %``."""
    return f"PDR {100 * goal.loss_ratio:.6g} %" if goal.loss_ratio else "NDR"


def rate_words(goal: Goal) -> str:
    """The rate of a goal: ``523.1 Mbps``, ``at least 5.21 Gbps``, ``none found``."""
    if goal.rate_bps is None:
        return "none found"
    rate = format_rate(goal.rate_bps, 4)
    if goal.state == "open" and goal.upper is not None and not goal.sender_limited:
        return f"{rate} to {format_rate(goal.upper.offered_bps, 4)}"
    return f"at least {rate}" if goal.state in ("above", "open") else rate


def certain(goal: Goal) -> bool:
    """Whether its rate is no doubt what its words say."""
    return goal.state in ("found", "above") and not goal.differing


def packets_words(goal: Goal) -> str:
    """``44.42 kpps``; empty where nothing was found, or no one rate."""
    has_one_rate = goal.rate_bps is not None and not goal.differing
    hz = goal.lower.packets_hz if goal.lower is not None and has_one_rate else None
    if hz is None:
        return ""
    scale, unit = next(
        scale_unit
        for scale_unit in ((1e6, "Mpps"), (1e3, "kpps"), (1.0, "pps"))
        if hz >= scale_unit[0] or scale_unit[0] == 1
    )
    return f"{format_significant(hz / scale, 4)} {unit}"


def loss_words(goal: Goal, *, brief: bool = False) -> str:
    """What was lost at a goal's rate, over all trials there, and what that many datagrams can tell."""
    lower = goal.lower
    if lower is None:
        return ""
    if not lower.lost_packets:
        loss_limit, packets = _percent(RULE_OF_THREE / lower.packets), f"{lower.packets:,}"
        if brief:
            return f"none of {packets} lost"
        sentence = (
            f"no loss in {packets} datagrams, so less than {loss_limit} (95 %, if losses are independent)"
        )
    elif brief:
        sentence = f"{_percent(lower.lost_ratio, goal.loss_ratio)} lost"
    else:
        over = f" over all {len(lower.runs)} trials" if len(lower.runs) > len(lower.steps) else ""
        counted = f"({lower.lost_packets:,} of {lower.packets:,})"
        sentence = f"{_percent(lower.lost_ratio, goal.loss_ratio)} lost{over} {counted}"
    return "; ".join((sentence, *_outvoted(goal, lower)))


def _outvoted(goal: Goal, lower: Bound) -> Iterator[str]:
    """What trials say that are fewer than those that agree."""
    more = sum(step.lost_ratio > goal.loss_ratio for step in lower.runs)
    waited = sum(step.waiting_ratio > 0 and step.lost_ratio <= goal.loss_ratio for step in lower.runs)
    short = len(lower.runs) - len(lower.steps) - more - waited
    if more:
        yield f"{more} of {len(lower.runs)} lost more than allowed"
    if waited:
        yield f"in {waited} of {len(lower.runs)} a queue filled up"
    if short:
        yield f"{short} of {len(lower.runs)} sent less than asked for"


def bound_words(goal: Goal, search: RateSearch) -> str:
    """What is above a goal's rate, or why nothing is known of it."""
    upper, lower = goal.upper, goal.lower
    if lower is not None and goal.too_few:
        least_loss, allowed = _percent(RULE_OF_THREE / lower.packets), f"{100 * goal.loss_ratio:.6g} %"
        at = f"{lower.packets:,} datagrams at {format_rate(lower.offered_bps, 4)}"
        return f"{at} are too few to tell {allowed} ({least_loss} if none is lost): a longer window tells"
    if goal.even_to_bps is not None and lower is not None and upper is not None:
        lost, rate = _percent(upper.lost_ratio, goal.loss_ratio), format_rate(upper.offered_bps, 4)
        span = f"{format_rate(lower.offered_bps, 4)} to {format_rate(goal.even_to_bps, 4)}"
        return (
            f"{lost} lost at {rate}, and loss does not grow from {span}: chance decided, not the rate; allow "
            "a loss (search.loss) to find where it grows"
        )
    if upper is None and goal.state == "above" and search.first is not None:
        return f"{_allowed(goal)} at the highest rate tried, {_highest(goal, search, search.first)}"
    if upper is None:
        why = "nothing higher was" if lower is not None else "no rate was"
        max_runs = search.rule.runs
        return f"{why} decided on: that takes {max_runs // 2 + 1} of {max_runs} trials that agree"
    at = format_rate(upper.offered_bps, 4)
    if goal.sender_limited:
        return _of_sender(goal, upper)
    lost = _upper_lost(goal, upper)
    if goal.state == "below":
        return f"already at the lowest rate tried, {at}, {lost}"
    if lower is None:
        tried = any(step.load_bps < upper.load_bps for step in search.steps)
        return f"{lost} at {at}, and nothing lower was {'decided on' if tried else 'tried'}"
    width = _percent(search.rule.width_ratio)
    return f"{lost} at {at}" if goal.state == "found" else f"not within {width}: {lost} at {at}"


def _allowed(goal: Goal) -> str:
    """That no more was lost than is allowed, and in how many trials that is so."""
    lower = goal.lower
    some = goal.loss_ratio and lower is not None and lower.lost_packets
    lost = f"no more than {100 * goal.loss_ratio:.6g} % lost" if some else "no loss"
    if lower is None or len(lower.steps) == len(lower.runs):
        return lost
    return f"{lost} in {len(lower.steps)} of {len(lower.runs)} trials"


def _upper_lost(goal: Goal, upper: Bound) -> str:
    lost = f"{_percent(upper.lost_ratio, goal.loss_ratio)} lost"
    if upper.waiting_ratio:
        lost += f" and {_percent(upper.waiting_ratio)} not arrived when the window ended (a queue filled up)"
    if len(upper.steps) == len(upper.runs):
        return lost
    return f"{lost}, too much in {len(upper.steps)} of {len(upper.runs)} trials,"


def _of_sender(goal: Goal, upper: Bound) -> str:
    """Why it is the limit, and the lowest rate that it did send and that lost more."""
    at, asked_rate = format_rate(upper.offered_bps, 4), format_rate(upper.load_bps, 4)
    where = " above it" if goal.lower is not None else ""
    sentence = f"the sender is the limit{where}: it sent {at} of the {asked_rate} asked for, "
    sentence += f"{_percent(upper.lost_ratio, goal.loss_ratio)} lost"
    if (lossy := goal.lossy) is None:
        return sentence
    lost, sent = _percent(lossy.lost_ratio, goal.loss_ratio), format_rate(lossy.offered_bps, 4)
    return f"{sentence}; where it sent {sent} (trial {lossy.trial.number}), {lost} was lost"


def _highest(goal: Goal, search: RateSearch, first: RateStep) -> str:
    offered = [step.offered_bps for step in goal.lower.steps] if goal.lower is not None else []
    rate = format_rate(first.offered_bps, 4)
    if goal.differing:
        rate = f"{format_rate(min(offered), 4)} to {format_rate(max(offered), 4)} from trial to trial"
    instance_rate_bps = first.trial.case.rate_bps
    if instance_rate_bps is None:
        return f"{rate}: as fast as the sender goes, so the sender is the limit"
    asked_bps = instance_rate_bps * search.case.instances
    if first.load_bps < asked_bps:
        asked_words = format_rate(asked_bps, 4)
        return f"{rate}: all that the sender sent of the {asked_words} asked for, so it is the limit"
    return f"{rate}, which is search.max_rate"


def effort(search: RateSearch | InstanceSearch) -> str:
    """``6 trials, 42 s of load``."""
    failed = f", {search.failed} without a number" if search.failed else ""
    return f"{plural(len(search.trials), 'trial')}{failed}, {format_seconds(search.load_s)} of load"


def one_packet(search: RateSearch) -> str:
    """What the loss of one datagram is at the rates of a search; empty where none was tried."""
    packet_counts = [
        step.packets for goal in search.goals if goal.lower is not None for step in goal.lower.steps
    ]
    if not packet_counts or not (fewest := min(packet_counts)):
        return ""
    part = _percent(1 / fewest)
    return f"one datagram of {fewest:,} in a window is {part}: a longer window tells smaller losses"


def _percent(ratio: float, neighbour_ratio: float | None = None) -> str:
    """With as many digits as tell it from the one beside it."""
    digits = 2
    while (
        neighbour_ratio
        and ratio != neighbour_ratio
        and digits < 6
        and _rounded(ratio, digits) == _rounded(neighbour_ratio, digits)
    ):
        digits += 1
    return f"{format_significant(100 * ratio, digits)} %"


def _rounded(ratio: float, digits: int) -> float:
    return float(f"{ratio:.{digits}g}")


def why_ended(search: RateSearch, result: Result) -> str | None:
    """Why no further rate was tried; None: it goes on."""
    return recorded_why(search.case, result) or next_rate_step(search.rule, search.trials).ended


def recorded_why(case: Case, result: Result) -> str | None:
    """What is on record of why the search ended whose steps have ``case`` in common; None: nothing."""
    ended = result.searches.searches if result.searches is not None else []
    keys = case.key, *case.hosts
    return next(
        (
            search_record.why
            for search_record in ended
            if (search_record.case_key, search_record.sender, search_record.receiver) == keys
        ),
        None,
    )


def _notes(search: RateSearch, result: Result) -> Iterator[Note]:
    for goal in search.goals:
        parts = (packets_words(goal), loss_words(goal), bound_words(goal, search))
        words = "; ".join((rate_words(goal), *filter(None, parts)))
        yield Note("remark" if certain(goal) else "doubt", words, goal_name(goal))
    yield Note("remark", f"{effort(search)}; {why_ended(search, result) or 'not finished'}; {RATES_ARE}")
    yield from (Note("remark", text) for text in [one_packet(search)] if text)


def search_tables(rate_searches: Sequence[RateSearch], result: Result) -> tuple[Table, ...]:
    """A table for each search, a row a rate that was tried."""
    return tuple(_table(search, name, result) for search, name in named(rate_searches))


def _table(search: RateSearch, name: str, result: Result) -> Table:
    return Table(
        title=f"{name}: rates by loss",
        keys=(Head("Offered", kind="number"),),
        heads=(
            Head("Arrived"),
            Head("Datagrams"),
            Head("Lost"),
            Head("Loss", "%"),
            Head("Trial"),
            Head("Bound of", kind="prose"),
        ),
        groups=(RowGroup("", tuple(_row(step, search) for step in search.steps)),),
        notes=tuple(_notes(search, result)),
        style="numbers searches",
    )


def _row(step: RateStep, search: RateSearch) -> Row:
    bounds = [goal_name(goal) for goal in search.goals if goal.lower and step in goal.lower.steps]
    above = [f"above {goal_name(goal)}" for goal in search.goals if goal.upper and step in goal.upper.steps]
    short = [f"sent {format_percent(step.unsent_ratio)} less than asked for"] if step.unsent_ratio else []
    short += [f"{format_percent(step.waiting_ratio)} not arrived, nor lost"] if step.waiting_ratio else []
    loss = format_significant(100 * step.lost_ratio, 3)
    cells = text_cells(
        format_rate(step.trial.throughput_bps, 4), f"{step.packets:,}", f"{step.lost_packets:,}", loss
    )
    remarks = ", ".join([*bounds, *above, *short]) or MISSING
    return Row(
        (Cell(format_rate(step.offered_bps, 4)),), (*cells, *text_cells(str(step.trial.number), remarks))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStepDocument:
    trial: Count
    rate_bps: float | None
    """Asked of each instance."""
    offered_bps: float
    throughput_bps: float | None
    packets: Count
    lost_packets: Count
    lost_ratio: float
    unsent_ratio: float
    """How much less was sent than asked for."""
    waiting_ratio: float
    """What had not arrived, nor was lost, when the window ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDocument:
    trials: list[Count]
    """Numbers of those that agree."""
    runs: Count
    """All trials at it, the outvoted too."""
    offered_bps: float
    throughput_bps: float
    packets: Count
    packets_per_s: float | None
    lost_packets: Count
    lost_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalDocument:
    loss_ratio: float
    """The loss that is allowed."""
    state: GoalState
    sender_limited: bool
    even_to_bps: float | None
    """Where chance decided: up to which rate loss does not grow."""
    lower: BoundDocument | None
    """The highest rate with no more loss than that."""
    upper: BoundDocument | None
    """The lowest rate with more."""
    loss_ratio_not_excluded: float | None
    """Where none was lost: a loss that may be missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSearchDocument:
    """A rate that was searched."""

    case: KeyedCase = field(metadata=FLAT)
    width_ratio: float
    """How far apart bounds may be."""
    max_rate_bps: float | None
    runs: Count
    """Trials that decide on a rate."""
    trials: Count
    trials_failed: Count
    load_s: float
    ended: str | None
    """Why no further rate was tried; null: it goes on."""
    goals: list[GoalDocument]
    steps: list[RateStepDocument]


def as_documents(rate_searches: Iterable[RateSearch], result: Result) -> list[dict[str, Any]]:
    """The ``searches`` of ``show --json``."""
    return [document_of(_document(search, result)) for search in rate_searches]


def _document(search: RateSearch, result: Result) -> RateSearchDocument:
    return fill(
        RateSearchDocument,
        search,
        case=keyed_case_of(search.case),
        width_ratio=search.rule.width_ratio,
        max_rate_bps=search.rule.max_rate_bps,
        runs=search.rule.runs,
        trials=len(search.trials),
        trials_failed=search.failed,
        ended=why_ended(search, result),
        goals=[_goal(goal) for goal in search.goals],
        steps=[_step(step) for step in search.steps],
    )


def _goal(goal: Goal) -> GoalDocument:
    lower = goal.lower
    return fill(
        GoalDocument,
        goal,
        lower=None if lower is None else _bound(lower),
        upper=None if goal.upper is None else _bound(goal.upper),
        loss_ratio_not_excluded=RULE_OF_THREE / lower.packets if lower and not lower.lost_packets else None,
    )


def _bound(bound: Bound) -> BoundDocument:
    return fill(
        BoundDocument,
        bound,
        trials=[step.trial.number for step in bound.steps],
        runs=len(bound.runs),
        throughput_bps=fmean(bps for step in bound.steps if (bps := step.trial.throughput_bps) is not None),
        packets_per_s=bound.packets_hz,
    )


def _step(step: RateStep) -> RateStepDocument:
    trial = step.trial
    figures = {"rate_bps": trial.case.rate_bps, "throughput_bps": trial.throughput_bps}
    return fill(RateStepDocument, step, trial=trial.number, **figures)
