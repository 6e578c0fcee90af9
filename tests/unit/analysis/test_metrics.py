# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt import units
from linewatt.analysis.metrics import formulas
from linewatt.analysis.statistics.stats import Estimate, estimate

positive = st.floats(min_value=1e-9, max_value=1e15)
anything = st.one_of(st.none(), st.floats())
factor = st.floats(min_value=1.001, max_value=1000)

TWO_VALUES: list[Callable[[float | None, float | None], float | None]] = [
    formulas.efficiency_bps_per_core,
    formulas.at_3ghz,
    formulas.scaling_factor,
    formulas.cpu_cores_per_bps,
    formulas.bps_per_w,
    formulas.cpu_power_ratio,
    formulas.dynamic_w,
    formulas.energy_j_per_bit,
]
QUOTIENTS = [metric for metric in TWO_VALUES if metric is not formulas.dynamic_w]


def test_published_single_instance_gives_its_efficiency() -> None:
    assert formulas.efficiency_bps_per_core(24287.36e6, 1.6866) == pytest.approx(14400.19e6, rel=1e-6)


def test_efficiency_at_3ghz_scales_by_the_base_frequency() -> None:
    assert formulas.at_3ghz(14400.19e6, 3.2e9) == pytest.approx(13500.17e6, rel=1e-6)
    assert formulas.at_3ghz(14400.19e6, 3e9) == pytest.approx(14400.19e6)


def test_scaling_factor_at_8_instances_is_a_ratio_of_efficiencies_not_of_throughputs() -> None:
    assert formulas.scaling_factor(9998.44, 14400.19) == pytest.approx(0.694, abs=1e-3)
    assert formulas.throughput_scaling(94237.26, 24287.36, 8) == pytest.approx(0.485, abs=1e-3)


def test_dynamic_power_is_power_above_idle() -> None:
    assert formulas.dynamic_w(158.0, 128.0) == 30.0


@pytest.mark.parametrize(("power_w", "idle_w"), [(128.0, 128.0), (120.0, 128.0)])
def test_power_not_above_idle_gives_no_dynamic_power(power_w: float, idle_w: float) -> None:
    assert formulas.dynamic_w(power_w, idle_w) is None


def test_two_half_loaded_cpus_are_one_core() -> None:
    assert formulas.cores_used([0.5, 0.5]) == 1.0


def test_idle_cpus_use_no_core() -> None:
    assert formulas.cores_used([1.0, 1.0]) == 0.0


@pytest.mark.parametrize("idle", [[], [None], [0.5, None], [0.5, -0.1], [1.1], [math.nan]])
def test_cores_used_is_unknown_when_one_cpu_is(idle: list[float | None]) -> None:
    assert formulas.cores_used(idle) is None


@given(positive, positive)
def test_energy_per_bit_and_bits_per_watt_are_two_views_of_one_figure(
    power_w: float, rate_bps: float
) -> None:
    energy_j = formulas.energy_j_per_bit(power_w, rate_bps)
    efficiency = formulas.bps_per_w(rate_bps, power_w)
    assert energy_j is not None
    assert efficiency is not None
    pj_per_bit, mbps_per_w = units.pj_from_j(energy_j), units.mbps_from_bps(efficiency)
    assert pj_per_bit * mbps_per_w == pytest.approx(1e6)


@given(positive, positive)
def test_watt_per_gbps_times_1000_is_picojoule_per_bit(power_w: float, rate_bps: float) -> None:
    energy_j = formulas.energy_j_per_bit(power_w, rate_bps)
    assert energy_j is not None
    w_per_gbps = power_w / units.gbps_from_bps(rate_bps)
    assert units.pj_from_j(energy_j) == pytest.approx(1000 * w_per_gbps)


@given(positive, positive)
def test_cpu_per_throughput_is_the_inverse_of_efficiency(cores: float, rate_bps: float) -> None:
    cost = formulas.cpu_cores_per_bps(cores, rate_bps)
    efficiency = formulas.efficiency_bps_per_core(rate_bps, cores)
    assert cost is not None
    assert efficiency is not None
    assert cost * efficiency == pytest.approx(1)


@given(positive, positive)
def test_one_instance_scales_by_1_from_itself(rate_bps: float, cores: float) -> None:
    efficiency = formulas.efficiency_bps_per_core(rate_bps, cores)
    assert formulas.scaling_factor(efficiency, efficiency) == 1
    assert formulas.throughput_scaling(rate_bps, rate_bps, 1) == 1


@given(positive, st.integers(min_value=1, max_value=1000))
def test_linear_growth_is_a_throughput_scaling_of_1(single_bps: float, instances: int) -> None:
    assert formulas.throughput_scaling(instances * single_bps, single_bps, instances) == pytest.approx(1)


@pytest.mark.parametrize("metric", QUOTIENTS)
@given(left=positive, right=positive, more=factor)
def test_a_quotient_grows_with_its_first_value_and_falls_with_its_second(
    metric: Callable[[float | None, float | None], float | None], left: float, right: float, more: float
) -> None:
    base, larger, smaller = metric(left, right), metric(left * more, right), metric(left, right * more)
    assert base is not None
    assert larger is not None
    assert smaller is not None
    assert smaller < base < larger


@pytest.mark.parametrize("metric", TWO_VALUES)
@given(left=anything, right=anything)
def test_a_metric_is_a_positive_finite_number_or_none(
    metric: Callable[[float | None, float | None], float | None], left: float | None, right: float | None
) -> None:
    value = metric(left, right)
    assert value is None or (math.isfinite(value) and value > 0)
    if any(x is None or not math.isfinite(x) or x <= 0 for x in (left, right)):
        assert value is None


@given(anything, anything, st.one_of(st.none(), st.integers(min_value=-10, max_value=10**9)))
def test_throughput_scaling_is_a_positive_finite_number_or_none(
    rate: float | None, single: float | None, instances: int | None
) -> None:
    value = formulas.throughput_scaling(rate, single, instances)
    assert value is None or (math.isfinite(value) and value > 0)


def test_mean_and_sample_deviation_are_those_of_the_textbook() -> None:
    found = estimate([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert found is not None
    assert (found.mean, found.n) == (5.0, 8)
    assert found.sd == pytest.approx((32 / 7) ** 0.5)


def test_one_value_has_no_deviation() -> None:
    assert estimate([3.5]) == Estimate(mean=3.5, sd=None, n=1)


def test_missing_values_are_not_counted() -> None:
    assert estimate([None, 1.0, math.nan, 3.0, math.inf]) == estimate([1.0, 3.0])


def test_nothing_has_no_estimate() -> None:
    assert estimate([]) is None
    assert estimate([None, math.nan]) is None


@given(st.lists(st.floats(min_value=-1e150, max_value=1e150), min_size=2))
def test_the_mean_lies_within_the_values_and_the_deviation_within_their_range(values: list[float]) -> None:
    found = estimate(values)
    assert found is not None
    assert found.sd is not None
    low, high = min(values), max(values)
    slack = max(1e-12 * max(abs(low), abs(high)), sys.float_info.min)  # below it numbers lose their digits
    assert low - slack <= found.mean <= high + slack
    assert 0 <= found.sd <= (high - low) + slack


def test_importing_the_analysis_does_not_import_scipy_or_numpy() -> None:
    code = (
        "import sys, linewatt.analysis.cases.summary, linewatt.features.tables.derive; "
        "sys.exit(bool({'scipy', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
