# SPDX-License-Identifier: Apache-2.0
"""The blocks of ``show --detail``: one end of a case as studies of a host matrix print it.

What stands in a block, in which order, unit and how many decimals is decided here, once, for terminal and
HTML; figures are cut, not rounded, as they are in print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from linewatt import units
from linewatt.analysis.cases import CPU_SHARES, DetailBlock, ShareSpread, detail_blocks
from linewatt.analysis.metrics import Unit, unscaled
from linewatt.analysis.power import SCOPE_WORDS
from linewatt.analysis.statistics import Estimate
from linewatt.declare import FLAT, PREFIXED
from linewatt.json_document import document_of, fill
from linewatt.model import ENDS, Case, Provenance, Role
from linewatt.records import Count
from linewatt.report.printing.export import KeyedCase, MeanKeys, keyed_case_of, mean_of
from linewatt.report.provenance import provenance_legend, provenance_mark
from linewatt.report.series import plural, test_title
from linewatt.report.table import (
    Cell,
    Head,
    Lack,
    Note,
    Row,
    RowGroup,
    Table,
    absences,
    legend_notes,
    text_cells,
)
from linewatt.report.trials.digest import Digest
from linewatt.sizes import frame_bytes
from linewatt.units import MISSING, format_cut

PER_MBPS_BYTES = 128
"""frames up to this size have rates and costs printed in Mbit/s"""
_ROLE_WORDS: dict[tuple[str, Role], str] = {
    ("server", "receiver"): "srv(rcv)",
    ("client", "sender"): "clt(snd)",
    ("client", "receiver"): "clt(rcv)",
    ("server", "sender"): "srv(snd)",
    **{("both", role): "srv+clt(rcv+snd)" for role in ENDS},
}
SHOWN_SHARES = tuple(name for name in CPU_SHARES if name != "other")
_PARTS = (("app", "App CPU"), ("irq", "IRQ CPU"))
_SAME_PART = (("app", "App and IRQ CPU"),)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a block: what it is, its unit, and its cell, whose text is cut."""

    title: str
    unit: str
    cell: Cell

    @property
    def text(self) -> str:
        """Number, mark and unit; ``–`` where it is missing."""
        if self.cell.missing:
            return MISSING
        return " ".join(part for part in (self.cell.text, self.cell.mark, self.unit) if part)


@dataclass(frozen=True, slots=True)
class Layout:
    """A block for people: ``rates`` above the shares, ``costs`` below; five shares a role, in %.

    Both roles share a line where they have the same CPUs.
    """

    host: str
    end: Role
    role: str
    rates: tuple[Figure, Figure, Figure]
    shares: tuple[tuple[str, tuple[Cell, ...]], ...]
    costs: tuple[Figure, Figure, Figure]

    def cells(self, parts_count: int) -> tuple[Cell, ...]:
        """Everything in order; ``parts_count``: for how many roles there are shares."""
        shares = self.shares if len(self.shares) == parts_count else self.shares * parts_count
        return (
            *text_cells(self.host, self.role),
            *(figure.cell for figure in self.rates),
            *(cell for _, cells in shares for cell in cells),
            *(figure.cell for figure in self.costs),
        )


@dataclass(frozen=True, slots=True)
class DetailCase:
    """Both blocks of a case, the receiver's first; ``trials`` are those done."""

    title: str
    label: str
    trials: str
    ends: tuple[Layout, ...]

    def rows(self, titles: Sequence[str], parts_count: int) -> Iterator[Row]:
        """A row a title; an end whose figures are those of another case is empty."""
        cells = {end.end: end.cells(parts_count) for end in self.ends}
        columns = (cells.get(end, (Cell(""),) * len(titles)) for end in ENDS)
        for title, *row_cells in zip(titles, *columns, strict=True):
            yield Row((Cell(title),), tuple(row_cells))


@dataclass(frozen=True, slots=True)
class DetailGroup:
    """All blocks of a test, and why figures are missing."""

    test: str
    cases: tuple[DetailCase, ...]
    notes: tuple[Note, ...]

    @property
    def title(self) -> str:
        return test_title(self.test)

    @property
    def table(self) -> Table:
        """A row a figure of a case, with its two ends side by side."""
        rate = _units(self.test)[0].name
        is_same = all(len(end.shares) == 1 for case in self.cases for end in case.ends)
        parts = _SAME_PART if is_same else _PARTS
        titles = (
            "Host",
            "Role",
            f"Throughput, {rate}",
            "Power, W",
            "Idle power, W",
            *(f"{title}: {name}, %" for _, title in parts for name in SHOWN_SHARES),
            "CPU used, %",
            f"CPU/tput, % per {rate}",
            f"W/tput, W per {rate}",
        )
        return Table(
            title=self.title,
            keys=(Head("Figure", kind="text"),),
            heads=tuple(Head(end.capitalize()) for end in ENDS),
            groups=tuple(
                RowGroup(f"{case.label} ({case.trials})", tuple(case.rows(titles, len(parts))))
                for case in self.cases
            ),
            notes=self.notes,
            style="numbers detail",
            folded=f"{self.title}: {plural(len(self.cases), 'case')}",
        )


def layout(block: DetailBlock) -> Layout:
    """A block as it is shown. Pure: everything about its looks is decided here."""
    rate, per = _units(block.case.test)
    sure = provenance_mark(block.provenance)
    scope = SCOPE_WORDS.get(block.power_scope or "", "")
    parts = _SAME_PART if block.app is not None and block.app == block.irq else _PARTS
    direction = "received" if block.role == "receiver" else "sent"
    if block.case.ends_do_both:
        direction = "sent and received"
    return Layout(
        host=block.host,
        end=block.role,
        role=_ROLE_WORDS[block.connection, block.role],
        rates=(
            Figure(f"Throughput, {direction}", rate.name, _cell(block, "throughput_bps", rate.from_si, 3)),
            Figure(f"Power ({scope})" if scope else "Power", "W", _cell(block, "power_w", unscaled, 1, sure)),
            Figure("Idle power", "W", _cell(block, "idle_w", unscaled, 1, sure)),
        ),
        shares=tuple((title, _shares(block, part)) for part, title in parts),
        costs=(
            Figure("CPU used", "%", _cell(block, "cpu_used_cores", units.percent_from_cores, 2)),
            Figure("CPU/tput", f"% per {rate.name}", _cell(block, "cpu_cores_per_bps", per[0], 3)),
            Figure("W/tput", f"W per {rate.name}", _cell(block, "dynamic_w_per_bps", per[1], 3, sure)),
        ),
    )


_Convert = Callable[[float], float]


def _units(test: str) -> tuple[Unit, tuple[_Convert, _Convert]]:
    """The unit of rates in a test's blocks, and how costs in SI become CPU % and W per it."""
    if (frame_bytes(test) or math.inf) <= PER_MBPS_BYTES:
        name, per = "Mbit/s", (units.percent_per_mbps, units.w_per_mbps)
        return Unit(name, units.mbps_from_bps, str), per
    return Unit("Gbit/s", units.gbps_from_bps, str), (units.percent_per_gbps, units.w_per_gbps)


def _cell(block: DetailBlock, name: str, from_si: _Convert, decimals: int, sure: str | None = None) -> Cell:
    value: Estimate | None = getattr(block, name)
    if value is None:
        return Cell(MISSING, reason=block.reasons.get(name, "not recorded"))
    note = f"n={value.n}" if value.n < block.trials else None
    bound = block.values.get(_BOUNDS.get(name, ""))
    off = "" if bound is None else f" ± {from_si(bound.mean):.{decimals}f}"
    return Cell(format_cut(from_si(value.mean), decimals) + off, note=note, mark=sure)


_BOUNDS = {"idle_w": "idle_uncertainty_w", "dynamic_w_per_bps": "dynamic_uncertainty_w_per_bps"}
"""figures that carry the bound of their error"""


def _shares(block: DetailBlock, part: str) -> tuple[Cell, ...]:
    spread: ShareSpread | None = getattr(block, part)
    if spread is None:
        reason = block.reasons.get(part, "not recorded")
        return tuple(Cell(MISSING, reason=reason) for _ in SHOWN_SHARES)
    return tuple(_share(spread.share(name)) for name in SHOWN_SHARES)


def _share(share: Estimate) -> Cell:
    sd = None if share.sd is None else f"{units.percent_from_ratio(share.sd):.2f}"
    return Cell(format_cut(units.percent_from_ratio(share.mean), 2), sd)


def detail_groups(view: Digest, blocks: Sequence[DetailBlock] | None = None) -> tuple[DetailGroup, ...]:
    """The blocks of a result by test; cases at load levels as well."""
    blocks_by_test: dict[str, list[DetailBlock]] = {}
    for block in detail_blocks(view.result.trials) if blocks is None else blocks:
        blocks_by_test.setdefault(block.case.test, []).append(block)
    return tuple(_group(test, test_blocks, view) for test, test_blocks in blocks_by_test.items())


def _group(test: str, blocks: Sequence[DetailBlock], view: Digest) -> DetailGroup:
    cases: dict[Case, list[DetailBlock]] = {}
    for block in blocks:
        cases.setdefault(block.case, []).append(block)
    return DetailGroup(
        test=test,
        cases=tuple(_case(case, case_blocks, view) for case, case_blocks in cases.items()),
        notes=(
            *legend_notes(provenance_legend(block.provenance for block in blocks)),
            *absences(_lacks(blocks, view.labels), len(blocks)),
        ),
    )


def _case(case: Case, blocks: Sequence[DetailBlock], view: Digest) -> DetailCase:
    return DetailCase(
        title=f"{test_title(case.test)}, {_label(case, view.labels)}",
        label=_label(case, view.labels),
        trials=plural(blocks[0].trials, "trial"),
        ends=tuple(layout(block) for block in blocks),
    )


def _label(case: Case, labels: Mapping[Case, str]) -> str:
    """``h1 → h2``, with instances where there is more than one."""
    name = labels[case.single]
    return name if case.instances == 1 else f"{name}, {case.instances} instances"


_TITLES = {
    "throughput_bps": "throughput",
    "power_w": "power",
    "idle_w": "idle power",
    "app": "app CPU",
    "irq": "IRQ CPU",
    "cpu_used_cores": "CPU used",
    "cpu_cores_per_bps": "CPU/tput",
    "dynamic_w_per_bps": "W/tput",
}


def _lacks(blocks: Sequence[DetailBlock], labels: Mapping[Case, str]) -> Iterator[Lack]:
    for name, title in _TITLES.items():
        for block in blocks:
            if name in block.reasons:
                yield Lack(title, block.reasons[name], f"{block.role} of {_label(block.case, labels)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesKeys:
    """Shares of the time of the CPUs of a role."""

    cpus: str | None
    """Their numbers, with blanks between."""
    usr_ratio: MeanKeys = field(metadata=PREFIXED)
    sys_ratio: MeanKeys = field(metadata=PREFIXED)
    irq_ratio: MeanKeys = field(metadata=PREFIXED)
    soft_ratio: MeanKeys = field(metadata=PREFIXED)
    idle_ratio: MeanKeys = field(metadata=PREFIXED)
    other_ratio: MeanKeys = field(metadata=PREFIXED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostKeys:
    """What a bit costs, in CPUs and watts."""

    cpu_used_cores: MeanKeys = field(metadata=PREFIXED)
    cpu_cores_per_bps: MeanKeys = field(metadata=PREFIXED)
    app_cores_per_bps: MeanKeys = field(metadata=PREFIXED)
    irq_cores_per_bps: MeanKeys = field(metadata=PREFIXED)
    dynamic_w_per_bps: MeanKeys = field(metadata=PREFIXED)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndDocument:
    case: KeyedCase = field(metadata=FLAT)
    host: str
    role: Role
    connection: Literal["server", "client", "both"]
    trials_done: Count
    throughput_bps: MeanKeys = field(metadata=PREFIXED)
    power_w: MeanKeys = field(metadata=PREFIXED)
    idle_w: MeanKeys = field(metadata=PREFIXED)
    power_scope: str | None
    power_provenance: Provenance | None
    """Whether it was measured; the least sure of its parts."""
    app_cpu: SharesKeys = field(metadata=PREFIXED)
    irq_cpu: SharesKeys = field(metadata=PREFIXED)
    costs: CostKeys = field(metadata=FLAT)
    idle_w_uncertainty: float | None
    dynamic_w_per_bps_uncertainty: float | None
    reasons: Mapping[str, str]
    """Why figures are missing, by name."""
    shown: dict[str, str]
    """The figures as people see them."""


def detail_documents(blocks: Sequence[DetailBlock]) -> list[dict[str, Any]]:
    """The blocks as ``show --detail --json`` has them, SI; ``shown`` are the figures that people see."""
    return [document_of(_document(block)) for block in blocks]


def _document(block: DetailBlock) -> EndDocument:
    shown = layout(block)
    bounds = {name: block.values.get(bound) for name, bound in _BOUNDS.items()}
    return fill(
        EndDocument,
        block,
        case=keyed_case_of(block.case),
        trials_done=block.trials,
        throughput_bps=mean_of(block.throughput_bps),
        power_w=mean_of(block.power_w),
        idle_w=mean_of(block.idle_w),
        power_provenance=block.provenance,
        app_cpu=_shares_keys(block.app),
        irq_cpu=_shares_keys(block.irq),
        costs=CostKeys(**{cost.name: mean_of(block.values.get(cost.name)) for cost in fields(CostKeys)}),
        **{f"{name}_uncertainty": bound and bound.mean for name, bound in bounds.items()},
        shown={f"{figure.title}, {figure.unit}": figure.cell.text for figure in (*shown.rates, *shown.costs)},
    )


def _shares_keys(spread: ShareSpread | None) -> SharesKeys:
    cpus = " ".join(map(str, spread.cpus)) if spread is not None and not spread.unnumbered else None
    ratios = {
        f"{name}_ratio": mean_of(spread.share(name) if spread is not None else None) for name in CPU_SHARES
    }
    return SharesKeys(cpus=cpus, **ratios)
