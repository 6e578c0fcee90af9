# SPDX-License-Identifier: Apache-2.0
"""What each shipped table is of, and what of its published figures linewatt derives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.gallery.values import Line, Status, Study, Value, absent, compared, shown

from linewatt.analysis.cases.analyse import analyse_series
from linewatt.delimited import Table, read_table
from linewatt.features.tables import published
from linewatt.features.tables.declared_parts import read_declared_parts
from linewatt.features.tables.derive import derive
from linewatt.features.tables.inputs import RECOGNISED
from linewatt.features.tables.kinds import import_any
from linewatt.features.tables.means_limits import analyse_means
from linewatt.features.tables.published import MeanRow
from linewatt.features.tables.quantities import published as soak_summary
from linewatt.features.tables.view import view
from linewatt.model import ENDS
from linewatt.report.charts.figure import Figure
from linewatt.report.trials.charts.components import end_breakdowns
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.sections import page_sections
from linewatt.store.read import Result, load_result
from linewatt.store.write import ImportedTrial, imported_manifest, write_imported

TABLES = Path(__file__).resolve().parents[2] / "docs" / "published"
STAMP_S = 1.7e9
"""of results that are made for the page and thrown away"""
SHOW, FULL, DETAIL = "`linewatt show last`", "`linewatt show last --full`", "`linewatt show last --detail`"
JSON = "`linewatt show last --json`"
DERIVE = "`linewatt derive docs/published/x64_scaling_ports.csv`"
REPORT, ANALYZE = "`linewatt report last`", "`linewatt analyze last`"
STUDIED_PAIRS = 6
COMPONENTS = "x64_components"


@dataclass(frozen=True, slots=True)
class Read:
    """A shipped table: as it is, what is derived of it, as a stored result, and the figures of its report."""

    table: Table
    derived: tuple[Mapping[str, float | None], ...]
    result: Result
    figures: Mapping[str, Figure]

    def column(self, name: str) -> list[str]:
        return [row.cells[name] for row in self.table.rows]

    def values(self, printed: str, derived: str, names: Sequence[str], *, cut: bool = False) -> list[Value]:
        cells = zip(names, self.column(printed), self.derived, strict=True)
        return [Value(at, cell, row[derived], cut) for at, cell, row in cells]

    def named(self, *names: str) -> tuple[str, ...]:
        """Those figures that there are."""
        return tuple(name for name in names if name in self.figures)


def read(name: str, root: Path, components: str | None = None) -> Read:
    """Import a shipped table below ``root``, with the components of its host, as the command does."""
    path = TABLES / f"{name}.csv"
    table, _ = read_table(path.read_bytes(), path.name, known=RECOGNISED)
    derived = derive(table).values if set(table.columns) & set(RECOGNISED) else ()
    kind, found = import_any(table, path.name, STAMP_S)
    text, without_trials = path.read_text(encoding="utf-8"), None if kind.trials else kind.name
    head = (name, path.name, text, STAMP_S)
    manifest = imported_manifest(*head, found.trials, found.hosts, found.factors, without_trials)
    if components is not None:
        parts = read_declared_parts([str(TABLES / f"{components}.csv")], path.name, kind, found)
        manifest["campaign"]["components"] = parts.as_document
    result = load_result(write_imported(root, manifest, map(ImportedTrial, found.trials)))
    return Read(table, derived, result, _figures(result))


def _figures(result: Result) -> dict[str, Figure]:
    if result.imported_kind:
        return {one.name: one for one in view(result).figures}
    results, details, _ = page_sections(digest_of(result))
    return {one.figure.name: one.figure for part in (*results, *details) for one in part.figures}


def scaling(root: Path) -> Study:
    """000: instances of one server."""
    found = read("x64_scaling_ports", root, COMPONENTS)
    at = [f"{cell} instance{'s' * (cell != '1')}" for cell in found.column("instances")]

    def raw(what: str, column: str, unit: str, picture: str) -> Line:
        return shown(what, REPORT, f"{', '.join(found.column(column))} {unit}", picture, found.figures)

    def made(what: str, column: str, *pictures: str) -> Line:
        values = found.values(f"published_{column}", column, at)
        return compared(what, DERIVE, values, *found.named(*pictures))

    lines = (
        raw("Throughput against instances", "throughput_mbps", "Mbps", "throughput-tcp"),
        raw("Figure 2: CPU against instances", "remote_cpu_pct", "%", "cpu-tcp"),
        made("Mbps per core against instances", "mbps_per_core", "efficiency-tcp"),
        made("Mbps per core at 3 GHz", "mbps_per_core_3ghz"),
        made("Scaling factor", "scaling_factor"),
        raw("Watts against instances", "psu_out_w", "W", "power-tcp-receiver-1"),
        made("System Mbps/W against instances", "system_mbps_per_w", "power-efficiency-tcp-receiver-1"),
        made("CPU Mbps/W against instances, same picture", "cpu_mbps_per_w"),
        made("CPU part of the power, %", "cpu_power_pct"),
        *_series_lines(found),
        *_parts_lines(found),
    )
    words = (
        "One 32-core x64 server, one 100 GbE card, 1 to 8 iperf3 instances on one port and 16 on both. This "
        "table and the components reproduce all of its Figures 1–6; of their numbers only that of Figure 2 "
        "is known here."
    )
    title = "000: a server with 1 to 16 instances"
    return Study(title, "x64_scaling_ports", words, lines, found.figures, COMPONENTS)


def _series_lines(found: Read) -> Iterator[Line]:
    """Regimes, the row whose power stands out, what the last doubling cost, and the hidden ceiling."""
    (series,) = (one for group in digest_of(found.result).groups for one in group.series)
    told = analyse_series(series.title, series.summaries)
    printed, regimes = found.column("regime"), [row.regime for row in told.regimes]
    counts = found.column("instances")
    off = [at for at, (one, other) in enumerate(zip(printed, regimes, strict=True)) if one != other]
    why = "; ".join(f"{counts[at]} instances: {told.regimes[at].why}" for at in off)
    status: Status = "**not met**" if off else "met"
    yield Line("Regime", ANALYZE, ", ".join(printed), ", ".join(regimes), why or "none", status)
    step = told.steps[-1]
    outliers = [one for one in told.findings if one.kind == "power-outlier"]
    fewer_w = -(step.receiver_power_w or 0.0)
    seen = [one.instances for one in outliers] == [8] and round(fewer_w) == 90
    yield Line(
        "8 instances draw 90 W more than 16, and not by the CPU",
        ANALYZE,
        "90 W; the fans",
        f"{fewer_w:.2f} W; {'; '.join(one.message for one in outliers)}",
        "no fan is in the table: its speed is named as what to look at",
        "met" if seen else "**not met**",
    )
    growth = [
        Value(what, text, ratio and 100 * ratio, cut=True)
        for what, text, ratio in (
            ("CPU", "42", step.receiver_cpu_ratio),
            ("throughput", "17", step.throughput_ratio),
        )
    ]
    yield compared("From 8 to 16 instances, %: more CPU, more throughput", ANALYZE, growth)
    hidden = [finding for finding in told.findings if finding.kind == "hidden-ceiling"]
    yield Line(
        "The card's inner limit of 100 Gbps in sum",
        ANALYZE,
        "16 instances, by its datasheet",
        "; ".join(f"{finding.instances} instances: {finding.message}" for finding in hidden) or "not named",
        hidden[0].evidence[-1] if hidden else "no case stands at a level that nothing explains",
        "met" if [finding.instances for finding in hidden] == [16] else "**not met**",
    )


def _parts_lines(found: Read) -> Iterator[Line]:
    """Where the watts of 16 instances go: the CPU as the series has it, the others as published."""
    (end,) = end_breakdowns(digest_of(found.result))
    source = TABLES / f"{COMPONENTS}.csv"
    table, _ = read_table(source.read_bytes(), source.name, known=RECOGNISED)
    left_w = end.breakdown.rest.power_w if end.breakdown.rest else None
    derived = {part.name: part.power_w for part in end.breakdown.parts}
    values = [
        Value(row.cells["component"], row.cells["power_w"], derived.get(row.cells["component"]))
        for row in table.rows
    ]
    names = ", ".join(value.at for value in values)
    chart = found.named("components-receiver")
    yield compared(f"Components with 16 instances, W: {names}", REPORT, values, *chart)
    sums = [Value("PSU output", "249", end.breakdown.system_w), Value("left over", "0", left_w)]
    yield compared("PSU output with 16 instances, and what the components leave of it, W", FULL, sums)


def matrix(root: Path) -> Study:
    """001: host blocks."""
    found = read("arm_vs_intel_all", root)
    cells = [row.cells for row in found.table.rows]
    at = [f"{one['test']}, {one['sender']} → {one['receiver']}, {one['host']}" for one in cells]

    def costs(printed: str, stem: str) -> list[Value]:
        rows = zip(at, cells, found.derived, strict=True)
        per = {"Mbits/sec": "mbps", "Gbits/sec": "gbps"}
        return [
            Value(name, one[printed], row[f"{stem}_{per[one['throughput_unit']]}"], cut=True)
            for name, one, row in rows
        ]

    used = found.values("published_cpu_used_pct", "cpu_used_pct", at, cut=True)
    per_unit = "per Gbit/s (UDP 60: per Mbit/s)"
    lines = (
        compared("Blocks: CPU used, %", DETAIL, used, *found.named("roles")),
        compared(f"Blocks: CPU %, {per_unit}", DETAIL, costs("published_cpu_per_tput", "cpu_pct_per")),
        compared(f"Blocks: W above idle, {per_unit}", DETAIL, costs("published_w_per_tput", "dynamic_w_per")),
        *(_pairs(found, cells, test, title) for test, title in _TESTS.items()),
    )
    words = (
        f"Every ordered pair of an 80-core Arm server and two Xeons: {len(cells)} blocks, one for each end "
        "of each pair and test. Its costs are truncated, not rounded."
    )
    return Study("001: a matrix of three hosts", "arm_vs_intel_all", words, lines, found.figures)


_TESTS = {"tcp": "TCP", "udp-1500": "UDP 1500", "udp-60": "UDP 60"}


def _pairs(found: Read, cells: Sequence[Mapping[str, str]], test: str, title: str) -> Line:
    there = sum(one["test"].startswith(test) and one["role"] == "receiver" for one in cells)
    lacking = STUDIED_PAIRS - there
    return Line(
        f"{title}: matrix of all pairs, CPU and W above idle per throughput at both ends",
        REPORT,
        f"{STUDIED_PAIRS} pairs",
        f"{there} pairs",
        f"{lacking} pairs are not in the table: their fields are empty" if lacking else "none",
        "cannot be" if lacking else "met",
        found.named(
            f"matrix-throughput_bps-{test}",
            f"paired-cost-{test}",
            *(f"matrix-{role}_dynamic_w_per_bps-{test}" for role in ENDS),
        ),
    )


def vxlan(root: Path) -> Study:
    """003: means and SDs."""
    found = read("vxlan", root)
    rows = published.means(found.table, "vxlan.csv").rows
    tests = [(test, [row for row in rows if row.names["test"] == test]) for test in _TESTS]
    lines = [line for test, own in tests for line in _of_test(found, test, own)]
    lines += [_limits(found), *(absent(what, why) for what, why in _NOT_IN_VXLAN)]
    words = (
        "Two hosts through a VXLAN tunnel, both ways, with kernel 6.9.0-rc4 (ELN) and with that of RHEL 9.4: "
        "mean and SD over 10 runs. The single runs are not published, so there are no trials. The study has "
        "eighteen bar charts; these are the ones whose figures are available here. Both directions share a "
        "chart, and in it the kernels are beside each other."
    )
    return Study("003: VXLAN, mean ± SD", "vxlan", words, tuple(lines), found.figures)


def _of_test(found: Read, test: str, rows: Sequence[MeanRow]) -> Iterator[Line]:
    per = "Mbps" if test == "udp-60" else "Gbps"
    title = f"{_TESTS[test]}, receive and send"
    costs = [
        Value(
            " ".join((row.names["direction"], row.names["kernel"])),
            row.printed["published_cpu_pct_per_unit"],
            cost,
            read_off=True,
        )
        for row in rows
        for cost in (row.derived[f"cpu_pct_per_{per.lower()}"],)
    ]
    yield compared(f"{title}: CPU % per {per}", REPORT, costs, *found.named(f"CPU-per-throughput-{test}"))
    rates = ", ".join(
        f"{row.printed['published_throughput']} {row.printed['published_unit']}" for row in rows
    )
    yield shown(
        f"{title}: throughput (no whiskers: no SD in the table)",
        REPORT,
        rates,
        f"throughput-{test}",
        found.figures,
    )
    count = sum(one is not None for row in rows for one in row.means.values())
    means, name = f"{count} means, each with its SD", f"published-means-{test}"
    yield shown(f"{title}: App and IRQ CPU with whiskers", REPORT, means, name, found.figures)


def _limits(found: Read) -> Line:
    """What limits each row of both kernels; the study names it for TCP received and UDP sent."""
    analyses = analyse_means(published.means(found.table, "vxlan.csv"))
    kinds = [
        (analysis.title.partition(", ")[2], finding.kind)
        for analysis in analyses
        for finding in analysis.findings
    ]
    named = "; ".join(f"{row}: {kind}" for row, kind in dict.fromkeys(kinds))
    studied = {"tcp, receive": "receiver-irq-cpu", "udp-1500, send": "sender-app-cpu"}
    met = all(kinds.count((row, kind)) == 2 for row, kind in studied.items())
    return Line(
        "What limits each case",
        ANALYZE,
        "TCP: the receiver's IRQ CPU at 99.9 % soft; UDP: the sender's app CPU",
        f"{named}; of both kernels",
        "none of TCP sent: nothing is known of the receiver then",
        "met" if met else "**not met**",
    )


_NOT_IN_VXLAN = (
    ("The bare network's charts", "the table has the tunnel only"),
    ("Throughput generated beside received", "the table has one throughput a row"),
)


def soak(root: Path) -> Study:
    """004: two days of FTP users."""
    found = read("opteron_soak", root)
    told = soak_summary(found.table)
    mean, stated = ((bps or 0.0) / 1e9 for bps in (told.mean_bps, told.rate_bps))
    ratio = f"{told.dropped_ratio or 0.0:.2g} of the packets dropped"
    lines = (
        Line(
            "Rate over 48 hours, Gbit/s",
            SHOW,
            "6.5",
            f"{mean:.2f}, the total over the time",
            f"{100 * (mean / stated - 1):+.1f} %: 6.5 is the peak; named total-disagrees-with-rate",
            "**not met**" if told.flags else "met",
        ),
        Line(
            "Transfers, packets, dropped packets, total",
            SHOW,
            "7,885,579; 136e9; 50; 1.058 Pbit",
            ratio,
            "none: raw figures",
            "as printed",
        ),
        shown(
            "Diagram 1: clients, switches, ports",
            REPORT,
            "6 groups of 16 clients, 6 switches, 6 ports",
            "diagram",
            found.figures,
        ),
        absent("Diagram 1: rates of groups and ports", "the table has the rate of all of them"),
        Line(
            "2 CPUs, 4 CPUs, Gbit/s",
            SHOW,
            ", ".join(row.cells["value"] for row in found.table.rows if "_cpu_best" in row.cells["quantity"]),
            "–",
            "none: raw figures",
            "as printed",
        ),
    )
    words = "96 machines with scripted FTP users against one server, 48 hours."
    return Study("004: the 48-hour soak", "opteron_soak", words, lines, found.figures)


def router(root: Path) -> Study:
    """A router's energy model."""
    found = read("router_power_8201", root)
    model: Any = published.packet_power(found.table, "router_power_8201.csv").model
    bit = [Value("fit", "3.20041614", model.bit_j * 1e12)]
    packet = [Value("fit", "13.35646479", model.packet_j * 1e9)]
    lines = (
        compared("Energy of a bit, pJ", JSON, bit, *found.named("packet-power")),
        compared("Energy of a packet, nJ", JSON, packet, *found.named("packet-cost")),
    )
    words = (
        "Watts of a Cisco 8201-32FH against packet size and rate (NetPowerBench, ETH Zürich, MIT licence)."
    )
    return Study("A router's cost of bits and packets", "router_power_8201", words, lines, found.figures)


STUDIES: tuple[Callable[[Path], Study], ...] = (scaling, matrix, vxlan, soak, router)
