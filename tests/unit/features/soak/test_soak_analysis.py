# SPDX-License-Identifier: Apache-2.0
"""What is said of a soak's rates, and the summary of a published one."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inline import invoke

from linewatt.analysis.statistics.rate_agreement import rate_disagrees
from linewatt.delimited import read_table
from linewatt.features.soak import figures
from linewatt.features.tables.quantities import is_quantities, published
from linewatt.missing import Missing

PUBLISHED = """quantity,value,unit
duration,48,hours
transfer_rate,6.5,Gbit/s
file_transfers,7885579,transfers
packets,136e9,packets
dropped_or_overrun_packets,50,packets
data_transferred,1.058e15,bits
clients,96,machines
"""
"""figures of a published run of 96 FTP clients against one server for 48 hours over six ports of 1 GbE"""
SHIPPED = Path(__file__).resolve().parents[4] / "docs" / "published" / "opteron_soak.csv"


def noisy(mean: float, n: int, spread: float = 0.02, slope: float = 0.0) -> list[float | None]:
    draw = random.Random(3)  # noqa: S311
    return [mean * (1 + slope * at / n) * draw.gauss(1, spread) for at in range(n)]


@given(
    st.lists(st.none() | st.floats(0, 1e12), min_size=1, max_size=60).filter(any),
    st.floats(0, 1e12),
)
def test_a_mean_never_exceeds_the_peak_whatever_is_missing(
    cells: list[float | None], mean_bps: float
) -> None:
    found = figures.rates(cells, mean_bps)
    assert found is not None
    points = list(found.percentiles_bps.values())
    assert mean_bps <= found.peak_bps
    assert found.least_bps <= points[0]
    assert points == sorted(points)
    assert points[-1] <= found.peak_bps
    assert (found.peak_at is None) == (mean_bps > max(each for each in cells if each is not None))


def test_rates_have_mean_peak_and_percentiles_of_the_cells_that_are_known() -> None:
    found = figures.rates([None, 1.0, 2.0, 3.0, None, 4.0])
    assert found is not None
    assert (found.mean_bps, found.peak_bps, found.peak_at, found.least_bps, found.cells) == (
        2.5,
        4.0,
        5,
        1.0,
        4,
    )
    assert found.percentiles_bps["p50"] == 2.5
    assert figures.rates([None]) is None


def test_a_stall_is_told_while_users_run_and_not_in_a_gap_nor_when_they_rest() -> None:
    cells: list[float | None] = [100.0, 100.0, 0.0, 5.0, 100.0, None, 100.0, 0.0, 0.0]
    running: list[float | None] = [8.0, 8.0, 8.0, 8.0, 8.0, None, 8.0, 0.0, 0.0]
    assert [(one.first, one.end, one.least_bps) for one in figures.stalls(cells, running)] == [(2, 4, 0.0)]
    assert [(one.first, one.end) for one in figures.stalls(cells)] == [(2, 4)]
    assert figures.stalls([0.0, None]) == []


def test_a_drift_of_ten_percent_a_day_is_found_and_flat_noise_is_none() -> None:
    two_days = 48 * 360
    rising = figures.drift(noisy(1e9, two_days, slope=0.2), 10.0)
    assert isinstance(rising, figures.Drift)
    assert rising.low_per_day < 0.1 / 1.1 < rising.high_per_day
    assert rising.is_sure
    assert rising.matters
    flat = figures.drift(noisy(1e9, two_days), 10.0)
    assert isinstance(flat, figures.Drift)
    assert not flat.matters


def wandering(seed: int, count: int, apart: float, rise: float = 0.0) -> list[float | None]:
    """Rates that follow those before, by 3 %: correlated over ``apart`` cells, and ``rise`` in all."""
    draw, stays = random.Random(seed), math.exp(-1 / apart)  # noqa: S311
    cells: list[float | None] = []
    off = draw.gauss(0, 0.03)
    for at in range(count):
        cells.append(1e9 * (1 + off + rise * at / count))
        off = stays * off + math.sqrt(1 - stays**2) * draw.gauss(0, 0.03)
    return cells


@pytest.mark.parametrize(
    ("count", "cell_s", "apart"),
    [
        (360, 10.0, 6),
        (1440, 10.0, 30),
        pytest.param(4320, 20.0, 90, marks=pytest.mark.full),
        pytest.param(8640, 20.0, 180, marks=pytest.mark.full),
    ],
    ids=["1 h, 1 min", "4 h, 5 min", "24 h, 30 min", "48 h, 1 h"],
)
def test_a_rate_that_only_wanders_is_rarely_said_to_drift(count: int, cell_s: float, apart: float) -> None:
    found = [figures.drift(wandering(seed, count, apart), cell_s) for seed in range(100)]
    sure = sum(isinstance(one, figures.Drift) and one.is_sure for one in found)
    assert sure <= 11  # 5 are expected of 95 % intervals, and more than 11 in 1 of 200 such hundreds


def test_a_rate_that_wanders_and_rises_is_said_to_drift() -> None:
    found = [figures.drift(wandering(seed, 4320, 30, rise=0.05), 20.0) for seed in range(50)]
    assert sum(isinstance(one, figures.Drift) and one.matters and one.per_day > 0 for one in found) >= 40


def test_a_rate_that_fell_at_once_has_still_drifted() -> None:
    cells = [value and value * (0.9 if at > 2000 else 1.0) for at, value in enumerate(noisy(1e9, 4320))]
    found = figures.drift(cells, 20.0)
    assert isinstance(found, figures.Drift)
    assert found.matters


def test_an_hour_of_slices_has_a_drift() -> None:
    found = figures.drift(noisy(1e9, 360, slope=0.2), 10.0)
    assert isinstance(found, figures.Drift)
    assert found.over_all == pytest.approx(found.per_day * 3600 / 86_400)


@pytest.mark.parametrize(
    ("cells", "cell_s", "reason"),
    [
        (noisy(1e9, 359), 10.0, "less than 1 h 00 min of readings"),
        ([None, *noisy(1e9, 359), None], 10.0, "less than 1 h 00 min of readings"),
        (noisy(1e9, 20), 3600.0, "fewer than 24 slices of time have a rate"),
        ([0.0] * 300 + [1e9] * 100, 10.0, "the median of the rate is 0"),
        ([None] * 400, 10.0, "no slice of time has a rate"),
    ],
)
def test_why_no_drift_is_told_is_said(cells: list[float | None], cell_s: float, reason: str) -> None:
    assert figures.drift(cells, cell_s) == Missing(reason)


def test_a_total_agrees_with_its_mean_and_not_with_its_peak() -> None:
    assert rate_disagrees(1.058e15, 172_800, 6.1227e9) is None
    apart = rate_disagrees(1.058e15, 172_800, 6.5e9)
    assert apart is not None
    assert apart.mean_bps == pytest.approx(6.1227e9, rel=1e-4)
    assert apart.ratio == pytest.approx(1.0616, rel=1e-4)
    with pytest.raises(ValueError, match="positive"):
        rate_disagrees(1.0, 0, 1.0)


def test_downsampling_keeps_least_mean_and_greatest_and_leaves_gaps() -> None:
    cells: list[float | None] = [1.0, 9.0, 2.0, None, None, None, 4.0]
    points = figures.downsample(cells, 3)
    assert [(one.first, one.end, one.least, one.mean, one.greatest) for one in points] == [
        (0, 3, 1.0, 4.0, 9.0),
        (3, 6, None, None, None),
        (6, 7, 4.0, 4.0, 4.0),
    ]
    assert len(figures.downsample([1.0] * 17_280, 1000)) <= 1000


def test_a_client_is_saturated_by_time_and_not_by_its_mean() -> None:
    assert figures.saturated_share([0.95] * 30 + [0.1] * 70) == 0.3
    assert figures.saturated_share([None]) is None
    assert figures.per_gbit(2.0, 125e6) == 2.0
    assert figures.j_per_gb(500.0, 2e9) == 250.0
    assert figures.per_gbit(2.0, 0) is None


def test_the_published_soak_is_flagged_for_a_rate_that_its_total_cannot_have_been_made_at() -> None:
    table, _ = read_table(PUBLISHED.encode(), "published")
    assert is_quantities(table)
    found = published(table)
    assert found.mean_bps == pytest.approx(6.12e9, rel=1e-3)
    assert found.dropped_ratio == pytest.approx(50 / 136e9)
    (flag,) = found.flags
    assert flag.code == "total-disagrees-with-rate"
    assert flag.evidence == (
        "6.50 Gbps for 2 d 00 h would be 1.123 Pbit, the total is 1.058 Pbit: "
        "the mean was 6.12 Gbps (+6.2 % apart)"
    )
    agreeing, _ = read_table(PUBLISHED.replace("6.5,", "6.12,").encode(), "published")
    assert published(agreeing).flags == ()


def test_derive_prints_the_summary_and_the_flag(tmp_path: Path) -> None:
    path = tmp_path / "soak.csv"
    path.write_text(PUBLISHED)
    done = invoke(["derive", str(path)])
    assert done.exit_code == 0, done.output
    for said in ("6.50 Gbps", "6.12 Gbps", "7,885,579", "136,000,000,000", "50 (3.7e-10", "1.058 Pbit"):
        assert said in done.stdout
    assert "total-disagrees-with-rate" in done.stdout
    document = json.loads(invoke(["derive", "--json", str(path)]).stdout)
    assert document["summary"]["rate_stated_bps"] == 6.5e9
    assert [flag["code"] for flag in document["flags"]] == ["total-disagrees-with-rate"]


def test_derive_of_the_shipped_table_flags_it_too() -> None:
    done = invoke(["derive", str(SHIPPED)])
    assert "the mean was 6.12 Gbps" in done.stdout


def test_a_quantity_without_a_usable_unit_is_left_out_with_a_warning() -> None:
    text = (
        PUBLISHED.replace("48,hours", "48,moons").replace("6.5,Gbit/s", "6.5,GB/s").replace("7885579", "many")
    )
    found = published(read_table(text.encode(), "t")[0])
    assert (found.duration_s, found.rate_bps, found.transfers, found.flags) == (None, None, None, ())
    assert {one.column for one in found.warnings} == {"unit", "value"}
    assert len(found.warnings) == 3
