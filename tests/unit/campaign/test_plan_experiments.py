# SPDX-License-Identifier: Apache-2.0
"""Plans with placement policies and factors: what each host is to show in each round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.campaign.test_plan_order import campaign, host, spec
from tests.unit.placement.test_policy import machine

from linewatt.campaign import stored
from linewatt.campaign.campaign import Label
from linewatt.campaign.factors import load_options, setting_of_hosts
from linewatt.campaign.planning.places import Site
from linewatt.campaign.planning.plain import plan_as_dict
from linewatt.campaign.planning.plan import Plan, plan_campaign, remaining_s
from linewatt.campaign.reading.sites import site_of_host
from linewatt.errors import InvalidInput
from linewatt.loads.iperf3 import LOAD

NIC = Site(machine(2, 8), has_irqs=True, queues=8, irqbalance=True, numactl=True)
VIRTUAL = Site(machine(1, 4))


def shown(planned: Plan, number: int) -> set[tuple[str, str, str]]:
    """Host, knob and value of everything that the hosts of a trial show."""
    (round_,) = (one for one in planned.rounds if number in [trial.number for trial in one.trials])
    return {(one.host, one.knob, one.value) for one in planned.changes_in(round_)}


def test_auto_puts_processes_and_interrupts_next_to_the_nic() -> None:
    sites = {"a": NIC, "b": replace(NIC, irqbalance=False)}
    planned = plan_campaign(campaign(placement="auto", tests=(spec("tcp", 4),)), 0, sites)
    trial = next(planned.trials)
    assert [one.sender_cpu for one in trial.instances] == ["0", "1", "2", "3"]
    assert {one.receiver_node for one in trial.instances} == {0}
    assert trial.receiver_irq_cpus == (4, 5, 6, 7)
    assert shown(planned, 1) == {
        ("a", "irqbalance", "off"),
        ("a", "irq_affinity", "4-7"),
        ("b", "irq_affinity", "4-7"),
    }
    line = planned.places[0]
    assert line.host == "a"
    assert line.text.startswith("placement rule 1: 4 processes and their interrupts fit on the 8 cores")
    assert line.chosen is not None
    assert (line.chosen.processes, line.chosen.rule) == (4, 1)
    assert line.chosen.irq_cpus == [4, 5, 6, 7]


def test_interrupts_follow_the_number_of_processes_round_by_round() -> None:
    planned = plan_campaign(campaign(placement="auto", tests=(spec("tcp", 1, 2),)), 0, {"a": NIC, "b": NIC})
    assert ("b", "irq_affinity", "1") in shown(planned, 1)
    assert ("b", "irq_affinity", "2-3") in shown(planned, 2)
    assert [(one.host, one.knob) for one in planned.changes] == [("a", "irqbalance"), ("b", "irqbalance")]


def test_a_virtual_interface_is_steered_by_rps_and_needs_no_memory_binding() -> None:
    planned = plan_campaign(
        campaign(placement="auto", tests=(spec("tcp", 1),)), 0, {"a": VIRTUAL, "b": VIRTUAL}
    )
    assert shown(planned, 1) == {("a", "rps_cpus", "1"), ("b", "rps_cpus", "1")}
    assert next(planned.trials).instances[0].receiver_node is None


def test_without_roots_rights_interrupts_stay_and_the_plan_says_so() -> None:
    bound = replace(NIC, may_change=False)
    planned = plan_campaign(campaign(placement="auto"), 0, {"a": bound, "b": bound})
    assert shown(planned, 1) == set()
    assert next(planned.trials).receiver_irq_cpus == ()
    assert any("needs root" in line.text for line in planned.places)


def test_a_host_that_has_not_been_asked_is_told_apart() -> None:
    planned = plan_campaign(campaign(placement="auto"), 0)
    assert next(planned.trials).instances[0].sender_cpu is None
    (note,) = [note for note in planned.notes if "is decided when hosts have been asked" in note]
    assert note.endswith(
        "save the output of `lstopo --of xml` on the host, and name that file: hosts.a.topology"
    )


def test_a_policy_that_a_machine_cannot_meet_names_the_host() -> None:
    with pytest.raises(InvalidInput, match=r"^b: the policy remote needs"):
        plan_campaign(campaign(placement="remote"), 0, {"a": NIC, "b": VIRTUAL})


def test_policies_are_levels_too() -> None:
    factors = {"placement": ("auto", "remote", "none")}
    planned = plan_campaign(campaign(factors=factors, tests=(spec("tcp", 2),)), 0, {"a": NIC, "b": NIC})
    cpus = {
        dict(trial.case.factors)["placement"]: [one.receiver_cpu for one in trial.instances]
        for trial in planned.trials
    }
    assert cpus == {"auto": ["0", "1"], "remote": ["8", "9"], "none": [None, None]}


def test_steering_sends_each_instance_to_a_queue_of_its_own() -> None:
    steered = campaign(placement="auto", steer=True, tests=(spec("udp-1500", 2),), families=("ipv6",))
    planned = plan_campaign(steered, 0, {"a": NIC, "b": NIC})
    rules = {one.value for one in planned.changes if one.knob == "ntuple"}
    assert rules == {"udp6:5201=0 udp6:5202=1 udp6:5233=0 udp6:5234=1"}
    assert ("b", "offload", "on") in shown(planned, 1)
    assert not [one for one in planned.changes if one.host == "a" and one.knob == "ntuple"]


@pytest.mark.parametrize(
    "more",
    [
        {"directions": ("reverse",)},
        {"tests": (spec("tcp", 9),)},
    ],
    ids=["the receiver is the client", "more instances than queues"],
)
def test_steering_is_left_out_where_it_cannot_be(more: dict[str, Any]) -> None:
    planned = plan_campaign(campaign(placement="auto", steer=True, **more), 0, {"a": NIC, "b": NIC})
    assert not [one for one in planned.changes if one.knob == "ntuple"]


FACTORS = {"mtu": ("1500", "9000"), "gro": ("on", "off"), "zerocopy": ("off", "on")}


def test_a_full_design_is_every_combination_and_each_host_shows_its_levels() -> None:
    planned = plan_campaign(campaign(factors=FACTORS, design="full", trials=1), 0)
    assert len(planned.cases) == 8
    for trial in planned.trials:
        levels = dict(trial.case.factors)
        assert trial.case.zerocopy == (levels["zerocopy"] == "on")
        for name in ("a", "b"):
            assert (name, "mtu", levels["mtu"]) in shown(planned, trial.number)
            assert (name, "offload", levels["gro"]) in shown(planned, trial.number)
    assert len({case.key for case in planned.cases}) == 8


def test_levels_are_interleaved_and_idle_is_planned_once_a_setting() -> None:
    one = campaign(factors={"mtu": ("1500", "9000")}, trials=3)
    planned = plan_campaign(one, 0)
    assert [dict(trial.case.factors)["mtu"] for trial in planned.trials] == ["1500", "9000"] * 3
    assert planned.duration_s == pytest.approx(2 * 2.0 + 6 * 5.1)


def test_the_time_of_what_is_left_is_that_of_its_rounds_and_of_the_idle_windows_still_due() -> None:
    of = campaign(factors={"mtu": ("1500", "9000")}, trials=3)
    planned = plan_campaign(of, 0)
    whole_s = remaining_s(of, planned.rounds, planned.further, ())
    assert whole_s == pytest.approx(planned.duration_s)
    base, second = (setting_of_hosts(round_.trials[0].case) for round_ in planned.rounds[:2])
    last_rounds = planned.rounds[-2:]
    assert remaining_s(of, last_rounds, {}, {base}) == pytest.approx(2.0 + 2 * 5.1)
    assert remaining_s(of, last_rounds, {}, {base, second}) == pytest.approx(2 * 5.1)
    assert remaining_s(of, (), {}, {base, second}) == 0


def test_what_is_of_the_load_needs_no_idle_window_of_its_own() -> None:
    planned = plan_campaign(campaign(factors={"iperf3.window": ("512K", "4M")}, trials=1), 0)
    assert planned.duration_s == pytest.approx(2.0 + 2 * 5.1)
    assert [load_options(case) for case in planned.cases] == [(("window", "512K"),), (("window", "4M"),)]
    assert LOAD.option_flags(load_options(planned.cases[1])) == ["--window", "4M"]
    assert LOAD.option_flags([("nodelay", "on")]) == ["--no-delay"]
    assert LOAD.option_flags([("nodelay", "off")]) == []


def test_a_level_that_a_test_cannot_have_is_skipped_with_its_reason() -> None:
    planned = plan_campaign(campaign(factors={"zerocopy": ("off", "on")}, tests=(spec("udp-1500"),)), 0)
    assert [dict(case.factors)["zerocopy"] for case in planned.cases] == ["off"]
    assert planned.skipped[0].what == "udp-1500 with zerocopy=on"


def test_a_factor_wins_over_placement_and_the_plan_knows_where_receive_work_goes() -> None:
    hosts = {name: host(name, app_cpus=(0,), irq_cpus=(1,), lab="l") for name in "ab"}
    one = campaign(hosts=hosts, placement="pinned", factors={"rps": ("irq", "off")}, trials=1)
    irq, off = plan_campaign(one, 0).trials
    assert irq.receiver_irq_cpus == (1,)
    assert off.receiver_irq_cpus == ()
    assert ("b", "rps_cpus", "1") in shown(plan_campaign(one, 0), 1)
    assert ("b", "rps_cpus", "off") in shown(plan_campaign(one, 0), 2)


def test_a_label_is_changed_once_however_many_trials_there_are() -> None:
    labels = {"kernel": Label(("boot",), "kernel.release", 60.0)}
    factors = {"kernel": ("old", "new"), "mtu": ("1500", "9000")}
    one = campaign(factors=factors, labels=labels, design="full", trials=3)
    planned = plan_campaign(one, 0)
    kernels = [dict(trial.case.factors)["kernel"] for trial in planned.trials]
    assert kernels == ["old"] * 6 + ["new"] * 6
    assert {change.knob for round_ in planned.rounds for change in planned.changes_in(round_)} == {"mtu"}
    assert any("cannot be interleaved" in note for note in planned.notes)


def test_what_differs_between_pairs_is_not_taken_for_common() -> None:
    """Rounds without a change of their own are rounds, too."""
    hosts = {name: host(name) for name in "abc"}
    sites = {"a": VIRTUAL, "b": VIRTUAL, "c": replace(VIRTUAL, may_change=False)}
    pairs = (("c", "c2"), ("a", "b"))
    one = campaign(hosts={**hosts, "c2": host("c2")}, pairs=pairs, placement="auto", trials=1)
    planned = plan_campaign(one, 0, {**sites, "c2": sites["c"]})
    assert shown(planned, 1) == set()
    assert shown(planned, 2) == {("a", "rps_cpus", "1"), ("b", "rps_cpus", "1")}


def test_a_campaign_with_all_of_it_comes_back_from_a_manifest_as_it_was() -> None:
    labels = {"kernel": Label(("boot", "it"), "kernel.release", 60.0)}
    one = campaign(
        factors={"kernel": ("old", "new"), **FACTORS},
        labels=labels,
        design="full",
        settings={"governor": "performance"},
        steer=True,
        smt=True,
    )
    again = stored.campaign_from_dict(stored.campaign_as_dict(one))
    assert again == one
    assert plan_as_dict(plan_campaign(again, 0)) == plan_as_dict(plan_campaign(one, 0))


def test_facts_of_a_host_make_its_site() -> None:
    facts: dict[str, Any] = {
        "cpus": {"online": [0, 1], "of_node": {"node0": "0-1"}},
        "nic": {"irqs": 4, "numa_node": 0, "channels": {"combined": 4, "max combined": 8}},
        "system": {"uid": 1000},
        "kernel": {"irqbalance_running": True},
        "tools": {"numactl": None},
    }
    found = site_of_host(host("a"), facts, None)
    assert (found.has_irqs, found.queues, found.may_change, found.irqbalance) == (True, 4, False, True)
    assert site_of_host(host("a", sudo=True), facts, None).may_change
    assert not site_of_host(host("a"), {**facts, "nic": {"irqs": 0}}, None).has_irqs
    with pytest.raises(InvalidInput, match="CPUs are not known"):
        site_of_host(host("a"), {**facts, "cpus": {}}, None)


def test_processes_and_interrupts_go_to_the_cpus_that_a_level_leaves_online() -> None:
    levels = {"cpus_online": ("all", "0-1,8-9")}
    planned = plan_campaign(
        campaign(placement="auto", tests=(spec("tcp", 4),), factors=levels), 0, {"a": NIC, "b": NIC}
    )
    found = {
        dict(trial.case.factors)["cpus_online"]: (
            [one.receiver_cpu for one in trial.instances],
            trial.receiver_irq_cpus,
        )
        for trial in planned.trials
    }
    assert found == {"all": (["0", "1", "2", "3"], (4, 5, 6, 7)), "0-1,8-9": (["8", "9"] * 2, (0, 1))}
    assert ("b", "cpus_online", "0-1,8-9") in shown(planned, 2)


def test_a_level_that_names_cpus_which_are_offline_is_left_out_and_said() -> None:
    levels = {"cpus_online": ("all", "0-3"), "rps": ("off", "6-7", "2-3")}
    planned = plan_campaign(campaign(placement="none", factors=levels, design="full", trials=1), 0)
    assert [dict(case.factors) for case in planned.cases if dict(case.factors)["rps"] == "6-7"] == [
        {"cpus_online": "all", "rps": "6-7"}
    ]
    (skipped,) = planned.skipped
    assert (skipped.what, skipped.reason) == ("rps=6-7 with cpus_online=0-3", "CPU 6-7 is offline then")
