# SPDX-License-Identifier: Apache-2.0
"""What holds of ``derive`` for any table."""

from __future__ import annotations

import csv
import io
import json
import math

from hypothesis import given
from hypothesis import strategies as st

from linewatt.delimited import read_table
from linewatt.features.tables.columns import COLUMNS
from linewatt.features.tables.derive import DerivedTable, derive
from linewatt.features.tables.derive_action import csv_rows, format_figure, json_rows
from linewatt.features.tables.inputs import RECOGNISED

cells = st.one_of(
    st.floats(min_value=0.001, max_value=1e6).map(repr),
    st.sampled_from(
        ["1", "2", "16", "100", "0", "-3", "", "n/a", "nan", "inf", "1,234.5", "Gbps", "Mbits/sec", "tcp"]
    ),
    st.floats().map(repr),
    st.text(max_size=5),
)
names = st.one_of(
    st.sampled_from(RECOGNISED),
    st.sampled_from([column.name for column in COLUMNS] + ["test", "host", "regime", "published_x"]),
)


@st.composite
def tables(draw: st.DrawFn) -> DerivedTable:
    columns = draw(st.lists(names, min_size=1, max_size=10, unique=True).filter(set(RECOGNISED).intersection))
    body = draw(
        st.lists(st.lists(cells, min_size=len(columns), max_size=len(columns)), min_size=1, max_size=6)
    )
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([["1", *row[1:]] if not any(cell.strip() for cell in row) else row for row in body])
    data = out.getvalue().replace("\0", "").encode(errors="replace")
    table, _ = read_table(data, "t.csv", known=RECOGNISED)
    return derive(table)


@given(tables())
def test_a_derived_cell_is_a_positive_finite_number_or_empty(result: DerivedTable) -> None:
    for row in result.values:
        assert tuple(row) == result.added
        assert all(figure is None or (math.isfinite(figure) and figure > 0) for figure in row.values())


@given(tables())
def test_every_empty_derived_cell_has_a_warning_for_its_row(result: DerivedTable) -> None:
    for row, values in zip(result.table.rows, result.values, strict=True):
        said = " ".join(str(warning) for warning in result.warnings if warning.row == row.number)
        for name, figure in values.items():
            if figure is None and row.aligned and not name.endswith("_per_mbps"):
                assert name in said


@given(tables())
def test_every_input_cell_comes_out_as_it_went_in(result: DerivedTable) -> None:
    assert not set(result.added) & set(result.table.columns)
    for row, shown in zip(result.table.rows, csv_rows(result), strict=True):
        assert {column: shown[column] for column in result.table.columns} == dict(row.cells)


@given(tables())
def test_any_result_is_valid_json_without_nan(result: DerivedTable) -> None:
    rows = json_rows(result)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert all(tuple(row) == (*result.table.columns, *result.added) for row in rows)


@given(st.one_of(st.none(), st.floats(min_value=5e-324, max_value=1.7e308)))
def test_a_figure_for_people_never_hides_a_value_as_zero(value: float | None) -> None:
    shown = format_figure(value)
    if value is not None:
        assert float(shown) > 0
