# SPDX-License-Identifier: Apache-2.0
"""CPU by role as a table: what the application CPUs and the IRQ CPUs of each end did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from linewatt.analysis.cases import CaseSummary, DetailBlock, ShareSpread
from linewatt.analysis.metrics import METRIC_BY_NAME, Unit
from linewatt.analysis.statistics import Estimate
from linewatt.model import ENDS, Case, CpuShares, Role
from linewatt.report.columns import SHARES, case_cell
from linewatt.report.series import TestGroup
from linewatt.report.table import Cell, Head, Lack, Row, RowGroup, Table, absences
from linewatt.report.trials.settings.scalability import count_cell, count_head
from linewatt.units import MISSING, percent_from_ratio

_PARTS = (("app", "App"), ("irq", "IRQ"))
_SAME_PART = (("app", "CPU"),)
_SAME_CPUS = "; app and IRQ CPUs are the same"
_Parts = Sequence[tuple[str, str]]
"""names of roles and their titles"""
_Blocks = Mapping[tuple[Case, Role], DetailBlock]


def role_table(group: TestGroup, blocks: Sequence[DetailBlock] = ()) -> Table | None:
    """Both ends of every case of a test, with the SDs and the CPU used of ``blocks``.

    ``None`` when no role's CPU is known. Shares are percent of one CPU. Where both roles have the same CPUs
    in every row, they share a column.
    """
    all_shares = [getattr(s, f"{end}_{part}") for s in group.summaries for end in ENDS for part, _ in _PARTS]
    known_shares: list[CpuShares] = [shares for shares in all_shares if shares is not None]
    if not known_shares:
        return None
    shown = tuple(
        name for name in SHARES if name != "other" or any(item.other_ratio >= 0.0005 for item in known_shares)
    )
    unit = METRIC_BY_NAME["receiver_cpu_cores_per_bps"].unit(group.summaries)
    by_end = {(block.case, block.role): block for block in blocks}
    is_same = all(
        getattr(summary, f"{end}_app") == getattr(summary, f"{end}_irq")
        for summary in group.summaries
        for end in ENDS
    )
    parts = _SAME_PART if is_same else _PARTS
    heads = (
        *(
            Head(name, lines=f"{title}\n{name}", group="App and IRQ CPU" if is_same else f"{title} CPU")
            for _, title in parts
            for name in shown
        ),
        *((Head("CPU used", "%", lines="App + IRQ\nused"),) if by_end else ()),
        Head("CPU per throughput", unit.name, lines="App + IRQ"),
    )
    row_groups = tuple(
        RowGroup(
            label,
            tuple(row for summary in series.summaries for row in _rows(summary, by_end, parts, shown, unit)),
        )
        for label, series in group.labelled
    )
    return Table(
        title=f"{group.title}: CPU by role, % of one CPU{_SAME_CPUS if is_same else ''}",
        keys=(count_head(group), Head("End", kind="text")),
        heads=heads,
        groups=row_groups,
        notes=absences(_lacks(heads, row_groups), 0),
    )


def _lacks(heads: Sequence[Head], row_groups: Sequence[RowGroup]) -> Iterator[Lack]:
    """Why cells are empty; dashes show which, and reasons name the host."""
    for row in (row for row_group in row_groups for row in row_group.rows):
        for head, cell in zip(heads, row.cells, strict=True):
            if cell.missing:
                yield Lack(head.group or head.title, cell.reason or "not recorded")


def _rows(
    summary: CaseSummary, blocks: _Blocks, parts: _Parts, names: Sequence[str], unit: Unit
) -> Iterator[Row]:
    for end in (role for role in ENDS if not summary.case.told_elsewhere(role)):
        block = blocks.get((summary.case, end))
        keys = (count_cell(summary.case), Cell(f"{end} {getattr(summary.case, end)}"))
        shares = [
            cell
            for part, _ in parts
            for cell in _shares(summary, f"{end}_{part}", getattr(block, part, None), names)
        ]
        per = case_cell(METRIC_BY_NAME[f"{end}_cpu_cores_per_bps"], summary, unit)
        yield Row(keys, (*shares, *([_used(block)] if blocks else ()), replace(per, sd=None)))


def _used(block: DetailBlock | None) -> Cell:
    """What the app and IRQ CPUs of an end used together, in % of one CPU."""
    used = None if block is None else block.cpu_used_cores
    if used is None:
        reasons = {} if block is None else block.reasons
        return Cell(MISSING, reason=reasons.get("cpu_used_cores", "not recorded"))
    return Cell(_percent(used.mean), None if used.sd is None else _percent(used.sd))


def _shares(
    summary: CaseSummary, field: str, spread: ShareSpread | None, names: Sequence[str]
) -> Iterator[Cell]:
    shares: CpuShares | None = getattr(summary, field)
    for name in names:
        if shares is None:
            yield Cell(MISSING, reason=summary.reasons.get(field, "not recorded"))
        else:
            sd = None if spread is None else _sd(spread.share(name))
            yield Cell(_percent(getattr(shares, f"{name}_ratio")), sd)


def _sd(share: Estimate) -> str | None:
    return None if share.sd is None else _percent(share.sd)


def _percent(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):.1f}"
