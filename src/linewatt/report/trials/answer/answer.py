# SPDX-License-Identifier: Apache-2.0
"""The first screen of a result: how fast, limited by what, at what cost, and whether to trust it.

Each series is told by one case, the one with the most throughput; what is said of it is what its tables say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases import CaseSummary, fastest_case, mean_bps
from linewatt.analysis.metrics import METRIC_BY_NAME, POWER_BY_NAME, Unit, fixed_decimals, unscaled
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.findings import kind_of
from linewatt.model import ENDS, Role
from linewatt.report.columns import case_cell, ci_text, power_cell
from linewatt.report.findings import Marks, letter_ranges
from linewatt.report.machine.environment import cores_are
from linewatt.report.printing.screen import Block, Entry, Line
from linewatt.report.series import Series, end_word, instances_words, of_ends, plural, test_title
from linewatt.report.table import Cell, Head, Lack, Note, Row, RowGroup, Table, absences
from linewatt.report.trials.answer.limits import limit_forms, limit_words
from linewatt.report.trials.answer.trust import MOST_NAMED, Best, Spot, spots_of, trust_block
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.settings.failed_settings import failed_settings
from linewatt.report.trials.settings.scalability import trials_cell
from linewatt.units import MISSING, first_of, format_rate, unbroken

MOST_SERIES = 6
"""of more, those with the most throughput are shown"""
RESULT = "Result"
"""the title of the block that says how fast"""


@dataclass(frozen=True, slots=True)
class Answer:
    """How fast, at what cost, and whether to trust it: blocks of the first screen, and rows of a page."""

    sentence: str
    result: Block
    cost: Block
    doubts: Block
    series: Table


def answer(
    view: Digest, at: Best | None = None, fastest_cases: Sequence[Best] = (), costs: Sequence[Spot] = ()
) -> Answer | None:
    """Of a result with any case that has a throughput; load levels have a table of their own.

    ``at``: the case whose cost is told, if not the fastest. ``fastest_cases`` are the cases whose throughput
    is shown, if not the fastest of each series, ``costs`` the ends whose CPU or watts are, beside those of
    ``at``.
    """
    best = best_cases(view)
    if not best:
        return None
    fastest = _fastest_first(best)
    shown = best if len(best) <= MOST_NAMED else fastest[:MOST_SERIES]
    costing = at or fastest[0]
    return Answer(
        f"{fastest[0].name}: {spoken(fastest[0].summary, view)}.",
        _result(shown, fastest, view),
        _cost(costing, view),
        trust_block(view, fastest_cases or shown, costs, costing),
        series_table(shown, view, tuple(_left_out(view, best, shown))),
    )


def _left_out(view: Digest, best: Sequence[Best], shown: Sequence[Best]) -> Iterator[Note]:
    """Series beyond those shown, and those without any number."""
    omitted_bps = [mean_bps(best_case.summary) for best_case in best if best_case not in shown]
    if omitted_bps:
        span = " to ".join(dict.fromkeys(format_rate(bps) for bps in (min(omitted_bps), max(omitted_bps))))
        yield Note("remark", f"{len(omitted_bps)} more series have less: {span}")
    yield from without_number(view)


def without_number(view: Digest, *, of_settings: bool = True) -> Iterator[Note]:
    """Why each series without any number has none; ``of_settings``: also where its setting failed."""
    settings = () if of_settings else failed_settings(view.result.trials)
    for group in view.groups:
        for series in group.series:
            if any(setting.includes(series.summaries[0].case) for setting in settings):
                continue
            if not any(summary.throughput_bps for summary in series.summaries):
                failures = [failure for summary in series.summaries for failure in summary.failures]
                yield Note("doubt", f"no number: {'; '.join(failures) or 'no trial is done'}", series.title)


def fastest_best(view: Digest) -> list[Best]:
    """The best case of each series, the fastest first."""
    return _fastest_first(best_cases(view))


def best_cases(view: Digest) -> list[Best]:
    """The case of each series with the most throughput; of equals the one with the fewest instances."""
    series = [case_series for group in view.groups for case_series in group.series]
    names = _names(series)
    chosen = []
    for name, case_series in zip(names, series, strict=True):
        if (fastest := fastest_case(case_series.summaries)) is not None:
            chosen.append(Best(name, fastest))
    return chosen


def _names(series: Sequence[Series]) -> list[str]:
    """``TCP`` where the test tells a series apart; else its title."""
    tests = [case_series.test for case_series in series]
    paths = {
        (case_series.summaries[0].case.sender, case_series.summaries[0].case.receiver)
        for case_series in series
    }
    alone = len(paths) == 1 and len(set(tests)) == len(tests)
    return [test_title(case_series.test) if alone else case_series.title for case_series in series]


def _fastest_first(best: Sequence[Best]) -> list[Best]:
    """By throughput; the pairs of a group stand behind it, in their order."""
    group_of = {
        pair: best_case
        for best_case in best
        for pair in best_case.summary.case.pairs
        if best_case.summary.case.flows
    }

    def key(best: Best) -> tuple[float, bool]:
        group_best = group_of.get(best.summary.case)
        return -mean_bps((group_best or best).summary), group_best is not None

    return sorted(best, key=key)


def rate(summary: CaseSummary, view: Digest, *, with_letters: bool = True) -> tuple[str, str]:
    """``9.154 Gbps (a)``, with what makes it doubtful, and ``(8.895 to 9.414)``, the 95 % CI of its mean.

    Why there is none stands in its place. Trials that may be of two modes stand beside their mean.
    """
    speed = METRIC_BY_NAME["throughput_bps"]
    unit = speed.unit([summary])
    cell = case_cell(speed, summary, unit)
    if summary.unresolved is not None:
        trials = ", ".join(unit.text(unit.from_si(bps)) for bps in summary.unresolved.values)
        cell = replace(cell, note=f"trials {trials}")
    ci = ci_text(speed, summary, unit)
    unknown = "one trial: its spread is not known" if view.result.imported_table is None else "CI not known"
    doubts = view.marks.cell(summary.case, "throughput") if with_letters else ()
    return figure(cell, unit.name, doubts), f"({ci or unknown})"


def figure(cell: Cell, unit: str, doubts: Sequence[str] = ()) -> str:
    """``161.2 W sim (a)``: a value with its unit, what it is not (measured), the letters of its findings."""
    note = f"({cell.note})" if cell.note else ""
    return " ".join(part for part in (cell.text, unit, cell.mark, note, letters(doubts)) if part)


def letters(doubts: Sequence[str]) -> str:
    """``(a, c–e)``: those of the findings behind a figure."""
    return f"({letter_ranges(doubts)})" if doubts else ""


def spoken(summary: CaseSummary, view: Digest) -> str:
    """A case in one sentence: how fast, with its CI, how much of the line, limited by what."""
    parts = [in_words(rate(summary, view)), *_beside(summary)]
    return f"{', '.join(parts)}; {limit_words(summary)}"


def in_words(figures: Iterable[str]) -> str:
    """Figures in a sentence, in which an interval is called what it is; why there is none stays as it is."""
    return " ".join(
        figure_text.replace("(", "(95 % CI ", 1)
        if figure_text.startswith("(") and " to " in figure_text
        else figure_text
        for figure_text in figures
    )


_BESIDE = {
    "line_rate_ratio": "{} of line",
    "lost_ratio": "{} lost",
    "latency_p50_s": "{} median (closed loop)",
    "latency_p99_s": "{} at p99",
}
"""what stands beside a throughput, in words"""


def _beside(summary: CaseSummary) -> Iterator[str]:
    """What of the line, loss and latency, as far as they are known."""
    for name, words in _BESIDE.items():
        metric = METRIC_BY_NAME[name]
        unit = metric.unit([summary])
        cell = case_cell(metric, summary, unit)
        if not cell.missing:
            yield words.format(f"{cell.text} {unit.name}")


def _result(shown: Sequence[Best], fastest: Sequence[Best], view: Digest) -> Block:
    """How fast: an entry a series, then what limits several of them alike."""
    counts = {trials_cell(best_case.summary).text for best_case in shown}
    alike = f" of {plural(shown[0].summary.trials_done, 'trial')}" if len(counts) == 1 else ""
    result_lines = []
    for best_case in shown:
        summary = best_case.summary
        trials = () if alike else (_trials(summary),)
        case = () if summary.case.of_users else (instances_words(summary.case),)
        figures = (*rate(summary, view), *case, *trials, *_beside(summary))
        result_lines.append((Line(best_case.name, figures), summary))
    entries = tuple(with_limits(result_lines))
    omitted_count = len(fastest) - len(shown)
    return Block(RESULT, entries, means_are(view, alike), rest="series", left=omitted_count)


def means_are(view: Digest, of: str = "") -> str:
    """What figures of a block are; nothing is known of the means of an imported table."""
    source = view.result.imported_table
    return f"mean (95 % CI){of}" if source is None else f"as {source} has it"


def failed_entries(view: Digest) -> list[Entry]:
    """An entry a series without any number, with its reason; a failed setting stands above all blocks."""
    return [
        (Line("", prose=note.sentence, style="yellow"),) for note in without_number(view, of_settings=False)
    ]


def _trials(summary: CaseSummary) -> str:
    count = trials_cell(summary).text
    return f"{count} trial{'' if count == '1' else 's'}"


def with_limits(case_lines: Sequence[tuple[Line, CaseSummary]]) -> list[Entry]:
    """Lines with what limits their case; what limits several of them alike once, below."""
    names: dict[str, list[str]] = {}
    for line, summary in case_lines:
        names.setdefault(limit_words(summary), []).append(line.name)
    entries: list[Entry] = []
    for line, summary in case_lines:
        forms = limit_forms(summary)
        line_forms = forms if len(names[forms[0]]) == 1 else ("",)
        entries.append(tuple(replace(line, prose=words) for words in line_forms))
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
        if any(not _end_figure(name, role, best_case.summary, view.marks)[0].missing for best_case in shown)
    ]
    line = METRIC_BY_NAME["line_rate_ratio"]
    lined = line.has_values([best_case.summary for best_case in shown])
    heads = (
        Head("Throughput", kind="number"),
        Head("95 % CI", kind="number"),
        *([Head("Of line", kind="text")] if lined else []),
        *(head for head, _, _ in columns),
        Head("Limited by", kind="prose"),
    )
    rows = []
    for best_case in shown:
        value, ci = rate(best_case.summary, view, with_letters=False)
        doubts = view.marks.cell(best_case.summary.case, "throughput")
        part = case_cell(line, best_case.summary, line.unit([best_case.summary]))
        cells = (
            Cell(value, doubts=doubts, strong=True),
            Cell(ci.strip("()")),
            *([replace(part, text=f"{part.text} %", sd=None, bar=part.si)] if lined else []),
            *(_end_figure(name, role, best_case.summary, view.marks)[0] for _, name, role in columns),
            Cell(unbroken(limit_forms(best_case.summary, verb="")[0])),
        )
        rows.append(Row((Cell(best_case.name),), cells, view.marks.row(best_case.summary.case)))
    title = "Each series at its most throughput"
    return Table(
        title, (Head("Series", kind="text"),), heads, (RowGroup("", tuple(rows)),), notes, style="first"
    )


CORES = Unit("cores", unscaled, fixed_decimals(2))
_PAGE_COLUMNS = {
    "{role}_cpu_cores": Head("CPU", "cores"),
    "system_w": Head("Power", "W"),
    "system_bps_per_w": Head("Per watt", "Mbps/W"),
}


def _end_figure(name: str, role: Role, summary: CaseSummary, marks: Marks) -> tuple[Cell, str]:
    """A figure of one end of a case, of its CPU or of its watts, and its unit."""
    if name in POWER_BY_NAME:
        metric, power = POWER_BY_NAME[name], summary.power(role)
        unit = metric.units[0]
        if power is None:
            return Cell(MISSING, reason="no source of power was named"), unit.name
        cell = power_cell(metric, power, unit, summary.trials_done)
        return replace(cell, sd=None, doubts=marks.cell(summary.case, metric.figure, role)), unit.name
    of_case = METRIC_BY_NAME[name.format(role=role)]
    unit = CORES if name == "{role}_cpu_cores" else of_case.unit([summary])
    cell = case_cell(of_case, summary, unit)
    return replace(cell, sd=None, doubts=marks.cell(summary.case, "cpu", role)), unit.name


def _cost(best: Best, view: Digest) -> Block:
    """What it cost: an entry an end of the case, then why anything is not known."""
    marks, spots = view.marks, spots_of(best, view)
    quantities = [("{role}_cpu_cores", "CPU", "{}"), ("efficiency_{role}_bps_per_core", "Per core", "{}")]
    cpu = [cpu_cores for summary, role in spots if (cpu_cores := summary.cpu_cores(role)) is not None]
    powers = [power for summary, role in spots if (power := summary.power(role)) is not None]
    if not cpu:
        quantities = [("{role}_cpu_cores_per_bps", "App + IRQ CPU", "{} on app and IRQ CPUs"), *quantities]
    if powers:
        quantities += _OF_POWER
    lines: list[Line] = []
    lacks: list[Lack] = []
    for summary, role in spots:
        end = end_word(summary.case, role)
        figures: list[str] = []
        for name, title, words in quantities:
            cell, unit = _end_figure(name, role, summary, marks)
            if cell.missing:
                why = _withheld(name, role, summary, view) or cell.reason or "not known"
                lacks.append(Lack(title, of_ends(why, summary.case), "", end))
            else:
                figures.append(words.format(figure(cell, unit, cell.doubts)))
        lines.append(Line(f"{end} {summary.case.host(role)}", tuple(figures)))
    reasons = [_in_few(note.sentence) for note in absences(lacks, len(spots))]
    scopes = dict.fromkeys(
        SCOPE_WORDS.get(power.system_scope, power.system_scope) for power in powers if power.system_scope
    )
    has_bound = any(_has_bound(summary, role) for summary, role in spots)
    remarks = [f"watts: {', '.join(scopes)}{', ± error bound' if has_bound else ''}"] if scopes else []
    if cpu:
        remarks.append(_core([summary.case.host(role) for summary, role in spots], view))
    entries = (*((line,) for line in lines if line.figures), *reasons)
    return Block("Cost of", entries, "; ".join(remarks), best.name, least=2)


def _has_bound(summary: CaseSummary, role: Role) -> bool:
    """Whether its watts above idle are shown with the bound of their error."""
    power = summary.power(role)
    above_idle = POWER_BY_NAME["dynamic_w"]
    return power is not None and all(
        power.values.get(name) is not None for name in (above_idle.name, above_idle.bound)
    )


def _core(hosts: Sequence[str], view: Digest) -> str:
    """What a core is at both ends, with the names of hosts where it is not the same."""
    kinds = cores_are(view.hosts)
    named: dict[str, list[str]] = {}
    for host in dict.fromkeys(hosts):
        named.setdefault(kinds.get(host) or "kind not known", []).append(host)
    if len(named) == 1:
        return f"core: {next(iter(named))}"
    return f"core: {', '.join(f'{kind} ({host})' for kind, (host,) in named.items())}"


def _withheld(name: str, role: Role, summary: CaseSummary, view: Digest) -> str:
    """By which finding a figure is withheld, which says below why; empty where none did."""
    kind = POWER_BY_NAME[name].figure if name in POWER_BY_NAME else "cpu"
    codes = view.findings.doubts(summary.case, kind, role) if kind else ()
    letters = view.marks.of(code for code in codes if kind_of(code).rank == "withheld")
    return f"withheld ({letter_ranges(letters)})" if letters else ""


def _in_few(sentence: str) -> Entry:
    """A reason, and its first clause alone."""
    return tuple(Line("", prose=phrase) for phrase in dict.fromkeys((sentence, sentence.partition("; ")[0])))


_OF_POWER = [
    ("system_w", "Power", "{}"),
    ("system_bps_per_w", "Per watt", "{}"),
    ("dynamic_w", "Above idle", "{} above idle"),
]
