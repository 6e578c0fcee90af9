# SPDX-License-Identifier: Apache-2.0
"""Intervals of means: what they are, and how often they cover what they say, by simulation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.report_factories import trial

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.metrics.of_power import POWER_METRICS
from linewatt.analysis.metrics.of_trial import METRIC_BY_NAME, METRICS
from linewatt.analysis.statistics.repeats import RepeatRule
from linewatt.analysis.statistics.stats import Interval, Quantity, estimate, student, t_quantile
from linewatt.model import Case
from linewatt.report.columns import COLUMNS, ci_text, cut_words, export

CASE = Case("tcp", "gen", "dut")
MEAN_BPS, CV = 94e9, 0.02
SHAPES = ("normal", "skewed")


def runs(shape: str, cases: int, n: int, seed: int, cv: float = CV) -> Any:
    """Throughput of ``n`` runs each of so many cases, bit/s; the skewed ones have a skewness of 0.61."""
    rng = np.random.default_rng(seed)
    if shape == "normal":
        noise = rng.normal(size=(cases, n))
    else:
        drawn = rng.lognormal(0, 0.2, size=(cases, n))
        noise = (drawn - np.exp(0.02)) / np.sqrt((np.exp(0.04) - 1) * np.exp(0.04))
    return MEAN_BPS * (1 + cv * noise)


def student_half_widths(values: Any) -> Any:
    n = values.shape[1]
    return t_quantile(n - 1) * values.std(axis=1, ddof=1) / np.sqrt(n)


def interval(values: Iterable[float | None]) -> Interval | None:
    found = estimate(values)
    return None if found is None else found.interval()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [5, 10])
def test_students_interval_covers_the_mean_as_often_as_it_says(n: int, shape: str) -> None:
    drawn = runs(shape, 20_000, n, seed=n)
    covered = np.abs(drawn.mean(axis=1) - MEAN_BPS) <= student_half_widths(drawn)
    assert 0.93 <= covered.mean() <= 0.97
    one = estimate(drawn[0].tolist())
    assert one is not None
    found = one.interval()
    assert found is not None
    shorter_arm = min(found.high - one.mean, one.mean - found.low)
    assert shorter_arm == pytest.approx(student_half_widths(drawn)[0])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [5, 10])
def test_the_interval_of_skewed_runs_holds_the_mean_in_93_percent(n: int, sign: int) -> None:
    """Lognormal runs of σ 0.5, whose skewness is 1.75, with the tail on either side."""
    cases, covered = 20_000, 0
    drawn = sign * np.random.default_rng(n).lognormal(0, 0.5, size=(cases, n))
    mean = sign * np.exp(0.125)
    for values in drawn.tolist():
        found = interval(values)
        assert found is not None
        covered += found.low <= mean <= found.high
    students_covered = (np.abs(drawn.mean(axis=1) - mean) <= student_half_widths(drawn)).sum()
    assert covered / cases >= 0.93
    assert students_covered / cases < 0.93


@pytest.mark.parametrize("n", [5, 10])
def test_the_interval_of_normal_runs_is_little_wider_for_its_longer_arm(n: int) -> None:
    drawn = runs("normal", 5_000, n, seed=n)
    found = [interval(values) for values in drawn.tolist()]
    half_widths = np.array([one.half_width for one in found if one is not None])
    assert 1.02 <= (half_widths / student_half_widths(drawn)).mean() <= 1.12


def test_only_the_arm_on_the_side_of_the_tail_is_longer() -> None:
    values = [10.0, 10.1, 10.2, 10.3, 12.0]
    one = estimate(values)
    assert one is not None
    assert one.sd is not None
    plain, right = student(one.mean, one.sd, 5), interval(values)
    mirrored = interval([-value for value in values])
    assert right is not None
    assert mirrored is not None
    assert right.method == "student-t-skewed"
    assert right.low == plain.low
    skewness = np.mean((np.array(values) - one.mean) ** 3) / np.std(values) ** 3
    assert right.high - one.mean == pytest.approx((1 + skewness / 5**0.5) * plain.half_width)
    assert right.longer_arm(one.mean) == right.high - one.mean
    assert (mirrored.low, mirrored.high) == pytest.approx((-right.high, -right.low))


def test_four_runs_say_nothing_of_a_tail() -> None:
    found = interval([10.0, 10.1, 10.2, 12.0])
    assert found is not None
    assert found.method == "student-t"


def test_a_longer_arm_ends_where_the_mean_can_be() -> None:
    one = estimate([0.1, 1.0, 1.0, 1.0, 1.0], "positive")
    assert one is not None
    assert one.sd is not None
    found, plain = one.interval(), student(one.mean, one.sd, 5)
    assert found == Interval(0.0, plain.high, "student-t-cut")
    assert plain.low > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bootstrap_from_twenty_runs_on_covers_the_mean_as_often_as_it_says(shape: str) -> None:
    covered = 0
    cases = 1_000
    for values in runs(shape, cases, 20, seed=1).tolist():
        found = interval(values)
        assert isinstance(found, Interval)
        assert found.method == "bca-bootstrap"
        covered += found.low <= MEAN_BPS <= found.high
    assert 0.93 <= covered / cases <= 0.97


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cv", [0.01, 0.016, 0.02, 0.03])
def test_looking_at_10_15_20_and_30_runs_leaves_the_interval_93_percent(shape: str, cv: float) -> None:
    drawn = runs(shape, 20_000, 30, seed=8, cv=cv)
    going = np.full(len(drawn), True)
    covered = np.zeros(len(drawn), bool)
    for n in RepeatRule(10, 30, 0.01).looks:
        means, reach = drawn[:, :n].mean(axis=1), student_half_widths(drawn[:, :n])
        stops = going & ((reach <= 0.01 * means) | (n == 30))
        covered[stops] = (np.abs(means - MEAN_BPS) <= reach)[stops]
        going &= ~stops
    assert covered.mean() >= 0.93


def test_the_same_runs_have_the_same_interval_every_time() -> None:
    values = runs("normal", 1, 20, seed=3)[0].tolist()
    assert interval(values) == interval(values)


def test_the_bootstrap_follows_the_skew_of_the_runs() -> None:
    values = [10.0] * 17 + [11.0, 13.0, 16.0]
    found = interval(values)
    mean = sum(values) / len(values)
    assert isinstance(found, Interval)
    assert found.high - mean > 1.2 * (mean - found.low)


def test_the_bootstrap_is_that_of_scipy_at_the_level_it_is_asked_for() -> None:
    from scipy.special import ndtr
    from scipy.stats import bootstrap

    level = 2 * ndtr(np.sqrt(20 / 19) * t_quantile(19)) - 1
    for values in runs("skewed", 5, 20, seed=9):
        ours = interval(values.tolist())
        assert isinstance(ours, Interval)
        theirs = bootstrap(
            (values,),
            np.mean,
            n_resamples=20_000,
            confidence_level=level,
            rng=np.random.default_rng(1),
        ).confidence_interval
        width = theirs.high - theirs.low
        assert ours.low == pytest.approx(theirs.low, abs=0.06 * width)
        assert ours.high == pytest.approx(theirs.high, abs=0.06 * width)


def test_one_run_has_no_interval() -> None:
    assert interval([94e9, None]) is None
    assert interval([None, float("nan")]) is None


@pytest.mark.parametrize("n", [2, 19, 20, 40])
def test_runs_without_spread_have_an_interval_without_width(n: int) -> None:
    found = interval([94e9] * n)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == (94e9, 94e9)


@settings(deadline=None, max_examples=inputs(50))
@given(st.lists(st.floats(min_value=1e-3, max_value=1e12), min_size=2, max_size=25))
def test_an_interval_is_finite_and_ordered_whatever_the_runs(values: list[float]) -> None:
    found = interval(values)
    assert isinstance(found, Interval)
    assert np.isfinite([found.low, found.high]).all()
    assert found.low <= found.high


def test_intervals_import_no_scipy() -> None:
    code = (
        "import sys; from linewatt.analysis.statistics.stats import estimate;"
        "estimate([1.0, 2.0, 3.0] * 7).interval();"
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_throughput_and_efficiency_are_exported_with_their_interval_and_its_method() -> None:
    shown = [column.si_key for column in COLUMNS if column.show_ci]
    assert shown == [
        "throughput_bps",
        "latency_p50_s",
        "latency_p99_s",
        "efficiency_receiver_bps_per_core",
        "efficiency_sender_bps_per_core",
    ]


@given(
    st.lists(st.floats(min_value=0, max_value=1e12), min_size=2, max_size=25),
    st.sampled_from(["positive", "ratio"]),
)
@settings(deadline=None, max_examples=inputs(100))
def test_no_interval_has_what_its_quantity_cannot_be(values: list[float], quantity: Quantity) -> None:
    most = 1.0 if quantity == "ratio" else np.inf
    one = estimate([min(most, value) for value in values], quantity)
    assert one is not None
    found = one.interval()
    assert found is not None
    assert 0 <= found.low <= one.mean * (1 + 1e-9)
    assert one.mean * (1 - 1e-9) <= found.high <= most * (1 + 1e-9)


@pytest.mark.parametrize(
    ("values", "quantity", "method"),
    [
        ([1.978, 2.756], "positive", "student-t-cut"),
        ([1.2, 2.1, 3.4], "positive", "student-t-log"),
        ([0.001, 0.0, 0.004], "ratio", "student-t-logit"),
        ([0.0, 0.0, 0.003, 0.0], "ratio", "student-t-logit"),
        ([0.9, 0.999, 0.95], "ratio", "student-t-logit"),
        ([-1.0, 4.0, 2.0], "signed", "student-t"),
    ],
)
def test_an_interval_that_would_cross_a_bound_says_how_it_was_kept_within(
    values: list[float], quantity: Quantity, method: str
) -> None:
    found, plain = estimate(values, quantity), interval(values)
    assert found is not None
    assert plain is not None
    assert plain.low < 0 or (quantity == "ratio" and plain.high > 1), "Student's crosses the bound"
    bounded = found.interval()
    assert bounded is not None
    assert bounded.method == method
    assert (bounded.low < 0) == (quantity == "signed")


@pytest.mark.parametrize("quantity", ["positive", "ratio"])
def test_an_interval_that_crosses_no_bound_is_students(quantity: Quantity) -> None:
    values = [0.94, 0.93, 0.95, 0.945]
    found = estimate(values, quantity)
    assert found is not None
    assert found.interval() == interval(values)


OF_A_BOUND = ("student-t-log", "student-t-logit", "student-t-cut")


def drawn_near_a_bound(shape: str, n: int) -> tuple[Any, float, Quantity]:
    """Runs of which many intervals would cross a bound, with the mean they are drawn around."""
    rng = np.random.default_rng(n)
    cases = 3_000
    if shape == "normal":
        drawn = rng.normal(1, 0.3, size=(cases, n))
        return drawn[(drawn > 0).all(axis=1)], 1.0, "positive"
    if shape == "skewed":
        sigma = np.sqrt(np.log(2))
        return rng.lognormal(-(sigma**2) / 2, sigma, size=(cases, n)), 1.0, "positive"
    return rng.beta(1, 99, size=(cases, n)), 0.01, "ratio"


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("shape", ["normal", "skewed", "loss"])
def test_intervals_within_bounds_cover_at_least_as_much_as_students(shape: str, n: int) -> None:
    drawn, mean, quantity = drawn_near_a_bound(shape, n)
    within = plainly = crossed = of_crossed = 0
    for values in drawn.tolist():
        one = estimate(values, quantity)
        assert one is not None
        assert one.sd is not None
        found, plain = one.interval(), student(one.mean, one.sd, n)
        assert found is not None
        covers = found.low <= mean <= found.high
        within += covers
        plainly += plain.low <= mean <= plain.high
        crossed += found.method in OF_A_BOUND
        of_crossed += covers and found.method in OF_A_BOUND
    assert within >= plainly - 0.003 * len(drawn)
    assert of_crossed >= 0.95 * crossed
    if shape == "normal":
        assert 0.94 <= within / len(drawn) <= (0.96 if n < 5 else 0.97), "a longer arm holds a little more"
    elif n == 3:
        assert within >= plainly + 0.02 * len(drawn), "skewed runs are covered more often"


def test_metrics_say_what_they_cannot_be() -> None:
    signed = {metric.name for metric in METRICS if metric.quantity == "signed"}
    signed |= {metric.name for metric in POWER_METRICS if metric.quantity == "signed"}
    assert signed == {
        "target_deviation_ratio",
        "idle_w",
        "dynamic_w",
        "dynamic_w_per_bps",
        "dynamic_energy_j_per_bit",
    }
    assert METRIC_BY_NAME["lost_ratio"].quantity == "ratio"


@pytest.mark.parametrize(
    ("values", "words"),
    [((0.01, 0.09), "cut at 0"), ((0.91, 0.99), "cut at 100 %"), ((0.1, 0.9), "cut at 0 and 100 %")],
)
def test_only_the_end_that_was_cut_is_said_to_be(values: tuple[float, ...], words: str) -> None:
    value = estimate(values, "ratio")
    assert value is not None
    interval = value.interval()
    assert interval is not None
    assert cut_words(interval, value.quantity) == words


def test_two_runs_far_apart_are_shown_with_what_was_cut() -> None:
    (summary,) = summarise([trial(number, CASE, bps, 1.0) for number, bps in ((1, 1.978e9), (2, 2.756e9))])
    speed = METRIC_BY_NAME["throughput_bps"]
    assert ci_text(speed, summary, speed.units[0]) == "0 to 7.310, cut at 0"
    row = export(speed, summary)
    assert (row["throughput_bps_ci95_low"], row["throughput_bps_ci95_method"]) == (0.0, "student-t-cut")


@pytest.mark.parametrize(("runs", "is_told"), [(2, True), (28, True), (29, False), (50, False)])
def test_an_interval_says_what_it_assumes_and_which_mode_so_few_runs_would_not_show(
    runs: int, *, is_told: bool
) -> None:
    from linewatt.report.glossary import interval_entry

    _, text = interval_entry(runs)
    assert "if the trials made show how trials are spread" in text
    told = f"A mode that takes 1 trial in 10 would show with 95 % in 29 trials; {runs} were made."
    assert (told in text) is is_told
    assert "From 5 trials on it reaches further on the side where trials are further off." in text
