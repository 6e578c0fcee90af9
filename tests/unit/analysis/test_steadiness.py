# SPDX-License-Identifier: Apache-2.0
"""Warm-up and drift are told; noise, also that of which neighbours are alike, is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests import wiring
from tests.amounts import inputs

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.statistics import shapes, steadiness
from linewatt.engine.live.feed import Reading, Record
from linewatt.engine.measuring.checks import steadiness as steady_checks
from linewatt.engine.measuring.window import EndRun
from linewatt.features.users.measuring import users_throughput
from linewatt.loads.base import LoadEnd, LoadInterval
from linewatt.model import Case, Channel, EndResult, PowerResult, Trial, Window
from linewatt.sensors.mpstat import Mpstat

MEAN_BPS = 94e9
WINDOWS = inputs(200)
CASE = Case("tcp", "gen", "dut")


def noise(windows: int, n: int, correlation: float, cv: float, seed: int = 4) -> Any:
    """Steady throughput with AR(1) noise, so many windows of ``n`` intervals, bit/s."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(windows, n))
    for at in range(1, n):
        drawn[:, at] = correlation * drawn[:, at - 1] + np.sqrt(1 - correlation**2) * drawn[:, at]
    return MEAN_BPS * (1 + cv * drawn)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("second", range(19))
def test_a_pause_that_is_caught_up_at_once_has_no_shape(second: int) -> None:
    """At an edge of the window no stretch has another mean than the rest."""
    values = [5.0] * 20
    values[second : second + 2] = 4.0, 6.0
    assert shapes.find_shape(values) is None


def told(windows: Any, at_start: bool | None = None) -> float:
    """In which part of the windows anything is told; with ``at_start`` warm-up only."""
    found = codes_of(windows)
    return float(np.mean([code == "warm-up-in-window" if at_start else bool(code) for code in found]))


def run_of(rates_bps: list[float]) -> EndRun:
    intervals = tuple(LoadInterval(i, i + 1, round(rate / 8)) for i, rate in enumerate(rates_bps))
    return EndRun(LoadEnd(False, "3.12", intervals, len(rates_bps), None), 0.0, 0.001)


@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.full), 0.5, 0.8])
@pytest.mark.parametrize("n", [15, 60])
def test_steady_noise_is_told_in_two_of_a_hundred_windows_at_most(n: int, correlation: float) -> None:
    assert told(noise(inputs(600), n, correlation, cv=0.03)) <= 0.02


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("ramp", ["step", "line"])
def test_a_ramp_in_the_first_15_percent_of_a_window_is_told(correlation: float, ramp: str) -> None:
    windows = noise(inputs(150), 60, correlation, cv=0.02)
    windows[:, :9] *= 0.8 if ramp == "step" else np.linspace(0.6, 1.0, 9)
    assert told(windows, at_start=True) >= 0.95


def test_a_slow_fall_of_ten_percent_is_told_as_drift() -> None:
    windows = noise(inputs(150), 60, 0.3, cv=0.02) * np.linspace(1.05, 0.95, 60)
    assert told(windows) >= 0.95


def test_warm_up_inside_the_window_is_told_with_both_rates_and_when() -> None:
    slow_start = run_of([3e9, 6e9, 9e9, 9.1e9, 9e9, 9e9, 8.9e9, 9e9, 9e9, 9.1e9])
    (flag,) = steady_checks.throughput([slow_start], Window(0, 10))
    assert flag.code == "warm-up-in-window"
    assert "the first 2 of 10 intervals (2 s) run at 4.50 Gbps, the rest at 9.01 Gbps" in flag.evidence
    assert "window.omit" in flag.advice


def test_of_users_a_low_interval_is_no_event_and_a_fall_is() -> None:
    steady = [9e9, 9.1e9, 8.9e9, 9e9, 9.05e9] * 5
    assert users_throughput([*steady, 4e9, *steady], Window(0, 51)) == []
    halved = [*steady, *(rate / 2 for rate in steady)]
    (flag,) = users_throughput(halved, Window(0, 50))
    assert flag.code in ("throughput-dips", "throughput-drifts")
    assert users_throughput(steady * 2, Window(0, 50)) == []


def test_one_low_interval_is_warm_up_at_the_start_and_a_dip_anywhere_else() -> None:
    steady = [9e9, 9.1e9, 8.9e9, 9e9, 9.05e9] * 5
    (early,) = steady_checks.throughput([run_of([4e9, *steady])], Window(0, 26))
    assert early.code == "warm-up-in-window"
    assert "the first 1 of 26 intervals (1 s) run at 4.00 Gbps, the rest at 9.01 Gbps" in early.evidence
    (late,) = steady_checks.throughput([run_of([*steady, 4e9, *steady])], Window(0, 51))
    assert late.code == "throughput-dips"


@pytest.mark.parametrize("low", [[4e9], [4e9] * 6])
def test_what_is_low_at_the_start_of_a_window_is_no_warm_up_where_the_rest_was_reached_before(
    low: list[float],
) -> None:
    steady = [9e9, 9.1e9, 8.9e9, 9e9, 9.05e9]
    for before, is_warm_up in ((steady * 2, False), ([2e9, 3e9, *([3.5e9] * 8)], True), ([], True)):
        start_s, rates = len(before), [*before, *low, *steady * 5]
        (flag,) = steady_checks.throughput([run_of(rates)], Window(start_s, len(rates)))
        assert flag.code == ("warm-up-in-window" if is_warm_up else "throughput-dips"), before
        assert is_warm_up or f"4.00 Gbps in {len(low)} of {len(low) + 25} intervals" in flag.evidence


def test_a_dip_is_placed_by_when_its_intervals_lie_and_not_by_their_number() -> None:
    """The first interval that lies wholly inside begins up to an interval after the window."""
    steady = [9e9, 9.1e9, 8.9e9, 9e9, 9.05e9] * 5
    instance = run_of([*steady, 4e9, 9e9, 4.1e9, *steady])
    (flag,) = steady_checks.throughput([instance], Window(0.2, 53))
    assert "in 2 of 52 intervals (within 24.8 s to 27.8 s)" in flag.evidence
    later = replace(instance, start_s=0.1)
    (flag,) = steady_checks.throughput([instance, later], Window(0.2, 53.1))
    assert "in 2 of 52 intervals (within 24.9 s to 27.9 s)" in flag.evidence


def test_cpu_use_and_watts_that_change_are_placed_by_when_they_were_read() -> None:
    (flag,) = steady_checks.cpu(END, [mpstat(BUSY_FOR_A_WHILE)], None, Window(0.4, 40.4))
    assert flag.evidence.startswith("CPU use rises from 19.6 s to 23.6 s, to 0.80 cores from 0.50 cores")
    end, reading = watts(FANS_RISE)
    (flag,) = steady_checks.power(end, [reading], Window(0.2, 40.2))
    assert flag.evidence.startswith("bmc power rises at 20.3 s, from 200 W to 230 W (+15.0 %)")
    averaged = replace(reading, channels={"power": replace(reading.channels["power"], kind="mean")})
    (flag,) = steady_checks.power(end, [averaged], Window(0.2, 40.2))
    assert flag.evidence.startswith("bmc power rises at 19.3 s, "), "a mean is of the time before its reading"


def test_of_a_meter_that_averages_readings_count_that_are_as_far_apart_even_if_polled_a_little_early() -> (
    None
):
    polled = [(0.97 * number, float(number)) for number in range(5)]
    assert [value for _, value in steady_checks.apart(polled, 1.0)] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [value for _, value in steady_checks.apart(polled, 1.1)] == [0.0, 2.0, 4.0]
    assert steady_checks.apart(polled, 0.0) == polled


def test_a_step_late_in_the_window_is_drift_and_no_warm_up() -> None:
    falls = run_of([9e9, 9.1e9, 8.9e9] * 10 + [7e9, 7.1e9, 6.9e9] * 10)
    (flag,) = steady_checks.throughput([falls], Window(0, 60))
    assert flag.code == "throughput-drifts"
    assert "falls at 30 s, from 9.00 Gbps to 7.00 Gbps (−22.2 %)" in flag.evidence


def test_instances_are_looked_at_together() -> None:
    """One that takes over from another is no drift of the throughput."""
    early, late = run_of([6e9] * 15 + [3e9] * 15), run_of([3e9] * 15 + [6e9] * 15)
    assert steady_checks.throughput([early, late], Window(0, 30)) == []
    assert steady_checks.throughput([early, early], Window(0, 30)) != []


@pytest.mark.parametrize(
    "rates",
    [
        [9e9] * 10,
        [9e9, 9.3e9, 8.8e9, 9.1e9, 9e9, 9.2e9, 8.9e9, 9e9, 9.1e9, 9e9],
        [5e9, 9e9, 2e9, 8e9, 3e9, 9e9, 4e9, 7e9, 2e9, 6e9],
        [1e9, 9e9],
        [],
        [0.0] * 20,
    ],
    ids=["steady", "ordinary noise", "wild but without a trend", "too short to tell", "none", "nothing sent"],
)
def test_a_window_without_warm_up_raises_nothing(rates: list[float]) -> None:
    assert steady_checks.throughput([run_of(rates)], Window(0, max(1, len(rates)))) == []


def runs(values: list[float]) -> list[Trial]:
    return [
        Trial(number, number, CASE, CASE.key, "done", 70.0 * number, throughput_bps=bps)
        for number, bps in enumerate(values, start=1)
    ]


def test_runs_that_get_slower_over_the_campaign_are_told_once_for_their_case() -> None:
    values = (MEAN_BPS * np.linspace(1, 0.9, 10) * (1 + 0.005 * noise(1, 10, 0, 1)[0] / MEAN_BPS)).tolist()
    (summary,) = summarise(runs(values))
    (flag,) = summary.case_flags
    assert flag.code == "drifts-over-trials"
    assert "throughput falls over 10 trials" in flag.evidence
    assert "10 min 30 s" in flag.evidence


def test_steady_runs_are_told_to_drift_in_one_of_a_hundred_cases_at_most() -> None:
    cases = noise(3_000, 10, 0.0, cv=0.02).tolist()
    times_s = [70.0 * number for number in range(10)]
    assert np.mean([steadiness.drift(times_s, values) is not None for values in cases]) <= 0.01


@pytest.mark.parametrize("values", [[94e9] * 10, [94e9, 90e9, 86e9], [0.0] * 8], ids=["alike", "few", "none"])
def test_what_cannot_drift_does_not(values: list[float]) -> None:
    assert steadiness.drift([float(at) for at in range(len(values))], values) is None


def triples(seed: int, per_s: float, cv: float = 0.01) -> list[tuple[list[float], list[float]]]:
    """Three runs each of eight levels, one after the other, of something that changes by ``per_s``."""
    drawn = np.random.default_rng(seed)
    groups = []
    for level in range(8):
        times_s = [70.0 * (3 * level + at) for at in range(3)]
        values = [2.0**level * np.exp(per_s * time_s + cv * drawn.standard_normal()) for time_s in times_s]
        groups.append((times_s, [float(one) for one in values]))
    return groups


def test_drift_within_groups_is_that_of_time_whatever_levels_the_groups_have() -> None:
    found = steadiness.drift_within(triples(0, -2e-4), 1610.0)
    assert found is not None
    assert found.low < np.expm1(-2e-4 * 1610) < found.high < 0


def test_the_interval_of_a_drift_within_groups_covers_what_it_says() -> None:
    true = float(np.expm1(-4e-4 * 1610))
    every = [steadiness.drift_within(triples(seed, -4e-4), 1610.0) for seed in range(300)]
    told = [one for one in every if one is not None]
    assert len(told) > 290
    assert 0.92 <= np.mean([one.low <= true <= one.high for one in told]) <= 0.98


def test_groups_without_drift_are_told_to_drift_in_one_of_a_hundred_at_most() -> None:
    assert (
        np.mean([steadiness.drift_within(triples(seed, 0.0), 1610.0) is not None for seed in range(600)])
        <= 0.01
    )


@pytest.mark.parametrize(
    "groups",
    [[], [([0.0, 70.0, 140.0], [3.0, 2.0, 1.0])], [([5.0], [1.0])] * 9, [([0.0] * 3, [1.0, 2.0, 3.0])] * 3],
    ids=["none", "too few", "one each", "no time"],
)
def test_groups_that_cannot_tell_a_drift_tell_none(groups: list[tuple[list[float], list[float]]]) -> None:
    assert steadiness.drift_within(groups, 100.0) is None


def spoiled(kind: str, correlation: float, cv: float) -> Any:
    """Windows of 60 intervals, each with the same event in it."""
    windows, rng = noise(WINDOWS, 60, correlation, cv), np.random.default_rng(7)
    if kind == "shaped down for 2 s":
        windows[:, 30:32] *= 0.1
    elif kind == "half rate for 2 s":
        windows[:, 41:43] *= 0.5
    elif kind == "12 at zero":
        for window in windows:
            window[rng.choice(60, 12, replace=False)] = 0
    elif kind == "zero for 12":
        windows[:, 20:32] = 0
    elif kind == "half rate for half of it":
        windows[:, 15:45] *= 0.5
    elif kind == "half rate in half of them":
        for window in windows:
            window[rng.choice(60, 30, replace=False)] *= 0.5
    else:
        swing = np.sin(
            2 * np.pi * np.arange(60) / float(kind.split()[-1]) + rng.uniform(0.6, 2.5, (WINDOWS, 1))
        )
        windows *= 1 + 0.3 * (np.sign(swing) if kind.startswith("square") else swing)
    return windows


DIPS = ("shaped down for 2 s", "half rate for 2 s", "12 at zero", "zero for 12", "half rate for half of it")
WAVES = tuple(f"{form} {period}" for form in ("wave of", "square of") for period in (2, 3, 6, 10, 20, 30))


def codes_of(windows: Any) -> list[str]:
    """What is told of each window, once or not at all."""
    found = [
        steady_checks.throughput([run_of(values)], Window(0, len(values))) for values in windows.tolist()
    ]
    assert all(len(flags) <= 1 for flags in found)
    return [flags[0].code if flags else "" for flags in found]


@pytest.mark.parametrize(
    ("correlation", "cv"),
    [
        pytest.param(0.0, 0.02, marks=pytest.mark.full),
        pytest.param(0.5, 0.02, marks=pytest.mark.full),
        (0.5, 0.05),
    ],
)
@pytest.mark.parametrize("kind", [*DIPS, "half rate in half of them"])
def test_a_dip_that_the_mean_hides_is_told_in_95_of_100_windows(
    kind: str, correlation: float, cv: float
) -> None:
    assert codes_of(spoiled(kind, correlation, cv)).count("throughput-dips") >= 0.95 * WINDOWS


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.full if at % 2 else ()) for at, kind in enumerate(WAVES)]
)
def test_an_oscillation_is_told_in_95_of_100_windows(kind: str) -> None:
    found = codes_of(spoiled(kind, 0.3, 0.02))
    assert sum(code in ("throughput-oscillates", "throughput-dips") for code in found) >= 0.95 * WINDOWS
    if kind.startswith("wave"):
        assert found.count("throughput-oscillates") >= 0.95 * WINDOWS


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("zero for 12", "throughput falls from 20 s to 32 s, to 0 bit/s from 9"),
        ("12 at zero", "throughput is 0 bit/s in 12 of 60 intervals (within "),
        ("wave of 10", "throughput oscillates with a period of "),
    ],
)
def test_where_and_how_far_is_said(kind: str, said: str) -> None:
    (flag,) = steady_checks.throughput([run_of(spoiled(kind, 0.0, 0.02)[0].tolist())], Window(0, 60))
    assert flag.evidence.startswith(said)


@pytest.mark.parametrize(
    ("places", "lower", "is_told"),
    [
        ((3, 11, 24, 29, 44, 52), 0.17, False),
        ((3, 11, 24, 29, 44, 52), 0.23, True),
        ((24,), 0.5, False),
        ((24,), 0.7, True),
    ],
    ids=["a fifth lower", "more", "takes 1 % of the mean", "takes more"],
)
def test_lowest_intervals_are_told_that_are_a_fifth_below_the_others_and_take_a_hundredth_of_the_mean(
    places: tuple[int, ...], lower: float, is_told: bool
) -> None:
    (window,) = noise(1, 60, 0.0, 0.002)
    window[list(places)] *= 1 - lower
    assert codes_of(window[None, :]) == ["throughput-dips" if is_told else ""]


def test_a_rise_for_a_while_is_drift_and_no_dip() -> None:
    windows = noise(20, 60, 0.3, 0.02)
    windows[:, 25:40] *= 1.3
    assert set(codes_of(windows)) == {"throughput-drifts"}


def mpstat(cores: list[float]) -> Reading:
    """A record a second of a host with two CPUs, of which CPU 1 is idle."""
    names = [f"cpu{cpu}.{what}_ratio" for cpu in (0, 1) for what in ("idle", "iowait", "steal")]
    records = tuple(
        Record(at + 1.0, 1.0, "", dict(zip(names, (0.9 - used, 0.1, 0.0, 0.8, 0.1, 0.1), strict=True)))
        for at, used in enumerate(cores)
    )
    return Reading("h1", "mpstat", records, {name: Mpstat().channel(name) for name in names})


END = EndResult("h1", "receiver", 0.5, None, None, None, None)
STEADY = [0.5, 0.51, 0.49, 0.505] * 10
BUSY_FOR_A_WHILE = [*STEADY[:20], 0.8, 0.81, 0.79, 0.8, *STEADY[24:]]


def test_cpu_use_that_rises_for_a_while_is_told() -> None:
    (flag,) = steady_checks.cpu(END, [mpstat(BUSY_FOR_A_WHILE)], None, Window(0, 40))
    assert (flag.code, flag.where) == ("cpu-unsteady", "h1")
    assert flag.evidence.startswith("CPU use rises from 20 s to 24 s, to 0.80 cores from 0.50 cores")


@pytest.mark.parametrize(
    "cores",
    [STEADY, [0.14 * one for one in BUSY_FOR_A_WHILE], BUSY_FOR_A_WHILE[:9]],
    ids=["steady", "of 0.04 cores", "short"],
)
def test_steady_cpu_use_raises_nothing(cores: list[float]) -> None:
    assert steady_checks.cpu(END, [mpstat(cores)], None, Window(0, len(cores))) == []


def test_a_change_of_more_than_a_twentieth_of_a_core_is_told() -> None:
    little = [0.2 * one for one in BUSY_FOR_A_WHILE]
    assert steady_checks.cpu(END, [mpstat(little)], None, Window(0, 40)) != []


def test_a_cpu_that_is_not_of_this_host_is_not_looked_at() -> None:
    assert steady_checks.cpu(END, [mpstat(BUSY_FOR_A_WHILE)], (1,), Window(0, 40)) == []


def watts(values: list[float], step_w: float = 1.0, scope: str = "system") -> tuple[EndResult, Reading]:
    channel = Channel("power", "W", "gauge", scope, step=step_w)
    records = tuple(Record(at + 0.5, 1.0, "", {"power": value}) for at, value in enumerate(values))
    result = PowerResult("bmc", "power", scope, "measured", "", 200.0, step_w=step_w, updates=len(values))
    return replace(END, power=(result,)), Reading("h1", "bmc", records, {"power": channel}, optional=True)


FANS_RISE = [200.0, 201.0, 199.0, 200.0] * 5 + [230.0, 231.0, 229.0, 230.0] * 5


def test_watts_that_rise_under_a_steady_load_are_told() -> None:
    end, reading = watts(FANS_RISE)
    (flag,) = steady_checks.power(end, [reading], Window(0, 40))
    assert flag.code == "power-unsteady"
    assert flag.evidence.startswith("bmc power rises at 20.5 s, from 200 W to 230 W (+15.0 %)")


def test_watts_are_not_unsteady_where_nobody_knows_whether_cpu_use_was() -> None:
    rising = wiring.watts("h2", "PSU1 Power In", [208.0, 210.0, 209.0] * 4 + [238.0, 240.0, 239.0] * 4)
    hardly_read = wiring.sensor("h2", "mpstat", lambda one: replace(one, records=one.records[::4]))
    for change, told in ((rising, True), (wiring.both(rising, hardly_read), False)):
        flags = wiring.told(change).trial().flags
        assert ("power-unsteady" in [flag.code for flag in flags]) == told


def test_what_a_meter_that_averages_has_in_common_is_no_trend() -> None:
    """A reading a second, each the mean of eight: 40 of them are five."""
    end, reading = watts([200.0 + at for at in range(40)])
    assert [flag.code for flag in steady_checks.power(end, [reading], Window(0, 40))] == ["power-unsteady"]
    averaged = replace(end, power=(replace(end.power[0], averaging_s=8.0),))
    assert steady_checks.power(averaged, [reading], Window(0, 40)) == []


@pytest.mark.parametrize(
    ("step_w", "scope"), [(20.0, "system"), (1.0, "fan:FAN1")], ids=["a coarse meter", "a fan"]
)
def test_watts_that_prove_nothing_raise_nothing(step_w: float, scope: str) -> None:
    end, reading = watts(FANS_RISE, step_w, scope)
    assert steady_checks.power(end, [reading], Window(0, 40)) == []


def test_a_first_run_that_linewatt_slowed_is_told_and_runs_alike_are_not() -> None:
    rng = np.random.default_rng(5)
    alike = rng.normal(9.4e9, 0.02 * 9.4e9, (2_000, 10))
    assert np.mean([steadiness.unlike(first, rest) for first, *rest in alike.tolist()]) <= 0.002
    slowed = rng.normal(9.4e9, 0.01 * 9.4e9, (200, 10))
    slowed[:, 0] *= 0.84
    assert np.mean([steadiness.unlike(first, rest) for first, *rest in slowed.tolist()]) >= 0.95


@pytest.mark.parametrize(
    ("values", "is_told"),
    [
        ([8e9, 9.4e9, 9.41e9, 9.4e9], True),
        ([8e9, 9.4e9, 9.41e9], False),
        ([9.3e9, 9.4e9, 9.4e9, 9.4e9, 9.4e9], False),
        ([9.4e9] * 10, False),
        ([0.0, 9.4e9, 9.4e9, 9.4e9], False),
    ],
    ids=["four runs", "three runs", "one percent", "all alike", "nothing sent"],
)
def test_a_first_run_differs_from_three_others_by_two_percent(values: list[float], is_told: bool) -> None:
    assert steadiness.unlike(values[0], values[1:]) is is_told
