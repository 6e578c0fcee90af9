# SPDX-License-Identifier: Apache-2.0
"""Figures of published tables: means with whiskers, parts end to end, watts over rate and packet size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from linewatt.analysis.metrics import significant_digits
from linewatt.analysis.power import Breakdown, PacketEnergy
from linewatt.features.tables.published import Components, Mean, MeanRow, Means, PacketPower
from linewatt.report import test_title
from linewatt.report.charts import Figure, Row, Spec, specs
from linewatt.report.trials import component_caption, component_spec, component_words

BESIDE = ("kernel", "network", "os")
"""columns whose levels stand side by side in one panel"""
MOST_ROWS, MOST_BARS, MOST_PARTS = 24, 60, 40
"""that are drawn; the tables have all"""
_SHORT = significant_digits(3)
_COST = {"cpu_pct_per_mbps": "% per Mbps", "cpu_pct_per_gbps": "% per Gbps"}
_IDLE = "idle"


def parts_of(name: str, figures: Sequence[str]) -> tuple[str, str]:
    """``app_usr`` → (``app``, ``usr``) where other figures begin alike; else ("", name)."""
    head, _, tail = name.partition("_")
    alike = sum(figure.partition("_")[0] == head for figure in figures)
    return (head, tail) if tail and alike > 1 else ("", name)


@dataclass(frozen=True, slots=True)
class _Test:
    """The rows of one test, and all that the table has."""

    name: str
    rows: Sequence[MeanRow]
    found: Means

    def label(self, row: MeanRow) -> str:
        """What tells panels apart."""
        names = (name for name in self.found.names if name not in (*BESIDE, "test"))
        return ", ".join(row.names[name] for name in names if self._varies(name))

    def beside(self, row: MeanRow) -> str:
        """What tells bars of a panel apart, where it varies at all."""
        names = (name for name in self.found.names if name in BESIDE)
        return " ".join(row.names[name] for name in names if self._varies(name))

    def _varies(self, name: str) -> bool:
        return len({row.names[name] for row in self.found.rows}) > 1

    def single(self, row: MeanRow, what: str, value: float, text: str) -> Row:
        """The bar of a figure of which a row has one."""
        bar = self.beside(row) or what
        pair = self.label(row) or self.name
        return {"kind": "mean", "pair": pair, "bar": bar, "value": value, "text": text, "part": what}

    def figure(self, what: str, axis: str, rows: Sequence[Row], caption: str) -> Iterator[Figure]:
        """Bars in a panel each; none where there is nothing to draw."""
        if not rows:
            return
        is_complete = len(self.found.rows) <= MOST_ROWS and len(rows) <= MOST_BARS
        rows = rows[:MOST_BARS]
        looks = {row["part"]: specs.SHARE_COLOURS.get(row["part"], specs.RECEIVER) for row in rows}
        pairs = list(dict.fromkeys(row["pair"] for row in rows))
        yield Figure(
            name=f"{what}-{self.name or 'all'}".replace(" ", "-"),
            title=f"{test_title(self.name)}: {what}" if self.name else what,
            caption=caption if is_complete else f"{caption} Only the first are drawn; the table has all.",
            description="; ".join(f"{row['pair']} {row['bar']} {row['text']}" for row in rows),
            spec=specs.grouped_bars(rows, pairs, axis, "part", looks),
        )


def of_means(means: Means) -> tuple[Figure, ...]:
    """Of each test its throughput, the CPU it cost, and a chart of the published means."""
    by_test: dict[str, list[MeanRow]] = {}
    for row in means.rows[:MOST_ROWS]:
        by_test.setdefault(row.names.get("test", ""), []).append(row)
    tests = [_Test(name, rows, means) for name, rows in by_test.items()]
    return tuple(figure for test in tests for figure in (*_throughput(test), *_cost(test), *_means(test)))


def _means(test: _Test) -> Iterator[Figure]:
    rows = [bar for row in test.rows for bar in _mean_bars(test, row)]
    shares = all(row["part"] in specs.SHARE_COLOURS for row in rows)
    caption = "Bar: published mean; line: ± its published SD. What is 0 in every run, and idle, is left out."
    yield from test.figure("published means", "% of one CPU" if shares else "Mean", rows, caption)


def _mean_bars(test: _Test, row: MeanRow) -> Iterator[Row]:
    for name, mean in row.means.items():
        group, title = parts_of(name, test.found.figures)
        is_throughput = row.throughput is not None and name == row.throughput.column
        if mean is None or is_throughput or title == _IDLE or not (mean.value or mean.sd):
            continue
        words = (test.label(row), f"{group} CPU" if group else "")
        yield {
            "kind": "mean",
            "pair": ", ".join(part for part in words if part) or test.name,
            "bar": " ".join(part for part in (test.beside(row), title) if part),
            "value": mean.value,
            "text": _with_sd(mean),
            "part": title,
            **_whiskers(mean),
        }


def _whiskers(mean: Mean) -> Row:
    return {} if mean.sd is None else {"low": mean.value - mean.sd, "high": mean.value + mean.sd}


def _with_sd(mean: Mean) -> str:
    return f"{mean.text} ± {mean.sd_text}" if mean.sd_text else mean.text


def _throughput(test: _Test) -> Iterator[Figure]:
    """As printed, where all rows of a test have one unit."""
    rates = [(row, row.throughput) for row in test.rows if row.throughput is not None]
    units = {rate.unit for _, rate in rates}
    if len(units) == 1:
        rows = [
            test.single(row, "throughput", rate.mean.value, _with_sd(rate.mean)) | _whiskers(rate.mean)
            for row, rate in rates
        ]
        axis = f"Throughput ({units.pop()})"
        yield from test.figure(
            "throughput", axis, rows, _throughput_caption([rate.mean for _, rate in rates])
        )


def _throughput_caption(means: Sequence[Mean]) -> str:
    lacking = sum(mean.sd is None for mean in means)
    if lacking == len(means):
        return "As printed; the table has no SD of it."
    without = " No line: the table has no SD of it." if lacking else ""
    return f"Bar: published mean; line: ± its published SD.{without}"


def _cost(test: _Test) -> Iterator[Figure]:
    caption = "App and IRQ CPU over the throughput. What its SD is does not follow from those of its parts."
    for name, unit in _COST.items():
        costs = [(row, row.derived.get(name)) for row in test.rows]
        rows = [test.single(row, "CPU", value, _SHORT(value)) for row, value in costs if value is not None]
        if rows:
            yield from test.figure("CPU per throughput", f"CPU per throughput ({unit})", rows, caption)
            return


def of_components(components: Components) -> tuple[Figure, ...]:
    """The parts end to end."""
    parts = Breakdown("", components.parts)
    spec = component_spec(parts)
    if spec is None or len(components.parts) > MOST_PARTS:
        return ()
    caption = component_caption(parts, f"{components.total_w:g} W")
    return (Figure("components", "Where the watts go", caption, component_words(parts), spec),)


def of_readings(packet_power: PacketPower) -> tuple[Figure, ...]:
    """Watts over rate, a line a packet size; then what a packet costs over its size."""
    rows = _by_size(packet_power)
    last = {row["size"]: row for row in rows}
    ends = [end | {"kind": "end", "text": f"{size:g} B"} for size, end in last.items()]
    end_values = (f"{end['text']}: {end['value']:.1f} W at {end['x']:g} Gbps" for end in ends)
    watts = Figure(
        name="packet-power",
        title="Watts over the rate of a port",
        caption="Point: mean of the readings at a rate; one line per packet size, named at its end.",
        description="; ".join(end_values),
        spec=_curves([*rows, *ends], "Rate of each port (Gbps)", "Power (W)"),
    )
    return (watts,) if packet_power.model is None else (watts, _packet_cost(packet_power.model))


def _by_size(packet_power: PacketPower) -> list[Row]:
    """The mean of the readings at each size and rate, by size, then rate."""
    by: dict[tuple[float, float], list[float]] = {}
    for reading in packet_power.readings:
        by.setdefault((reading.size_bytes, reading.rate_bps), []).append(reading.power_w)
    return [
        {"kind": "mean", "size": size, "x": rate / 1e9, "value": fmean(watts)}
        for (size, rate), watts in sorted(by.items())
    ]


def _packet_cost(model: PacketEnergy) -> Figure:
    rows: list[Row] = [
        {"kind": "mean", "size": 0, "x": fit.size_bytes, "value": fit.packet_j * 1e9} for fit in model.fits
    ]
    words = f"{model.bit_j * 1e12:.3g} pJ/bit, {model.packet_j * 1e9:.3g} nJ/packet"
    return Figure(
        name="packet-cost",
        title="What a packet costs by its size",
        caption="The slope is the cost of a bit; what is left without any bit is that of a packet.",
        description="; ".join(f"{row['x']:g} B: {row['value']:.1f} nJ" for row in rows),
        spec=_curves(
            [*rows, rows[-1] | {"kind": "end", "text": words}],
            "Packet size (B)",
            "Energy of a packet in a port (nJ)",
            inward=True,
        ),
    )


def _curves(rows: Sequence[Row], across: str, up: str, *, inward: bool = False) -> Spec:
    """Lines with their names at the end: outside, or ``inward`` on scales from 0."""
    zero: Mapping[str, bool] = {"zero": inward}
    x = {"field": "x", "type": "quantitative", "title": across, "scale": zero}
    y = {"field": "value", "type": "quantitative", "title": up, "scale": zero}
    aside = {"align": "right", "dx": -8, "dy": -10} if inward else {"align": "left", "dx": 8}
    by_size = {"detail": {"field": "size", "type": "nominal"}}
    line = {"type": "line", "strokeWidth": 1.5}
    named = {"text": {"field": "text"}, "color": {"value": "currentColor"}}
    layers: list[Spec] = [
        {"transform": specs.only(kind="mean"), "mark": line, "encoding": by_size},
        {"transform": specs.only(kind="mean"), "mark": {"type": "point", "filled": True, "size": 26}},
        {"transform": specs.only(kind="end"), "mark": {"type": "text", **aside}, "encoding": named},
    ]
    encoding = {"x": x, "y": y, "color": {"value": specs.RECEIVER}}
    chart = {"data": {"values": list(rows)}, "width": 460, "height": 260, "layer": layers}
    around = {"left": 5, "top": 5, "right": 24 if inward else 70, "bottom": 5}
    return specs.themed(chart | {"encoding": encoding, "padding": around})
