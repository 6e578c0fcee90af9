# SPDX-License-Identifier: Apache-2.0
"""Networks side by side: what was generated and what was received, and the CPU it took, a panel a host pair.

Costs are those of the detail blocks: of each end's own rate (:mod:`linewatt.analysis.cases.detail`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from linewatt.analysis.cases import DetailBlock
from linewatt.analysis.metrics import GBPS, MBPS, PER_GBPS, PER_MBPS, Unit, significant_digits
from linewatt.analysis.statistics import Estimate
from linewatt.model import Case, Direction, Role
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs, mean_row, value_rows
from linewatt.report.charts.figure import Figure
from linewatt.report.series import case_labels, plural, test_title
from linewatt.units import BPS_PER_GBPS

MOST_PANELS = 12
"""pairs that one figure shows; the tables have all"""
SIDES: dict[str, str] = {"generated": specs.SENDER, "received": specs.RECEIVER}
_SIDE_OF: dict[Role, str] = {"sender": "generated", "receiver": "received"}
PARTS: dict[str, str] = {
    "App CPU": specs.SHARE_COLOURS["usr"],
    "IRQ CPU": specs.SHARE_COLOURS["soft"],
    "same CPUs": specs.SHARE_COLOURS["other"],
}
_ROLE_OF: dict[Role, str] = {"sender": "sender", "receiver": "receiver"}
_SHORT = significant_digits(3)


@dataclass(frozen=True, slots=True)
class _Panel:
    """The cases of one pair that differ in their network only, each with both ends."""

    label: str
    ends: tuple[tuple[str, dict[Role, DetailBlock]], ...]
    """(network, blocks by role)"""


@dataclass(frozen=True, slots=True)
class _Chart:
    """The panels of one test and direction; ``more`` pairs are left out."""

    test: str
    direction: Direction | None
    panels: tuple[_Panel, ...]
    more: int

    @property
    def title(self) -> str:
        return test_title(self.test) + (f", {self.direction}" if self.direction else "")

    @property
    def name(self) -> str:
        return self.test + (f"-{self.direction}" if self.direction else "")

    @property
    def blocks(self) -> Iterable[DetailBlock]:
        return (block for panel in self.panels for _, ends in panel.ends for block in ends.values())

    def bars(self, words: Mapping[Role, str]) -> Iterator[tuple[Row, DetailBlock]]:
        """Each end of each network of each pair: where its bar stands, named by its role, and its block."""
        for panel in self.panels:
            for network, ends in panel.ends:
                for role, what in words.items():
                    if role in ends:
                        bar = f"{network}: {what}" if network else what
                        yield {"pair": panel.label, "bar": bar}, ends[role]


def paired_figures(blocks: Sequence[DetailBlock], runs: Runs) -> tuple[Figure, ...]:
    """Throughput and CPU per throughput of every test and direction.

    None where a result has one network and fewer than three ordered pairs: other figures show those. Both
    ways at once, no host only generates and none only receives.
    """
    shown_blocks = [
        block for block in blocks if block.case.load_level is None and not block.case.ends_do_both
    ]
    networks = {block.case.network for block in shown_blocks}
    if len(networks) < 2 and len({block.case.hosts for block in shown_blocks}) < 3:
        return ()
    drawn: list[Figure | None] = []
    for chart in _charts(_most_instances(shown_blocks), several=len(networks) > 1):
        drawn += [_throughput(chart, runs), _cost(chart)]
    return tuple(figure for figure in drawn if figure is not None)


def _most_instances(blocks: Sequence[DetailBlock]) -> list[DetailBlock]:
    """Of cases that differ in instances only, those with most of them."""
    most_instances: dict[Case, int] = {}
    for block in blocks:
        series = block.case.single
        most_instances[series] = max(most_instances.get(series, 0), block.case.instances)
    return [block for block in blocks if block.case.instances == most_instances[block.case.single]]


def _charts(blocks: Sequence[DetailBlock], *, several: bool) -> list[_Chart]:
    directions = {block.case.direction for block in blocks}
    by_chart: dict[tuple[str, Direction], list[DetailBlock]] = {}
    for block in blocks:
        by_chart.setdefault((block.case.test, block.case.direction), []).append(block)
    charts = []
    for (test, direction), members in by_chart.items():
        panels = _panels(members, several=several)
        named = direction if len(directions) > 1 else None
        charts.append(_Chart(test, named, panels[:MOST_PANELS], max(0, len(panels) - MOST_PANELS)))
    return charts


def _panels(blocks: Sequence[DetailBlock], *, several: bool) -> tuple[_Panel, ...]:
    """Cases that differ in network and instances only share a panel."""
    blocks_by_case: dict[Case, dict[str, dict[Role, DetailBlock]]] = {}
    for block in blocks:
        plain = replace(block.case, network="bare", direction="forward", instances=1)
        blocks_by_case.setdefault(plain, {}).setdefault(_network(block, several=several), {})[block.role] = (
            block
        )
    labels = case_labels(blocks_by_case)
    return tuple(_Panel(labels[case], tuple(ends.items())) for case, ends in blocks_by_case.items())


def _network(block: DetailBlock, *, several: bool) -> str:
    """The network's name, and instances where there are several; empty where neither says anything."""
    count = plural(block.case.instances, "instance") if block.case.instances > 1 else ""
    return ", ".join(part for part in (block.case.network if several else "", count) if part)


def _throughput(chart: _Chart, runs: Runs) -> Figure | None:
    rates = [block.throughput_bps.mean for block in chart.blocks if block.throughput_bps is not None]
    unit = GBPS if max(rates, default=0.0) >= BPS_PER_GBPS else MBPS
    return _figure(
        chart,
        "throughput",
        "generated and received",
        "What the sender sent and what of it the receiver got. Bar: mean of the trials; "
        "line: standard deviation; small dots: every trial.",
        [row for base, block in chart.bars(_SIDE_OF) for row in _rate_rows(base, block, unit, runs)],
        unit,
        ("Rate", "side", SIDES),
    )


def _cost(chart: _Chart) -> Figure | None:
    """CPU % per unit of rate, app and IRQ CPUs stacked, a bar an end."""
    known_blocks = [block for block in chart.blocks if block.cpu_cores_per_bps is not None]
    rates = [block.throughput_bps.mean for block in known_blocks if block.throughput_bps is not None]
    unit = PER_GBPS if max(rates, default=0.0) >= BPS_PER_GBPS else PER_MBPS
    return _figure(
        chart,
        "cost",
        "CPU per throughput at both ends",
        "CPU % of the app and IRQ CPUs, of what each end itself sent or received; less is better. "
        "Line: standard deviation of the sum.",
        [row for base, block in chart.bars(_ROLE_OF) for row in _cost_rows(base, block, unit)],
        unit,
        ("CPU", "part", PARTS),
    )


def _figure(
    chart: _Chart,
    name: str,
    words: str,
    caption: str,
    rows: list[Row],
    unit: Unit,
    looks: tuple[str, str, Mapping[str, str]],
) -> Figure | None:
    """Bars of ``rows`` in ``unit``; ``looks`` are what they are of, and which field has which colours."""
    if not rows:
        return None
    omitted_words = f" {plural(chart.more, 'more pair')} in the tables." if chart.more else ""
    means = (row for row in rows if row["kind"] == "mean")
    what, field, colours = looks
    return Figure(
        name=f"paired-{name}-{chart.name}",
        title=f"{chart.title}: {words}",
        caption=f"{caption}{omitted_words}",
        description="; ".join(f"{row['pair']}, {row['bar']} {row['text']} {unit.name}" for row in means),
        spec=specs.grouped_bars(
            rows, [panel.label for panel in chart.panels], f"{what} ({unit.name})", field, colours
        ),
    )


def _rate_rows(base: Row, block: DetailBlock, unit: Unit, runs: Runs) -> list[Row]:
    if block.throughput_bps is None:
        return []
    base |= {"side": _SIDE_OF[block.role]}
    read = attrgetter("throughput_bps" if block.role == "receiver" else "offered_bps")
    mean, *dots = value_rows(base, block.throughput_bps, unit.from_si, runs.get(block.case, ()), read)
    return [mean | {"text": unit.text(mean["value"])}, *(dots if len(dots) > 1 else ())]


def _cost_rows(base: Row, block: DetailBlock, unit: Unit) -> list[Row]:
    total = block.cpu_cores_per_bps
    if total is None:
        return []
    mean = base | mean_row(total, unit.from_si)
    return [mean | {"text": _SHORT(mean["value"])}] + [
        base | {"kind": "part", "part": name, "value": unit.from_si(value.mean), "order": order}
        for order, (name, value) in enumerate(_parts(block, total).items())
    ]


def _parts(block: DetailBlock, total: Estimate) -> Mapping[str, Estimate]:
    """App and IRQ CPU apart where they are different CPUs, else the one sum."""
    if block.app_cores_per_bps is None or block.irq_cores_per_bps is None:
        return {"same CPUs": total}
    return {"App CPU": block.app_cores_per_bps, "IRQ CPU": block.irq_cores_per_bps}
