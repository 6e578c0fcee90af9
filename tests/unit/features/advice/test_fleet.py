# SPDX-License-Identifier: Apache-2.0
"""How many servers a target takes, what they draw and cost, and how far that is to be trusted."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report_factories import powered, scaling_trials

from linewatt.analysis.cases.summary import summarise
from linewatt.analysis.findings import gather_findings
from linewatt.analysis.statistics.stats import estimate
from linewatt.errors import InvalidInput
from linewatt.features.advice.fleet.advice import FleetAdvice, advise_fleet
from linewatt.features.advice.fleet.points import OperatingPoint, Reading, operating_points, why_no_point
from linewatt.features.advice.fleet.question import Question, Redundancy, check, parse_redundancy
from linewatt.features.advice.fleet.totals import Totals, fleets
from linewatt.features.advice.psu.supplies import Supply
from linewatt.features.advice.psu.tables import certified
from linewatt.model import Case

GBPS = 1e9
TARGET = Question(10_000 * GBPS, price_per_kwh=0.15)


def reading(*values: float, bound: float | None = None) -> Reading:
    found = estimate(values)
    assert found is not None
    return Reading.of(found, bound)


def point(instances: int, gbps: float, cores: float, watts: float | None, **changes: Any) -> OperatingPoint:
    """One run of a point, measured at the output of the power supplies."""
    bps = gbps * GBPS
    made = OperatingPoint(
        instances=instances,
        runs=1,
        failed=0,
        throughput_bps=reading(bps),
        cores=reading(cores),
        power_w=None if watts is None else reading(watts),
        idle_w=None,
        bps_per_core=reading(bps / cores),
        bps_per_w=None if watts is None else reading(bps / watts),
        scope="psu-out",
        provenance="measured",
        reasons={} if watts is not None else {"power_w": "the meter was silent"},
    )
    return replace(made, **changes)


X64 = (
    point(1, 24.28736, 1.6866, 210.01),
    point(2, 45.14876, 3.3755, 216.00),
    point(4, 79.98262, 6.7333, 228.50),
    point(8, 94.23726, 9.4252, 339.24),
    point(16, 110.83141, 13.4455, 249.00),
)


def advice(points: Sequence[OperatingPoint] = X64, question: Question = TARGET) -> FleetAdvice:
    return advise_fleet("tcp", "receiver", points, question)


def totals(question: Question = TARGET, one: OperatingPoint = X64[4]) -> Totals:
    return fleets([one], question)[0].totals


def test_servers_are_whole_and_carry_the_target_with_headroom() -> None:
    assert totals().servers == math.ceil(10_000 / 110.83141) == 91
    free = totals(replace(TARGET, headroom_ratio=0.2))
    assert free.servers == math.ceil(10_000 / (110.83141 * 0.8)) == 113
    assert free.power_w == pytest.approx(113 * 249)
    assert free.cores == pytest.approx(113 * 13.4455)


def test_a_quotient_that_is_whole_needs_no_server_more() -> None:
    fifth = point(1, 25.0, 1, 100)
    assert totals(Question(100 * GBPS, headroom_ratio=0.2), fifth).servers == 5
    for tenths in range(1, 2000):
        one = totals(Question(tenths / 10 * GBPS), point(1, 0.1, 1, 100))
        assert one.servers == tenths


def test_energy_is_of_all_hours_and_of_the_building() -> None:
    one = totals(replace(TARGET, pue=1.3))
    assert one.energy_kwh_year == pytest.approx(91 * 249 * 1.3 * 8.76)
    assert one.cost_year == pytest.approx(91 * 249 * 1.3 * 8.76 * 0.15)
    dearer = totals(replace(TARGET, pue=1.3, server_cost=8000.0, server_years=4.0))
    assert dearer.cost_year == pytest.approx((one.cost_year or 0) + 91 * 2000)


def test_without_a_price_there_is_no_money_and_energy_decides() -> None:
    found = advice(question=replace(TARGET, price_per_kwh=None))
    assert all(one.totals.cost_year is None for one in found.fleets)
    assert found.choice.by == "energy_kwh_year"
    assert found.choice.cheapest is found.fleets[4]


@pytest.mark.parametrize(
    ("text", "active", "spare"), [("n", 7, 0), ("N+1", 7, 1), ("n+3", 7, 3), ("2n", 7, 7), ("2n+1", 7, 8)]
)
def test_redundancy(text: str, active: int, spare: int) -> None:
    assert parse_redundancy(text).spare(active) == spare
    assert str(parse_redundancy(text)) == text.lower()


@pytest.mark.parametrize("text", ["", "1", "n-1", "n+", "3n", "n+99999", "n+١"])
def test_what_is_no_redundancy_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="--redundancy must be"):
        parse_redundancy(text)


def test_a_spare_server_draws_idle_watts_where_they_are_known() -> None:
    spare = replace(TARGET, redundancy=Redundancy(2))
    rested = replace(X64[4], idle_w=Reading(100.0, 3, 100.0, 100.0, 5.0))
    assert totals(spare, rested).power_w == pytest.approx(91 * 249 + 2 * 100)
    assert totals(spare).power_w == pytest.approx(93 * 249), "unknown: as if under load, never 0"
    assert totals(spare).cores == pytest.approx(91 * 13.4455), "a spare server carries nothing"


def test_a_part_of_the_year_at_idle_needs_idle_watts() -> None:
    half = replace(TARGET, load_share=0.5)
    rested = replace(X64[4], idle_w=Reading(100.0, 3, 100.0, 100.0))
    assert totals(half, rested).energy_kwh_year == pytest.approx(91 * (249 + 100) / 2 * 8.76)
    assert totals(half, rested).power_w == pytest.approx(91 * 249)
    (unknown,) = fleets([X64[4]], half)
    assert unknown.totals.energy_kwh_year is unknown.totals.cost_year is None
    assert unknown.reasons["energy_kwh_year"].startswith("idle power is not known")


def test_the_published_series_is_cheapest_with_all_cores_in_few_boxes() -> None:
    found = advice(question=replace(TARGET, headroom_ratio=0.2, pue=1.3))
    assert found.choice.cheapest is found.fleets[4]
    assert found.choice.second is found.fleets[2]
    assert found.trade is not None
    assert (found.trade.per_core, found.trade.per_watt) == (found.fleets[0], found.fleets[4])
    assert found.trade.core_ratio == pytest.approx(8243.06 / 14400.19, rel=1e-3)
    assert found.trade.watt_ratio == pytest.approx(445.11 / 115.65, rel=1e-3)
    assert found.front == (1, 2, 4, 16), "8 instances are beaten by 4 at both"


def test_means_without_a_spread_have_no_interval_and_no_certainty() -> None:
    found = advice()
    assert all(one.low is None and one.high is None for one in found.fleets)
    assert found.choice.sure == "not-known"
    assert any("trials or more of each point" in one.what for one in found.next)


def runs(
    instances: int, gbps: float, watts: float, by: float = 0.001, off: float | None = None
) -> OperatingPoint:
    """Five runs that spread by a part of their mean."""
    parts = [1 + by * at for at in (-1, -0.5, 0, 0.5, 1)]
    return replace(
        point(instances, gbps, 2.0, watts),
        runs=5,
        throughput_bps=reading(*(gbps * GBPS * part for part in parts)),
        cores=reading(*(2.0 * part for part in parts)),
        power_w=reading(*(watts * part for part in parts), bound=off),
    )


def test_intervals_step_with_whole_servers_and_hold_the_mean() -> None:
    (one,) = fleets([runs(1, 50.0, 200.0, by=0.02)], TARGET)
    assert one.low is not None
    assert one.high is not None
    assert one.low.servers < one.totals.servers < one.high.servers
    ci = one.point.throughput_bps
    assert ci.low is not None
    assert one.high.servers == math.ceil(10_000 * GBPS / ci.low)


def test_a_meters_error_does_not_shrink_with_runs() -> None:
    (few,) = fleets([runs(1, 52.0, 200.0, by=1e-9, off=10.0)], TARGET)
    assert few.low is not None
    assert few.high is not None
    assert few.high.power_w == pytest.approx(few.totals.active * 210, rel=1e-6)
    assert few.low.power_w == pytest.approx(few.totals.active * 190, rel=1e-6)


def test_runs_that_reach_to_nothing_have_no_interval() -> None:
    wild = replace(X64[0], throughput_bps=reading(1 * GBPS, 60 * GBPS))
    (one,) = fleets([wild], TARGET)
    assert one.low is one.high is None


@pytest.mark.parametrize(
    ("second", "off", "sure"),
    [
        (240.0, None, "clear"),
        (240.0, 30.0, "clear-if-meter-errs-alike"),
        (200.4, None, "open"),
    ],
)
def test_how_sure_the_cheapest_is(second: float, off: float | None, sure: str) -> None:
    found = advice([runs(1, 50.0, 200.0, off=off), runs(2, 50.0, second, off=off)])
    assert found.choice.cheapest is found.fleets[0]
    assert found.choice.sure == sure
    assert bool(found.choice.rivals) == (sure != "clear")
    assert bool(found.next) == (sure != "clear") or found.next[0].what.startswith("more than")


def test_more_runs_are_advised_where_they_would_tell() -> None:
    found = advice([runs(1, 50.0, 200.0), runs(2, 50.0, 200.8)])
    assert found.choice.sure == "open"
    (words,) = [one.what for one in found.next if "trials of both" in one.what]
    assert 5 < int(words.split()[1]) <= 100


def test_one_point_is_not_called_the_cheapest_of_several() -> None:
    assert advice(X64[:1]).choice.sure == "alone"


def test_simulated_watts_are_not_set_against_measured_ones() -> None:
    made_up = replace(X64[4], provenance="simulated")
    found = advice([*X64[:4], made_up])
    assert found.choice.cheapest is found.fleets[2]
    assert found.choice.left_out == {16: "its watts are simulated, others are measured"}
    assert found.front is None, "no picture sets them side by side"
    assert [one.instances for one in found.next if one.what == "watts of 16 instances"] == [16]


def test_simulated_watts_alone_are_compared_among_themselves() -> None:
    found = advice([replace(one, provenance="simulated") for one in X64])
    assert found.choice.cheapest is found.fleets[4]


def test_watts_of_another_scope_are_not_compared() -> None:
    found = advice([replace(X64[0], scope="wall", power_w=reading(1.0)), *X64[1:]])
    assert found.choice.cheapest is found.fleets[4]
    assert "another scope" in found.choice.left_out[1]


def test_a_point_whose_watts_were_withheld_is_not_compared_and_says_below_what_it_would_win() -> None:
    found = advice([*X64[:4], point(16, 110.83141, 13.4455, None)])
    assert found.choice.cheapest is found.fleets[2]
    assert found.choice.left_out == {16: "the meter was silent"}
    (wanted,) = [one for one in found.next if one.instances == 16 and one.break_even_w]
    assert wanted.break_even_w == pytest.approx(126 * 228.5 / 91)
    assert found.fleets[4].totals.power_w is None, "missing is never 0"
    assert found.fleets[4].totals.servers == 91


def test_no_watts_at_all_leave_servers_and_no_cheapest() -> None:
    found = advice([point(1, 24.0, 1.7, None), point(2, 45.0, 3.4, None)])
    assert found.choice.cheapest is None
    assert [one.totals.servers for one in found.fleets] == [417, 223]
    assert [one.what for one in found.next] == ["watts of 1 instance", "watts of 2 instances"]


def test_watts_that_stand_out_are_what_to_measure_again() -> None:
    odd = replace(X64[3], doubts={"power-outlier": "Power outlier: 339.2 W"}, expected_w=212.4)
    found = advice([*X64[:3], odd, X64[4]])
    again = next(one for one in found.next if one.instances == 8)
    assert again.what == "8 instances again"
    assert again.break_even_w == pytest.approx(91 * 249 / 107)


def test_a_cheapest_point_with_doubtful_figures_is_to_be_measured_again() -> None:
    odd = replace(X64[4], doubts={"power-outlier": "Power outlier: 249 W"})
    found = advice([*X64[:4], odd])
    assert found.choice.cheapest is found.fleets[4]
    assert any(one.what == "16 instances again" and "doubtful" in one.why for one in found.next)


def test_what_only_moves_figures_comes_behind_what_may_change_the_choice() -> None:
    found = advice(question=replace(TARGET, redundancy=Redundancy(2)))
    assert [one.other_choice for one in found.next] == sorted(
        (one.other_choice for one in found.next), reverse=True
    )
    idle = found.next[-1]
    assert idle.what == "idle power"
    assert idle.change_ratio == pytest.approx(2 / 93)


def test_what_supplies_take_in_is_paid_for_where_it_is_known_of_all_points() -> None:
    two = replace(TARGET, supply=Supply(2, 400.0), table=certified("platinum"))
    found = advice(question=two)
    best = found.fleets[4].totals
    assert best.power_w == pytest.approx(91 * 249)
    assert best.input_w is not None
    assert 0.90 < (best.power_w or 0) / best.input_w < 0.94
    assert best.energy_kwh_year == pytest.approx(best.input_w * 8.76)
    assert found.not_through_supplies is None
    large = advice(question=replace(two, supply=Supply(2, 800.0)))
    assert large.fleets[4].totals.input_w is None
    assert large.fleets[4].totals.energy_kwh_year == pytest.approx(91 * 249 * 8.76)
    assert "below the table" in str(large.not_through_supplies)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target_bps": 0.0}, "--target-gbps"),
        ({"target_bps": math.nan}, "--target-gbps"),
        ({"headroom_ratio": 1.0}, "--headroom"),
        ({"headroom_ratio": -0.1}, "--headroom"),
        ({"pue": 0.9}, "--pue"),
        ({"price_per_kwh": math.inf}, "--price-kwh"),
        ({"load_share": 0.0}, "--load-share"),
        ({"load_share": 1.1}, "--load-share"),
        ({"price_per_kwh": None, "server_cost": 9.0}, "--server-cost needs --price-kwh"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check(replace(TARGET, **changes))


SPREAD, OFF = 0.02, 0.05


def covered(truth: tuple[float, float], seed: int, question: Question, *, bound: bool) -> float:
    """How often the interval of a fleet holds what servers of these Gbps and W really make."""
    gbps, watts = truth
    true = totals(question, point(1, gbps, 2.0, watts))
    rng, hit, times = random.Random(seed), 0, 600  # noqa: S311
    for _ in range(times):
        wrong = rng.choice((-1, 1)) * OFF  # the worst that the meter may be, alike in all runs
        one = replace(
            point(1, gbps, 2.0, watts),
            runs=5,
            throughput_bps=reading(*(gbps * GBPS * rng.gauss(1, SPREAD) for _ in range(5))),
            cores=reading(*(2.0 * rng.gauss(1, SPREAD) for _ in range(5))),
            power_w=reading(
                *(watts * (1 + wrong) * rng.gauss(1, SPREAD) for _ in range(5)),
                bound=watts * OFF if bound else None,
            ),
        )
        (found,) = fleets([one], question)
        assert found.low is not None
        assert found.high is not None
        hit += all(
            getattr(found.low, name) <= getattr(true, name) <= getattr(found.high, name)
            for name in ("servers", "power_w", "energy_kwh_year", "cost_year")
        )
    return hit / times


def test_intervals_hold_the_truth_at_93_percent_though_the_meter_is_off() -> None:
    asked = replace(TARGET, headroom_ratio=0.2, redundancy=Redundancy(1))
    for seed, truth in enumerate(((24.3, 210.0), (80.0, 228.5), (110.8, 249.0))):
        assert covered(truth, seed, asked, bound=True) >= 0.93


def test_without_the_meters_error_they_would_not() -> None:
    assert covered((80.0, 228.5), 1, TARGET, bound=False) < 0.93


@st.composite
def any_point(draw: st.DrawFn, instances: int = 1) -> OperatingPoint:
    number = st.floats(0.5, 400)
    spread = draw(st.floats(0, 0.1))
    one = runs(instances, draw(number), draw(number), by=spread, off=draw(st.none() | st.floats(0, 20)))
    idle = draw(st.none() | st.floats(0.1, 1))
    power = one.power_w
    assert power is not None
    rested = (
        None if idle is None else Reading(power.mean * idle, 3, power.mean * idle, power.mean * idle, 1.0)
    )
    return replace(one, idle_w=rested)


def costs(one: OperatingPoint, question: Question) -> tuple[float, float, float]:
    found = totals(question, one)
    return found.servers, found.power_w or 0.0, found.cost_year or 0.0


Ask = Callable[[float], Question]
ASKS: dict[str, tuple[Ask, float, float]] = {
    "target": (lambda value: replace(TARGET, target_bps=value * GBPS), 0.1, 1e6),
    "headroom": (lambda value: replace(TARGET, headroom_ratio=value), 0.0, 0.95),
    "pue": (lambda value: replace(TARGET, pue=value), 1.0, 3.0),
    "price": (lambda value: replace(TARGET, price_per_kwh=value), 0.001, 10.0),
    "server cost": (lambda value: replace(TARGET, server_cost=value), 0.001, 1e5),
    "spare": (lambda value: replace(TARGET, redundancy=Redundancy(int(value))), 0.0, 20.0),
}


@pytest.mark.parametrize("name", ASKS)
@given(data=st.data())
def test_more_of_anything_never_takes_fewer_servers_watts_or_money(name: str, data: st.DataObject) -> None:
    ask, least, most = ASKS[name]
    one = data.draw(any_point())
    low, high = sorted((data.draw(st.floats(least, most)), data.draw(st.floats(least, most))))
    assert all(a <= b * (1 + 1e-12) for a, b in zip(costs(one, ask(low)), costs(one, ask(high)), strict=True))


@given(one=any_point(), target=st.floats(0.1, 1e5), headroom=st.floats(0, 0.9))
def test_the_fleet_carries_the_target_and_one_server_fewer_would_not(
    one: OperatingPoint, target: float, headroom: float
) -> None:
    found = totals(Question(target * GBPS, headroom), one)
    capacity = one.throughput_bps.mean * (1 - headroom)
    assert found.active * capacity >= target * GBPS * (1 - 1e-9)
    assert (found.active - 1) * capacity < target * GBPS


@given(one=any_point(), spare=st.integers(0, 5))
def test_an_interval_holds_its_mean(one: OperatingPoint, spare: int) -> None:
    (found,) = fleets([one], replace(TARGET, redundancy=Redundancy(spare)))
    if found.low is None or found.high is None:
        return
    for name in ("servers", "cores", "power_w", "energy_kwh_year", "cost_year"):
        low, mean, high = (getattr(each, name) for each in (found.low, found.totals, found.high))
        assert low <= mean * (1 + 1e-12)
        assert mean <= high * (1 + 1e-12)


def per_watt_then_core(one: OperatingPoint) -> tuple[float, float]:
    """Of points that are alike per W the front has the one that is best per core."""
    assert one.bps_per_w is not None
    assert one.bps_per_core is not None
    return one.bps_per_w.mean, one.bps_per_core.mean


@given(first=any_point(1), second=any_point(2), third=any_point(4))
def test_the_cheapest_is_no_dearer_than_any_and_is_on_the_front_by_watts(
    first: OperatingPoint, second: OperatingPoint, third: OperatingPoint
) -> None:
    found = advice([first, second, third])
    best = found.choice.cheapest
    assert best is not None
    assert all((best.totals.cost_year or 0) <= (one.totals.cost_year or 0) for one in found.fleets)
    most = max((one.point for one in found.fleets), key=per_watt_then_core)
    assert found.front is not None
    assert most.instances in found.front


def test_points_of_trials_have_intervals_idle_and_what_others_say_of_odd_watts() -> None:
    trials = scaling_trials(trials=5)
    summaries = summarise(trials)
    points = operating_points(summaries, "receiver", gather_findings(trials, summaries))
    assert [one.instances for one in points] == [1, 2, 4, 8, 16]
    assert all(one.throughput_bps.low is not None for one in points)


def test_what_the_other_end_limits_is_no_limit_of_a_server() -> None:
    trials = powered(scaling_trials(trials=3), ends=("receiver", "sender"))  # receivers' IRQ CPUs are full
    summaries = summarise(trials)
    findings = gather_findings(trials, summaries)
    assert not any(one.held_back for one in operating_points(summaries, "receiver", findings))
    senders = operating_points(summaries, "sender", findings)
    assert any(one.held_back for one in senders)
    found = advise_fleet("tcp", "sender", [one for one in senders if one.held_back], TARGET)
    assert any("with more from the other end" in one.what for one in found.next)


def test_paced_cases_and_those_of_users_are_no_operating_points() -> None:
    (paced,) = summarise(
        [replace(one, case=replace(one.case, rate_bps=1e9)) for one in scaling_trials(trials=1)[:1]]
    )
    assert "held to a rate" in str(why_no_point(paced, "receiver"))
    (users,) = summarise([replace(one, case=Case("ftp", "h1", "h2")) for one in scaling_trials(trials=1)[:1]])
    assert "users" in str(why_no_point(users, "receiver"))
