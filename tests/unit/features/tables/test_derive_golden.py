# SPDX-License-Identifier: Apache-2.0
"""``derive`` against what public reports printed; the tolerances are those of published/README.md."""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from pathlib import Path

import pytest

from linewatt.delimited import read_table
from linewatt.features.tables.derive import derive
from linewatt.features.tables.inputs import RECOGNISED

SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published"
BESIDE = Path(__file__).resolve().parents[4].parent / "shared" / "published"

Rows = list[dict[str, str | float | None]]


@pytest.fixture(params=[SHIPPED, BESIDE], ids=["shipped", "beside-the-clone"])
def published(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    if not folder.is_dir():
        pytest.skip(f"no {folder.parent.name}/{folder.name} beside this clone; shipped tables are tested")
    return folder


def rows_of(path: Path, expected_warnings: tuple[str, ...] = ()) -> Rows:
    """Input cells (text) and derived ones (numbers) of a published table that must raise no other warning."""
    table, warnings = read_table(path.read_bytes(), path.name, known=RECOGNISED)
    derived = derive(table)
    assert [str(warning) for warning in (*warnings, *derived.warnings)] == list(expected_warnings)
    return [{**row.cells, **values} for row, values in zip(table.rows, derived.values, strict=True)]


def cut(value: str | float | None, places: str = "0.001") -> Decimal:
    """``value`` cut, not rounded, as the report does it."""
    assert isinstance(value, float)
    return Decimal(repr(value)).quantize(Decimal(places), rounding=ROUND_DOWN)


X64_COLUMNS = (
    "mbps_per_core",
    "mbps_per_core_3ghz",
    "scaling_factor",
    "system_mbps_per_w",
    "cpu_mbps_per_w",
    "cpu_power_pct",
)
X64_MISPRINTS = {  # (instances, column): what the printed figures really give
    ("8", "cpu_mbps_per_w"): 942.56,
    ("16", "mbps_per_core"): 8243.01,
}


@pytest.mark.parametrize("column", X64_COLUMNS)
def test_every_published_column_of_the_scaling_table_comes_out(published: Path, column: str) -> None:
    rows = rows_of(published / "x64_scaling.csv")
    assert len(rows) == 5
    for row in rows:
        printed = float(str(row[f"published_{column}"]))
        # printed with two decimals, at times cut: at most one unit of the last digit away
        expected = X64_MISPRINTS.get((str(row["instances"]), column), printed)
        assert row[column] == pytest.approx(expected, abs=0.01)


def test_the_scaling_factor_of_8_instances_is_069_and_its_throughput_scaling_0485(published: Path) -> None:
    row = rows_of(published / "x64_scaling.csv")[3]
    assert row["scaling_factor"] == pytest.approx(0.69, abs=0.005)
    assert row["throughput_scaling"] == pytest.approx(0.485, abs=0.0005)


def test_every_published_figure_of_the_host_matrix_comes_out_to_its_last_digit(published: Path) -> None:
    rows = rows_of(published / "arm_vs_intel_all.csv")
    assert len(rows) == 36
    for row in rows:
        per = "mbps" if row["throughput_unit"] == "Mbits/sec" else "gbps"
        found = [
            cut(row["cpu_used_pct"], "0.01"),
            cut(row[f"cpu_pct_per_{per}"]),
            cut(row[f"dynamic_w_per_{per}"]),
        ]
        printed = ["published_cpu_used_pct", "published_cpu_per_tput", "published_w_per_tput"]
        assert found == [Decimal(str(row[column])) for column in printed]


def test_per_mbps_figures_are_only_in_rows_that_are_in_mbps(published: Path) -> None:
    for row in rows_of(published / "arm_vs_intel_all.csv"):
        in_mbps = row["throughput_unit"] == "Mbits/sec"
        assert (row["cpu_pct_per_mbps"] is not None) is in_mbps
        assert (row["dynamic_w_per_mbps"] is not None) is in_mbps


def test_the_vxlan_table_agrees_within_what_can_be_read_off_a_chart(published: Path) -> None:
    said = ("column published_throughput: read as the throughput, as the table has no other",)
    rows = rows_of(published / "vxlan.csv", said)
    assert len(rows) == 12
    for row in rows:
        column = "cpu_pct_per_mbps" if row["published_unit"] == "Mbps" else "cpu_pct_per_gbps"
        assert row[column] == pytest.approx(float(str(row["published_cpu_pct_per_unit"])), rel=0.12)
