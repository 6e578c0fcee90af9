# SPDX-License-Identifier: Apache-2.0
"""Searched instances: the knee and how far it carries, in words, as JSON, and as a table of every step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from linewatt.analysis import Findings
from linewatt.analysis.cases import (
    Doubling,
    InstanceSearch,
    InstanceStep,
    State,
    bounded_by_cpus,
    falls_beyond_knee,
    instance_search_of,
    knee_place,
    next_instance_step,
)
from linewatt.analysis.limits import Knee
from linewatt.declare import FLAT, PREFIXED
from linewatt.findings import LITTLE_GAIN_RATIO
from linewatt.json_document import document_of, fill
from linewatt.model import Case, Trial
from linewatt.records import AskedTest, Count, InstanceRule
from linewatt.report.columns import cut_words
from linewatt.report.printing.export import KeyedCase, MeanKeys, keyed_case_of, mean_of
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, text_cells
from linewatt.report.trials.searches.searches import effort, named, recorded_why
from linewatt.store import Result
from linewatt.units import MISSING, format_change, format_percent, format_rate, number_ranges

TITLE = "Searched instances"


def instance_searches_of(result: Result) -> tuple[InstanceSearch, ...]:
    """The searches of a result, as far as they got."""
    campaign = result.manifest.asked
    if campaign.instance_search is None:
        return ()
    case_trials: dict[Case, list[Trial]] = {}
    for trial in result.trials:
        if any(_searches(test, trial.case) for test in campaign.tests):
            case_trials.setdefault(replace(trial.case, instances=1, search="instances"), []).append(trial)
    return tuple(
        _search(case, trials, campaign.instance_search, result) for case, trials in case_trials.items()
    )


def _searches(test: AskedTest, case: Case) -> bool:
    """Whether a case is a step of what a test searches: all that differ in instances only, at no rate."""
    same = (test.test, bool(test.zerocopy)) == (case.test, bool(case.zerocopy))
    in_scope = same and case.streams in test.streams and not case.paced and not case.search
    return test.instances == "auto" and in_scope


def _search(case: Case, trials: Sequence[Trial], rule: InstanceRule, result: Result) -> InstanceSearch:
    rule = bounded_by_cpus(rule, result.manifest.hosts, case)
    ended = recorded_why(case, result) or next_instance_step(rule, trials).ended
    return instance_search_of(case, rule, trials, ended=ended)


def certain(search: InstanceSearch) -> bool:
    """Whether it found what it looked for."""
    return search.state in ("found", "flat")


def answer_words(search: InstanceSearch) -> str:
    """``knee at 4.0 instances (95 % CI 3.8 to 4.2): …``, or what is known in its place."""
    stops, most_tried, enough = search.first_flat, max(search.tried, default=0), search.enough
    if search.state == "open":
        return f"not finished: {plural(most_tried, 'instance')} at most so far"
    if search.state == "failed":
        return (
            f"no knee: trials failed before it was sure; {plural(most_tried, 'instance')} at "
            f"most have a number"
        )
    if search.state == "found" and search.knee is not None:
        return _knee_words(search.knee, search.after_bps if falls_beyond_knee(search) else None)
    if stops is None or stops.gain is None or enough is None:
        return f"no knee up to {plural(most_tried, 'instance')}"
    if search.state == "flat":
        least_gain = format_percent(LITTLE_GAIN_RATIO)
        fewest = stops.fewer.instances
        return f"no knee: beyond {plural(fewest, 'instance')} a doubling surely brings less than {least_gain}"
    return f"no one bend: throughput stops to rise at about {plural(enough.instances, 'instance')}"


def _knee_words(bend: Knee, after_bps: float | None) -> str:
    """What an instance brings beyond it with its sign: throughput may fall."""
    after = format_rate(bend.after_bps)
    if after_bps is not None and after_bps < 0:
        after = f"and {format_rate(-after_bps)} less for each one"
    return f"knee at {knee_place(bend)}: {format_rate(bend.before_bps)} an instance before it, {after} after"


def carried_words(search: InstanceSearch) -> str:
    """``6 instances: 5.32 Gbps; 16 → 32 brought −0.1 % (−2.1 % to +2.0 %)``; empty where nothing stops."""
    step = search.enough
    if step is None or step.throughput_bps is None:
        return ""
    sentence = f"{plural(step.instances, 'instance')}: {format_rate(step.throughput_bps.mean, 4)}"
    last = search.doublings[-1]
    return f"{sentence}; {_gain(last)}" if last.measured else sentence


def _gain(doubling: Doubling) -> str:
    """``16 → 32 brought −0.1 % (−2.1 % to +2.0 %)``: as it was measured."""
    gain = doubling.measured
    if gain is None:
        return MISSING
    sentence = f"{doubling.fewer.instances} → {doubling.more.instances} brought {format_change(gain.ratio)}"
    if gain.low is None or gain.high is None:
        return sentence
    return f"{sentence} ({format_change(gain.low)} to {format_change(gain.high)})"


def tried_words(search: InstanceSearch) -> str:
    """What was looked at and what was not."""
    tried, rule = search.tried, search.rule
    if not tried:
        return "no number of instances was tried"
    looked = sorted({0, *tried, *(step.instances for step in search.without_number)})
    gaps = [(low + 1, high - 1) for low, high in pairwise(looked) if low + 1 < high <= tried[-1]]
    untried = [f"{first}–{last}" if last > first else f"{first}" for first, last in gaps]
    untried += [f"more than {tried[-1]}"]
    sentence = f"tried: {number_ranges(tried)}; not: {', '.join(untried)} (at most {rule.most}: {rule.bound})"
    failed = [
        f"{step.instances}: {plural(len(step.trials), 'trial')} failed" for step in search.without_number
    ]
    return f"{sentence}; no number at {', '.join(failed)}" if failed else sentence


def effort_words(search: InstanceSearch) -> str:
    return f"{effort(search)}; {search.ended or 'not finished'}"


def knee_tables(instance_searches: Sequence[InstanceSearch]) -> tuple[Table, ...]:
    """A table for each search, a row a number of instances."""
    return tuple(_table(search, name) for search, name in named(instance_searches))


def _table(search: InstanceSearch, name: str) -> Table:
    parts = (answer_words(search), carried_words(search))
    notes = (
        Note("remark" if certain(search) else "doubt", "; ".join(filter(None, parts)), name),
        Note("remark", effort_words(search)),
        Note("remark", tried_words(search)),
    )
    return Table(
        title=f"{name}: throughput by instances",
        keys=(Head("Instances"),),
        heads=(Head("Throughput"), Head("95 % CI"), Head("Gain", kind="text"), Head("Trials")),
        groups=(RowGroup("", tuple(_row(step, search) for step in search.steps)),),
        notes=notes,
        style="numbers searches",
    )


def _row(step: InstanceStep, search: InstanceSearch) -> Row:
    mean = step.throughput_bps
    interval = mean.interval() if mean is not None else None
    ci = f"{format_rate(interval.low, 4)} to {format_rate(interval.high, 4)}" if interval else MISSING
    if mean is not None and interval is not None and interval.is_cut:
        ci = f"{ci}, {cut_words(interval, mean.quantity)}"
    doubled = next((doubling for doubling in search.doublings if doubling.more == step), None)
    cells = text_cells(
        MISSING if mean is None else format_rate(mean.mean, 4),
        ci,
        "" if doubled is None else _gain(doubled),
        number_ranges(trial.number for trial in step.trials),
    )
    return Row((Cell(f"{step.case.instances}"),), cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceStepDocument:
    instances: Count
    case_key: str
    """Stable hash of what makes the case comparable: equal on every host, kernel and year."""
    trials: list[Count]
    """Their numbers."""
    throughput_bps: MeanKeys = field(metadata=PREFIXED)
    compared_with: Count | None
    """The number of instances that it doubles."""
    gain_ratio: float | None
    gain_ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSearchDocument:
    """A number of instances that was searched."""

    case: KeyedCase = field(metadata=FLAT)
    max_instances: Count
    bound: str
    """What allows no more."""
    runs: Count
    """Trials of each number."""
    trials: Count
    trials_failed: Count
    load_s: float
    ended: str | None
    """Why no further number was tried; null: it goes on."""
    state: State
    knee_instances: float | None
    knee_ci95: tuple[float, float] | None
    bps_per_instance_before: float | None
    bps_per_instance_after: float | None
    instances_enough: Count | None
    not_tried: list[Count]
    doubts: list[str]
    """Codes of findings on its throughput."""
    steps: list[InstanceStepDocument]


def as_documents(instance_searches: Iterable[InstanceSearch], findings: Findings) -> list[dict[str, Any]]:
    """Of instances the ``searches`` of ``show --json``."""
    return [document_of(_document(search, findings)) for search in instance_searches]


def _document(search: InstanceSearch, findings: Findings) -> InstanceSearchDocument:
    bend, step = search.knee, search.enough
    codes = (code for step in search.known for code in findings.doubts(step.case, "throughput"))
    return fill(
        InstanceSearchDocument,
        search,
        case=keyed_case_of(search.case),
        max_instances=search.rule.most,
        bound=search.rule.bound,
        runs=search.rule.runs,
        trials=len(search.trials),
        trials_failed=search.failed,
        knee_instances=None if bend is None else bend.instances,
        knee_ci95=None if bend is None else (bend.low, bend.high),
        bps_per_instance_before=None if bend is None else bend.before_bps,
        bps_per_instance_after=search.after_bps,
        instances_enough=None if step is None else step.instances,
        not_tried=[count for count in range(1, search.rule.most + 1) if count not in search.tried],
        doubts=[*dict.fromkeys(codes)],
        steps=[_step(step, search) for step in search.steps],
    )


def _step(step: InstanceStep, search: InstanceSearch) -> InstanceStepDocument:
    doubled = next((doubling for doubling in search.doublings if doubling.more == step), None)
    gain = None if doubled is None else doubled.measured
    return InstanceStepDocument(
        instances=step.case.instances,
        case_key=step.case.key,
        trials=[trial.number for trial in step.trials],
        throughput_bps=mean_of(step.throughput_bps),
        compared_with=None if doubled is None else doubled.fewer.instances,
        gain_ratio=None if gain is None else gain.ratio,
        gain_ci95=None if gain is None or gain.low is None or gain.high is None else (gain.low, gain.high),
    )


def short_words(search: InstanceSearch) -> str:
    """The answer for a line that names several."""
    if search.state == "found" and search.knee is not None:
        return f"knee at {knee_place(search.knee)}"
    return answer_words(search)
