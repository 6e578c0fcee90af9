# SPDX-License-Identifier: Apache-2.0
"""CPU by role as a table: what the application CPUs and the IRQ CPUs of each end did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.detail import DetailBlock
from linewatt.analysis.cases.shares import ShareSpread
from linewatt.analysis.cases.summary import CaseSummary
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import CpuShares, Role
from linewatt.report.columns import COLUMNS, MORE_COLUMNS, SHARES, Cell
from linewatt.report.series import TestGroup
from linewatt.units import MISSING, percent_from_ratio

_PER_THROUGHPUT = {
    column.field: column for column in COLUMNS + MORE_COLUMNS if column.field.endswith("_cores_per_bps")
}


@dataclass(frozen=True, slots=True)
class RoleRow:
    """One end of one case. Shares are percent of one CPU with their SD over trials, ``–`` when unknown."""

    series: str
    instances: int
    end: str
    host: str
    app: tuple[Cell, ...]
    irq: tuple[Cell, ...]
    per_throughput: Cell


@dataclass(frozen=True, slots=True)
class RoleTable:
    """Both ends of every case of a test; ``shares`` are the columns below app CPU and IRQ CPU."""

    title: str
    shares: tuple[str, ...]
    unit: str
    rows: tuple[RoleRow, ...]


def role_table(group: TestGroup, blocks: Sequence[DetailBlock] = ()) -> RoleTable | None:
    """The table of a test, with the SDs of ``blocks``; ``None`` when no role's CPU is known."""
    spreads = {(block.case, block.role): block for block in blocks}
    found = [getattr(s, f"{end}_{part}") for s in group.summaries for end in _ENDS for part in ("app", "irq")]
    known: list[CpuShares] = [shares for shares in found if shares is not None]
    if not known:
        return None
    shown = tuple(
        name for name in SHARES if name != "other" or any(item.other_ratio >= 0.0005 for item in known)
    )
    unit = _PER_THROUGHPUT["receiver_cpu_cores_per_bps"].unit(group.summaries)
    rows = []
    for series in group.series:
        for summary in series.summaries:
            for end in _ENDS:
                block = spreads.get((summary.case, end))
                rows.append(
                    RoleRow(
                        series=series.label,
                        instances=summary.case.instances,
                        end=end,
                        host=getattr(summary.case, end),
                        app=_shares(summary, f"{end}_app", block.app if block else None, shown),
                        irq=_shares(summary, f"{end}_irq", block.irq if block else None, shown),
                        per_throughput=_PER_THROUGHPUT[f"{end}_cpu_cores_per_bps"].cell(summary, unit),
                    )
                )
    return RoleTable(group.title, shown, unit.name, tuple(rows))


_ENDS: tuple[Role, Role] = ("receiver", "sender")


def _shares(
    summary: CaseSummary, field: str, spread: ShareSpread | None, names: Sequence[str]
) -> tuple[Cell, ...]:
    shares: CpuShares | None = getattr(summary, field)
    if shares is None:
        reason = summary.reasons.get(field, "not recorded")
        return tuple(Cell(MISSING, reason=reason) for _ in names)
    return tuple(
        Cell(_percent(getattr(shares, f"{name}_ratio")), None if spread is None else _sd(spread.share(name)))
        for name in names
    )


def _sd(share: Estimate) -> str | None:
    return None if share.sd is None else _percent(share.sd)


def _percent(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):.1f}"
