# SPDX-License-Identifier: Apache-2.0
"""``energy`` of a campaign file: the tests that it stands for, when hosts are idle, and what that tells."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.campaign import stored
from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning.idle import Between, idle_time
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.energy_model import Resolution, Traffic, resolution
from linewatt.findings.meters import ENERGY_STEPS
from linewatt.missing import Missing

METER = {"driver": "ipmi", "address": "192.0.2.9", "user": "u", "password_env": "P"}


def campaign(tmp_path: Path, **keys: Any) -> Campaign:
    host = {"data": "eth0"}
    document = {
        "name": "n",
        "hosts": {
            "a": {**host, "address": "192.0.2.1", "power": {"m": METER}},
            "b": {**host, "address": "192.0.2.2"},
        },
        "energy": {"sizes": [60, 1500], "rates": ["10kpps", "50M"]},
        "trials": 3,
        **keys,
    }
    path = tmp_path / "campaign.yaml"
    path.write_text(json.dumps(document))
    return load_campaign(path)


def test_a_sweep_stands_for_a_test_of_each_size_at_each_rate(tmp_path: Path) -> None:
    made = [(one.test, one.rate_bps) for one in campaign(tmp_path).tests]
    assert made == [
        ("udp-60", 10_000 * 18 * 8),
        ("udp-60", 50e6),
        ("udp-1500", 10_000 * 1472 * 8),
        ("udp-1500", 50e6),
    ]
    six = campaign(tmp_path, families=["ipv6"], energy={"sizes": [78, 1500], "rates": ["10kpps", "20kpps"]})
    assert six.tests[0].rate_bps == 10_000 * 16 * 8, "the payload of a frame of 78 bytes over IPv6"


def test_its_order_is_random_in_each_repetition(tmp_path: Path) -> None:
    planned = plan_campaign(campaign(tmp_path, trials=30), 7)
    assert planned.order == "random"
    orders = [
        tuple(one.case for one in planned.trials if one.repetition == repetition)
        for repetition in range(1, 31)
    ]
    assert len(set(orders)) > 10
    assert all(len(set(one)) == 4 for one in orders)


def test_it_is_stored_with_a_result_and_read_again(tmp_path: Path) -> None:
    asked = campaign(tmp_path, energy={"sizes": [60, 1500], "rates": ["1M", "2M"], "packet_nj": 50})
    again = stored.campaign_from_dict(json.loads(json.dumps(stored.campaign_as_dict(asked))))
    assert again.energy == asked.energy
    assert again.energy is not None
    assert again.energy.packet_j == pytest.approx(50e-9)
    assert plan_campaign(again, 3) == plan_campaign(asked, 3)


def test_a_campaign_without_it_has_idle_windows_between_no_trials(tmp_path: Path) -> None:
    tests = [{"test": "udp-60", "rate": "1M"}, {"test": "udp-1500", "rate": "1M"}]
    planned = plan_campaign(campaign(tmp_path, energy=None, tests=tests), 3)
    assert (planned.idle.windows, planned.idle.between_windows, planned.idle.every_rounds) == (2, None, None)


ROUNDS = st.lists(
    st.tuples(st.sets(st.sampled_from("abc"), min_size=1).map(frozenset), st.sampled_from("xy")), max_size=40
)


@given(ROUNDS, st.integers(1, 6))
def test_no_host_has_more_rounds_with_a_setting_between_idle_windows_than_it_should(
    rounds: list[tuple[frozenset[str], str]], every: int
) -> None:
    between = Between(every)
    since: dict[tuple[str, str], int] = {}
    for hosts, setting in rounds:
        due = between.due(hosts, setting)
        assert due == {name for name in hosts if since.get((name, setting), every) >= every}
        between.measured(due, setting)
        between.ran(hosts, setting)
        for name in hosts:
            since[name, setting] = (0 if name in due else since[name, setting]) + 1
            assert since[name, setting] <= every


@given(ROUNDS)
def test_where_none_is_asked_for_none_is_due(rounds: list[tuple[frozenset[str], str]]) -> None:
    assert not any(Between(None).due(*one) for one in rounds)


@pytest.mark.parametrize(("trials", "windows"), [(1, 1), (3, 3), (4, 5)])
def test_windows_that_a_plan_counts_stand_before_every_third_round_but_the_first(
    tmp_path: Path, trials: int, windows: int
) -> None:
    asked = campaign(tmp_path, trials=trials, window={"seconds": 30}, idle={"seconds": 30})
    rounds = [(one.hosts, ()) for one in plan_campaign(asked, 1).rounds]
    idle = idle_time(asked, 1, rounds)
    assert (idle.every_rounds, idle.between_windows, idle.windows) == (3, windows, 2 + windows)
    assert len(rounds) == 4 * trials
    assert idle.least_s == (2 + windows) * (30 + 10)


def states(sizes: list[int], kpps: list[float]) -> list[tuple[float, float]]:
    return [(8e3 * size * rate, 1e3 * rate) for size in sizes for rate in kpps]


def test_three_steps_over_the_packet_rates_are_the_least_that_a_packet_must_add() -> None:
    told = resolution(states([60, 512, 1514], [70, 140, 270]), 10)
    assert isinstance(told, Resolution)
    assert told.packet_j == pytest.approx(ENERGY_STEPS / 200e3)
    assert told.states == 9


def test_near_sizes_leave_more_to_the_step_of_a_meter() -> None:
    """What is told of a bit is then bounded by how far a step in each state may move the figure."""
    for sizes, bounded in (([60, 1514], False), ([1000, 1400], True)):
        traffic = states(sizes, [70, 140, 270])
        told = resolution(traffic, 10)
        assert isinstance(told, Resolution)
        steps = told.bit_j * (max(traffic)[0] - min(traffic)[0])
        assert (steps > 1.1 * ENERGY_STEPS) == bounded
        assert steps >= ENERGY_STEPS * (1 - 1e-9)


def test_more_trials_stand_more_scatter_and_show_no_finer_energy() -> None:
    few, many = (resolution(states([60, 1514], [10, 20, 30]), trials) for trials in (2, 8))
    assert isinstance(few, Resolution)
    assert isinstance(many, Resolution)
    assert many.packet_j == few.packet_j
    assert many.scatter_w == pytest.approx(2 * few.scatter_w)


@pytest.mark.parametrize(
    ("traffic", "why"),
    [
        (states([60, 1514], [10, 10.05]), "2 states of traffic"),
        (states([1400, 1514], [10, 20]), "cannot be told apart"),
        ([(1e6, 0.0), (2e6, 0.0), (3e6, 0.0), (4e6, 0.0)], "cannot be told apart"),
    ],
    ids=["rates alike", "sizes alike", "no packets"],
)
def test_what_tells_nothing_says_why(traffic: list[tuple[float, float]], why: str) -> None:
    found = resolution(traffic, 5)
    assert isinstance(found, Missing)
    assert why in found.reason


def test_what_a_plan_says_is_what_a_fit_then_tells() -> None:
    """An energy a third above the least is told of a meter of steps, one a third below it is withheld."""
    from linewatt.analysis.power.energy_design import Row
    from linewatt.analysis.power.energy_fit import PACKET_ENERGY, fit_energy

    step_w, trials, traffic = 0.5, 6, states([60, 512, 1514], [70, 140, 270])
    least = resolution(traffic, trials)
    assert isinstance(least, Resolution)
    told = {1.35: 0, 0.65: 0}
    for part in told:
        for seed in range(40):
            rng = random.Random(seed)  # noqa: S311
            rows = []
            for number, (bits, packets) in enumerate(traffic * trials):
                drawn_w = 100 + 4e-9 * bits + part * step_w * least.packet_j * packets
                drawn_w += rng.gauss(0, 0.5 * step_w * least.scatter_w)
                shown_w = step_w * round(drawn_w / step_w)
                rows.append(Row(bits, packets, shown_w, f"trial {number}", step_w))
            told[part] += fit_energy(rows, step_w).figures[PACKET_ENERGY.key].value is not None
    assert told[1.35] >= 36
    assert told[0.65] <= 4


@given(
    st.lists(st.integers(60, 9000), min_size=2, max_size=4, unique=True),
    st.lists(st.floats(1, 1000), min_size=2, max_size=4, unique=True),
)
def test_a_step_that_is_larger_or_a_span_that_is_smaller_never_tells_more(
    sizes: list[int], kpps: list[float]
) -> None:
    told = resolution(states(sizes, kpps), 3)
    tenfold = resolution(states(sizes, [10 * one for one in kpps]), 3)
    assert isinstance(told, Missing) == isinstance(tenfold, Missing)
    if isinstance(told, Resolution) and isinstance(tenfold, Resolution):
        assert tenfold.packet_j == pytest.approx(told.packet_j / 10, rel=1e-3)
        assert tenfold.bit_j == pytest.approx(told.bit_j / 10, rel=1e-3)


def test_rows_of_the_same_traffic_are_one_state() -> None:
    traffic = Traffic([1e6, 1.005e6, 2e6], [100, 100.2, 100])
    assert traffic.groups == [[0, 1], [2]]
