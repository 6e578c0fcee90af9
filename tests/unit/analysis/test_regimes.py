# SPDX-License-Identifier: Apache-2.0
"""What a series of instances shows: regimes and why, the knee, hidden ceilings, power that stands out."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.amounts import inputs
from tests.report_factories import end, paced_trials, powered, regimes, scaling_trials, shares, trial

from linewatt.analysis.cases.analyse import analyse_series
from linewatt.analysis.cases.regimes import explained, knee_of
from linewatt.analysis.cases.series import ceilings
from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.flags.case_flag import case_flag
from linewatt.analysis.limits import knee as of_knee
from linewatt.analysis.limits.ceiling import gain
from linewatt.analysis.limits.knee import knee
from linewatt.analysis.power.machine_conditions import Beside
from linewatt.analysis.power.outliers import PowerRow, power_outliers
from linewatt.analysis.statistics.stats import CONFIDENCE_LEVEL, t_quantile
from linewatt.findings.limits import LITTLE_GAIN_RATIO, WAITING_CPU_RATIO
from linewatt.model import Case, CpuShares, EndResult, Flag, Trial

LINE_BPS = 94.15e9
QUIET: dict[str, CpuShares] = {
    "app_cpu": shares(0.5, cpus=(0,)),
    "irq_cpu": shares(0.4, cpus=(1,), soft=0.4),
}

BESIDE = shares(0.99, cpus=(9,), soft=0.98)


def series(
    gbps: Mapping[int, float],
    *,
    line_bps: float | None = LINE_BPS,
    spread: float = 0.002,
    trials: int = 5,
    **changes: Any,
) -> tuple[CaseSummary, ...]:
    """Cases with room on every CPU, with these throughputs by instances."""
    made: list[Trial] = []
    jitter = random.Random(3)  # noqa: S311
    for count, rate in gbps.items():
        for repetition in range(1, trials + 1):
            bps = rate * 1e9 * (1 + jitter.uniform(-spread, spread))
            case = Case("tcp", "h1", "h2", instances=count)
            ends = {role: end(host, role, count * 0.9, 0, 0, **QUIET) for role, host in ENDS}  # type: ignore[arg-type]
            fields = {"line_goodput_bps": line_bps, "retransmits": 3} | ends | changes
            made.append(replace(trial(len(made) + 1, case, bps, 1.0), repetition=repetition, **fields))
    return summarise(made)


ENDS = (("sender", "h1"), ("receiver", "h2"))


def test_two_cases_that_are_both_full_are_both_saturated() -> None:
    assert regimes(series({8: 94.1, 16: 94.0})) == ("saturated", "saturated")
    first, second = explained(series({8: 94.1, 16: 94.0}))
    assert first.why.startswith("limited by the line rate: 99.9 %")
    assert second.why.startswith("limited by the line rate")


def test_a_series_with_room_is_single_then_multi() -> None:
    found = explained(series({1: 10, 2: 20, 4: 39, 8: 70}))
    assert [row.regime for row in found] == ["single", "multi", "multi", "multi"]
    assert found[1].why.startswith("twice the instances brought +99.8 %")


def test_a_gain_below_ten_percent_is_saturated_only_where_runs_can_tell() -> None:
    assert regimes(series({4: 50, 8: 52})) == ("multi", "saturated")
    unsure = explained(series({4: 50, 8: 52}, spread=0.2, trials=3))
    assert unsure[1].regime == "multi"
    assert " to +" in unsure[1].why


def test_a_gain_is_of_twice_the_instances_however_many_lie_between() -> None:
    one, eight = series({1: 10, 8: 80})
    found = gain(one, eight)
    assert found is not None
    assert found.ratio == pytest.approx(1.0, rel=0.01)
    assert not found.is_below(LITTLE_GAIN_RATIO)
    assert gain(eight, one) is None


def test_a_gain_stays_finite_whatever_the_rates_are() -> None:
    tiny, usual = series({2: 1e-290, 3: 10})
    found = gain(tiny, usual)
    assert found is not None
    assert math.isfinite(found.ratio)


@pytest.mark.parametrize(
    ("cores", "hidden"), [(WAITING_CPU_RATIO - 0.02, True), (WAITING_CPU_RATIO + 0.02, False)]
)
def test_an_instance_that_uses_clearly_less_than_it_did_waits(cores: float, hidden: bool) -> None:
    """As of a table, which has no single CPUs."""

    def sparse(count: int, gbps: float, each: float) -> Trial:
        case = Case("tcp", "h1", "h2", instances=count)
        receiver = end("h2", "receiver", each * count, 0, 0, app_cpu=None, irq_cpu=None)
        sender = end("h1", "sender", None, 0, 0, app_cpu=None, irq_cpu=None)
        ends = {"receiver": receiver, "sender": sender, "line_goodput_bps": 188e9}
        return trial(count, case, gbps * 1e9, 1.0, **ends)

    found = summarise([sparse(1, 60, 1.0), sparse(2, 109, 1.0), sparse(4, 110, cores)])
    assert [at for at, _ in ceilings(found)] == ([2] if hidden else [])


def test_beyond_the_knee_a_quarter_more_counts_as_little_and_nearly_a_half_does_not() -> None:
    published = series({1: 24.3, 2: 45.1, 4: 80.0, 8: 94.2, 16: 110.8}, line_bps=188e9)
    assert regimes(published) == ("single", "multi", "multi", "saturated", "saturated")
    assert "beyond the knee at 4.3" in explained(published)[-1].why
    bent = series({1: 10, 2: 20, 4: 40, 8: 58, 16: 84}, line_bps=188e9)
    assert knee_of(bent) is not None
    assert regimes(bent) == ("single", "multi", "multi", "multi", "multi")


def test_the_few_segments_that_tcp_drops_to_find_its_rate_hide_no_ceiling() -> None:
    found = series({1: 24, 2: 45, 4: 80, 8: 110.4, 16: 110.8}, line_bps=188.3e9, retransmits=2_800_000)
    assert found[-1].limit.kinds == ("device-or-path",)


def _sender_of(segment_bytes: int) -> EndResult:
    """It sends 110 Gbps for 60 s in segments of that size."""
    segments = 110e9 / 8 * 60 / segment_bytes
    return end("h1", "sender", 3.0, 0, 0, **QUIET, counters={"nstat.TcpOutSegs": segments})


def test_retransmits_are_a_part_of_the_segments_that_the_sender_counted() -> None:
    usual = {1: 24, 2: 45, 4: 80, 8: 110.4, 16: 110.8}
    for segment_bytes in (1448, 536):
        sender = _sender_of(segment_bytes)
        found = series(usual, line_bps=188.3e9, retransmits=2_800_000, sender=sender)
        assert found[-1].limit.kinds == ("device-or-path",)


def test_a_paced_series_has_no_scaling_and_no_regime_but_paced() -> None:
    found = summarise(paced_trials())
    assert regimes(found) == ("paced", "paced")
    assert [one.scalings["scaling_factor"] for one in found] == [None, None]
    assert [one.scalings["throughput_scaling"] for one in found] == [None, None]
    assert "held to a rate" in found[1].reasons["scaling_factor"]


def test_a_rate_that_does_not_arrive_since_a_cpu_is_full_is_not_held() -> None:
    """8.8 of 14 Gbps at a full sender was called paced, in the table above the line that names the CPU."""

    def asked(count: int, gbps: float, busy: float) -> Trial:
        case = Case("tcp", "h1", "h2", instances=count, rate_bps=3.5e9)
        shares_of = {"app_cpu": shares(busy, cpus=(0,)), "irq_cpu": shares(busy, cpus=(0,))}
        sender = end("h1", "sender", busy, 0, 0, **shares_of)
        receiver = end("h2", "receiver", 0.4, 0, 0, **QUIET)
        ends = {"sender": sender, "receiver": receiver, "line_goodput_bps": 94e9}
        return trial(count, case, gbps * 1e9, 1.0, offered_bps=count * 3.5e9, **ends)

    held = summarise([asked(1, 3.5, 0.3), asked(2, 7.0, 0.7), asked(4, 8.8, 0.998)])
    assert regimes(held) == ("paced", "paced", "saturated")
    assert "sender's app" in explained(held)[2].why
    assert held[2].scalings["scaling_factor"] is None
    assert held[1].reasons["scaling_factor"].startswith("held to a rate: ")
    assert held[2].reasons["scaling_factor"].startswith("asked for a rate that did not arrive: ")
    assert regimes(summarise([asked(1, 2.9, 0.998)])) == ("single",)


def full_cpus(per_instance: bool) -> list[CaseSummary]:
    """Full app CPUs at the sender: one for each instance, or the same two for all."""
    made = []
    for count, rate in ((2, 20.0), (4, 40.0)):
        cpus = tuple(range(count)) if per_instance else (0, 1)
        case = Case("tcp", "h1", "h2", instances=count)
        sender = end("h1", "sender", 1.0, 0, 0, app_cpu=shares(0.99, cpus=cpus), irq_cpu=shares(0.1))
        receiver = end("h2", "receiver", 1.0, 0, 0, **QUIET)
        made.append(trial(count, case, rate * 1e9, 1.0, sender=sender, receiver=receiver))
    return list(summarise(made))


def test_cpus_that_each_instance_fills_saturate_nothing_and_shared_ones_do() -> None:
    assert regimes(full_cpus(per_instance=True)) == ("multi", "multi")
    assert regimes(full_cpus(per_instance=False)) == ("multi", "saturated"), "4 brought twice what 2 did"


def test_a_level_that_nothing_known_explains_is_a_limit_of_device_or_path() -> None:
    found = series({1: 24, 2: 45, 4: 80, 8: 110.4, 16: 110.8}, line_bps=188.3e9)
    last = found[-1]
    assert last.limit.kinds == ("device-or-path",)
    assert last.limit.what == "something inside the device or the path, at 111 Gbps"
    for said in ("not the line rate: 58.", "no full CPU", "3 retransmits", "repeats to 0."):
        assert said in last.limit.evidence
    assert [flag.code for flag in last.case_flags] == ["hidden-ceiling"]
    assert found[-2].limit.kinds == ("device-or-path",), "it stands at the same level"
    assert [one.case_flags for one in found[:3]] == [(), (), ()]
    assert regimes(found) == ("single", "multi", "multi", "saturated", "saturated")


@pytest.mark.parametrize(
    ("lacks", "changes"),
    [
        ("line", {"line_bps": None}),
        ("full line", {"line_bps": 115e9}),
        ("receiver", {"receiver": end("h2", "receiver", None, 0, 0, app_cpu=None, irq_cpu=None)}),
        ("sender", {"sender": end("h1", "sender", None, 0, 0, app_cpu=None, irq_cpu=None)}),
        ("full CPU", {"sender": end("h1", "sender", 3.0, 0, 0, app_cpu=shares(0.95), irq_cpu=shares(0.1))}),
        (
            "full CPU beside the roles",
            {
                "sender": end(
                    "h1",
                    "sender",
                    3.0,
                    0,
                    0,
                    **QUIET,
                    hottest=BESIDE,
                    counters={"irq.data": 9, "irq.cpu9": 9},
                )
            },
        ),
        ("loss", {"retransmits": 10_000_000}),
        ("loss of large packets", {"retransmits": 2_800_000, "sender": _sender_of(8948)}),
        ("loss not known", {"retransmits": None}),
        ("repeats", {"spread": 0.03}),
        ("one run", {"trials": 1}),
    ],
)
def test_a_hidden_ceiling_is_never_named_without_all_of_its_evidence(
    lacks: str, changes: dict[str, Any]
) -> None:
    whole = {"line_bps": 188.3e9} | changes
    for one in series({1: 24, 2: 45, 4: 80, 8: 110.4, 16: 110.8}, **whole):
        assert one.limit.kind != "device-or-path", lacks
        assert "hidden-ceiling" not in {flag.code for flag in one.case_flags}


# --- knee ---------------------------------------------------------------------------------------------------


def test_the_message_of_a_finding_is_the_first_clause_of_its_flag() -> None:
    """A clause may hold a semicolon: it is not cut there."""
    flags = (
        case_flag("slower-pair", "h1 → h2", ("9 Gbps; of 10", "b", "c"), "look"),
        Flag("rate-exceeded", "h1 → h2", "9 Gbps; of 8", "ask"),
    )
    assert flags[0].evidence == "9 Gbps; of 10; b; c"
    (summary,) = series({1: 10})
    findings = analyse_series("TCP", [replace(summary, case_flags=flags)]).findings
    assert [(finding.message.partition(": ")[2], finding.evidence) for finding in findings[-2:]] == [
        ("9 Gbps; of 10", ("b; c", "look")),
        ("9 Gbps; of 8", ("ask",)),
    ]


def test_each_of_two_flags_of_one_kind_is_told_once() -> None:
    flags = tuple(Flag("rate-exceeded", where, "9 Gbps", "ask") for where in ("h1 → h2", "h2 → h1"))
    (summary,) = series({1: 10})
    findings = analyse_series("TCP", [replace(summary, case_flags=flags)]).findings
    told = [finding.message for finding in findings if finding.kind == "rate-exceeded"]
    assert [message.partition(", ")[2] for message in told] == ["h1 → h2: 9 Gbps", "h2 → h1: 9 Gbps"]


def test_the_knee_of_a_broken_line_is_where_it_breaks() -> None:
    found = knee([(n, 10.0 * min(n, 6) + 0.5 * max(n - 6, 0)) for n in (1, 2, 4, 8, 16)])
    assert found is not None
    assert found.instances == pytest.approx(6, rel=0.02)
    assert found.low <= 6 <= found.high
    assert found.before_bps == pytest.approx(10, rel=0.01)
    assert found.after_bps == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 0.01, 0.1])
def test_of_all_bends_few_are_fitted_and_the_knee_is_that_of_all_of_them(
    monkeypatch: pytest.MonkeyPatch, noise: float
) -> None:
    draw, knees = random.Random(7), 0  # noqa: S311 - the same again, no secret
    for _ in range(inputs(40)):
        instances = sorted(draw.sample(range(1, 65), draw.randint(4, 10)))
        bend, slope, idle = draw.uniform(1, 40), draw.choice((0.0, 0.1, 0.4)), draw.choice((0.0, 3.0))
        points = [
            (
                float(n),
                1e9 * (idle + min(n, bend) + slope * max(n - bend, 0)) * (1 + noise * draw.gauss(0, 1)),
            )
            for n in instances
        ]
        if min(rate for _, rate in points) <= 0:
            continue
        of_few = knee(points)
        with monkeypatch.context() as patch:
            patch.setattr(of_knee, "_smallest", lambda grid, about: grid)
            patch.setattr(of_knee, "_doubt", lambda squares: math.inf)
            of_knee._knee.cache_clear()
            assert knee(points) == of_few
        of_knee._knee.cache_clear()
        knees += of_few is not None
    assert knees > 5


def test_the_interval_of_the_knee_holds_the_truth() -> None:
    jitter = random.Random(11)  # noqa: S311
    held = 0
    for _ in range(200):
        points = [
            (n, 10.0 * min(n, 6) * (1 + jitter.gauss(0, 0.01)))
            for n in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
        ]
        found = knee(points)
        assert found is not None
        held += found.low <= 6 <= found.high
    assert held >= 180


@pytest.mark.parametrize(
    "points",
    [
        [(1, 10), (2, 20), (4, 40)],
        [(1, 10), (2, 20), (4, 40), (8, 80), (16, 160)],
        [(1, 10), (2, 19), (4, 36), (8, 68), (16, 128)],
    ],
)
def test_too_few_cases_or_a_line_that_hardly_bends_has_no_knee(points: list[tuple[float, float]]) -> None:
    assert knee(points) is None


@given(st.lists(st.floats(min_value=0.1, max_value=1e12), min_size=4, max_size=8))
def test_a_knee_lies_within_its_interval_and_its_series(rates: list[float]) -> None:
    points = [(float(2**at), rate) for at, rate in enumerate(rates)]
    found = knee(points)
    if found is not None:
        assert points[0][0] <= found.low <= found.instances <= found.high <= points[-1][0]
        assert 0 <= found.after_bps < found.before_bps


# --- power --------------------------------------------------------------------------------------------------


def test_a_case_whose_power_stands_out_is_told_and_no_other() -> None:
    found = summarise(powered(scaling_trials()))
    told = {one.case.instances: [f for f in one.case_flags if f.code == "power-outlier"] for one in found}
    assert [count for count, flags in told.items() if flags] == [8]
    (flag,) = told[8]
    assert flag.where == "h2"
    assert flag.evidence.startswith("339.2 W, where the other cases say ")
    assert "not the CPU: 100.0 W there, 104.0 to 136.0 W in the others" in flag.evidence
    assert "fan speed is not known" in flag.evidence


def watts(*system: float, fan: Sequence[float] = ()) -> list[PowerRow]:
    return [
        PowerRow(
            2**at,
            10e9 * 2**at,
            w,
            uncertainty_w=2.0,
            read_beside=partial(Beside, {"fan speed (rpm)": fan[at]} if fan else {}),
        )
        for at, w in enumerate(system)
    ]


def test_fans_that_changed_too_stand_beside_it() -> None:
    (found,) = power_outliers(watts(200, 210, 330, 250, 290, fan=(6000, 6100, 15000, 6100, 6200)))
    assert found.row.instances == 4
    assert "fan speed (rpm) 15,000, in the others 6,100: it changed too" in found.evidence


def test_power_that_grows_with_throughput_or_bends_is_no_outlier() -> None:
    assert list(power_outliers(watts(100, 120, 160, 240, 400))) == []
    assert list(power_outliers(watts(100, 140, 170, 185, 190))) == []
    assert list(power_outliers(watts(100, 300, 170))) == [], "three rows say nothing"


def test_power_that_is_off_by_less_than_three_bounds_of_its_error_is_no_outlier() -> None:
    rows = watts(200, 210, 330, 250, 290)
    assert [one.row.instances for one in power_outliers(rows)] == [4]
    assert list(power_outliers([replace(row, uncertainty_w=50.0) for row in rows])) == []


def test_a_few_percent_are_no_outlier_however_close_the_others_lie() -> None:
    rows = [replace(row, uncertainty_w=None) for row in watts(210, 220, 250, 280, 360)]
    assert list(power_outliers(rows)) == []
    assert len(
        list(power_outliers([replace(row, uncertainty_w=None) for row in watts(210, 220, 280, 280, 360)]))
    )


@given(st.lists(st.floats(min_value=-3, max_value=3), min_size=5, max_size=5))
def test_noise_within_the_bound_of_the_readings_is_no_outlier(noise: list[float]) -> None:
    rows = watts(*(200 + 10 * 2**at + off for at, off in enumerate(noise)))
    assert list(power_outliers(rows)) == []


@pytest.mark.parametrize("df", [1, 2, 3, 5, 10, 47])
def test_quantiles_of_f_are_those_of_scipy(df: int) -> None:
    from scipy.special import fdtri

    assert of_knee._f_quantile(df) == pytest.approx(fdtri(2, df, CONFIDENCE_LEVEL), rel=1e-10)
    assert t_quantile(df) ** 2 == pytest.approx(fdtri(1, df, CONFIDENCE_LEVEL), rel=1e-10)
