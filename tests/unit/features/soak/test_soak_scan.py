# SPDX-License-Identifier: Apache-2.0
"""Adding up chunks: every figure against a plain computation on the same samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from bench.soak_result import CHANNELS, HOSTS, write_chunks
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.features.soak import storage as store
from linewatt.features.soak.scan import Chunks, Scan
from linewatt.features.soak.series_steps import SeriesInfo
from linewatt.model import Channel, ChannelKind, Sample
from linewatt.store.samples import Series

START_S = 1_768_000_000.0


def channel(name: str, kind: ChannelKind = "counter", unit: str = "count") -> Channel:
    return Channel(name, unit, kind, "host")


def series(
    samples: Iterable[Sample], channels: Sequence[Channel], host: str = "h1", source: str = "netcounters"
) -> Series:
    return Series(host, source, {one.name: one for one in channels}, list(samples))


def scanned(root: Path, cell_s: float = 10.0) -> tuple[list[SeriesInfo], Scan]:
    """Each channel is a track."""
    with Chunks(store.parts(root)) as chunks:
        known = chunks.series()
        return known, chunks.scan(known, {one.number: one.channel for one in known}, cell_s)


def one_part(root: Path, chunks: Sequence[Sequence[Series]], ended_s: float | None = None) -> None:
    part = store.new_part(root, START_S)
    for number, each in enumerate(chunks, start=1):
        store.write_chunk(part, number, each)
    if ended_s is not None:
        store.end_part(part, ended_s, "done")


def counter(values: dict[float, float], name: str = "nic.rx_packets") -> list[Sample]:
    return [Sample(START_S + at, name, value) for at, value in values.items()]


def test_a_scan_agrees_exactly_with_plain_sums_over_half_a_million_rows(tmp_path: Path) -> None:
    """The bench's layout (96 hosts at 1 Hz in chunks of 30 s), 1/200 of its 48 hours."""
    seconds = 48 * 3600 // 200 // 30 * 30
    part = store.new_part(tmp_path, START_S)
    write_chunks(part, START_S, seconds)
    store.end_part(part, START_S + seconds, "done")
    known, scan = scanned(tmp_path)
    assert len(known) == HOSTS * len(CHANNELS)
    assert sum(one.rows for one in known) == HOSTS * len(CHANNELS) * seconds
    assert (scan.cell_s, scan.gaps) == (10.0, [])
    truth = plain(part, known, scan)
    for one in known:
        got, (increase, weighted, count) = scan.totals[1, one.number], truth.totals[one.number]
        assert got.increase == (increase if one.kind == "counter" else 0)
        assert got.weighted == pytest.approx(weighted if one.kind != "counter" else 0)
        assert got.seconds == pytest.approx(count if one.kind != "counter" else 0, rel=1e-6)
    for name, cells in truth.cells.items():
        for at, value in cells.items():
            assert scan.tracks[name].spread[at] == pytest.approx(value, rel=1e-9, abs=1e-3), (name, at)


class Truth:
    def __init__(self) -> None:
        self.totals: dict[int, tuple[float, float, int]] = {}
        self.cells: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))


def plain(part: Path, known: Sequence[SeriesInfo], scan: Scan) -> Truth:
    """The same from the rows themselves, one after the other."""
    import duckdb

    query = "SELECT host, channel, time_s, value FROM read_parquet(?) ORDER BY time_s"
    by_series: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for host, name, time_s, value in duckdb.execute(query, [f"{part}/*.parquet"]).fetchall():
        by_series[host, name].append((time_s, value))
    truth, cell_s = Truth(), scan.cell_s
    for one in known:
        rows = by_series[one.host, one.channel]
        begin = [(scan.start_s, 0.0)] if one.source == "users" else []
        steps = list(pairwise([*begin, *rows]))
        increase = sum(after - before for (_, before), (_, after) in steps)
        truth.totals[one.number] = (increase, sum(value for _, value in rows), len(rows))
        cells = truth.cells[one.channel]
        if one.kind != "counter":
            for time_s, value in rows:
                cells[int((time_s - scan.start_s) // cell_s)] += value
            continue
        for (before_s, before), (after_s, after) in steps:
            edge_s = (after_s - scan.start_s) // cell_s * cell_s + scan.start_s
            earlier = max(0.0, edge_s - before_s) / (after_s - before_s)
            cell = int((after_s - scan.start_s) // cell_s)
            cells[cell] += (after - before) * (1 - earlier)
            cells[cell - 1] += (after - before) * earlier
    return truth


@settings(max_examples=inputs(25), deadline=None)
@given(
    st.lists(st.sampled_from([0, 0, 0, 1, 7, 1000]), min_size=4, max_size=80),
    st.integers(2, 20),
    st.integers(1, 9),
)
def test_totals_do_not_depend_on_chunks_nor_on_rows_left_out(
    tmp_path_factory: pytest.TempPathFactory, increases: list[int], chunk: int, cell_s: int
) -> None:
    from linewatt.features.soak.recorder import thinned

    root = tmp_path_factory.mktemp("soak")
    total, samples = 5, []
    for at, more in enumerate(increases):
        total += more
        samples.append(Sample(START_S + at, "nic.rx_packets", float(total)))
    beat = [Sample(START_S + at, "users", 1.0) for at in range(len(increases))]
    channels = {"nic.rx_packets": channel("nic.rx_packets")}
    chunks = [
        [
            series(thinned(samples[first : first + chunk], channels), list(channels.values())),
            series(beat[first : first + chunk], [channel("users", "gauge")], source="users"),
        ]
        for first in range(0, len(samples), chunk)
    ]
    one_part(root, chunks)
    _, scan = scanned(root, float(cell_s))
    assert scan.totals[1, 0].increase == total - 5 - increases[0]
    assert scan.tracks["nic.rx_packets"].whole.sum() == total - 5 - increases[0]


def test_a_wrap_of_32_bits_counts_on_and_a_reset_counts_nothing_and_is_told(tmp_path: Path) -> None:
    top = float(2**32)
    wraps = counter({0: top - 10, 1: top - 4, 2: 6, 3: 8}, "softnet.dropped")
    resets = counter({0: 100, 1: 150, 2: 4, 3: 9})
    across = counter({0: 100, 9: 150, 11: 4, 12: 9}, "nic.tx_packets")  # between two cells
    channels = [channel(name) for name in ("softnet.dropped", "nic.rx_packets", "nic.tx_packets")]
    one_part(tmp_path, [[series([*wraps, *resets, *across], channels)]])
    known, scan = scanned(tmp_path)
    found = {one.channel: scan.totals[1, one.number] for one in known}
    assert (found["softnet.dropped"].increase, found["softnet.dropped"].resets) == (18.0, 0)
    assert (found["nic.rx_packets"].increase, found["nic.rx_packets"].resets) == (55.0, 1)
    assert (found["nic.tx_packets"].increase, found["nic.tx_packets"].resets) == (55.0, 1)


def test_an_increase_after_rows_that_were_left_out_belongs_to_its_own_interval(tmp_path: Path) -> None:
    beat = [Sample(START_S + at, "nic.tx_packets", float(at)) for at in range(61)]
    late = counter({0: 5, 40.5: 105, 60: 105})
    one_part(tmp_path, [[series([*beat, *late], [channel("nic.rx_packets"), channel("nic.tx_packets")])]])
    _, scan = scanned(tmp_path)
    assert scan.tracks["nic.rx_packets"].spread.tolist()[:7] == pytest.approx([0, 0, 0, 50, 50, 0, 0])
    assert scan.gaps == []


def test_what_was_counted_in_a_gap_is_in_the_total_and_in_no_rate(tmp_path: Path) -> None:
    times = [*range(20), *range(60, 81)]
    samples = [Sample(START_S + at, "nic.rx_packets", 100.0 * at) for at in times]
    one_part(tmp_path, [[series(samples, [channel("nic.rx_packets")])]], START_S + 80)
    _, scan = scanned(tmp_path)
    track = scan.tracks["nic.rx_packets"]
    assert [(gap.host, gap.start_s - START_S, gap.end_s - START_S) for gap in scan.gaps] == [
        ("h1", 19.0, 60.0)
    ]
    assert scan.totals[1, 0].increase == 8000
    assert track.whole.sum() == 8000
    assert track.spread.sum() == pytest.approx(1900 + 2000)
    assert track.covered.tolist()[:9] == [1, 1, 0, 0, 0, 0, 1, 1, 0]


def test_a_host_that_never_comes_back_is_a_gap_to_the_end(tmp_path: Path) -> None:
    one = [Sample(START_S + at, "nic.rx_packets", float(at)) for at in range(100)]
    hosts = [series(one, [channel("nic.rx_packets")]), series(one[:30], [channel("nic.rx_packets")], "h2")]
    one_part(tmp_path, [hosts], START_S + 99)
    _, scan = scanned(tmp_path)
    assert [(gap.host, gap.start_s - START_S, gap.end_s - START_S) for gap in scan.gaps] == [
        ("h2", 29.0, 99.0)
    ]
    assert scan.tracks["nic.rx_packets"].covered.tolist()[:10] == [2, 2, 2, 1, 1, 1, 1, 1, 1, 1]


def test_totals_of_loads_begin_at_zero_with_each_part_and_those_of_sensors_do_not(tmp_path: Path) -> None:
    for start_s in (START_S, START_S + 100):
        part = store.new_part(tmp_path, start_s)
        gets = [Sample(start_s + at, "users.gets", float(at)) for at in (10, 20)]
        seen = [Sample(start_s + at, "nic.rx_packets", start_s + at) for at in (0, 10, 20)]
        loads = series(gets, [channel("users.gets")], source="users")
        store.write_chunk(part, 1, [loads, series(seen, [channel("nic.rx_packets")])])
        store.end_part(part, start_s + 20, "done")
    known, scan = scanned(tmp_path)
    found = {(part, known[number].channel): one.increase for (part, number), one in scan.totals.items()}
    assert found == {
        (1, "users.gets"): 20.0,
        (1, "nic.rx_packets"): 20.0,
        (2, "users.gets"): 20.0,
        (2, "nic.rx_packets"): 20.0,
    }
    assert scan.tracks["users.gets"].covered.tolist()[2:10] == [0] * 8


def test_missing_readings_are_counted_with_their_reason_and_are_never_zero(tmp_path: Path) -> None:
    watts = [Sample(START_S, "out", 200.0), Sample(START_S + 1, "out", None, reason="bmc timeout")]
    one_part(
        tmp_path, [[series([*watts, Sample(START_S + 2, "out", 100.0)], [channel("out", "gauge", "W")])]]
    )
    (one,), scan = scanned(tmp_path)
    assert (one.rows, one.missing, one.reason) == (3, 1, "bmc timeout")
    total = scan.totals[1, 0]
    assert total.weighted / total.seconds == 150.0


def test_energy_counters_give_the_mean_power_of_the_time_that_was_read(tmp_path: Path) -> None:
    joules = [Sample(START_S + at, "package", 50.0 * at) for at in (*range(10), *range(40, 51))]
    one_part(tmp_path, [[series(joules, [channel("package", unit="J")], source="rapl")]])
    _, scan = scanned(tmp_path)
    total = scan.totals[1, 0]
    assert total.weighted / total.seconds == pytest.approx(50.0)
    assert total.seconds == pytest.approx(19.0)


@pytest.mark.parametrize("cell_s", [10.0, 60.0])
def test_a_wrap_of_energy_leaves_its_step_out_and_lowers_no_mean_power(tmp_path: Path, cell_s: float) -> None:
    every_s, range_j = 30, 23_000.0  # of 300 W, with a range that chunks do not have
    counted = {float(at): (1_000.0 + 300.0 * at) % range_j for at in range(0, 601, every_s)}
    wraps = sum(after < before for before, after in pairwise(counted.values()))
    joules = counter(counted, "package")
    one_part(tmp_path, [[series(joules, [channel("package", unit="J")], source="rapl")]])
    _, scan = scanned(tmp_path, cell_s)
    total = scan.totals[1, 0]
    assert total.resets == wraps
    assert total.weighted / total.seconds == pytest.approx(300.0)
    assert total.seconds == pytest.approx(600.0 - every_s * wraps)
    seen = scan.tracks["package"]
    assert seen.spread.sum() / seen.seconds.sum() == pytest.approx(300.0)
