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
from linewatt.analysis.metrics.of_power import POWER_BY_NAME
from linewatt.analysis.metrics.of_trial import BY_NAME
from linewatt.analysis.metrics.unit import Unit, fixed, same
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.findings import Figure, kind_of
from linewatt.model import ENDS, Role
from linewatt.report.columns import case_cell, ci_text, power_cell
from linewatt.report.findings import Marks
from linewatt.report.machine.environment import cores_are
from linewatt.report.provenance import words as provenance_words
from linewatt.report.screen import Block, Entry, Line
from linewatt.report.series import Series, plural
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.limits import limit_forms, limit_words
from linewatt.report.trials.scalability import trials_cell
from linewatt.units import MISSING, first_of, format_rate, unbroken

T = TypeVar("T")

MOST_SERIES = 6
"""of more, those with the most throughput are shown"""
MOST_LETTERS = 3
"""of findings behind a figure"""
MOST_NAMED = 3
"""series that share a limit; of more, how many there are"""

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
    """How fast, at what cost, and whether to trust it: blocks of the first screen, and rows of a page."""

    sentence: str
    trust: str
    result: Block
    cost: Block
    doubts: Block
    series: Table


def answer(view: Digest, at: Best | None = None) -> Answer | None:
    """Of a result with any case that has a throughput; load levels have a table of their own.

    ``at``: the case whose cost is told, if not the fastest.
    """
    best = best_cases(view)
    if not best:
        return None
    fastest = sorted(best, key=_throughput, reverse=True)
    shown = best if len(best) <= MOST_NAMED else fastest[:MOST_SERIES]
    costing = at or fastest[0]
    trust = " · ".join(_verdicts(view, shown, costing))
    return Answer(
        f"{fastest[0].name}: {spoken(fastest[0].summary, view)}.",
        trust,
        _result(shown, fastest, view),
        _cost(costing, view),
        Block("Can I trust it", tuple(_doubts(view, shown)), trust, rest="finding"),
        series_table(shown, view, tuple(_left_out(view, best, shown))),
    )


def _left_out(view: Digest, best: Sequence[Best], shown: Sequence[Best]) -> Iterator[Note]:
    """Series beyond those shown, and those without any number."""
    rest = [_throughput(one) for one in best if one not in shown]
    if rest:
        span = " to ".join(dict.fromkeys(format_rate(bps) for bps in (min(rest), max(rest))))
        yield Note("remark", f"{len(rest)} more series have less: {span}")
    yield from _without_number(view)


def _without_number(view: Digest) -> Iterator[Note]:
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


def rate(summary: CaseSummary, view: Digest) -> tuple[str, str]:
    """``9.154 Gbps (a)``, with what makes it doubtful, and ``(8.895 to 9.414)``, the 95 % CI of its mean.

    Why there is none stands in its place.
    """
    speed = BY_NAME["throughput_bps"]
    unit = speed.unit([summary])
    cell = case_cell(speed, summary, unit)
    ci = ci_text(speed, summary, unit)
    unknown = "one trial: its spread is not known" if view.result.imported_from is None else "CI not known"
    value = figure(cell, unit.name, view.marks.cell(summary.case, "throughput"))
    return value, f"({ci or unknown})"


def figure(cell: Cell, unit: str, doubts: Sequence[str] = ()) -> str:
    """``161.2 W sim (a)``: a value with its unit, what it is not (measured), the letters of its findings."""
    more = len(doubts) - MOST_LETTERS
    letters = f"({','.join(doubts[:MOST_LETTERS])}{f',+{more}' if more > 0 else ''})" if doubts else ""
    note = f"({cell.note})" if cell.note else ""
    return " ".join(part for part in (cell.text, unit, cell.mark, note, letters) if part)


def spoken(summary: CaseSummary, view: Digest) -> str:
    """A case in one sentence: how fast, with its CI, how much of the line, limited by what."""
    value, ci = rate(summary, view)
    said = [
        f"{value} {ci.replace('(', '(95 % CI ', 1) if ' to ' in ci else ci}",
        *_beside([summary], summary),
    ]
    return f"{', '.join(said)}; {limit_words(summary)}"


_BESIDE = {
    "line_rate_ratio": "{} of line",
    "lost_ratio": "{} lost",
    "latency_p50_s": "{} median",
    "latency_p99_s": "{} at p99",
}
"""what stands beside a throughput, in words"""


def _beside(shown: Sequence[CaseSummary], summary: CaseSummary) -> Iterator[str]:
    """What of the line, loss and latency, where a case of those shown has any; else an empty text."""
    for name, words in _BESIDE.items():
        metric = BY_NAME.get(name)
        if metric is not None and metric.has_values(shown):
            cell = case_cell(metric, summary, unit := metric.unit(shown))
            if not cell.missing:
                yield words.format(f"{cell.text} {unit.name}")


def _result(shown: Sequence[Best], fastest: Sequence[Best], view: Digest) -> Block:
    """How fast: an entry a series, then what limits several of them alike."""
    counts = {trials_cell(one.summary).text for one in shown}
    alike = f" of {plural(shown[0].summary.trials_done, 'trial')}" if len(counts) == 1 else ""
    told = []
    for one in shown:
        trials = () if alike else (f"{trials_cell(one.summary).text} trials",)
        beside = _beside([one.summary], one.summary)
        case = plural(one.summary.case.instances, "instance")
        told.append((Line(one.name, (*rate(one.summary, view), case, *trials, *beside)), one.summary))
    entries = with_limits(told)
    failed = [(Line("", prose=note.sentence, style="yellow"),) for note in _without_number(view)]
    source, left = view.result.imported_from, len(fastest) - len(shown)
    remark = f"mean (95 % CI){alike}" if source is None else f"as {source} has it"
    return Block("Result", (*entries, *failed), remark, rest="series", left=left)


def with_limits(told: Sequence[tuple[Line, CaseSummary]]) -> list[Entry]:
    """Lines with what limits their case; what limits several of them alike once, below."""
    names: dict[str, list[str]] = {}
    for line, summary in told:
        names.setdefault(limit_words(summary), []).append(line.name)
    entries: list[Entry] = []
    for line, summary in told:
        forms = limit_forms(summary)
        own = forms if len(names[forms[0]]) == 1 else ("",)
        entries.append(tuple(replace(line, prose=words) for words in own))
    for text, sharing in names.items():
        if len(sharing) > 1:
            several = f"each of the {len(sharing)}" if len(names) == 1 else first_of(sharing, MOST_NAMED)
            entries.append((Line("", prose=f"{several}: {text}"),))
    return entries


def series_table(shown: Sequence[Best], view: Digest, notes: tuple[Note, ...]) -> Table:
    """The same for a page: a row a series, with what it cost at both ends."""
    columns = [
        (replace(head, title=f"{head.title}, {role}"), name, role)
        for name, head in _PAGE_COLUMNS.items()
        for role in ENDS
        if any(_end_cell(name, role, one.summary, view.marks).text != MISSING for one in shown)
    ]
    line = BY_NAME["line_rate_ratio"]
    lined = line.has_values([one.summary for one in shown])
    heads = (
        Head("Throughput", kind="number"),
        Head("95 % CI", kind="number"),
        *([Head("Of the line", kind="text")] if lined else []),
        *(head for head, _, _ in columns),
        Head("Limited by", kind="prose"),
    )
    rows = []
    for one in shown:
        value, ci = rate(one.summary, view)
        part = case_cell(line, one.summary, line.unit([one.summary]))
        cells = (
            Cell(value, strong=True),
            Cell(ci.strip("()")),
            *([replace(part, text=f"{part.text} %", sd=None, bar=part.si)] if lined else []),
            *(_end_cell(name, role, one.summary, view.marks) for _, name, role in columns),
            Cell(unbroken(limit_words(one.summary).removeprefix("limited by "))),
        )
        rows.append(Row((Cell(one.name),), cells, view.marks.row(one.summary.case)))
    title = "Each series at its most throughput"
    return Table(
        title, (Head("Series", kind="text"),), heads, (RowGroup("", tuple(rows)),), notes, style="first"
    )


CORES = Unit("cores", same, fixed(2))
_PAGE_COLUMNS = {
    "{role}_cpu_cores": Head("CPU", "cores"),
    "system_w": Head("Power", "W"),
    "system_bps_per_w": Head("Per watt", "Mbps/W"),
}


def _end_cell(name: str, role: Role, summary: CaseSummary, marks: Marks) -> Cell:
    """A figure of one end of a case: of its CPU, or of its watts."""
    if name in POWER_BY_NAME:
        metric, power = POWER_BY_NAME[name], summary.power(role)
        if power is None:
            return Cell(MISSING, reason="no source of power was named")
        cell = power_cell(metric, power, metric.units[0], summary.trials_done)
        return replace(cell, sd=None, doubts=marks.cell(summary.case, metric.figure, role))
    of_case = BY_NAME[name.format(role=role)]
    unit = CORES if name == "{role}_cpu_cores" else of_case.unit([summary])
    cell = case_cell(of_case, summary, unit)
    return replace(cell, sd=None, doubts=marks.cell(summary.case, "cpu", role))


def _cost(best: Best, view: Digest) -> Block:
    """What it cost: an entry an end of the case, then why anything is not known."""
    summary, marks = best.summary, view.marks
    wanted = [("{role}_cpu_cores", "CPU", "{}"), ("efficiency_{role}_bps_per_core", "Per core", "{}")]
    if not _ends(best, CaseSummary.cpu_cores):
        wanted = [("{role}_cpu_cores_per_bps", "App + IRQ CPU", "{} on app and IRQ CPUs"), *wanted]
    if _ends(best, CaseSummary.power):
        wanted += _OF_POWER
    ends: list[tuple[Role, Line]] = []
    lacks: list[Lack] = []
    for role in ENDS:
        cells = {title: _end_cell(name, role, summary, marks) for name, title, _ in wanted}
        units = {title: _unit_of(name, role, summary) for name, title, _ in wanted}
        figures = (
            words.format(figure(cells[title], units[title], cells[title].doubts))
            for _, title, words in wanted
            if not cells[title].missing
        )
        ends.append((role, Line(f"{role} {summary.case.host(role)}", tuple(figures))))
        lacks += [
            Lack(title, _withheld(name, role, best, view) or cells[title].reason or "not known", "", role)
            for name, title, _ in wanted
            if cells[title].missing
        ]
    reasons = [_in_few(note.sentence) for note in absences(lacks, len(ENDS))]
    scopes = dict.fromkeys(
        SCOPE_WORDS.get(power.system_scope, power.system_scope)
        for power in _ends(best, CaseSummary.power)
        if power.system_scope
    )
    said = [f"watts: {', '.join(scopes)}"] if scopes else []
    if _ends(best, CaseSummary.cpu_cores):
        kinds = (cores_are(view.hosts).get(summary.case.host(role)) for role in ENDS)
        said.append(f"core: {' and '.join(dict.fromkeys(kind or 'kind not known' for kind in kinds))}")
    entries = (*((line,) for _, line in ends if line.figures), *reasons)
    return Block("Cost of", entries, "; ".join(said), best.name, least=2)


def _withheld(name: str, role: Role, best: Best, view: Digest) -> str:
    """By which finding a figure is withheld, which says below why; empty where none did."""
    kind = POWER_BY_NAME[name].figure if name in POWER_BY_NAME else "cpu"
    codes = view.findings.doubts(best.summary.case, kind, role) if kind else ()
    letters = view.marks.of(code for code in codes if kind_of(code).rank == "withheld")
    return f"withheld ({', '.join(letters)})" if letters else ""


def _in_few(sentence: str) -> Entry:
    """A reason, and its first clause alone."""
    return tuple(Line("", prose=one) for one in dict.fromkeys((sentence, sentence.partition("; ")[0])))


_OF_POWER = [
    ("system_w", "Power", "{}"),
    ("system_bps_per_w", "Per watt", "{}"),
    ("dynamic_w", "Above idle", "{} above idle"),
]


def _unit_of(name: str, role: Role, summary: CaseSummary) -> str:
    if name in POWER_BY_NAME:
        return POWER_BY_NAME[name].units[0].name
    return CORES.name if name == "{role}_cpu_cores" else BY_NAME[name.format(role=role)].unit([summary]).name


def _doubts(view: Digest, shown: Sequence[Best]) -> Iterator[Entry]:
    """The gravest reasons not to trust a figure shown, each with what to do; then what else was found."""
    cases = {one.summary.case for one in shown}
    here = [note for note in view.notes if cases & set(note.cases)]
    grave = [note for note in here if note.rank != "note"]
    for note in grave:
        found = [one for one in view.findings.every if one.code == note.code and cases & set(one.cases)]
        yield tuple(Line(f"({note.mark})", prose=said, style="yellow") for said in _doubt(note.title, found))
    for lead, others in (
        ("also found" if grave else "found", [note for note in here if note not in grave]),
        ("in other cases", [note for note in view.notes if note not in here]),
    ):
        if others:
            titles = ", ".join(note.title for note in others)
            yield (
                Line("", prose=f"{lead}: {titles}"),
                Line("", prose=f"{lead}: {plural(len(others), 'finding')}"),
            )


def _doubt(title: str, found: Sequence[Finding]) -> Iterator[str]:
    """What was seen of it in the cases shown, and what to do, in ever fewer words."""
    seen = found[0].sightings[0]
    more = sum(len(one.sightings) for one in found) - 1
    evidence = f"{seen.where}: {seen.evidence}{f' (and {more} more)' if more else ''}"
    advice = found[0].advice[0]
    yield f"{title}: {evidence}; do: {advice}"
    yield f"{title} ({seen.where}); do: {advice}"
    yield f"{title} ({seen.where})"


def _verdicts(view: Digest, shown: Sequence[Best], costing: Best) -> Iterator[str]:
    """Of throughput in all rows, of CPU and watts in the one whose cost is shown; what is alike together."""
    alike: dict[str, list[str]] = {}
    for word, group in _FIGURES:
        rows = shown if group == "throughput" else [costing]
        said = _without_doubt(view, group, rows)
        codes = dict.fromkeys(code for one in rows for code in view.findings.doubts(one.summary.case, group))
        if said is not None and codes:
            rank = "withheld" if any(kind_of(code).rank == "withheld" for code in codes) else "doubtful"
            said = f"{rank} ({first_of(view.marks.of(codes), 2 * MOST_LETTERS, between=', ')})"
        if said is not None:
            alike.setdefault(said, []).append(word)
    for said, words in alike.items():
        yield f"{', '.join(words)}: {said}"


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
        return "not known" if powers else None
    said = provenance_words([power.system_provenance for power in known]) or "no doubt found"
    return said if len(known) == len(powers) else f"{said} for {len(known)} of {len(powers)} ends"


def _ends(best: Best, read: Callable[[CaseSummary, Role], T | None]) -> list[T]:
    """What is known at the ends of a case."""
    found = (read(best.summary, role) for role in ENDS)
    return [one for one in found if one is not None]
