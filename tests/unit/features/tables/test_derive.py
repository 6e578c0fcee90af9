# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest

from linewatt.delimited import read_table
from linewatt.errors import InvalidInput
from linewatt.features.tables.columns import COLUMNS
from linewatt.features.tables.derive import DerivedTable, derive
from linewatt.features.tables.groups import CASE_COLUMNS, OUTCOME_COLUMNS
from linewatt.features.tables.inputs import RECOGNISED

ROOT = Path(__file__).resolve().parents[4]
CAPTURES = ROOT / "tests" / "captures" / "derive"


def derived(text: str) -> DerivedTable:
    table, warnings = read_table(text.encode(), "t.csv", known=RECOGNISED)
    assert not warnings
    return derive(table)


def captured(name: str) -> DerivedTable:
    table, _ = read_table((CAPTURES / name).read_bytes(), name, known=RECOGNISED)
    return derive(table)


def said(result: DerivedTable) -> list[str]:
    return [str(warning) for warning in result.warnings]


def value(text: str, column: str) -> float | None:
    """The derived cell of a table with one row."""
    (row,) = derived(text).values
    return row[column]


def empty(result: DerivedTable, row: int) -> set[str]:
    return {name for name, figure in result.values[row - 1].items() if figure is None}


def test_every_column_that_derive_knows_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`]+)`", text))
    assert {column.name for column in COLUMNS} <= named
    assert set(RECOGNISED) <= named
    assert named >= CASE_COLUMNS
    assert named >= OUTCOME_COLUMNS


def test_only_columns_whose_inputs_are_there_are_added() -> None:
    assert derived("throughput_mbps,power_w\n1000,100\n").added == ("system_mbps_per_w", "energy_pj_per_bit")
    assert derived("instances,throughput_mbps\n1,1000\n").added == ("throughput_scaling",)


def test_energy_per_bit_and_mbps_per_watt_agree() -> None:
    (row,) = derived("throughput_gbps,power_w\n10,100\n").values
    assert row == {"system_mbps_per_w": 100, "energy_pj_per_bit": 10_000}


@pytest.mark.parametrize(
    "columns",
    [
        "throughput_mbps\n1000",
        "throughput_gbps\n1",
        "throughput_bps\n1e9",
        "throughput,throughput_unit\n1,Gbits/sec",
        "throughput,unit\n1000,Mbps",
        "published_throughput,published_throughput_unit\n1,Gbit/s",
        "published_throughput,published_unit\n1,Gbps",
    ],
)
def test_throughput_is_read_in_every_documented_form(columns: str) -> None:
    header, cells = columns.split("\n")
    assert value(f"{header},power_w\n{cells},10\n", "system_mbps_per_w") == 100


def test_a_printed_throughput_counts_only_where_there_is_no_other() -> None:
    result = derived("throughput_mbps,published_throughput,published_unit,power_w\n1000,9,Gbps,10\n")
    assert result.values[0]["system_mbps_per_w"] == 100
    assert not result.warnings


def test_using_a_printed_throughput_is_said() -> None:
    result = derived("published_throughput,published_unit,power_w\n1,Gbps,10\n")
    assert said(result) == ["column published_throughput: read as the throughput, as the table has no other"]


def test_of_two_throughput_columns_the_one_not_read_is_named() -> None:
    result = derived("throughput_gbps,throughput_mbps,power_w\n7,1000,10\n")
    assert result.values[0]["system_mbps_per_w"] == 100
    assert said(result) == ["column throughput_gbps: not read: throughput_mbps is read in its place"]


def test_a_throughput_without_a_unit_is_not_read() -> None:
    result = derived("throughput,cpu_pct\n7,100\n")
    assert result.added == ()
    assert said(result) == [
        "column throughput: not read: there is no column throughput_unit beside it",
        "nothing can be derived: a throughput, CPU use and watts are needed in pairs",
    ]


def test_half_of_an_idle_pair_is_not_read() -> None:
    result = derived("throughput_mbps,power_w,app_cpu_idle_pct\n7,100,50\n")
    assert said(result) == [
        "column app_cpu_idle_pct: not read: there is no column irq_cpu_idle_pct beside it"
    ]


def test_efficiency_takes_the_remote_cpu_and_cpu_cost_both() -> None:
    text = "throughput_mbps,cpu_pct,remote_cpu_pct,local_cpu_pct\n1000,200,100,50\n"
    assert value(text, "mbps_per_core") == 1000
    assert value(text, "mbps_per_core_local") == 2000
    assert value(text, "cpu_pct_per_gbps") == 200


def test_cpu_cost_takes_the_remote_cpu_where_there_is_no_other() -> None:
    assert value("throughput_mbps,remote_cpu_pct\n1000,100\n", "cpu_pct_per_gbps") == 100


@pytest.mark.parametrize("pair", ["app_cpu_idle_pct,irq_cpu_idle_pct", "app_idle,irq_idle"])
def test_cpu_used_is_what_both_idle_shares_leave(pair: str) -> None:
    text = f"throughput_mbps,{pair}\n1000,1.18,1.81\n"
    assert value(text, "cpu_used_pct") == 197.01
    assert value(text, "mbps_per_core") == pytest.approx(1000 / 1.9701)
    assert value(text, "cpu_pct_per_gbps") == 197.01


def test_cpu_pct_comes_before_cpu_summed_from_idle() -> None:
    text = "throughput_mbps,cpu_pct,app_idle,irq_idle\n1000,50,0,0\n"
    assert value(text, "cpu_pct_per_gbps") == 50
    assert value(text, "mbps_per_core") == 2000
    assert value(text, "cpu_used_pct") == 200


def test_system_efficiency_takes_dc_output_and_energy_takes_power() -> None:
    text = "throughput_mbps,psu_out_w,power_w,idle_w,cpu_w\n1000,80,100,60,40\n"
    assert value(text, "system_mbps_per_w") == 12.5
    assert value(text, "cpu_power_pct") == 50
    assert value(text, "cpu_mbps_per_w") == 25
    assert value(text, "energy_pj_per_bit") == 100_000
    assert value(text, "dynamic_w_per_gbps") == 40
    assert value(text, "dynamic_energy_pj_per_bit") == 40_000


def test_dc_output_stands_in_for_power_and_power_for_dc_output() -> None:
    text = "throughput_mbps,psu_out_w,idle_w\n1000,100,60\n"
    assert value(text, "energy_pj_per_bit") == 100_000
    assert value(text, "dynamic_w_per_gbps") == 40
    text = "throughput_mbps,power_w,cpu_w\n1000,100,60\n"
    assert value(text, "system_mbps_per_w") == 10
    assert value(text, "cpu_power_pct") == 60


def test_an_empty_cell_never_takes_its_figure_from_another_column() -> None:
    result = derived("throughput_mbps,remote_cpu_pct,cpu_pct\n1000,,50\n")
    assert empty(result, 1) == {"mbps_per_core"}


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "n/a",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e999",
        '"1,234.5"',
        '"24287,36"',
        "12 %",
        "1_000",
        "0x10",
        "٣",
        "-",
    ],
)
def test_a_cell_that_is_no_number_leaves_empty_what_needs_it_and_says_where(cell: str) -> None:
    result = derived(f"throughput_mbps,power_w,cpu_pct\n1000,100,50\n1000,{cell},50\n")
    assert empty(result, 1) == set()
    assert empty(result, 2) == {"system_mbps_per_w", "energy_pj_per_bit"}
    (warning,) = result.warnings
    assert (warning.row, warning.line, warning.column) == (2, 3, "power_w")
    assert str(warning).startswith("row 2 (line 3), column power_w: ")
    assert str(warning).endswith("; left empty: system_mbps_per_w, energy_pj_per_bit")


def test_thousands_separators_are_named_as_the_fault() -> None:
    (warning,) = derived('throughput_mbps,power_w\n"1,234.5",100\n').warnings
    assert "no thousands separators" in warning.message


@pytest.mark.parametrize(
    "column", ["throughput_mbps", "power_w", "cpu_pct", "idle_w", "base_frequency_ghz", "cpu_w"]
)
@pytest.mark.parametrize("cell", ["0", "-1", "0.0", "-0"])
def test_zero_or_less_gives_an_empty_cell_never_zero_or_infinity(column: str, cell: str) -> None:
    cells = {"throughput_mbps": "9", "power_w": "9", "cpu_pct": "9", "idle_w": "8", "base_frequency_ghz": "3"}
    cells["cpu_w"] = "2"
    cells[column] = cell
    result = derived(f"{','.join(cells)}\n{','.join(cells.values())}\n")
    assert empty(result, 1)
    assert all(figure is None or figure > 0 for figure in result.values[0].values())
    assert [warning.column for warning in result.warnings] == [column]


def test_every_bad_cell_of_a_row_is_named() -> None:
    result = captured("odd_cells.csv")
    places = [(warning.row, warning.column) for warning in result.warnings]
    assert places == [
        (2, "throughput_mbps"),
        (2, "cpu_w"),
        (3, "remote_cpu_pct"),
        (3, "cpu_w"),
        (4, "base_frequency_ghz"),
        (4, "psu_out_w"),
        (5, "throughput_mbps"),
        (5, "psu_out_w"),
        (5, "cpu_w"),
        (6, "instances"),
    ]
    assert empty(result, 1) == set()
    assert empty(result, 4) == {
        "mbps_per_core_3ghz",
        "system_mbps_per_w",
        "cpu_power_pct",
        "energy_pj_per_bit",
    }


def test_both_cells_of_a_bad_pair_are_named() -> None:
    result = derived("throughput_mbps,app_idle,irq_idle\n1000,x,101\n")
    assert [warning.column for warning in result.warnings] == ["app_idle", "irq_idle"]


def test_power_not_above_idle_leaves_only_dynamic_figures_empty() -> None:
    result = captured("per_role.csv")
    dynamic = {"dynamic_w_per_gbps", "dynamic_w_per_mbps", "dynamic_energy_pj_per_bit"}
    assert empty(result, 2) == dynamic
    (warning,) = [warning for warning in result.warnings if warning.row == 2]
    assert warning.column == "power_w"
    assert warning.message.startswith(
        "143 W under load is not above the 143 W of idle_w; left empty: dynamic_w"
    )


def test_bytes_are_not_taken_for_bits() -> None:
    result = captured("per_role.csv")
    assert empty(result, 3) == set(result.added)
    assert any("'MBytes/sec' is not a unit of rate" in line for line in said(result))


def test_fully_idle_cpus_give_no_efficiency() -> None:
    result = captured("per_role.csv")
    assert {"cpu_used_pct", "mbps_per_core", "cpu_pct_per_gbps"} <= empty(result, 4)
    assert any(
        "row 4 (line 5), column irq_cpu_idle_pct: all these CPUs are fully idle" in s for s in said(result)
    )


def test_a_derived_column_already_in_the_table_is_kept_and_said() -> None:
    result = captured("already_derived.csv")
    assert "mbps_per_core" not in result.added
    assert result.table.rows[0].cells["mbps_per_core"] == "my own"
    assert said(result) == ["column mbps_per_core: already in the table: kept as it is, not derived"]


def test_cpu_used_given_in_the_table_counts_as_cpu_used() -> None:
    result = derived("throughput_mbps,cpu_used_pct,app_idle,irq_idle\n1000,50,0,0\n")
    assert result.values[0]["mbps_per_core"] == 2000
    assert said(result) == ["column cpu_used_pct: already in the table: kept as it is, not derived"]


def test_figures_too_large_together_give_an_empty_cell() -> None:
    result = derived("throughput_gbps,cpu_pct\n1e300,1e-300\n")
    assert empty(result, 1) == {"mbps_per_core", "cpu_pct_per_gbps"}
    assert [warning.row for warning in result.warnings] == [1, 1]


def test_a_table_without_a_known_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no column is one that derive knows"):
        derived("speed,load\n1,2\n")


def test_a_row_whose_cells_may_have_shifted_gives_nothing() -> None:
    result = captured("ragged.csv")
    assert empty(result, 1) == set()
    assert empty(result, 2) == set(result.added) == empty(result, 3)
    assert empty(result, 4) == set()


def test_rows_scale_from_the_single_instance_of_their_own_group() -> None:
    factors = [row["throughput_scaling"] for row in captured("groups.csv").values]
    assert factors == [1, 0.75, 1, 1, None, None, None, None]


def test_a_group_without_a_single_instance_says_so() -> None:
    said_of = [warning for warning in captured("groups.csv").warnings if warning.row == 5]
    assert [warning.column for warning in said_of] == ["instances"]
    assert "no row with the same test, kernel has instances = 1" in said_of[0].message


def test_a_group_with_two_single_instances_says_which() -> None:
    messages = [warning.message for warning in captured("groups.csv").warnings if warning.row == 8]
    assert messages == [
        "rows 6, 7 with the same test, kernel all have instances = 1, which one counts is unclear; "
        "left empty: scaling_factor, throughput_scaling"
    ]


def test_an_unknown_text_column_keeps_rows_apart() -> None:
    text = "flavour,instances,throughput_mbps\na,1,10\na,2,20\nb,2,40\n"
    assert [row["throughput_scaling"] for row in derived(text).values] == [1, 1, None]


def test_one_word_among_readings_does_not_make_groups_of_them() -> None:
    text = "instances,throughput_mbps,fan_rpm\n1,10,4000\n2,20,n/a\n4,40,9000\n"
    assert [row["throughput_scaling"] for row in derived(text).values] == [1, 1, 1]


@pytest.mark.parametrize("column", ["kernel", "mtu", "streams", "test"])
def test_a_column_of_the_case_keeps_rows_apart_even_when_it_holds_numbers(column: str) -> None:
    text = f"{column},instances,throughput_mbps\n1,1,10\n1,2,20\n2,2,40\n"
    assert [row["throughput_scaling"] for row in derived(text).values] == [1, 1, None]


@pytest.mark.parametrize("column", ["regime", "note", "published_regime", "throughput_unit"])
def test_a_column_of_outcomes_does_not_keep_rows_apart(column: str) -> None:
    text = f"{column},instances,throughput_mbps\na,1,10\nb,2,20\n"
    assert [row["throughput_scaling"] for row in derived(text).values] == [1, 1]


def test_a_reference_without_a_usable_figure_leaves_its_group_empty() -> None:
    result = derived("instances,throughput_mbps,cpu_pct\n1,10,x\n2,20,100\n")
    assert empty(result, 2) == {"scaling_factor"}
    assert said(result)[-1].startswith(
        "row 2 (line 3), column instances: its reference, row 1, lacks a usable figure; left empty: scaling"
    )


@pytest.mark.parametrize("cell", ["1.5", "0", "-1", "1e300", "one"])
def test_instances_that_are_no_whole_number_scale_from_nothing(cell: str) -> None:
    result = derived(f"instances,throughput_mbps\n1,10\n{cell},20\n")
    assert empty(result, 2) == {"throughput_scaling"}
    assert [(warning.row, warning.column) for warning in result.warnings] == [(2, "instances")]
