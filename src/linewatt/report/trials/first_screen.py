# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt show`` prints first: the answer, what speaks against it, and where the rest is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.foreign import one_line
from linewatt.report.export import when
from linewatt.report.table import Note
from linewatt.report.text_table import note_text, render
from linewatt.report.trials.answer import Answer, answer
from linewatt.report.trials.charts.heat_map import grid, heat_maps
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.effects import TITLE as EFFECTS
from linewatt.report.trials.effects import experiment
from linewatt.report.trials.levels import level_cases, level_table
from linewatt.report.trials.matrix import pair_cases
from linewatt.report.trials.repeats import repeats_lines
from linewatt.report.trials.words import caveats, progress
from linewatt.units import MISSING

MOST_NAMED = 3
"""series that share a limit; of more, how many there are"""


def first_screen(view: Digest, width: int | None) -> RenderableType:
    """Few lines of a result; an experiment, a matrix and load levels begin with what they are about."""
    found = answer(view)
    parts: list[RenderableType] = [_heading(view), *_subject(view, width)]
    if found is not None:
        parts += _answer(found, width)
    parts.append(Group(*map(Text, _further(view))))
    return Group(*(part for each in parts for part in (each, Text())))


def _further(view: Digest) -> Iterator[str]:
    """Commands that say more of it."""
    name = one_line(view.result.id)
    if len({summary.case.network for summary in view.summaries}) > 1:
        yield f"What each network costs: linewatt compare {name} --by network"
    yield f"More: linewatt show {name} --full, or linewatt report {name}"


def _heading(view: Digest) -> RenderableType:
    name = one_line(str(view.result.manifest.name or MISSING))
    facts = (view.result.id, when(view.result.manifest.created_s), progress(view))
    return Group(
        Text(f"{name} · {', '.join(map(one_line, view.hosts))}", style="bold"),
        Text(" · ".join(map(one_line, facts))),
        *(Text(one_line(line)) for line in repeats_lines(view.result)),
        *(Text(f"! {one_line(caveat)}", style="yellow") for caveat in caveats(view)),
    )


def _subject(view: Digest, width: int | None) -> list[RenderableType]:
    """Tables of what varies beyond instances."""
    parts: list[RenderableType] = []
    effects = experiment(view.result)
    if effects is not None:
        parts.append(Group(Text(EFFECTS, style="bold"), *(Text(one_line(note)) for note in effects.notes)))
        parts += [render(table, width) for table in effects.tables]
    parts += [render(grid(one), width) for one in heat_maps(pair_cases(view.groups, list(view.hosts)))]
    return parts + [render(level_table(cases, view.marks), width) for cases in level_cases(view.levels)]


def _answer(found: Answer, width: int | None) -> list[RenderableType]:
    return [
        Group(render(found.result, width), *map(note_text, _shared(found.limits))),
        render(found.cost, width),
        Group(*map(note_text, found.trust)),
    ]


def _shared(limits: Iterable[Note]) -> Iterator[Note]:
    """What is said of several series in the same words once."""
    names: dict[str, list[str]] = {}
    for note in limits:
        names.setdefault(note.text, []).append(note.lead)
    every = len(names) == 1
    for text, series in names.items():
        several = f"each of the {len(series)}" if every else f"{len(series)} series"
        yield Note("remark", text, ", ".join(series) if len(series) <= MOST_NAMED else several)
