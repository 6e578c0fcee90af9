# SPDX-License-Identifier: Apache-2.0
"""The plan: what runs, in which order, where, and what it changes."""

from __future__ import annotations

from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.campaign import TestSpec as Spec
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import Plan, plan_campaign
from linewatt.errors import InvalidInput
from linewatt.hosts.base import HostSpec
from linewatt.model import Case
from linewatt.sensors.registry import SENSORS


def host(name: str, **more: Any) -> HostSpec:
    return HostSpec(name=name, address=f"{name}.example.net", data="eth0", **more)


def spec(test: Any = "tcp", *instances: int, **more: Any) -> Spec:
    values = {"streams": (1,), "rate_bps": None, "zerocopy": False, **more}
    return Spec(test=test, instances=instances or (1,), **values)


def campaign(**more: Any) -> Campaign:
    values: dict[str, Any] = {
        "name": "n",
        "description": "",
        "hosts": {"a": host("a"), "b": host("b")},
        "pairs": (("a", "b"),),
        "directions": ("forward",),
        "tests": (spec(),),
        "families": ("ipv4",),
        "networks": ("bare",),
        "trials": 2,
        "order": "interleaved",
        "seed": None,
        "window_s": 3.0,
        "omit_s": 1.0,
        "tail_s": 1.0,
        "idle_s": 2.0,
        "first_port": 5201,
        "last_port": 5264,
        "placement": "none",
        "concurrent_pairs": False,
        "sysctl": {},
        "sensors": {},
        "text": "",
        "path": Path("campaign.yaml"),
    }
    return Campaign(**{**values, **more})


def sequence(planned: Plan) -> list[tuple[str, int]]:
    return [(trial.case.test, trial.repetition) for trial in planned.trials]


TWO_TESTS = (spec("tcp"), spec("udp-1500"))
PINNED = {
    "a": host("a", app_cpus=(2, 3), irq_cpus=(4, 5)),
    "b": host("b", app_cpus=(0,), irq_cpus=(1,)),
}


def test_interleaved_runs_every_case_once_and_then_all_again() -> None:
    planned = plan_campaign(campaign(tests=TWO_TESTS), seed=0)
    assert sequence(planned) == [("tcp", 1), ("udp-1500", 1), ("tcp", 2), ("udp-1500", 2)]
    assert [trial.number for trial in planned.trials] == [1, 2, 3, 4]


def test_mirrored_runs_every_other_time_backwards() -> None:
    planned = plan_campaign(campaign(tests=TWO_TESTS, order="mirrored", trials=3), seed=0)
    names = [test for test, _ in sequence(planned)]
    assert names == ["tcp", "udp-1500", "udp-1500", "tcp", "tcp", "udp-1500"]
    assert [repetition for _, repetition in sequence(planned)] == [1, 1, 2, 2, 3, 3]


def test_sequential_runs_all_trials_of_a_case_first() -> None:
    planned = plan_campaign(campaign(tests=TWO_TESTS, order="sequential"), seed=0)
    assert sequence(planned) == [("tcp", 1), ("tcp", 2), ("udp-1500", 1), ("udp-1500", 2)]


def test_random_order_is_another_in_each_repetition_and_the_same_for_the_same_seed() -> None:
    many = campaign(tests=(spec("tcp", *range(1, 17)),), order="random", trials=3)
    planned = plan_campaign(many, seed=7)
    orders = [
        [trial.case.instances for trial in planned.trials if trial.repetition == repetition]
        for repetition in (1, 2, 3)
    ]
    assert all(sorted(order) == list(range(1, 17)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert planned == plan_campaign(many, seed=7)
    assert planned.rounds != plan_campaign(many, seed=8).rounds
    assert planned.seed == 7


def test_seed_is_recorded_only_where_it_orders_something() -> None:
    assert plan_campaign(campaign(), seed=7).seed is None
    assert any("seed: has no effect" in note for note in plan_campaign(campaign(seed=7), seed=7).notes)


def test_reverse_keeps_client_and_server_and_turns_the_traffic_round() -> None:
    forward, reverse = plan_campaign(campaign(directions=("forward", "reverse")), seed=0).cases
    assert (forward.sender, forward.receiver) == ("a", "b")
    assert (reverse.sender, reverse.receiver) == ("b", "a")
    assert (forward.client, forward.server) == (reverse.client, reverse.server) == ("a", "b")


def test_udp_60_over_ipv6_is_skipped_and_says_why() -> None:
    planned = plan_campaign(
        campaign(tests=(spec("tcp"), spec("udp-60", 1, 2)), families=("ipv4", "ipv6")),
        seed=0,
    )
    assert [(case.test, case.family) for case in planned.cases] == [
        ("tcp", "ipv4"),
        ("tcp", "ipv6"),
        ("udp-60", "ipv4"),
        ("udp-60", "ipv4"),
    ]
    (skipped,) = planned.skipped
    assert (skipped.what, skipped.cases) == ("udp-60 over ipv6", 2)
    assert "headers alone are 14 + 40 + 8 = 62" in skipped.reason


def test_plan_of_nothing_possible_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no case is left to run"):
        plan_campaign(campaign(tests=(spec("udp-60"),), families=("ipv6",)), seed=0)


def test_more_instances_than_ports_are_refused() -> None:
    with pytest.raises(InvalidInput, match="65 instances need 65 ports"):
        plan_campaign(campaign(tests=(spec("tcp", 65),)), seed=0)


def test_rounds_alternate_between_the_halves_of_the_ports() -> None:
    planned = plan_campaign(campaign(tests=(spec("tcp", 32),)), seed=0)
    first, second = (trial.instances for trial in planned.trials)
    assert planned.ports_alternate
    assert [instance.port for instance in first] == list(range(5201, 5233))
    assert [instance.port for instance in second] == list(range(5233, 5265))


def test_ports_are_used_again_where_there_are_too_few_to_alternate() -> None:
    planned = plan_campaign(campaign(tests=(spec("tcp", 33),)), seed=0)
    assert not planned.ports_alternate
    assert {trial.instances[0].port for trial in planned.trials} == {5201}
    assert "66 ports would do" in planned.notes[0]


def test_instances_take_the_app_cpus_of_each_end_in_turn() -> None:
    planned = plan_campaign(campaign(hosts=PINNED, placement="pinned", tests=(spec("tcp", 3),)), seed=0)
    instances = next(planned.trials).instances
    assert [instance.sender_cpu for instance in instances] == ["2", "3", "2"]
    assert [instance.receiver_cpu for instance in instances] == ["0", "0", "0"]
    assert "a: 3 instances on 2 CPUs (2-3), so that they share" in planned.notes
    assert "b: 3 instances on 1 CPU (0), so that they share" in planned.notes


def test_placement_none_pins_and_steers_nothing() -> None:
    planned = plan_campaign(campaign(hosts=PINNED, placement="none"), seed=0)
    (instance,) = next(planned.trials).instances
    assert (instance.sender_cpu, instance.receiver_cpu) == (None, None)
    assert planned.changes == ()


def test_every_change_to_a_host_is_in_the_plan_with_its_reason() -> None:
    planned = plan_campaign(
        campaign(hosts=PINNED, placement="pinned", sysctl={"net.core.rmem_max": "1000"}),
        seed=0,
    )
    assert [(change.host, change.knob, change.target, change.value) for change in planned.changes] == [
        ("a", "irq_affinity", "eth0", "4-5"),
        ("a", "sysctl", "net.core.rmem_max", "1000"),
        ("b", "irq_affinity", "eth0", "1"),
        ("b", "sysctl", "net.core.rmem_max", "1000"),
    ]
    assert all(change.why for change in planned.changes)


def test_cpus_that_do_both_are_noted() -> None:
    hosts = {"a": host("a", app_cpus=(0, 1), irq_cpus=(1, 2)), "b": host("b", app_cpus=(0,))}
    planned = plan_campaign(campaign(hosts=hosts, placement="pinned"), seed=0)
    assert planned.notes == ("a: load processes and receive work share 1 CPU (1)",)


def test_hosts_on_the_same_cpus_are_noted_once() -> None:
    hosts = {"a": host("a", shares_cpus_with=("b",)), "b": host("b", shares_cpus_with=("a", "elsewhere"))}
    planned = plan_campaign(campaign(hosts=hosts), seed=0)
    assert [note for note in planned.notes if "same CPUs" in note] == [
        "a and b run on the same CPUs: what one uses, the other lacks"
    ]


FOUR = {name: host(name) for name in "abcd"}
FOUR_PAIRS = (("a", "b"), ("c", "d"), ("b", "c"), ("a", "d"))


def test_concurrent_pairs_share_a_round_when_they_share_no_host() -> None:
    planned = plan_campaign(campaign(hosts=FOUR, pairs=FOUR_PAIRS, concurrent_pairs=True, trials=1), seed=0)
    rounds = [
        [(trial.case.sender, trial.case.receiver) for trial in round_.trials] for round_ in planned.rounds
    ]
    assert rounds == [[("a", "b"), ("c", "d")], [("b", "c"), ("a", "d")]]


def test_pairs_run_one_after_another_unless_asked() -> None:
    planned = plan_campaign(campaign(hosts=FOUR, pairs=FOUR_PAIRS, trials=1), seed=0)
    assert all(len(round_.trials) == 1 for round_ in planned.rounds)


def test_time_is_that_of_the_rounds_and_the_idle_window() -> None:
    assert plan_campaign(campaign(trials=10), seed=0).duration_s == pytest.approx(2 + 10 * (1 + 3 + 1 + 0.1))


def test_plan_as_plain_values_names_every_trial_by_its_case_and_placement() -> None:
    planned = plan_campaign(campaign(hosts=PINNED, placement="pinned", tests=TWO_TESTS), seed=0)
    values = plan_as_dict(planned)
    assert values["schema_version"] == 1
    for trial, row in zip(planned.trials, values["trials"], strict=True):
        assert values["cases"][row["case"]]["key"] == trial.case.key
        ports = [instance["port"] for instance in values["placements"][row["placement"]]]
        assert ports == [instance.port for instance in trial.instances]


campaigns = st.builds(
    lambda names, pairs, counts, trials, order, concurrent, width, families: campaign(
        hosts={name: host(name, app_cpus=(0, 1)) for name in names},
        pairs=tuple(permutations(names, 2))[::pairs],
        tests=(spec("tcp", *counts), spec("udp-60", 1, rate_bps=1e6)),
        families=families,
        trials=trials,
        order=order,
        concurrent_pairs=concurrent,
        last_port=5200 + max(counts) + width,
        placement="pinned",
    ),
    names=st.sampled_from(["ab", "abc", "abcd", "abcdef"]),
    pairs=st.integers(1, 3),
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True),
    trials=st.integers(1, 4),
    order=st.sampled_from(["interleaved", "mirrored", "sequential", "random"]),
    concurrent=st.booleans(),
    width=st.integers(0, 20),
    families=st.sampled_from([("ipv4",), ("ipv4", "ipv6"), ("ipv6",)]),
)


@settings(deadline=None)
@given(campaigns, st.integers(0, 2**32))
def test_every_case_runs_once_in_every_repetition_and_trials_are_numbered_in_order(
    wanted: Campaign, seed: int
) -> None:
    planned = plan_campaign(wanted, seed)
    ran: list[tuple[Case, int]] = [(trial.case, trial.repetition) for trial in planned.trials]
    assert len(ran) == len(set(ran)) == len(planned.cases) * wanted.trials
    assert set(ran) == {(case, n) for case in planned.cases for n in range(1, wanted.trials + 1)}
    assert [trial.number for trial in planned.trials] == list(range(1, len(ran) + 1))


@settings(deadline=None)
@given(campaigns, st.integers(0, 2**32))
def test_no_host_is_in_a_round_twice_and_no_port_is_used_twice_in_it(wanted: Campaign, seed: int) -> None:
    planned = plan_campaign(wanted, seed)
    for round_ in planned.rounds:
        used = [name for trial in round_.trials for name in (trial.case.sender, trial.case.receiver)]
        assert len(used) == len(set(used))
        for trial in round_.trials:
            ports = [instance.port for instance in trial.instances]
            assert len(ports) == len(set(ports)) == trial.case.instances
            assert wanted.first_port <= min(ports)
            assert max(ports) <= wanted.last_port


@settings(deadline=None)
@given(campaigns, st.integers(0, 2**32))
def test_the_next_round_uses_other_ports_where_the_plan_says_so(wanted: Campaign, seed: int) -> None:
    planned = plan_campaign(wanted, seed)
    ports = [
        {instance.port for trial in round_.trials for instance in trial.instances}
        for round_ in planned.rounds
    ]
    if planned.ports_alternate:
        assert all(not one & other for one, other in pairwise(ports))


@settings(deadline=None)
@given(campaigns, st.integers(0, 2**32))
def test_a_plan_depends_on_nothing_but_campaign_and_seed(wanted: Campaign, seed: int) -> None:
    assert plan_campaign(wanted, seed) == plan_campaign(wanted, seed)


@pytest.mark.parametrize("order", ["interleaved", "mirrored", "sequential", "random"])
def test_load_levels_come_after_every_trial_that_calibrates_them(order: str) -> None:
    planned = plan_campaign(campaign(order=order, tests=TWO_TESTS, load_levels=(1.0, 0.5, 0.0)), seed=3)
    levels = [trial.case.load_level for trial in planned.trials]
    calibrating = levels.count(None)
    assert set(levels[:calibrating]) == {None}
    assert set(levels[calibrating:]) == {1.0, 0.5, 0.0}
    assert len(levels) == 4 * calibrating


def test_active_idle_starts_no_process() -> None:
    planned = plan_campaign(campaign(load_levels=(0.5, 0.0)), seed=0)
    processes = {trial.case.load_level: len(trial.instances) for trial in planned.trials}
    assert processes == {None: 1, 0.5: 1, 0.0: 0}


@pytest.mark.parametrize(
    ("omit_s", "tail_s", "said"),
    [(0.2, 0.8, "omit: 1 and tail: 1.3 would do"), (5.0, 1.0, "; tail: 1.3 would do"), (5.0, 2.0, None)],
)
def test_omit_and_tail_that_are_shorter_than_a_sensors_interval_are_noted(
    omit_s: float, tail_s: float, said: str | None
) -> None:
    sensors = {"mpstat": SENSORS["mpstat"].Config()}
    planned = plan_campaign(campaign(omit_s=omit_s, tail_s=tail_s, sensors=sensors), seed=0)
    notes = [note for note in planned.notes if note.startswith("window: ")]
    assert len(notes) == (said is not None)
    if said is not None:
        assert notes[0].endswith(said)
