# SPDX-License-Identifier: Apache-2.0
"""Networks side by side: what was generated and what was received, and the CPU it took, a panel a host pair.

Costs are those of the detail blocks: of each end's own rate (:mod:`linewatt.analysis.cases.detail`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linewatt.analysis.cases.detail import DetailBlock
from linewatt.analysis.metrics.unit import GBPS, MBPS, PER_GBPS, PER_MBPS, Unit, significant
from linewatt.analysis.statistics.stats import Estimate
from linewatt.model import Case, Direction, Role, Trial
from linewatt.report.charts import specs
from linewatt.report.charts.data import Row, Runs, mean_row
from linewatt.report.charts.figure import Figure
from linewatt.report.series import case_labels, plural, test_title
from linewatt.report.trials.charts.matrix_specs import grouped_bars
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
_ORDER: tuple[Role, Role] = ("sender", "receiver")
_SHORT = significant(3)


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


def paired_figures(blocks: Sequence[DetailBlock], runs: Runs) -> tuple[Figure, ...]:
    """Throughput and CPU per throughput of every test and direction.

    None where a result has one network and fewer than three ordered pairs: other figures show those.
    """
    wanted = [block for block in blocks if block.case.load_level is None]
    networks = {block.case.network for block in wanted}
    if len(networks) < 2 and len({block.case.hosts for block in wanted}) < 3:
        return ()
    drawn: list[Figure | None] = []
    for chart in _charts(_most_instances(wanted), several=len(networks) > 1):
        drawn += [_throughput(chart, runs), _cost(chart)]
    return tuple(figure for figure in drawn if figure is not None)


def _most_instances(blocks: Sequence[DetailBlock]) -> list[DetailBlock]:
    """Of cases that differ in instances only, those with most of them."""
    most: dict[Case, int] = {}
    for block in blocks:
        series = replace(block.case, instances=1)
        most[series] = max(most.get(series, 0), block.case.instances)
    return [one for one in blocks if one.case.instances == most[replace(one.case, instances=1)]]


def _charts(blocks: Sequence[DetailBlock], *, several: bool) -> list[_Chart]:
    directions = {block.case.direction for block in blocks}
    by_chart: dict[tuple[str, Direction], list[DetailBlock]] = {}
    for block in blocks:
        by_chart.setdefault((block.case.test, block.case.direction), []).append(block)
    charts = []
    for (test, direction), own in by_chart.items():
        panels = _panels(own, several=several)
        said = direction if len(directions) > 1 else None
        charts.append(_Chart(test, said, panels[:MOST_PANELS], max(0, len(panels) - MOST_PANELS)))
    return charts


def _panels(blocks: Sequence[DetailBlock], *, several: bool) -> tuple[_Panel, ...]:
    """Cases that differ in network and instances only share a panel."""
    found: dict[Case, dict[str, dict[Role, DetailBlock]]] = {}
    for block in blocks:
        plain = replace(block.case, network="bare", direction="forward", instances=1)
        found.setdefault(plain, {}).setdefault(_network(block, several=several), {})[block.role] = block
    labels = case_labels(found)
    return tuple(_Panel(labels[case], tuple(ends.items())) for case, ends in found.items())


def _network(block: DetailBlock, *, several: bool) -> str:
    """The network's name, and instances where there are several; empty where neither says anything."""
    count = plural(block.case.instances, "instance") if block.case.instances > 1 else ""
    return ", ".join(part for part in (block.case.network if several else "", count) if part)


def _throughput(chart: _Chart, runs: Runs) -> Figure | None:
    rates = [one.throughput_bps.mean for one in chart.blocks if one.throughput_bps is not None]
    if not rates:
        return None
    unit = GBPS if max(rates) >= BPS_PER_GBPS else MBPS
    rows: list[Row] = []
    for panel in chart.panels:
        for network, ends in panel.ends:
            for role in _ORDER:
                if role in ends:
                    rows += _rate_rows(panel.label, network, ends[role], unit, runs)
    return Figure(
        name=f"paired-throughput-{chart.name}",
        title=f"{chart.title}: generated and received",
        caption="What the sender sent and what of it the receiver got. Bar: mean of the trials; "
        f"line: standard deviation; small dots: every trial.{_left_out(chart)}",
        description=_words(rows, unit.name),
        spec=grouped_bars(rows, _labels(chart), f"Rate ({unit.name})", "side", SIDES),
    )


def _rate_rows(pair: str, network: str, block: DetailBlock, unit: Unit, runs: Runs) -> list[Row]:
    if block.throughput_bps is None:
        return []
    side = _SIDE_OF[block.role]
    base: Row = {"pair": pair, "bar": _bar(network, side), "side": side}
    mean = base | mean_row(block.throughput_bps, unit.from_si)
    read = _rate_of(block.role)
    values = [value for trial in runs.get(block.case, ()) if (value := read(trial)) is not None]
    return [mean | {"text": unit.text(mean["value"])}] + [
        base | {"kind": "run", "value": unit.from_si(value)} for value in values if len(values) > 1
    ]


def _rate_of(role: Role) -> Callable[[Trial], float | None]:
    return lambda trial: trial.throughput_bps if role == "receiver" else trial.offered_bps


def _bar(network: str, what: str) -> str:
    return f"{network}: {what}" if network else what


def _cost(chart: _Chart) -> Figure | None:
    """CPU % per unit of rate, app and IRQ CPUs stacked, a bar an end."""
    known = [one for one in chart.blocks if one.cpu_cores_per_bps is not None]
    if not known:
        return None
    rates = [one.throughput_bps.mean for one in known if one.throughput_bps is not None]
    unit = PER_GBPS if max(rates, default=0.0) >= BPS_PER_GBPS else PER_MBPS
    rows: list[Row] = []
    for panel in chart.panels:
        for network, ends in panel.ends:
            for role in _ORDER:
                if role in ends:
                    rows += _cost_rows(panel.label, network, ends[role], unit)
    return Figure(
        name=f"paired-cost-{chart.name}",
        title=f"{chart.title}: CPU per throughput at both ends",
        caption="CPU % of the app and IRQ CPUs, of what each end itself sent or received; less is better. "
        f"Line: standard deviation of the sum.{_left_out(chart)}",
        description=_words(rows, unit.name),
        spec=grouped_bars(rows, _labels(chart), f"CPU ({unit.name})", "part", PARTS),
    )


def _cost_rows(pair: str, network: str, block: DetailBlock, unit: Unit) -> list[Row]:
    total = block.cpu_cores_per_bps
    if total is None:
        return []
    base: Row = {"pair": pair, "bar": _bar(network, block.role)}
    mean = base | mean_row(total, unit.from_si)
    rows = [mean | {"text": _SHORT(mean["value"])}]
    parts = _parts(block, total)
    for order, (name, value) in enumerate(parts.items()):
        rows.append(base | {"kind": "part", "part": name, "value": unit.from_si(value.mean), "order": order})
    return rows


def _parts(block: DetailBlock, total: Estimate) -> Mapping[str, Estimate]:
    """App and IRQ CPU apart where they are different CPUs, else the one sum."""
    if block.app_cores_per_bps is None or block.irq_cores_per_bps is None:
        return {"same CPUs": total}
    return {"App CPU": block.app_cores_per_bps, "IRQ CPU": block.irq_cores_per_bps}


def _labels(chart: _Chart) -> list[str]:
    return [panel.label for panel in chart.panels]


def _left_out(chart: _Chart) -> str:
    return f" {plural(chart.more, 'more pair')} in the tables." if chart.more else ""


def _words(rows: Iterable[Row], unit: str) -> str:
    """What the figure shows, for whoever cannot see it."""
    means = (row for row in rows if row["kind"] == "mean")
    return "; ".join(f"{row['pair']}, {row['bar']} {row['text']} {unit}" for row in means)
