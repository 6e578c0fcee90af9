# SPDX-License-Identifier: Apache-2.0
"""Files of samples, as a database by others reads them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linewatt.model import Channel, Sample
from linewatt.store.parquet import Column, column_of, file_of
from linewatt.store.samples import Series, write_samples

_NUMBERS = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0])
_READINGS = st.lists(
    st.tuples(_NUMBERS, st.sampled_from(["a", "b", "ü", "cpu0.idle_ratio"]), st.none() | _NUMBERS, _NUMBERS),
    max_size=60,
)


def rows_of(path: Path, more: str = "") -> list[tuple[Any, ...]]:
    return duckdb.execute(f"FROM read_parquet(?) {more}", [str(path)]).fetchall()


def _figures(one: Sample) -> tuple[Any, ...]:
    return one.time_s, one.span_s, one.value, one.reason


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(readings=_READINGS, times=st.integers(1, 40))
def test_samples_are_read_as_they_were_written(tmp_path: Path, readings: list[Any], times: int) -> None:
    channels = {name: Channel(name, f"unit of {name}", "gauge", "host") for *_, name, _, _ in readings}
    samples = [
        Sample(time_s, name, value, span_s, "none said" if value is None else None)
        for time_s, name, value, span_s in readings * times
    ]
    path = tmp_path / "samples.parquet"
    write_samples(path, [Series("h1", "s", channels, samples), Series("h2", "t", {}, ())])
    order = {name: number for number, name in enumerate(dict.fromkeys(one.channel for one in samples))}
    wanted = [
        ("h1", "s", one.channel, f"unit of {one.channel}", "gauge", "host", "measured", *_figures(one))
        for one in sorted(samples, key=lambda one: order[one.channel])
    ]
    assert repr(rows_of(path)) == repr(wanted), "with signs of zeros"


@pytest.mark.parametrize(
    ("distinct", "repeated"),
    [(1, 300), (2, 1), (3, 300), (255, 9), (256, 9), (257, 300), (70_000, 1), (70_000, 9)],
)
def test_positions_of_any_width_are_read_as_runs_and_packed(
    tmp_path: Path, distinct: int, repeated: int
) -> None:
    words = [f"w{number:05d}" for number in range(distinct)]
    for name, positions in (
        ("runs", np.repeat(np.arange(distinct), repeated)),
        ("packed", np.tile(np.arange(distinct), 2)[::-1]),
    ):
        (tmp_path / name).write_bytes(file_of([Column("word", words, positions)], "a test"))
        assert [row[0] for row in rows_of(tmp_path / name)] == [words[at] for at in positions.tolist()]


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    (tmp_path / "some").write_bytes(file_of([column_of("n", np.array([1.5, math.nan]), nullable=True)], ""))
    (tmp_path / "none").write_bytes(file_of([column_of("n", np.full(9, math.nan), nullable=True)], ""))
    assert rows_of(tmp_path / "some") == [(1.5,), (None,)]
    assert rows_of(tmp_path / "none") == [(None,)] * 9


def test_a_reader_that_passes_over_a_file_by_its_least_and_most_misses_nothing(tmp_path: Path) -> None:
    times, words = np.array([-2.5, 7.0, 3.0]), ["b", "ä", "a"]
    path = tmp_path / "it"
    path.write_bytes(file_of([column_of("time_s", times), Column("word", words, np.arange(3))], "a test"))
    assert rows_of(path, "WHERE time_s >= 7") == [(7.0, "ä")]
    assert rows_of(path, "WHERE time_s <= -2.5") == [(-2.5, "b")]
    assert rows_of(path, "WHERE time_s > 7") == []
    assert rows_of(path, "WHERE word = 'ä'") == [(7.0, "ä")]
    said = "SELECT stats_min_value, stats_max_value FROM parquet_metadata(?)"
    assert duckdb.execute(said, [str(path)]).fetchall() == [("-2.5", "7.0"), ("a", "ä")]


def test_who_wrote_it_is_in_it(tmp_path: Path) -> None:
    write_samples(tmp_path / "it", [])
    (by,) = duckdb.execute(
        "SELECT created_by FROM parquet_file_metadata(?)", [str(tmp_path / "it")]
    ).fetchall()
    assert by[0].startswith("linewatt ")
