# SPDX-License-Identifier: Apache-2.0
"""What stands on the page of a result, section by section: tables, lists and figures of its digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linewatt.analysis.cases import DetailBlock, detail_blocks, with_flows
from linewatt.core.feature import feature_functions
from linewatt.report.charts.data import Runs, runs_of
from linewatt.report.charts.figure import DrawnFigure, Figure, draw_figures
from linewatt.report.machine.environment import core_words
from linewatt.report.section import Lines, Section, text_lines
from linewatt.report.series import plural
from linewatt.report.trials.answer.limits import limit_notes
from linewatt.report.trials.charts.cases import figures
from linewatt.report.trials.charts.components import component_figures
from linewatt.report.trials.charts.cpu_heat import cpu_heat_figures
from linewatt.report.trials.charts.effects import effect_figures
from linewatt.report.trials.charts.heat_map import heat_figures, heat_maps
from linewatt.report.trials.charts.knees import knee_figures
from linewatt.report.trials.charts.over_time import over_time_figures
from linewatt.report.trials.charts.overview import overview_figures, overview_words
from linewatt.report.trials.charts.paired_bars import paired_figures
from linewatt.report.trials.charts.power import level_figures, power_figures
from linewatt.report.trials.charts.searches import search_figures
from linewatt.report.trials.charts.spread_of_trials import spread_figures
from linewatt.report.trials.charts.throughput_course import throughput_figures
from linewatt.report.trials.detail import detail_groups
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.every_trial import EVERY_TRIAL_TITLE as EVERY_TRIAL
from linewatt.report.trials.every_trial import trials_table
from linewatt.report.trials.ports import port_tables
from linewatt.report.trials.power.feature_notes import feature_power_notes
from linewatt.report.trials.power.idle import idle_notes
from linewatt.report.trials.power.power_table import power_cases, power_table
from linewatt.report.trials.power.thermal import MOST_ON_PAGE, thermal_tables
from linewatt.report.trials.roles import role_table
from linewatt.report.trials.searches.knees import TITLE as KNEES
from linewatt.report.trials.searches.knees import knee_tables
from linewatt.report.trials.searches.searches import TITLE as SEARCHES
from linewatt.report.trials.searches.searches import search_tables
from linewatt.report.trials.selection import Selection, selection
from linewatt.report.trials.settings.effects import TITLE as EFFECTS
from linewatt.report.trials.settings.effects import experiment
from linewatt.report.trials.settings.levels import TITLE as LEVELS
from linewatt.report.trials.settings.levels import level_cases, level_table
from linewatt.report.trials.settings.matrix import matrix_table, pair_cases
from linewatt.report.trials.settings.scalability import scalability_table, with_folded_columns

MOST_TRIALS = 1000
"""that a page lists; CSV has all"""
_OVER_TIME = "throughput, CPU and system power of single trials"
_MOST_PAIRS = 60
"""rows of a matrix that stand open: heat maps show more of them"""


def page_sections(view: Digest) -> tuple[list[Section], list[Section], Section]:
    """What was measured, the details of it, and every trial; only sections with anything in them.

    The one of scalability is always there.
    """
    trials = view.result.trials
    runs, blocks = runs_of(with_flows(trials)), detail_blocks(trials)
    chosen = selection(view.groups)
    overview = overview_figures(view.groups, runs)
    overview_names = {figure.name for figure in overview}
    others_of_cases = [figure for figure in figures(view.groups, runs) if figure.name not in overview_names]
    charts = Section("Figures", "figures", figures=tuple(draw_figures(others_of_cases, "figure")))
    others = (
        _matrix(view, blocks, runs),
        Section("Data ports", "ports", tuple(port_tables(chosen.shown, trials))),
        _effects(view),
        _power(view, runs, chosen),
        _levels(view, runs),
        _searches(view),
        _knees(view),
        charts,
    )
    shown = [block for block in blocks if block.case not in chosen.left_out]
    of_features = (section for make in feature_functions("page_sections") for section in make(view))
    details = (_roles(chosen, blocks), *of_features, _detail(view, shown, chosen.words))
    results = [
        *filter(None, [_overview(view, overview)]),
        _scalability(view, chosen),
        *(section for section in others if section),
    ]
    return results, [section for section in details if section], _trials(view, runs)


def throughput_courses(view: Digest) -> tuple[DrawnFigure, ...]:
    """Throughput over time, for the place beside the answer. Raises StoreError."""
    runs = runs_of(with_flows(view.result.trials))
    return tuple(draw_figures(throughput_figures(view, runs), "course-figure"))


def _overview(view: Digest, charts: Sequence[Figure]) -> Section:
    return Section(
        "Against instances",
        "overview",
        figures=tuple(draw_figures(charts, "overview-figure")),
        intro=overview_words(view.groups, charts),
        nav="Charts",
        small_figures=True,
    )


def _scalability(view: Digest, chosen: Selection) -> Section:
    marks = view.marks
    tables = [
        part
        for group in chosen.shown
        for table in [scalability_table(group, marks, intervals=True)]
        for part in with_folded_columns(replace(table, title=chosen.title(group) or table.title))
    ]
    in_pairs = pair_cases(chosen.others)  # which have a table of their own
    left_out = chosen.words if in_pairs else ()
    for group in () if in_pairs else chosen.others:
        words = f"{group.title}: the other {len(group.series):,} series"
        table = scalability_table(group, marks, intervals=True)
        tables.append(replace(table, title=words, folded=words))
    cores = [core_words(view.hosts)] if view.has_efficiency else []
    limits = [
        replace(note, lead=f"{group.title}: {note.lead}")
        for group in view.groups
        for note in limit_notes(group)
    ]
    return Section(
        "Scalability",
        "scalability",
        tuple(tables),
        notes=(text_lines("", cores), Lines("What limits each case", tuple(limits))),
        intro=left_out if view.groups or view.levels else ("No case has been measured yet.",),
        elsewhere=True,
    )


def _matrix(view: Digest, blocks: Sequence[DetailBlock], runs: Runs) -> Section:
    pairs = pair_cases(view.groups, list(view.hosts))
    charts = [*heat_figures(heat_maps(pairs)), *paired_figures(blocks, runs)]
    several = len({block.case.network for block in blocks}) > 1
    tables = [
        replace(table, folded=f"{table.title}, {len(table.rows):,} rows")
        if len(table.rows) > _MOST_PAIRS
        else table
        for table in map(matrix_table, pairs)
    ]
    return Section(
        "Every pair of hosts" if pairs else "Networks side by side" if several else "Pairs of hosts",
        "matrix",
        tuple(tables),
        tuple(draw_figures(charts, "matrix-figure")),
        nav="Networks" if several and not pairs else "Pairs of hosts",
        elsewhere=True,
    )


def _effects(view: Digest) -> Section:
    effects = experiment(view.result)
    if effects is None:
        return Section(EFFECTS, "effects")
    return Section(
        EFFECTS,
        "effects",
        effects.tables,
        tuple(draw_figures(effect_figures(effects), "effect-figure")),
        intro=(
            "What each level of a factor changes against its base; runs are the unit. An effect counts when "
            "it is beyond chance among all that stand in its table (p after Holm below 0.05) and beyond what "
            "matters: 1 %, or 0.1 points of loss.",
            *effects.notes,
        ),
        nav="Factors",
    )


def _power(view: Digest, runs: Runs, chosen: Selection) -> Section:
    cases = power_cases(view.groups)
    charts = [*power_figures(cases, runs), *component_figures(view)] if cases else []
    return Section(
        "Power",
        "power",
        (
            *(power_table(power_case, view.marks) for power_case in power_cases(chosen.shown)),
            *thermal_tables(view),
            *(thermal_tables(view, trials=True) if len(view.result.trials) <= MOST_ON_PAGE else ()),
        ),
        tuple(draw_figures(charts, "power-figure")),
        notes=(
            Lines("Idle power", idle_notes(view.result)),
            *feature_power_notes(view),
        ),
        intro=chosen.words,
        elsewhere=True,
    )


def _levels(view: Digest, runs: Runs) -> Section:
    cases = level_cases(view.levels)
    return Section(
        LEVELS,
        "levels",
        tuple(level_table(case, view.marks) for case in cases),
        tuple(draw_figures(level_figures(cases, runs), "level-figure")),
        intro=(
            "Each case held to a part of what it reaches at full rate: full load alone says little about a "
            "server that is half idle.",
        ),
    )


def _searches(view: Digest) -> Section:
    return Section(
        SEARCHES,
        "searches",
        search_tables(view.searches, view.result),
        tuple(draw_figures(tuple(search_figures(view.searches)), "search-figure")),
        intro=(
            "The highest rate at which no more is lost than is allowed (RFC 2544 throughput for no loss), "
            "chosen step by step from what the trials before measured (MLRsearch).",
        ),
    )


def _knees(view: Digest) -> Section:
    return Section(
        KNEES,
        "knees",
        knee_tables(view.knees),
        tuple(draw_figures(tuple(knee_figures(view.knees)), "search-figure")),
        intro=(
            "From how many instances on throughput no longer follows: doubled until twice as many surely "
            "bring little, twice in a row, then tried around the knee. Each is a case of other tables, too.",
        ),
    )


def _roles(chosen: Selection, blocks: Sequence[DetailBlock]) -> Section:
    tables = (role_table(group, blocks) for group in chosen.shown)
    return Section(
        "CPU by role",
        "roles",
        tuple(table for table in tables if table is not None),
        intro=("Mean ± standard deviation over the trials.", *chosen.words),
        elsewhere=True,
    )


def _detail(view: Digest, blocks: Sequence[DetailBlock], left_out: Sequence[str]) -> Section:
    return Section(
        "Each end in full",
        "detail",
        tuple(group.table for group in detail_groups(view, blocks)),
        intro=(
            "The two ends of a case side by side. CPU % are those of one CPU, mean ± standard deviation over "
            "the trials; costs are of what that end itself sent or received. Figures are cut, not rounded.",
            *left_out,
        ),
    )


def _trials(view: Digest, runs: Runs) -> Section:
    if not view.result.trials:
        return Section(EVERY_TRIAL, "trials", intro=("No trial is stored yet.",))
    table = trials_table(view, power=bool(power_cases(view.groups)), limit=MOST_TRIALS)
    spreads = spread_figures(view, runs)
    courses = over_time_figures(view, runs)
    cpus = cpu_heat_figures(view, runs)
    parts = [
        *(["throughput of each trial"] if spreads else []),
        *([f"over time: {plural(len(courses), 'case')}, {_OVER_TIME}"] if courses else []),
        *([f"CPUs of {plural(len(cpus), 'case')}"] if cpus else []),
    ]
    words = "; ".join(parts)
    figures = tuple(draw_figures([*spreads, *courses, *cpus], "time-figure"))
    return Section(EVERY_TRIAL, "trials", (table,), figures, folded=f"{words[:1].upper()}{words[1:]}")
