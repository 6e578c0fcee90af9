# SPDX-License-Identifier: Apache-2.0
"""Throughput, efficiency and CPU by role of all cases: lines where instances vary, else bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from linewatt.analysis.cases import CaseSummary, mean_bps
from linewatt.analysis.metrics import KPPS, MBPS_PER_CORE, METRIC_BY_NAME, MPPS, Unit
from linewatt.missing import value_or_none
from linewatt.model import CpuShares, Trial
from linewatt.report.charts import data, specs
from linewatt.report.charts.data import END_NAMES, Row, Runs
from linewatt.report.charts.figure import Figure
from linewatt.report.charts.specs import Spec
from linewatt.report.columns import ROLES
from linewatt.report.series import Series, TestGroup, by_test, instances_text, plural, test_title
from linewatt.report.trials.charts.lines import Line, LineChart, Point, Quantity
from linewatt.sizes import of_small_packets
from linewatt.units import format_percent, format_rate, mbps_from_bps, percent_from_cores, percent_from_ratio

_MOST_ROWS = 24
MOST_BARS = 40
"""in one figure; of more the highest and the lowest"""
_ALIKE = 1.01
"""lines whose rates differ by less are one"""
_MOST_OF_REASON = 24
"""characters, as wide as the place of a bar"""
_BUSY_SHARES = ("usr", "sys", "irq", "soft", "other")
_EFFICIENCY = Quantity("efficiency", MBPS_PER_CORE.name, mbps_from_bps)
_CPU = Quantity("CPU used", "%", percent_from_cores)
_ALL_CPUS = "All CPUs of each end together; 100 % is one full core."
_PER_CORE = "Throughput for each core of CPU used at either end; higher is better."
_BARS = "Bar: mean of the trials; line: standard deviation; small dots: every trial."


def figures(groups: Sequence[TestGroup], runs: Runs) -> tuple[Figure, ...]:
    """All figures of a result: lines where instances vary, bars where they do not, then CPU by role."""
    drawn: list[Figure | None] = []
    for group in groups:
        series = [case_series for case_series in group.series if measured(case_series) > 1]
        drawn += [chart.figure(runs) for chart in line_charts(group, series, runs)] if series else []
    single = [series for group in groups for series in group.series if measured(series) == 1]
    bars = data.few(single, top_bps, MOST_BARS, 10)
    omitted_words = data.few_words(bars, single, "series")
    drawn += [_throughput_bars(bars, runs, omitted_words), _efficiency_bars(bars, runs, omitted_words)]
    cases = sum(len(group.summaries) for group in groups)
    parts = [tuple(groups)] if cases <= _MOST_ROWS else [(group,) for group in groups]
    drawn += map(_role_figure, parts)
    return tuple(figure for figure in drawn if figure)


def measured(series: Series) -> int:
    """How many cases of a series have a throughput."""
    return sum(summary.throughput_bps is not None for summary in series.summaries)


def top_bps(series: Series) -> float:
    """The largest throughput of a series; 0 where none of its cases has any."""
    return max(map(mean_bps, series.summaries), default=0.0)


@dataclass(frozen=True, slots=True)
class Rate:
    """What the throughput of a test is counted in: bits, or packets where these are small."""

    unit: Unit
    metric: str

    @property
    def quantity(self) -> Quantity:
        return Quantity("throughput", self.unit.name, self.unit.from_si)

    def points(self, series: Series) -> Iterator[Point]:
        return _points(series, {self.metric: ""})

    def line(self, series: Series, runs: Runs) -> Line:
        """A series with what the line between its hosts can carry, and what was offered of a rate."""
        return Line(series.label, tuple(self.points(series)), *self._references(series, runs))

    def _references(self, series: Series, runs: Runs) -> tuple[float | None, tuple[tuple[float, float], ...]]:
        rates = [
            trial.line_goodput_bps for summary in series.summaries for trial in runs.get(summary.case, ())
        ]
        goodputs_bps = {rate for rate in rates if rate}
        alike = goodputs_bps and None not in rates and max(goodputs_bps) <= _ALIKE * min(goodputs_bps)
        scale = [
            units_per_bit
            for summary in series.summaries
            if (units_per_bit := self._per_bit(summary)) is not None
        ]
        line_rate = max(goodputs_bps) * max(scale) if alike and scale else None
        offered = (
            (float(summary.case.instances), bps * per_bit)
            for summary in series.summaries
            if (bps := _offered_bps(summary)) is not None and (per_bit := self._per_bit(summary)) is not None
        )
        return line_rate, tuple(offered)

    def _per_bit(self, summary: CaseSummary) -> float | None:
        """What one bit of throughput is in SI of this rate."""
        counted, bits = summary.values.get(self.metric), summary.throughput_bps
        if counted is None or bits is None or bits.mean <= 0:
            return None
        return counted.mean / bits.mean


def rate_of(series: Sequence[Series]) -> Rate:
    """Packets for tests of small ones, as far as they were counted; else bits."""
    measured = [
        summary
        for case_series in series
        for summary in case_series.summaries
        if summary.throughput_bps is not None
    ]
    packets = [summary.values.get("packets_per_s") for summary in measured]
    if packets and all(of_small_packets(case_series.test) for case_series in series) and None not in packets:
        top = max(value.mean for value in packets if value is not None)
        return Rate(MPPS if top >= 1e6 else KPPS, "packets_per_s")
    return Rate(METRIC_BY_NAME["throughput_bps"].unit(measured), "throughput_bps")


def _offered_bps(summary: CaseSummary) -> float | None:
    """What was offered of a rate: of UDP what the sender sent, of TCP what was asked for."""
    case = summary.case
    if case.is_tcp:
        return None if case.rate_bps is None else case.rate_bps * case.processes
    return summary.offered_bps.mean if summary.offered_bps is not None else None


def line_charts(group: TestGroup, series: Sequence[Series], runs: Runs) -> Iterator[LineChart]:
    """Throughput with its references, CPU used and efficiency of both ends."""
    rate = rate_of(series)
    lines = [rate.line(case_series, runs) for case_series in series]
    yield _chart("throughput", group, rate.quantity, lines, ideal=True)
    for name, quantity, metric, caption, ideal in (
        ("cpu", _CPU, "{role}_cpu_cores", _ALL_CPUS, True),
        ("efficiency", _EFFICIENCY, "efficiency_{role}_bps_per_core", _PER_CORE, False),
    ):
        of_ends = [Line(case_series.label, tuple(_of_ends(case_series, metric))) for case_series in series]
        yield _chart(name, group, quantity, of_ends, caption, ideal=ideal)


def _chart(
    name: str,
    group: TestGroup,
    quantity: Quantity,
    lines: Sequence[Line],
    caption: str = "",
    *,
    ideal: bool = False,
) -> LineChart:
    title = f"{group.title}: {quantity.words} against instances"
    drawn = [line for line in lines if line.points]
    return LineChart(f"{name}-{group.test}", title, quantity, drawn, caption, ideal)


def _of_ends(series: Series, metric: str) -> Iterator[Point]:
    """A metric of both ends of each case that has it."""
    return _points(series, {metric.format(role=role): name for role, name in END_NAMES.items()})


def _points(series: Series, parts: Mapping[str, str]) -> Iterator[Point]:
    """Of each case the metrics that it has, each under the name of its part."""
    for summary in series.summaries:
        count = summary.case.instances
        for metric, part in parts.items():
            value = summary.values.get(metric)
            if value is not None:
                read = partial(_metric_of, metric)
                yield Point(count, plural(count, "instance"), summary.case, value, read, part)


def _metric_of(name: str, trial: Trial) -> float | None:
    read = METRIC_BY_NAME[name].read
    return value_or_none(read(trial)) if read else None


def _throughput_bars(single: Sequence[Series], runs: Runs, omitted_words: str) -> Figure | None:
    """Throughput of the series with one instance count: a bar each, with its value; a panel a test."""
    rows, axes = [], {}
    for group in by_test(single):
        rate = rate_of(group.series)
        axes[group.title] = rate.quantity.title
        rows += [
            row | {"text": _rate_text(point.value.mean, rate), "panel": group.title}
            for series in group.series
            for point in rate.points(series)
            for row in _bar_rows(series, point, rate.unit.from_si, runs)
        ]
    if not rows:
        return None
    return Figure(
        name="throughput-tests",
        title="Throughput of tests with one instance count",
        caption=f"{_BARS}{omitted_words}",
        description="; ".join(f"{row['series']}: {row['text']}" for row in rows if row["kind"] == "mean"),
        spec=specs.bars(rows, axes, {"color": {"value": specs.RECEIVER}}),
    )


def _rate_text(value: float, rate: Rate) -> str:
    """``3.737 Gbps`` or ``90.90 Mbps``, each in its own unit; packets in that of their axis."""
    return format_rate(value, 4) if rate.metric == "throughput_bps" else rate.quantity.text(value)


def _efficiency_bars(single: Sequence[Series], runs: Runs, omitted_words: str) -> Figure | None:
    """Efficiency of both ends of the series with one instance count; a panel a test."""
    metric = "efficiency_{role}_bps_per_core"
    rows = [
        row | {"text": MBPS_PER_CORE.text(row["value"]), "part": point.part, "panel": test_title(series.test)}
        for series in single
        for point in _of_ends(series, metric)
        for row in _bar_rows(series, point, mbps_from_bps, runs)
    ]
    if not rows:
        return None
    ends = list(END_NAMES.values())
    offset_encoding = {"yOffset": {"field": "part", "type": "nominal", "sort": None}}
    lines = (Line(series.title, tuple(_of_ends(series, metric))) for series in single)
    return Figure(
        name="efficiency-tests",
        title="Efficiency of tests with one instance count",
        caption=f"{_PER_CORE} {_BARS}{omitted_words}",
        description="; ".join(line.words(_EFFICIENCY) for line in lines),
        spec=specs.bars(
            rows,
            {row["panel"]: _EFFICIENCY.title for row in rows},
            {"color": specs.colours("part", ends, {})} | offset_encoding,
        ),
    )


def _bar_rows(series: Series, point: Point, from_si: Callable[[float], float], runs: Runs) -> list[Row]:
    """Of a series of one case: complete, and with its instances unless there is one."""
    label = series.title if point.x == 1 else f"{series.title}, {point.place}"
    return data.value_rows({"series": label}, point.value, from_si, runs.get(point.case, ()), point.read)


def _role_figure(groups: Sequence[TestGroup]) -> Figure | None:
    """How the CPUs of each role spent the window, stacked, a row a case."""
    labelled_cases = [
        (_case_label(g, line, s), s) for g in groups for line in g.series for s in line.summaries
    ]
    cases = data.few(labelled_cases, _busiest, MOST_BARS, 10)
    rows = [row for label, summary in cases for row in _share_rows(label, summary)]
    names = {row["share"] for row in rows if row["kind"] == "share"}
    if not names:
        return None
    labels = [label for label, _ in cases]
    places = {"field": "case", "type": "nominal", "title": None, "scale": {"domain": labels}}
    unknown = {"type": "text", "align": "left", "fontStyle": "italic"}
    at_left = {"x": {"value": 4}, "color": {"value": specs.MUTED}, "text": {"field": "reason"}}
    panel: Spec = {
        "width": 190,
        "height": {"step": 22},
        "layer": [
            _share_layer([name for name in specs.SHARE_COLOURS if name in names]),
            {"transform": specs.only(kind="unknown"), "mark": unknown, "encoding": at_left},
        ],
        "encoding": {"y": places},
    }
    facet = {"column": specs.panels("role", [title for _, title in ROLES])}
    spec: Spec = {"data": {"values": rows}, "facet": facet, "spec": panel, "spacing": 14}
    group = groups[0] if len(groups) == 1 else None
    return Figure(
        name=f"roles-{group.test}" if group else "roles",
        title=f"{group.title + ': w' if group else 'W'}here the CPU went, by role",
        caption="Mean share of the window on the CPUs that ran the load (app) and on those that served its "
        "interrupts (IRQ), each per CPU; the rest to 100 % is idle."
        + data.few_words(cases, labelled_cases, "cases"),
        description=f"Busy. {'; '.join(_share_words(*case) for case in cases)}",
        spec=specs.themed(spec | specs.room(labels)),
        wide=True,
    )


def _busiest(case: tuple[str, CaseSummary]) -> float:
    """How busy the busiest CPUs of a case were."""
    return max((share.busy_ratio for share in _shares(case[1]).values() if share), default=0.0)


def _shares(summary: CaseSummary) -> dict[str, CpuShares | None]:
    """Of each role's CPUs, by its field."""
    return {field: getattr(summary, field) for field, _ in ROLES}


def _case_label(group: TestGroup, series: Series, summary: CaseSummary) -> str:
    """A case among those of all tests: ``TCP, 4 instances``, with its series where the test has several."""
    name = group.title if len(group.series) == 1 else series.title
    return f"{name}, {instances_text(summary.case)}"


def _share_rows(label: str, summary: CaseSummary) -> Iterator[Row]:
    """Shares of each role's CPUs in percent, a row a share above 0; an ``unknown`` row for none."""
    titles = dict(ROLES)
    for field, shares in _shares(summary).items():
        base = {"case": label, "role": titles[field]}
        if shares is None:
            yield base | {"kind": "unknown", "reason": _why_unknown(summary, field)}
            continue
        for order, name in enumerate(_BUSY_SHARES):
            value = percent_from_ratio(getattr(shares, f"{name}_ratio"))
            if value > 0:
                yield base | {"kind": "share", "share": name, "percent": value, "order": order}


def _why_unknown(summary: CaseSummary, field: str) -> str:
    """Why the shares of a role are not known, if that fits into its place: ``not pinned``."""
    host = summary.case.sender if field.startswith("sender") else summary.case.receiver
    reason = summary.reasons.get(field, "").removeprefix(f"{host}: ")
    return reason if 0 < len(reason) <= _MOST_OF_REASON else "not measured"


def _share_words(label: str, summary: CaseSummary) -> str:
    """How busy each role's CPUs were in a case, for whoever cannot see it."""
    titles = dict(ROLES)
    busy = {
        field: _why_unknown(summary, field) if shares is None else format_percent(1 - shares.idle_ratio, 0)
        for field, shares in _shares(summary).items()
    }
    return f"{label}: {', '.join(f'{titles[field]} {words}' for field, words in busy.items())}"


def _share_layer(names: Sequence[str]) -> Spec:
    axis: Spec = {"values": [0, 50, 100], "labelExpr": "datum.value + ' %'", "labelFlush": True}
    shown = {name: specs.SHARE_COLOURS[name] for name in names}
    return {
        "transform": specs.only(kind="share"),
        "mark": specs.SHARE_BAR,
        "encoding": {
            "x": specs.amount("percent", None, (0, 100), **axis) | {"stack": "zero"},
            "color": specs.looks("share", shown, {"title": None}),
            "order": {"field": "order", "type": "quantitative"},
        },
    }
