# SPDX-License-Identifier: Apache-2.0
"""The first screen of a result: how fast, limited by what, at what cost, and whether to trust it.

Each series is told by one case, the one with the most throughput; what is said of it is what its tables say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.findings import Finding
from linewatt.analysis.limits.ranking import Ranked
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.limits.words import short
from linewatt.analysis.metrics.metric import Metric
from linewatt.analysis.metrics.of_power import POWER_BY_NAME
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.analysis.metrics.unit import Unit, fixed, same
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.findings import Figure, kind_of
from linewatt.model import ENDS, Role
from linewatt.report.columns import case_cell, ci_text, power_cell
from linewatt.report.findings import Marks
from linewatt.report.machine.environment import core_words
from linewatt.report.provenance import words as provenance_words
from linewatt.report.series import Series
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.scalability import INSTANCES, TRIALS, trials_cell
from linewatt.units import MISSING, format_percent, format_rate

T = TypeVar("T")

MOST_SERIES = 6
"""of more, those with the most throughput are shown"""
MOST_DOUBTS = 3

CORES = Unit("cores", same, fixed(2))

_FIGURES: tuple[tuple[str, Figure], ...] = (
    ("throughput", "throughput"),
    ("CPU", "cpu"),
    ("watts", "power"),
    ("watts above idle", "above_idle"),
)


@dataclass(frozen=True, slots=True)
class Best:
    """The case that a series is told by, and what the series is called among those shown."""

    name: str
    summary: CaseSummary


@dataclass(frozen=True, slots=True)
class Answer:
    """The first screen: tables, and sentences on trust; ``limits`` has one for each row of the result."""

    result: Table
    limits: tuple[Note, ...]
    cost: Table
    trust: tuple[Note, ...]


def answer(view: Digest) -> Answer | None:
    """Of a result with any case that has a throughput; load levels have a table of their own."""
    best = best_cases(view)
    if not best:
        return None
    fastest = sorted(best, key=_throughput, reverse=True)[:MOST_SERIES]
    shown = [one for one in best if one in fastest]
    return Answer(
        _result_table(shown, view, tuple(_left_out(view, best, shown))),
        tuple(Note("remark", limit_words(one.summary), one.name) for one in shown),
        _cost_table(fastest[0], view.marks),
        tuple(_trust(view, shown, fastest[0])),
    )


def _left_out(view: Digest, best: Sequence[Best], shown: Sequence[Best]) -> Iterator[Note]:
    """Series beyond those shown, and those without any number."""
    rest = [_throughput(one) for one in best if one not in shown]
    if rest:
        span = " to ".join(dict.fromkeys(format_rate(bps) for bps in (min(rest), max(rest))))
        yield Note("remark", f"{len(rest)} more series have less: {span}")
    for group in view.groups:
        for series in group.series:
            if not any(summary.throughput_bps for summary in series.summaries):
                failures = [failure for summary in series.summaries for failure in summary.failures]
                yield Note("doubt", f"no number: {'; '.join(failures) or 'no trial is done'}", series.title)


def best_cases(view: Digest) -> list[Best]:
    """The case of each series with the most throughput; of equals the one with the fewest instances."""
    series = [one for group in view.groups for one in group.series]
    names = _names(series)
    found = []
    for name, one in zip(names, series, strict=True):
        measured = [summary for summary in one.summaries if summary.throughput_bps is not None]
        if measured:
            found.append(Best(name, max(measured, key=lambda summary: _bps(summary))))
    return found


def _names(series: Sequence[Series]) -> list[str]:
    """``TCP`` where the test tells a series apart; else its title."""
    tests = [one.test for one in series]
    paths = {(one.summaries[0].case.sender, one.summaries[0].case.receiver) for one in series}
    alone = len(paths) == 1 and len(set(tests)) == len(tests)
    return [one.title.partition(",")[0] if alone else one.title for one in series]


def _bps(summary: CaseSummary) -> float:
    return summary.throughput_bps.mean if summary.throughput_bps else 0.0


def _throughput(best: Best) -> float:
    return _bps(best.summary)


def _result_table(shown: Sequence[Best], view: Digest, notes: tuple[Note, ...]) -> Table:
    """How fast: a row a series."""
    summaries = [one.summary for one in shown]
    metrics = [
        metric
        for name in ("line_rate_ratio", "lost_ratio", "latency_p50_s", "latency_p99_s")
        if (metric := BY_NAME.get(name)) is not None and metric.has_values(summaries)
    ]
    heads = (
        Head("Throughput", kind="number"),
        Head("95 % CI", kind="number"),
        *(Head(metric.title, metric.unit(summaries).name, lines=metric.heading) for metric in metrics),
        INSTANCES,
        TRIALS,
    )
    rows = [_result_row(one, metrics, summaries, view) for one in shown]
    return Table(
        "Result, mean ± SD over the trials",
        (Head("Series", kind="text"),),
        heads,
        (RowGroup("", tuple(rows)),),
        notes,
    )


def _result_row(one: Best, metrics: Sequence[Metric], all_shown: Sequence[CaseSummary], view: Digest) -> Row:
    summary, marks, source = one.summary, view.marks, view.result.imported_from
    speed = BY_NAME["throughput_bps"]
    unit = speed.unit([summary])
    cell = case_cell(speed, summary, unit)
    spread = "" if cell.sd is None else f" ± {cell.sd}"
    value = replace(
        cell,
        text=f"{cell.text}{spread} {unit.name}",
        sd=None,
        doubts=marks.cell(summary.case, "throughput"),
        strong=True,
    )
    ci = ci_text(speed, summary, unit)
    unknown = "one trial: its spread is not known" if source is None else f"{source} says nothing of runs"
    cells = (
        value,
        Cell(ci) if ci else Cell(MISSING, reason=unknown),
        *(
            replace(
                case_cell(metric, summary, metric.unit(all_shown)),
                sd=None,
                doubts=marks.cell(summary.case, metric.figure, metric.role),
            )
            for metric in metrics
        ),
        Cell(f"{summary.case.instances}"),
        trials_cell(summary),
    )
    return Row((Cell(one.name),), cells, marks.row(summary.case))


def limit_words(summary: CaseSummary) -> str:
    """What limits a case in one sentence: the finder's verdict, where, and how busy the other end is."""
    limit = summary.limit
    asked = limit.candidate("paced")
    if limit.kind == "paced":
        return f"held to its rate: {limit.evidence}"
    missed = f"; {short(asked)} arrived" if asked is not None and not asked.holds else ""
    if not limit.found:
        return f"{limit.lead}{f': {limit.margin}' if limit.margin else ''}{missed}"
    return f"limited by {limit.what} ({_where(limit)}){missed}{_other_end(limit)}"


def _where(limit: Limit) -> str:
    """``h1, 99.2 %``: of the first that is named; of a ceiling that only a series shows the evidence."""
    evidence = limit.evidence.partition(";")[0]
    if not limit.named:
        return evidence
    first = limit.named[0]
    is_use = first.cpu is not None or first.unit == "bit/s"
    share = format_percent(min(1.0, first.share)) if is_use else evidence
    return ", ".join(part for part in (first.host, share) if part)


def _other_end(limit: Limit) -> str:
    """How busy the other end is, where one end limits and the CPUs of the other are known."""
    ends = {one.end for one in limit.named}
    if len(ends) != 1 or None in ends:
        return ""
    others: list[Ranked] = [
        one for one in limit.ranked if one.end not in ends and one.end is not None and one.cpu is not None
    ]
    if not others:
        return ""
    busiest = max(others, key=lambda one: one.share)
    return f"; the busiest CPU of {busiest.host} is at {format_percent(busiest.share, 0)}"


def _cost_table(best: Best, marks: Marks) -> Table:
    """What it cost: a row for each end of the case; below it why anything is not known."""
    columns = _columns(best.summary, marks)
    ends = [(role, [read(role) for _, read in columns]) for role in ENDS]
    kept = [at for at in range(len(columns)) if any(cells[at].text not in ("", MISSING) for _, cells in ends)]
    without_power = best.summary.power("sender") is None and best.summary.power("receiver") is None
    lacks = (
        Lack(head.title, cells[at].reason or "not known", "", role)
        for role, cells in ends
        for at, (head, _) in enumerate(columns)
        if cells[at].missing and not (without_power and head.title in _OF_POWER)
    )
    rows = (
        Row((Cell(f"{role} {best.summary.case.host(role)}"),), tuple(cells[at] for at in kept))
        for role, cells in ends
    )
    return Table(
        f"What it cost: {best.name}",
        (Head("End", kind="text"),),
        tuple(columns[at][0] for at in kept),
        (RowGroup("", tuple(rows)),),
        absences(lacks, len(ends)),
    )


_OF_POWER = ("Power", "Per watt", "Above idle", "Watts of")
_Column = tuple[Head, Callable[[Role], Cell]]


def _columns(summary: CaseSummary, marks: Marks) -> list[_Column]:
    """CPU and watts of an end, and what arrived for each."""

    def cpu(name: str, unit: Unit) -> Callable[[Role], Cell]:
        def read(role: Role) -> Cell:
            cell = case_cell(BY_NAME[name.format(role=role)], summary, unit)
            return replace(cell, sd=None, doubts=marks.cell(summary.case, "cpu", role))

        return read

    def watts(name: str) -> Callable[[Role], Cell]:
        metric = POWER_BY_NAME[name]

        def read(role: Role) -> Cell:
            power = summary.power(role)
            if power is None:
                return Cell(MISSING, reason="no source of power was named")
            cell = power_cell(metric, power, metric.units[0], summary.trials_done)
            return replace(cell, sd=None, doubts=marks.cell(summary.case, metric.figure, role))

        return read

    def scope(role: Role) -> Cell:
        power = summary.power(role)
        scope = None if power is None else power.system_scope
        return Cell(SCOPE_WORDS[scope] if scope else "")

    cost = BY_NAME["efficiency_receiver_bps_per_core"].unit([summary])
    parts = BY_NAME["receiver_cpu_cores_per_bps"].unit([summary])
    of_host: list[_Column] = [
        (Head("CPU", CORES.name), cpu("{role}_cpu_cores", CORES)),
        (Head("Per core", cost.name), cpu("efficiency_{role}_bps_per_core", cost)),
    ]
    of_roles: _Column = (Head("App + IRQ CPU", parts.name), cpu("{role}_cpu_cores_per_bps", parts))
    return [
        *of_host,
        *([] if any(summary.cpu_cores(role) for role in ENDS) else [of_roles]),
        (Head("Power", "W"), watts("system_w")),
        (Head("Per watt", "Mbps/W"), watts("system_bps_per_w")),
        (Head("Above idle", "W"), watts("dynamic_w")),
        (Head("Watts of", kind="text"), scope),
    ]


def _trust(view: Digest, shown: Sequence[Best], fastest: Best) -> Iterator[Note]:
    """For each group of figures above whether anything makes it doubtful, then the gravest reasons."""
    yield Note("remark", " · ".join(_verdicts(view, shown, fastest)), "Can I trust it")
    if _ends(fastest, CaseSummary.cpu_cores):
        yield Note("remark", core_words(view.hosts))
    cases = {one.summary.case for one in shown}
    here = [note for note in view.notes if cases & set(note.cases)]
    grave = [note for note in here if note.rank != "note"][:MOST_DOUBTS]
    for note in grave:
        found = [one for one in view.findings.every if one.code == note.code and cases & set(one.cases)]
        yield Note("doubt", f"({note.mark}) {_doubt(note.title, found)}")
    for lead, notes in (
        ("Also found" if grave else "Found", [note for note in here if note not in grave]),
        ("In other cases", [note for note in view.notes if note not in here]),
    ):
        if notes:
            yield Note("remark", ", ".join(note.title for note in notes), lead)


def _doubt(title: str, found: Sequence[Finding]) -> str:
    """What was seen of it in the cases shown, and what to do."""
    seen = found[0].sightings[0]
    more = sum(len(one.sightings) for one in found) - 1
    evidence = f"{seen.where}: {seen.evidence}{f' and {more} more' if more else ''}"
    return f"{title}: {evidence}; do: {found[0].advice[0]}"


def _verdicts(view: Digest, shown: Sequence[Best], fastest: Best) -> Iterator[str]:
    """Of throughput in all rows, of CPU and watts in the one whose cost is shown."""
    for word, figure in _FIGURES:
        rows = shown if figure == "throughput" else [fastest]
        without = _without_doubt(view, figure, rows)
        codes = dict.fromkeys(code for one in rows for code in view.findings.doubts(one.summary.case, figure))
        if without is not None and codes:
            rank = "withheld" if any(kind_of(code).rank == "withheld" for code in codes) else "doubtful"
            yield f"{word}: {rank} ({', '.join(view.marks.of(codes))})"
        elif without is not None:
            yield f"{word}: {without}"


def _without_doubt(view: Digest, figure: Figure, rows: Sequence[Best]) -> str | None:
    """What holds where no finding speaks against a group of figures; ``None`` where there is none of it."""
    if figure == "throughput":
        if view.result.imported_from is not None:
            return f"as {view.result.imported_from} has it"
        alone = all(one.summary.trials_done == 1 for one in rows)
        return "one trial each, spread not known" if alone else "no doubt found"
    if figure == "cpu":
        return "no doubt found" if _ends(rows[0], CaseSummary.cpu_cores) else None
    powers = _ends(rows[0], CaseSummary.power)
    value = "system_w" if figure == "power" else "dynamic_w"
    known = [power for power in powers if power.values.get(value) is not None]
    if not known:
        return "none" if powers else None
    said = provenance_words([power.system_provenance for power in known]) or "no doubt found"
    return said if len(known) == len(powers) else f"{said} for {len(known)} of {len(powers)} ends"


def _ends(best: Best, read: Callable[[CaseSummary, Role], T | None]) -> list[T]:
    """What is known at the ends of a case."""
    found = (read(best.summary, role) for role in ENDS)
    return [one for one in found if one is not None]
