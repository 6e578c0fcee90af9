# SPDX-License-Identifier: Apache-2.0
"""A result for a terminal: rich renderables, never markup, so that no name can colour or move anything.

Numbers are never cut or wrapped: a table wider than ``width`` is split into several with the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from linewatt.analysis import counted_by_rank
from linewatt.analysis.cases import detail_blocks as blocks_of_ends
from linewatt.findings import kind_of
from linewatt.foreign import one_line
from linewatt.model import Trial
from linewatt.report.findings import FindingNote, Marks
from linewatt.report.machine.connections import TITLE as SLOW_HOSTS
from linewatt.report.machine.connections import connection_lines
from linewatt.report.machine.environment import core_words
from linewatt.report.printing.text_table import note_text, render_table
from linewatt.report.section import Lines, text_lines
from linewatt.report.series import plural
from linewatt.report.table import Table
from linewatt.report.trials.answer.limits import limit_notes
from linewatt.report.trials.caveats import caveats, progress
from linewatt.report.trials.charts.components import EndBreakdown, component_rows, end_breakdowns
from linewatt.report.trials.charts.heat_map import grid, heat_maps
from linewatt.report.trials.detail import (
    SHOWN_SHARES,
    DetailCase,
    DetailGroup,
    Figure,
    Layout,
    detail_groups,
)
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.every_trial import EVERY_TRIAL_TITLE, trials_table
from linewatt.report.trials.ports import port_tables
from linewatt.report.trials.power.feature_notes import feature_power_notes
from linewatt.report.trials.power.idle import idle_notes
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.report.trials.power.thermal import TITLE as THERMAL
from linewatt.report.trials.power.thermal import thermal_tables
from linewatt.report.trials.repeats import repeats_lines
from linewatt.report.trials.roles import role_table
from linewatt.report.trials.searches.knees import knee_tables
from linewatt.report.trials.searches.searches import search_tables
from linewatt.report.trials.settings.effects import TITLE as EFFECTS
from linewatt.report.trials.settings.effects import Experiment, experiment
from linewatt.report.trials.settings.levels import level_cases, level_table, where
from linewatt.report.trials.settings.matrix import matrix_table, pair_cases
from linewatt.report.trials.settings.placements import ran_lines
from linewatt.report.trials.settings.scalability import scalability_table
from linewatt.units import MISSING, format_time_utc, number_ranges

_MOST_EVIDENCE = 3
_RAN, _IDLE = "Where it ran", "Idle power"


def show_trials(
    view: Digest, *, width: int | None = None, trials: bool = False, detail: bool = False
) -> RenderableType:
    """The whole of ``linewatt show``; ``width`` is the terminal's, ``None`` for no limit.

    A line names the sections that follow, in words to search for.
    """
    all_sections = _sections(view, width, trials=trials, detail=detail)
    sections = [(name, parts) for name, parts in all_sections if parts]
    names = [name for name, _ in sections if name]
    contents = [Text(f"Sections below: {' · '.join(names)}")] if len(names) > 1 else []
    blocks = [_heading(view), *contents, *(part for _, parts in sections for part in parts)]
    return Group(*(part for block in blocks for part in (block, Text())))


_Section = tuple[str, list[RenderableType]]
"""words that the titles of its parts have, empty for a part that belongs to the section before; the parts"""


def _sections(view: Digest, width: int | None, *, trials: bool, detail: bool) -> Iterator[_Section]:
    """All of them, also those without any part."""

    def rendered(tables: Iterable[Table]) -> list[RenderableType]:
        return [render_table(table, width) for table in tables]

    marks, pairs = view.marks, pair_cases(view.groups, list(view.hosts))
    power = power_cases(view.groups)
    elsewhere = where(view.levels)
    yield "", list(_scalabilities(view, marks, width))
    yield "", rendered(map(matrix_table, pairs)) + rendered(map(grid, heat_maps(pairs)))
    yield EFFECTS, list(_effects(experiment(view.result), width))
    yield "", [Text(f"{elsewhere} below.")] if elsewhere else []
    blocks = blocks_of_ends(view.result.trials)
    yield "CPU by role", rendered(table for group in view.groups if (table := role_table(group, blocks)))
    yield "data ports", rendered(port_tables(view.groups, view.result.trials))
    yield _RAN, list(_lists(text_lines(_RAN, ran_lines(view))))
    yield SLOW_HOSTS, list(_lists(text_lines(SLOW_HOSTS, connection_lines(view.result.connections))))
    yield "power", rendered(power_table(cases, marks) for cases in power)
    yield "Where the watts", [_breakdown(breakdown) for breakdown in (end_breakdowns(view) if power else ())]
    yield "load levels", rendered(level_table(cases, marks) for cases in level_cases(view.levels))
    yield "rates by loss", rendered(search_tables(view.searches, view.result))
    yield "throughput by instances", rendered(knee_tables(view.knees))
    yield _IDLE, list(_lists(Lines(_IDLE, idle_notes(view.result))))
    yield THERMAL, rendered(thermal_tables(view))
    yield "", list(_lists(*feature_power_notes(view)))
    yield "each end in full", [detail_blocks(group) for group in (detail_groups(view) if detail else ())]
    yield "", rendered(thermal_tables(view, trials=True) if detail else ())
    yield "Findings", [_findings(view)] if view.notes else []
    yield "Failed", [_failures(view)] if view.failed else []
    if trials and view.result.trials:
        yield EVERY_TRIAL_TITLE, rendered([trials_table(view, power=bool(power))])


def _lists(*lists: Lines) -> Iterator[RenderableType]:
    """Those with any line, each under its title."""
    for lines in lists:
        if lines.notes:
            yield Group(Text(lines.title, style="bold"), *map(note_text, lines.notes))


def _breakdown(end_breakdown: EndBreakdown) -> RenderableType:
    lines = [Text(one_line(end_breakdown.title), style="bold")]
    lines += [
        Text(one_line(f"    {row['part']}: {row['text']}")) for row in component_rows(end_breakdown.breakdown)
    ]
    lines += [Text(f"{MISSING} {one_line(note)}") for note in end_breakdown.notes]
    return Group(*lines)


def _heading(view: Digest) -> RenderableType:
    name = one_line(str(view.result.manifest.name or MISSING))
    lines = [Text(name, style="bold"), Text(one_line(view.result.id))]
    facts = [
        format_time_utc(view.result.manifest.created_s),
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
        limits = map(note_text, limit_notes(group))
        yield Group(render_table(scalability_table(group, marks), width), *limits)
    if view.has_efficiency:
        yield Text(one_line(core_words(view.hosts)))


def _effects(factor_effects: Experiment | None, width: int | None) -> Iterator[RenderableType]:
    if factor_effects is not None:
        notes = [Text(one_line(note)) for note in factor_effects.notes]
        yield Group(Text(EFFECTS, style="bold"), *notes)
        yield from (render_table(table, width) for table in factor_effects.tables)


def _findings(view: Digest) -> RenderableType:
    parts: list[RenderableType] = [
        Text(f"Findings: {counted_by_rank(note.rank for note in view.notes)}", style="bold")
    ]
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
    first_by_place = {seen.where: seen for seen in reversed(note.sightings)}
    of_each_place_first = sorted(note.sightings, key=lambda seen: seen is not first_by_place[seen.where])
    for seen in of_each_place_first[:_MOST_EVIDENCE]:
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


def detail_blocks(group: DetailGroup) -> RenderableType:
    """All blocks of a test, then what is missing and why."""
    return Group(
        Text(f"{group.title}: each end in full", style="bold"),
        *(Text(line) for case in group.cases for line in _case_lines(case)),
        *map(note_text, group.notes),
    )


def _case_lines(case: DetailCase) -> Iterator[str]:
    yield f"{one_line(case.title)} ({case.trials})"
    for end in case.ends:
        yield from _block_lines(end)


def _block_lines(end: Layout) -> Iterator[str]:
    yield f"  {one_line(end.host)}  {end.role}"
    yield f"    {_figures(end.rates)}"
    for title, cells in end.shares:
        shares = "  ".join(f"{name} {cell.text:>6}" for name, cell in zip(SHOWN_SHARES, cells, strict=True))
        yield f"    {title}  {shares}  %"
        if any(cell.sd for cell in cells):
            spread = "  ".join(
                f"{'':{len(name)}} {cell.sd:>6}" for name, cell in zip(SHOWN_SHARES, cells, strict=True)
            )
            yield f"    {'±':>{len(title)}}  {spread}"
    yield f"    {_figures(end.costs)}"


def _figures(figures: tuple[Figure, ...]) -> str:
    return "   ".join(f"{figure.title} {figure.text}" for figure in figures)
