# SPDX-License-Identifier: Apache-2.0
"""Every trial of a result in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linewatt.analysis.metrics import why_no_end
from linewatt.model import ENDS, EndResult, Role, Trial
from linewatt.report.provenance import provenance_mark
from linewatt.report.series import plural
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table
from linewatt.report.trials.digest import Digest, system_power
from linewatt.units import MISSING, format_percent, format_rate, format_seconds, percent_from_cores

EVERY_TRIAL_TITLE = "Every trial"


def trials_table(view: Digest, *, power: bool, limit: int | None = None) -> Table:
    """A row a trial in the order they ran, with watts where ``power`` says that there are any.

    Of more than ``limit`` those that failed or have findings come first, and a note says where the others
    are.
    """
    heads = [
        Head("Case", kind="text"),
        Head("Repetition", page_only=True),
        Head("Window", page_only=True),
        Head("Throughput"),
        Head("Loss"),
        Head("CPU receiver", "%"),
        Head("CPU sender", "%"),
    ]
    if power:
        heads += [Head(f"Power {end}", lines=f"Power\n{end}") for end in ("receiver", "sender")]
    marks, failures = view.marks, bool(view.failed)
    if failures:
        heads.append(Head("Failure", kind="prose"))
    shown = _first(view.result.trials, limit)
    rows = tuple(
        Row(
            (Cell(f"{trial.number}"),),
            tuple(_cells(trial, view, power=power, failures=failures)),
            marks.of(flag.code for flag in trial.flags),
        )
        for trial in shown
    )
    trial_count = len(view.result.trials)
    csv = f"'linewatt show {view.result.id} --csv --trials' has the other {trial_count - len(shown):,}"
    return Table(
        EVERY_TRIAL_TITLE,
        (Head("Trial"),),
        tuple(heads),
        (RowGroup("", rows),),
        notes=(Note("remark", csv),) if len(shown) < trial_count else (),
        style="numbers trials",
        folded=f"{len(shown):,} of {trial_count:,} trials"
        if len(shown) < trial_count
        else plural(trial_count, "trial"),
    )


def _first(trials: Sequence[Trial], limit: int | None) -> Sequence[Trial]:
    """At most so many: those that failed or have findings, then others; in the order they ran."""
    if limit is None or len(trials) <= limit:
        return trials
    telling = sorted(trials, key=lambda trial: trial.status == "done" and not trial.flags)
    return sorted(telling[:limit], key=lambda trial: trial.number)


def _cells(trial: Trial, view: Digest, *, power: bool, failures: bool) -> Iterator[Cell]:
    yield Cell(view.describe(trial.case))
    yield Cell(f"{trial.repetition}")
    yield Cell(format_seconds(trial.window.seconds if trial.window else None))
    yield Cell(format_rate(trial.throughput_bps, 4))
    yield Cell(format_percent(trial.lost_ratio, 2))
    yield from (_told(trial, role, _cpu(trial.end(role))) for role in ENDS)
    if power:
        yield from (_told(trial, role, _watts(trial.end(role))) for role in ENDS)
    if failures:
        failed = trial.status == "failed"
        yield Cell(f"failed: {trial.reason or 'no reason recorded'}" if failed else "")


def _told(trial: Trial, role: Role, cell: Cell) -> Cell:
    """A figure of an end, or that it stands elsewhere."""
    elsewhere = cell.text == MISSING and trial.case.told_elsewhere(role)
    return replace(cell, reason=str(why_no_end(trial, role))) if elsewhere else cell


def _cpu(end: EndResult | None) -> Cell:
    """CPU used in the field's %, one full core 100; ``–`` when unknown."""
    if end is None or end.cpu_cores is None:
        return Cell(MISSING)
    return Cell(f"{percent_from_cores(end.cpu_cores):,.1f}")


def _watts(end: EndResult | None) -> Cell:
    """The system's power, marked unless measured; ``–`` when unknown."""
    total = system_power(end)
    return (
        Cell(MISSING)
        if total is None
        else Cell(f"{total.power_w:,.1f} W", mark=provenance_mark(total.provenance))
    )
