# SPDX-License-Identifier: Apache-2.0
"""What each shipped table is of, and which charts of its report the gallery shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from linewatt.delimited import read_table
from linewatt.features.tables.declared_parts import read_declared_parts
from linewatt.features.tables.inputs import RECOGNISED
from linewatt.features.tables.kinds import import_any
from linewatt.features.tables.view import view
from linewatt.model import ENDS
from linewatt.report.charts.figure import Figure
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.sections import page_sections
from linewatt.store.read import Result, load_result
from linewatt.store.write import ImportedTrial, imported_manifest, write_imported

TABLES = Path(__file__).resolve().parents[2] / "docs" / "published"
STAMP_S = 1.7e9
"""of results that are made for the page and thrown away"""
_TESTS = ("tcp", "udp-1500", "udp-60")


@dataclass(frozen=True, slots=True)
class Study:
    """A shipped table with the components of its host beside it, and the charts of its report by name."""

    title: str
    table: str
    words: str
    charts: tuple[str, ...]
    components: str | None = None

    @property
    def command(self) -> str:
        """Which imports it."""
        components = f" --components docs/published/{self.components}.csv" if self.components else ""
        return f"linewatt import docs/published/{self.table}.csv{components}"

    def figures(self, root: Path) -> Mapping[str, Figure]:
        """Its charts by name, of a result below ``root``. Raises KeyError for one that is not drawn."""
        figures = _figures(read(self.table, root, self.components))
        return {name: figures[name] for name in self.charts}


def read(name: str, root: Path, components: str | None = None) -> Result:
    """Import a shipped table below ``root``, with the components of its host, as the command does."""
    path = TABLES / f"{name}.csv"
    table, _ = read_table(path.read_bytes(), path.name, known=RECOGNISED)
    kind, content = import_any(table, path.name, STAMP_S)
    text, without_trials = path.read_text(encoding="utf-8"), None if kind.trials else kind.name
    head = (name, path.name, text, STAMP_S)
    manifest = imported_manifest(*head, content.trials, content.hosts, content.factors, without_trials)
    if components is not None:
        parts = read_declared_parts([str(TABLES / f"{components}.csv")], path.name, kind, content)
        manifest["campaign"]["components"] = parts.as_document
    return load_result(write_imported(root, manifest, map(ImportedTrial, content.trials)))


def _figures(result: Result) -> dict[str, Figure]:
    if result.imported_kind:
        return {figure.name: figure for figure in view(result).figures}
    results, details, _ = page_sections(digest_of(result))
    return {part.figure.name: part.figure for section in (*results, *details) for part in section.figures}


STUDIES = (
    Study(
        "000: a server with 1 to 16 instances",
        "x64_scaling_ports",
        "One 32-core x64 server, one 100 GbE card, 1 to 8 iperf3 instances on one port and 16 on both. This "
        "table and the components reproduce all of its Figures 1–6.",
        (
            "throughput-tcp",
            "cpu-tcp",
            "efficiency-tcp",
            "power-tcp-receiver-1",
            "power-efficiency-tcp-receiver-1",
            "components-receiver",
        ),
        "x64_components",
    ),
    Study(
        "001: a matrix of three hosts",
        "arm_vs_intel_all",
        "Every ordered pair of an 80-core Arm server and two Xeons: 36 blocks, one for each end of each pair "
        "and test.",
        (
            "roles",
            *(
                name
                for test in _TESTS
                for name in (
                    f"matrix-throughput_bps-{test}",
                    f"paired-cost-{test}",
                    *(f"matrix-{role}_dynamic_w_per_bps-{test}" for role in ENDS),
                )
            ),
        ),
    ),
    Study(
        "003: VXLAN, mean ± SD",
        "vxlan",
        "Two hosts through a VXLAN tunnel, both ways, with kernel 6.9.0-rc4 (ELN) and with that of RHEL 9.4: "
        "mean and SD over 10 runs. The table has neither the single runs, nor the bare network, nor an SD of "
        "the throughput. Both directions share a chart, and the kernels are beside each other.",
        tuple(
            f"{name}-{test}"
            for test in _TESTS
            for name in ("CPU-per-throughput", "throughput", "published-means")
        ),
    ),
    Study(
        "004: the 48-hour soak",
        "opteron_soak",
        "96 machines with scripted FTP users against one server, 48 hours. The table has the rate of all "
        "groups together.",
        ("diagram",),
    ),
    Study(
        "A router's cost of bits and packets",
        "router_power_8201",
        "Watts of a Cisco 8201-32FH against packet size and rate (NetPowerBench, ETH Zürich, MIT licence).",
        ("packet-power", "packet-cost"),
    ),
)
