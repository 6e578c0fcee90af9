# SPDX-License-Identifier: Apache-2.0
"""A result as one HTML file: styles and charts inside, no script, nothing loaded from anywhere.

All text goes through autoescape; only our own style sheet and the SVG that vl-convert escaped are put in as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from linewatt import __version__, durable
from linewatt.analysis.cases.detail import DetailBlock, detail_blocks
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.statistics.stats import Estimate
from linewatt.errors import StoreError
from linewatt.model import Case, Trial
from linewatt.report.campaign_text import campaign_text
from linewatt.report.charts.data import runs_of
from linewatt.report.columns import Column
from linewatt.report.findings import Marks, number_ranges
from linewatt.report.glossary import GLOSSARY, LEVEL_GLOSSARY, POWER_GLOSSARY
from linewatt.report.machine.environment import core_words, environment
from linewatt.report.machine.map import machine_maps
from linewatt.report.series import plural
from linewatt.report.trials.charts.cases import Figure, figures, render_svg
from linewatt.report.trials.charts.components import component_figures
from linewatt.report.trials.charts.effects import effect_figures
from linewatt.report.trials.charts.heat_map import heat_figures, heat_maps
from linewatt.report.trials.charts.levels import level_figures
from linewatt.report.trials.charts.paired_bars import paired_figures
from linewatt.report.trials.charts.power import power_figures
from linewatt.report.trials.detail import detail_groups
from linewatt.report.trials.digest import Digest, cores, watts_text
from linewatt.report.trials.effects import experiment
from linewatt.report.trials.idle import idle_lines
from linewatt.report.trials.level_table import level_tables
from linewatt.report.trials.levels import where
from linewatt.report.trials.limits import limit_notes
from linewatt.report.trials.matrix import MatrixTable, matrix_tables
from linewatt.report.trials.power import PowerTable, power_tables
from linewatt.report.trials.psu import psu_lines
from linewatt.report.trials.repeats import repeats_lines
from linewatt.report.trials.roles import RoleTable, role_table
from linewatt.report.trials.scalability import TableRow, scalability_table
from linewatt.report.trials.words import caveats, headline, is_lab, progress, when
from linewatt.units import MISSING, format_percent, format_rate, format_seconds, percent_from_cores

_HERE = Path(__file__).parent
_SVG_ROOT = re.compile(r"<svg\b([^>]*)>")
_XMLNS = re.compile(r'\sxmlns(:\w+)?="[^"]*"')


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure with its SVG."""

    figure: Figure
    svg: Markup


@dataclass(frozen=True, slots=True)
class TrialLine:
    """One trial as the list of trials shows it."""

    number: int
    repetition: int
    case: str
    throughput: str
    loss: str
    receiver_cpu: str
    sender_cpu: str
    receiver_power: str
    sender_power: str
    window: str
    marks: tuple[str, ...]
    failure: str | None


def _of_power(view: Digest, tables: Sequence[PowerTable]) -> list[Figure]:
    """Figures of power; none where no watts were read."""
    return [*power_figures(tables, view.result), *component_figures(view)] if tables else []


def _of_pairs(
    tables: Sequence[MatrixTable], blocks: Sequence[DetailBlock], trials: Sequence[Trial]
) -> list[Figure]:
    """Figures of hosts and networks side by side; none where there is one pair and one network."""
    return [*heat_figures(heat_maps(tables)), *paired_figures(blocks, runs_of(trials))]


def render(view: Digest) -> str:
    """The whole page."""
    marks = view.marks
    trials = view.result.trials
    manifest = view.result.manifest
    tables = power_tables(view.groups, marks)
    levels = level_tables(view.levels, marks)
    factors = experiment(view.result)
    blocks = detail_blocks(trials)
    pairs = matrix_tables(view.groups, list(view.hosts))
    page = environment_of_pages().get_template("report.html.j2")
    return page.render(
        view=view,
        name=manifest.get("name") or view.result.id,
        measured_with=manifest.get("linewatt_version"),
        campaign_text=campaign_text(manifest),
        order=manifest.get("order"),
        seed=manifest.get("seed"),
        version=__version__,
        created=when(manifest.get("created_s")),
        progress=progress(view),
        repeats=repeats_lines(view.result),
        lab=is_lab(view),
        caveats=caveats(view),
        headlines=[
            headline(series, view.result.imported_from) for group in view.groups for series in group.series
        ],
        marks=marks,
        tables=[scalability_table(group, marks) for group in view.groups],
        core_words=core_words(view.hosts) if view.has_efficiency else "",
        limits=[(group.title, limit_notes(group)) for group in view.groups],
        power_tables=tables,
        power_figures=list(drawn(_of_power(view, tables), "power-figure")),
        idle_power=idle_lines(manifest),
        matrix_tables=pairs,
        matrix_figures=list(drawn(_of_pairs(pairs, blocks, trials), "matrix-figure")),
        experiment=factors,
        effect_figures=list(drawn(effect_figures(factors) if factors else [], "effect-figure")),
        level_tables=levels,
        level_figures=list(drawn(level_figures(levels, trials), "level-figure")),
        elsewhere=where(view.levels),
        psu_lines=psu_lines(view) if tables else [],
        figures=list(drawn(figures(view.groups, trials), "figure")),
        roles=_role_tables(view, blocks),
        details=detail_groups(view, blocks),
        maps=machine_maps(view),
        trials=[_trial_line(trial, view, marks) for trial in trials],
        environment=environment(view.hosts, manifest.get("idle")),
        glossary=_glossary(power=bool(tables), levels=bool(levels)),
    )


def _glossary(*, power: bool, levels: bool) -> tuple[tuple[str, str], ...]:
    return GLOSSARY + (POWER_GLOSSARY if power else ()) + (LEVEL_GLOSSARY if levels else ())


def write(target: Path, page: str) -> None:
    """Write the page so that it is there whole or not at all. Raises StoreError."""
    try:
        durable.write_whole(target, page.encode())
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror}") from error


def environment_of_pages() -> Environment:
    """Where templates come from, and what they may use."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["ranges"] = number_ranges
    made.filters["si"] = _si
    made.filters["ci"] = _ci
    made.globals["plural"] = plural
    made.globals["missing"] = MISSING
    style = (_HERE / "style.css").read_text(encoding="utf-8")
    made.globals["style"] = Markup(style)  # noqa: S704 - our own file
    return made


def _si(column: Column, row: TableRow) -> str:
    """The value behind a cell, SI, as JSON has it; empty when missing."""
    value = column.value(row.summary)
    if value is None:
        return ""
    return repr(value.mean if isinstance(value, Estimate) else value)


def _ci(column: Column, row: TableRow, unit: Unit) -> str | None:
    """The 95 % CI behind a cell, in the unit of its column."""
    return column.ci_text(row.summary, unit)


def drawn(figures: Sequence[Figure], name: str) -> Iterator[DrawnFigure]:
    """Figures with their SVG, whose ids begin with ``name``."""
    for number, figure in enumerate(figures, start=1):
        yield DrawnFigure(figure, inline_svg(render_svg(figure.spec), figure, f"{name}-{number}"))


def inline_svg(svg: str, figure: Figure, name: str) -> Markup:
    """``svg`` for use inside HTML: named for screen readers, with ids that no other chart has."""
    svg = svg.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")
    svg = svg.replace('xlink:href="#', f'xlink:href="#{name}-')
    root = _SVG_ROOT.match(svg)
    if root is None:
        raise StoreError(f"{figure.name}: the chart library gave no SVG")
    attributes = _XMLNS.sub("", root[1])
    opening = (
        f'<svg{attributes} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(figure.title)}</title>'
        f'<desc id="{name}-desc">{escape(figure.description)}</desc>'
    )
    return Markup(opening + svg[root.end() :])  # noqa: S704 - vl-convert escapes text; a test holds it to that


def _role_tables(view: Digest, blocks: Sequence[DetailBlock]) -> list[RoleTable]:
    return [table for group in view.groups if (table := role_table(group, blocks)) is not None]


def _trial_line(trial: Trial, view: Digest, marks: Marks) -> TrialLine:
    return TrialLine(
        number=trial.number,
        repetition=trial.repetition,
        case=_case(trial.case, view),
        throughput=format_rate(trial.throughput_bps, 4),
        loss=format_percent(trial.lost_ratio, 2),
        receiver_cpu=_cpu(cores(trial.receiver)),
        sender_cpu=_cpu(cores(trial.sender)),
        receiver_power=watts_text(trial.receiver),
        sender_power=watts_text(trial.sender),
        window=format_seconds(trial.window.seconds if trial.window else None),
        marks=marks.of(flag.code for flag in trial.flags),
        failure=(trial.reason or "no reason recorded") if trial.status == "failed" else None,
    )


def _case(case: Case, view: Digest) -> str:
    return view.describe(case)


def _cpu(value: float | None) -> str:
    return MISSING if value is None else f"{percent_from_cores(value):,.1f} %"
