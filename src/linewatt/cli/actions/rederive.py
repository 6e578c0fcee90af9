# SPDX-License-Identifier: Apache-2.0
"""A stored result made again, and what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linewatt.cli.output import print_json, print_rich, say
from linewatt.engine.rederive import Change, Rederived, Told, rederive, rederived_document, write_rederived
from linewatt.model import METHOD
from linewatt.report import Head, Row, RowGroup, Table, plural, text_cells
from linewatt.report.printing import render_table
from linewatt.store import find_result, load_result, reading_results
from linewatt.units import MISSING, number_ranges

if TYPE_CHECKING:
    from rich.console import RenderableType


def rederive_result(*, result_id: str, results: Path, write: bool, trials: bool, as_json: bool) -> None:
    """Recompute a result from raw files by the current method."""
    original = find_result(results, result_id)
    with reading_results(original):
        rederived = rederive(load_result(original))
    path = write_rederived(rederived) if write else None
    if as_json:
        print_json(rederived_document(rederived) | {"written": None if path is None else str(path)})
        return
    print_rich(lambda width: _shown(rederived, width, all_trials=trials))
    if path is not None:
        say(f"written: {path}; show, report and compare take it from now on, trials/ is as it was")
    elif rederived.changed:
        say("nothing was written; --write stores it beside the original")


def _shown(rederived: Rederived, width: int | None, *, all_trials: bool) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(line) for line in _summary(rederived)]
    changes = [change for trial in rederived.trials for change in trial.changes]
    old = [change for change in changes if not change.is_new]
    if old:
        parts += [Text(), render_table(_figures(old, all_trials=all_trials), width)]
    findings = [finding for trial in rederived.trials for finding in trial.told]
    if findings:
        parts += [Text("\nFindings"), *(Text(line) for line in _findings(findings))]
    new = [change for change in changes if change.is_new]
    if new:
        parts += [Text("\nFigures that were not made before"), *(Text(line) for line in _new(new))]
    return Group(*parts)


def _summary(rederived: Rederived) -> Iterator[str]:
    methods = sorted({trial.method for trial in rederived.trials})
    stored = f"method {', '.join(map(str, methods))}" if methods else "no trials"
    yield f"{rederived.result.id}: stored by {stored}, made again by method {METHOD}"
    same = sum(trial.same for trial in rederived.trials)
    if same:
        yield f"{plural(same, 'trial')} of {len(rederived.trials)} as stored, to the byte"
    figures = sum(bool(trial.changes or trial.told) for trial in rederived.trials)
    if figures:
        yield f"{plural(figures, 'trial')} of {len(rederived.trials)} with other figures or findings"
    for trial in rederived.trials:
        if trial.problem is not None:
            yield f"trial {trial.number} cannot be made again: {trial.problem}"
    for idle in rederived.idle:
        if idle.problem is not None:
            yield f"{idle.name} cannot be made again: {idle.problem}"
        for change in idle.changes:
            yield f"{idle.name}: {change.figure}: {_value(change.before)} → {_value(change.after)}"


def _figures(changes: list[Change], *, all_trials: bool) -> Table:
    """A row for each figure, with its first trial for an example; or one for each trial."""
    rows: list[tuple[str, Change]] = [(str(change.trial), change) for change in changes]
    if not all_trials:
        first: dict[str, Change] = {}
        for change in changes:
            first.setdefault(change.figure, change)
        counts = Counter(change.figure for change in changes)
        rows = [(f"{change.trial} (of {counts[figure]})", change) for figure, change in first.items()]
    return Table(
        "Figures that change",
        (Head("Figure", kind="text"),),
        (Head("Trial", kind="text"), Head("Before"), Head("After"), Head("Why", kind="prose")),
        (
            RowGroup(
                "",
                tuple(
                    Row(
                        text_cells(change.figure),
                        text_cells(trial, _value(change.before), _value(change.after), change.why),
                    )
                    for trial, change in rows
                ),
            ),
        ),
    )


def _value(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


_WIDEST = 40


def _findings(findings: Iterable[Told]) -> Iterator[str]:
    """A line for each finding at a place: whether it is new or gone, in which trials, by what evidence."""
    grouped: dict[tuple[bool, str, str], list[Told]] = {}
    for finding in findings:
        grouped.setdefault((finding.added, finding.code, finding.where), []).append(finding)
    for (added, code, where), same_findings in grouped.items():
        numbers = number_ranges(finding.trial for finding in same_findings)
        yield f"{'+' if added else '−'} {code}, {where} (trials {numbers}): {same_findings[0].evidence}"


def _new(changes: Iterable[Change]) -> Iterator[str]:
    """A line for each group of figures, whatever instance or meter they are of; --json has them all."""
    grouped: dict[str, dict[int, None]] = {}
    for change in changes:
        name = re.sub(r"\[.*?\]", "", change.figure)
        depth = 3 if ".power." in name else 2
        grouped.setdefault(".".join(name.split(".")[:depth]), {})[change.trial] = None
    for name, trials in grouped.items():
        yield f"  {name} (trials {number_ranges(trials)})"
