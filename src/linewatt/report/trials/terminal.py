# SPDX-License-Identifier: Apache-2.0
"""A result for a terminal: rich renderables, never markup, so that no name can colour or move anything.

Numbers are never cut or wrapped: a table wider than ``width`` is split into several with the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis.cases.summary import CaseSummary
from linewatt.findings import kind_of
from linewatt.foreign import one_line
from linewatt.model import Trial
from linewatt.report.findings import FindingNote, Marks, number_ranges
from linewatt.report.machine.environment import core_words
from linewatt.report.series import plural
from linewatt.report.text_table import DOUBTFUL, TextColumn, cell_text, once, tables, unit_lines
from linewatt.report.trials.charts.component_chart import component_rows
from linewatt.report.trials.charts.components import EndBreakdown, breakdowns
from linewatt.report.trials.charts.heat_map import heat_maps
from linewatt.report.trials.detail import detail_groups
from linewatt.report.trials.digest import Digest, cores, watts_text
from linewatt.report.trials.effects import TITLE as EFFECTS
from linewatt.report.trials.effects import EffectTable, Experiment, experiment
from linewatt.report.trials.idle import IdleLine, idle_lines
from linewatt.report.trials.level_table import LevelBlock, LevelTable, level_tables
from linewatt.report.trials.levels import where
from linewatt.report.trials.limits import limit_notes
from linewatt.report.trials.matrix import matrix_tables
from linewatt.report.trials.placements import ran_lines
from linewatt.report.trials.power import PowerRow, PowerTable, power_tables
from linewatt.report.trials.psu import psu_lines
from linewatt.report.trials.repeats import repeats_lines
from linewatt.report.trials.roles import RoleTable, role_table
from linewatt.report.trials.scalability import Table, TableRow, scalability_table
from linewatt.report.trials.terminal_detail import detail as detail_part
from linewatt.report.trials.terminal_matrix import heat_map, matrix
from linewatt.report.trials.words import caveats, progress, when
from linewatt.units import MISSING, format_percent, format_rate, percent_from_cores

_MOST_EVIDENCE = 3


def show(
    view: Digest, *, width: int | None = None, trials: bool = False, detail: bool = False
) -> RenderableType:
    """The whole of ``linewatt show``; ``width`` is the terminal's, ``None`` for no limit."""
    marks = view.marks
    parts: list[RenderableType] = [_heading(view)]
    parts += _scalabilities(view, marks, width)
    pairs = matrix_tables(view.groups, list(view.hosts))
    parts += [matrix(table, width) for table in pairs]
    parts += [heat_map(one, width) for one in heat_maps(pairs)]
    parts += _effects(experiment(view.result), width)
    elsewhere = where(view.levels)
    if elsewhere:
        parts.append(Text(f"{elsewhere} below."))
    for group in view.groups:
        roles = role_table(group)
        if roles is not None:
            parts.append(_roles(roles, width))
    parts += _ran(view)
    power = power_tables(view.groups, marks)
    parts += [_power(table, width) for table in power]
    parts += [_breakdown(one) for one in (breakdowns(view) if power else ())]
    told = psu_lines(view) if power else []
    if told:
        parts.append(Group(*(Text(one_line(line)) for line in told)))
    parts += [_levels(levels, width) for levels in level_tables(view.levels, marks)]
    idle = idle_lines(view.result.manifest)
    if idle:
        parts.append(_idle(idle))
    parts += [detail_part(group) for group in (detail_groups(view) if detail else ())]
    if view.notes:
        parts.append(_findings(view))
    if view.failed:
        parts.append(_failures(view))
    if trials and view.result.trials:
        parts.append(_trials(view, width, power=bool(power)))
    return Group(*(part for each in parts for part in (each, Text())))


def _ran(view: Digest) -> list[RenderableType]:
    lines = [Text(one_line(line)) for line in ran_lines(view)]
    return [Group(Text("Where it ran", style="bold"), *lines)] if lines else []


def _breakdown(one: EndBreakdown) -> RenderableType:
    lines = [Text(one_line(one.title), style="bold")]
    lines += [Text(one_line(f"    {row['part']}: {row['text']}")) for row in component_rows(one.breakdown)]
    lines += [Text(f"{MISSING} {one_line(note)}") for note in one.notes]
    return Group(*lines)


def _name(view: Digest) -> str:
    return one_line(str(view.result.manifest.get("name") or MISSING))


def _heading(view: Digest) -> RenderableType:
    lines = [Text(_name(view), style="bold"), Text(one_line(view.result.id))]
    facts = [
        when(view.result.manifest.get("created_s")),
        ", ".join(map(one_line, view.hosts)),
        progress(view),
    ]
    lines.append(Text(" · ".join(fact for fact in facts if fact)))
    lines += [Text(one_line(line)) for line in repeats_lines(view.result)]
    lines += [Text(f"! {one_line(caveat)}", style="yellow") for caveat in caveats(view)]
    if not view.result.trials:
        lines.append(Text("No trial is stored yet."))
    return Group(*lines)


def _scalabilities(view: Digest, marks: Marks, width: int | None) -> Iterator[RenderableType]:
    for group in view.groups:
        yield _scalability(scalability_table(group, marks), width)
    if view.has_efficiency:
        yield Text(one_line(core_words(view.hosts)))


def _scalability(table: Table, width: int | None) -> RenderableType:
    rows = table.rows
    columns = []
    if len(table.group.series) > 1:
        columns.append(
            TextColumn("Case", once([one_line(r.series.label) for r in rows]), key=True, left=True)
        )
    counts = tuple(str(row.summary.case.instances) for row in rows)
    columns.append(TextColumn("Inst.", counts, key=True))
    for at, (column, unit) in enumerate(table.columns):
        cells = tuple(cell_text(row.cells[at], sd=column.show_sd) for row in rows)
        columns.append(TextColumn(f"{column.heading}\n{unit_lines(unit.name)}".rstrip(), cells))
    columns.append(TextColumn("n", tuple(_trials_text(row.summary) for row in rows)))
    if any(row.marks for row in rows):
        columns.append(TextColumn("See", tuple(",".join(row.marks) for row in rows)))
    return Group(
        Text(one_line(table.title), style="bold"),
        tables(columns, width),
        *_starred(rows),
        *(Text(f"{MISSING} {one_line(absence.sentence)}", style="dim") for absence in table.absent),
        *(Text(one_line(note.sentence)) for note in limit_notes(table.group)),
    )


def _trials_text(summary: CaseSummary) -> str:
    """Done trials; ``2/3`` where one of three failed."""
    stored = summary.trials_done + summary.trials_failed
    return f"{summary.trials_done}/{stored}" if summary.trials_failed else f"{stored}"


def _roles(table: RoleTable, width: int | None) -> RenderableType:
    rows = table.rows
    several = len({row.series for row in rows}) > 1
    columns = []
    if several:
        columns.append(TextColumn("Case", once(one_line(row.series) for row in rows), key=True, left=True))
    columns.append(TextColumn("Inst.", tuple(str(row.instances) for row in rows), key=True))
    columns.append(
        TextColumn("End", tuple(f"{row.end} {one_line(row.host)}" for row in rows), key=True, left=True)
    )
    for at, name in enumerate(table.shares):
        columns.append(TextColumn(f"App\n{name}", tuple(row.app[at].text for row in rows)))
    for at, name in enumerate(table.shares):
        columns.append(TextColumn(f"IRQ\n{name}", tuple(row.irq[at].text for row in rows)))
    per = tuple(cell_text(row.per_throughput) for row in rows)
    columns.append(TextColumn(f"App + IRQ\n{unit_lines(table.unit)}", per))
    title = Text(f"{table.title}: CPU by role, % of one CPU", style="bold")
    return Group(title, tables(columns, width))


def _power(table: PowerTable, width: int | None) -> RenderableType:
    rows = table.rows
    columns = []
    if len(table.series) > 1:
        labels = once(one_line(row.series.label) for row in rows)
        columns.append(TextColumn("Case", labels, key=True, left=True))
    columns.append(TextColumn("Inst.", tuple(str(row.summary.case.instances) for row in rows), key=True))
    columns.append(TextColumn("Regime", tuple(row.regime for row in rows), left=True))
    for at, head in enumerate(table.heads):
        cells = tuple(cell_text(row.cells[at], sd=head.show_sd) for row in rows)
        said = head.provenance.replace(" ", "\n")
        columns.append(TextColumn(f"{head.lines}\n{head.unit.name}\n{said}".rstrip(), cells))
    return Group(
        Text(one_line(table.title), style="bold"),
        tables(columns, width),
        *_starred(rows),
        *(Text(line, style="yellow") for line in table.legend),
        *(Text(f"{MISSING} {one_line(sentence)}", style="dim") for sentence in table.absent),
    )


def _starred(rows: Iterable[TableRow | PowerRow]) -> Iterator[Text]:
    """What a star means, where there is one, and which findings they are."""
    letters = dict.fromkeys(letter for row in rows for cell in row.cells for letter in cell.doubts)
    if letters:
        yield Text(f"{DOUBTFUL} doubtful: see {', '.join(f'({one})' for one in letters)}", style="yellow")


def _effects(found: Experiment | None, width: int | None) -> list[RenderableType]:
    if found is None:
        return []
    notes = [Text(one_line(note)) for note in found.notes]
    return [
        Group(Text(EFFECTS, style="bold"), *notes),
        *(_effect_table(table, width) for table in found.tables),
    ]


def _effect_table(table: EffectTable, width: int | None) -> RenderableType:
    rows = table.rows
    factors = once(one_line(row.effect.factor) for row in rows)
    levels = tuple(f"{one_line(row.effect.level)} (base {one_line(row.effect.base)})" for row in rows)
    columns = [
        TextColumn("Factor", factors, key=True, left=True),
        TextColumn("Level", levels, key=True, left=True),
        TextColumn("n / base", tuple(row.runs for row in rows)),
        TextColumn("p", tuple(row.p for row in rows)),
        TextColumn("Effect", tuple(one_line(row.words) for row in rows), left=True, free=True),
    ]
    marked = f" ({table.provenance})" if table.provenance else ""
    said = [*table.remarks, table.best, *table.legend]
    return Group(
        Text(one_line(f"{table.title}{marked}"), style="bold"),
        tables(columns, width),
        *(Text(one_line(line)) for line in said),
    )


def _levels(table: LevelTable, width: int | None) -> RenderableType:
    heads = [("Case", True), ("Level", True)]
    heads += [(f"{head.lines}\n{head.unit.name}\n{head.provenance}".rstrip(), False) for head in table.heads]
    heads += [("n", False), ("See", False)]
    cells = zip(*(line for block in table.blocks for line in _level_lines(block, table)), strict=True)
    columns = [
        TextColumn(title, tuple(once(column) if title == "Case" else column), key=key, left=key)
        for (title, key), column in zip(heads, cells, strict=True)
        if (title != "Case" or len(table.blocks) > 1) and (title != "See" or table.flagged)
    ]
    return Group(
        Text(one_line(table.title), style="bold"),
        tables(columns, width),
        *(Text(f"! {one_line(said)}", style="yellow") for said in table.remarks),
        *(Text(line, style="yellow") for line in table.legend),
        *(Text(f"{MISSING} {one_line(sentence)}", style="dim") for sentence in table.absent),
    )


def _level_lines(block: LevelBlock, table: LevelTable) -> list[tuple[str, ...]]:
    """The cells of a case, a line a level, and one for its overall score."""
    name = one_line(block.name)
    lines = []
    for row in block.rows:
        cells = [cell_text(cell, sd=head.show_sd) for cell, head in zip(row.cells, table.heads, strict=True)]
        lines.append((name, f"{row.name} {row.word}".rstrip(), *cells, row.trials, ",".join(row.marks)))
    if block.score is not None:
        before = [""] * (len(table.heads) - 1)
        lines.append((name, "overall score", *before, cell_text(block.score), "", ""))
    return lines


def _idle(idle: Iterable[IdleLine]) -> RenderableType:
    lines = [Text(one_line(one.sentence), style="yellow" if one.drifted else "") for one in idle]
    return Group(Text("Idle power", style="bold"), *lines)


def _findings(view: Digest) -> RenderableType:
    parts: list[RenderableType] = [Text(f"Findings: {view.findings.counted()}", style="bold")]
    for note in view.notes:
        style = "" if note.rank == "note" else "yellow"
        concerns = f": {note.concerns}" if note.concerns else ""
        title = f"({note.mark}) {note.title} [{note.code}], {note.rank}{concerns}"
        parts.append(Text(one_line(title), style=style))
        parts += [Padding(Text(line), (0, 0, 0, 4)) for line in _note_lines(note, view)]
    return Group(*parts)


def _note_lines(note: FindingNote, view: Digest) -> list[str]:
    lines = []
    if kind_of(note.code).scope in ("case", "trial"):
        numbers = (
            f"trials {number_ranges(note.trials)}" if len(note.trials) > 1 else f"trial {note.trials[0]}"
        )
        lines.append(f"{one_line(view.describe(*note.cases))} ({numbers})")
    for seen in note.sightings[:_MOST_EVIDENCE]:
        noun = "trials" if len(seen.trials) > 1 else "trial"
        some = 0 < len(seen.trials) < len(note.trials)
        which = f" ({noun} {number_ranges(seen.trials)})" if some else ""
        lines.append(f"seen: {one_line(seen.where)}: {one_line(seen.evidence)}{which}")
    if len(note.sightings) > _MOST_EVIDENCE:
        lines.append(f"and {len(note.sightings) - _MOST_EVIDENCE} more like it: --json or the report has all")
    return lines + [f"do: {one_line(advice)}" for advice in note.advice]


def _failures(view: Digest) -> RenderableType:
    title = Text(f"Failed: {plural(len(view.failed), 'trial')}, left out of every number", style="bold")
    lines = [
        Text(f"trial {trial.number} ({one_line(view.describe(trial.case))}): {_reason(trial)}", style="red")
        for trial in view.failed
    ]
    return Group(title, *lines)


def _reason(trial: Trial) -> str:
    return one_line(trial.reason or "no reason recorded")


def _trials(view: Digest, width: int | None, *, power: bool) -> RenderableType:
    trials = view.result.trials
    columns = [
        TextColumn("Trial", tuple(str(trial.number) for trial in trials), key=True),
        TextColumn("Case", tuple(one_line(view.describe(trial.case)) for trial in trials), left=True),
        TextColumn("Throughput", tuple(format_rate(trial.throughput_bps, 4) for trial in trials)),
        TextColumn("Loss", tuple(format_percent(trial.lost_ratio, 2) for trial in trials)),
        TextColumn("CPU receiver\n%", tuple(cpu_text(cores(trial.receiver)) for trial in trials)),
        TextColumn("CPU sender\n%", tuple(cpu_text(cores(trial.sender)) for trial in trials)),
    ]
    if power:
        columns += [
            TextColumn("Power\nreceiver", tuple(watts_text(trial.receiver) for trial in trials)),
            TextColumn("Power\nsender", tuple(watts_text(trial.sender) for trial in trials)),
        ]
    marks = tuple(",".join(view.marks.of(flag.code for flag in trial.flags)) for trial in trials)
    columns.append(TextColumn("See", marks))
    if view.failed:
        failed = tuple(f"failed: {_reason(trial)}" if trial.status == "failed" else "" for trial in trials)
        columns.append(TextColumn("", failed, left=True, free=True))
    return Group(Text("Every trial", style="bold"), tables(columns, width))


def cpu_text(value: float | None) -> str:
    """CPU used in the field's %, one full core 100; ``–`` when unknown."""
    return MISSING if value is None else f"{percent_from_cores(value):,.1f}"
