# SPDX-License-Identifier: Apache-2.0
"""What is matched, what is refused, and which verdict a known difference gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.compare_factories import (
    CAMPAIGN,
    TCP,
    UDP,
    compared,
    compared_levels,
    made,
    numbered,
    runs,
    side,
    with_facts,
)
from tests.report_factories import end, failed, host, powered, watts

from linewatt.analysis.cases.responses import EFFICIENCY, OF_CASE, PER_WATT, THROUGHPUT
from linewatt.analysis.comparison.compare import Comparison, exit_finding
from linewatt.analysis.comparison.matching import level_meant, match_two
from linewatt.analysis.comparison.rows import Row
from linewatt.analysis.comparison.verdicts import COMPARISON, runs_advice, verdicts_of_family
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.statistics.contrasts import Contrast
from linewatt.analysis.statistics.student import critical_t
from linewatt.model import Case, Flag, Trial
from linewatt.report.comparison.first_screen import first_screen_of_comparison
from linewatt.report.comparison.remarks import difference_lines, heading

LOSS = OF_CASE["lost_ratio"]


def the(found: Comparison, response: Response = THROUGHPUT) -> Row:
    (row,) = found.of(response)
    return row


def two(ratio: float = 1.0, **changes: Any) -> tuple[Any, Any]:
    """A, and B at ``ratio`` of it with these changes."""
    return made("a", runs()), made("b", runs(ratio=ratio, seed=2), day=2, **changes)


# verdicts


def test_a_loss_beyond_the_factor_is_slower_with_ratio_interval_and_both_p() -> None:
    row = the(compared(*two(0.95)))
    change = row.verdict.change
    assert row.outcome == "worse"
    assert row.verdict.words.startswith("slower by ")
    assert change is not None
    assert change.low < -0.05 < change.high < 0
    assert change.permutation_p == pytest.approx(1e-4)  # no deal of 9,999 is as extreme
    assert (row.base.n, row.other.n) == (10, 10) if row.base and row.other else False


def test_a_change_that_is_certain_but_small_is_the_same_and_says_by_how_much() -> None:
    found = compared(made("a", runs(cv=0.001)), made("b", runs(ratio=0.995, cv=0.001, seed=2), day=2))
    row = the(found)
    assert row.outcome == "small"
    assert row.verdict.words.startswith("no difference")
    assert "slower by 0." in row.verdict.words
    assert row.verdict.words.endswith(", less than the factor of 1.0 %")


def test_the_factor_is_the_users() -> None:
    assert the(compared(*two(0.95))).outcome == "worse"
    assert the(compared(*two(0.95), matters=0.10)).outcome == "small"


def test_equal_runs_are_the_same_within_what_the_runs_can_tell() -> None:
    row = the(compared(*two()))
    assert row.outcome == "same"
    assert row.verdict.words.startswith("no difference")


def test_less_cpu_for_the_same_throughput_is_more_efficient() -> None:
    base, other = two()
    cheaper = tuple(
        replace(one, receiver=replace(one.receiver, cpu_cores=one.receiver.cpu_cores * 0.9))
        for one in other.trials
        if one.receiver is not None and one.receiver.cpu_cores is not None
    )
    found = compared(base, made("b", cheaper, day=2))
    assert the(found, EFFICIENCY).outcome == "better"
    assert the(found, EFFICIENCY).verdict.words.startswith("more efficient by 1")
    assert the(found).outcome == "same"


def test_loss_is_compared_in_points_and_more_of_it_is_worse() -> None:
    base = made("a", runs(UDP, lost_ratio=0.01))
    worse = [replace(one, lost_ratio=0.03 + 0.0001 * one.number) for one in runs(UDP, seed=2)]
    row = the(compared(base, made("b", worse, day=2)), LOSS)
    assert row.outcome == "worse"
    assert row.verdict.words.startswith("more loss by 2.1 points")


def test_less_latency_is_better_and_more_of_it_is_worse() -> None:
    case = Case("udp-rr", "h1", "h2", load="sockperf")
    sides = [
        made(
            name,
            [replace(one, latency_s={"p50": p50_s * (1 + one.number / 1000)}) for one in runs(case)],
            day=day,
        )
        for day, (name, p50_s) in enumerate((("a", 2e-5), ("b", 3e-5)), start=1)
    ]
    row = the(compared(*sides), OF_CASE["latency_p50_s"])
    assert row.outcome == "worse"
    assert row.verdict.words.startswith("more latency by 50")
    assert the(compared(*sides[::-1]), OF_CASE["latency_p50_s"]).outcome == "better"
    assert not compared(*two()).of(OF_CASE["latency_p50_s"])


@pytest.mark.parametrize(("n", "m"), [(2, 10), (3, 3), (3, 4)])
def test_too_few_runs_give_no_verdict_however_large_the_difference(n: int, m: int) -> None:
    row = the(compared(made("a", runs(n=n)), made("b", runs(ratio=0.5, n=m, seed=2), day=2)))
    assert row.outcome == "undecided"
    assert row.verdict.words.startswith(f"not enough trials: {n} and {m}")
    assert "; take 4 or more on each side" in row.verdict.words


def test_a_side_whose_trials_all_failed_is_named() -> None:
    row = the(compared(made("a", (failed(1, TCP, "gone"),)), made("b", runs(), day=2)))
    assert row.outcome == "undecided"
    assert row.verdict.words.startswith("not enough trials: A has no trial that worked")


def test_four_runs_a_side_are_enough_for_a_large_difference() -> None:
    row = the(compared(made("a", runs(n=4)), made("b", runs(ratio=0.9, n=4, seed=2), day=2)))
    assert row.outcome == "worse"
    assert row.verdict.change is not None
    assert row.verdict.change.permutation_p == pytest.approx(2 / 70)


def test_an_interval_too_wide_for_the_factor_is_no_same() -> None:
    row = the(compared(made("a", runs(n=4, cv=0.08)), made("b", runs(n=4, cv=0.08, seed=2), day=2)))
    assert row.outcome == "undecided"
    assert row.verdict.words.startswith("interval too wide: anything from −")


@pytest.mark.parametrize("sd", [0.03, 0.08])
def test_as_many_runs_as_are_advised_narrow_the_interval_if_they_spread_as_before(sd: float) -> None:
    at_hand = 4
    contrast = Contrast(0.0, sd * math.sqrt(2 / at_hand), 2 * at_hand - 2)
    reaches = [critical_t(0.05, 2 * count - 2) * sd * math.sqrt(2 / count) for count in range(2, 60)]
    enough = 2 + next(at for at, reach in enumerate(reaches) if reach <= math.log1p(0.05))
    advice = runs_advice(THROUGHPUT, contrast, (at_hand, at_hand))
    assert advice == f"about {enough} trials on each side would tell ± 5.0 %"


def test_where_hundreds_of_runs_would_not_be_enough_the_advice_says_so() -> None:
    row = the(compared(made("a", runs(n=4, cv=0.9)), made("b", runs(n=4, cv=0.9, seed=2), day=2)))
    assert row.verdict.advice == "even 500 trials on each side would not tell ± 5.0 %"


@pytest.mark.parametrize(("shuffled", "kind"), [(0.01, "worse"), (0.06, "same")])
def test_shuffled_runs_must_agree_that_it_is_no_chance(shuffled: float, kind: str) -> None:
    contrast = Contrast(math.log(0.97), 0.005, 18, permutation_p=shuffled)
    (verdict,) = verdicts_of_family(THROUGHPUT, [contrast], None, COMPARISON)
    assert verdict.kind == kind
    assert verdict.words.endswith("not significant") == (kind == "same")


def test_every_case_counts_as_looked_at() -> None:
    cases = [replace(TCP, instances=count) for count in range(1, 21)]
    base = made("a", numbered(*(runs(case, cv=0.02, seed=at) for at, case in enumerate(cases))))
    other = made("b", numbered(*(runs(case, cv=0.02, seed=60 + at) for at, case in enumerate(cases))), day=2)
    rows = compared(base, other).of(THROUGHPUT)
    changes = [row.verdict.change for row in rows if row.verdict.change is not None]
    assert any(change.p < 0.05 for change in changes)  # one in twenty: chance
    assert not any(row.outcome in ("better", "worse") for row in rows)
    doubtful = next(row for row in rows if row.verdict.change and row.verdict.change.p < 0.05)
    assert doubtful.outcome == "same"
    assert doubtful.verdict.words.endswith("not significant among 60 comparisons")  # in three responses


def bimodal(low: int, ratio: float = 1.0, seed: int = 1) -> tuple[Trial, ...]:
    """Ten runs, of which ``low`` are 15 % below the others."""
    return tuple(
        replace(one, throughput_bps=one.throughput_bps * (0.85 if at < low else 1))
        for at, one in enumerate(runs(ratio=ratio, seed=seed))
        if one.throughput_bps is not None
    )


def test_runs_in_two_modes_are_not_averaged_into_a_verdict() -> None:
    row = the(compared(made("a", runs()), made("b", bimodal(4, seed=2), day=2)))
    assert row.outcome == "undecided"
    assert row.verdict.words.startswith(
        "not told by means: two modes in B (4 trials are 15 % below the other 6)"
    )
    assert row.verdict.brief == "not told by means"
    other_way = the(compared(made("a", bimodal(4, seed=2)), made("b", runs(), day=2)))
    assert "two modes in A" in other_way.verdict.words


def test_two_modes_do_not_hide_a_loss_that_every_run_shows() -> None:
    row = the(compared(made("a", runs()), made("b", bimodal(4, 0.8, seed=2), day=2)))
    assert row.outcome == "worse"
    assert row.verdict.brief.startswith("slower by 2")
    assert row.verdict.words.endswith("; two modes in B (4 trials are 15 % below the other 6)")


# matching


def test_names_of_hosts_may_differ_where_each_result_has_one_pair() -> None:
    there = Case("tcp", "gen2", "dut2")
    found = compared(made("a", runs()), made("b", runs(there, seed=2), day=2))
    assert the(found).outcome == "same"
    assert found.words == ("1 case matched by key", "h1 → h2 in A is compared with gen2 → dut2 in B")


def test_another_pair_of_the_same_fleet_is_left_over_not_taken_for_the_same() -> None:
    base = made("a", numbered(runs(), runs(Case("tcp", "h2", "h3"))))
    other = made("b", numbered(runs(seed=2), runs(Case("tcp", "h3", "h1"))), day=2)
    found = compared(base, other)
    assert len(found.rows) == 3  # throughput, both efficiencies of one case
    assert [(one.side, one.case.receiver) for one in found.left_over] == [("A", "h3"), ("B", "h1")]
    assert "--by host" in found.left_over[0].why


def test_cases_of_one_side_only_are_listed() -> None:
    base = made("a", numbered(runs(), runs(UDP)))
    found = compared(base, made("b", runs(seed=2), day=2))
    assert [(one.side, one.case.test, one.why) for one in found.left_over] == [
        ("A", "udp-1500", "no such case in B")
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"streams": 8}, "streams 1 in A, 8 in B"),
        ({"rate_bps": 1e9}, "rate unlimited in A, 1.00 Gbps in B"),
        ({"rate_bps": 1.0005e9}, "rate unlimited in A, 1.0005 Gbps in B"),
        ({"rate_bps": 1e9 / 3}, "rate unlimited in A, 333.3333333333333 Mbps in B"),
        ({"zerocopy": True}, "zerocopy off in A, on in B"),
        ({"load_level": 0.5}, "level full in A, 0.5 in B"),
    ],
)
def test_cases_that_differ_in_the_load_are_refused_by_name(change: dict[str, Any], words: str) -> None:
    found = compared(made("a", runs()), made("b", runs(replace(TCP, **change), seed=2), day=2))
    row = the(found)
    assert row.outcome == "refused"
    assert row.verdict.words.startswith(f"not comparable: {words}")
    assert not found.left_over


def test_what_by_names_may_differ_between_two_results() -> None:
    found = compared(
        made("a", runs()), made("b", runs(replace(TCP, network="vxlan"), 0.8, seed=2), day=2), by="network"
    )
    assert the(found).verdict.words.startswith("slower by 2")
    assert not found.left_over


def test_several_cases_that_are_the_same_but_for_by_are_left_over() -> None:
    both = numbered(runs(), runs(replace(TCP, network="vxlan")))
    found = compared(made("a", both), made("b", runs(seed=2), day=2), by="network")
    assert {one.why for one in found.left_over} == {"several cases are the same but for network"}
    assert not found.rows


def test_levels_of_one_result_are_compared_with_the_first_or_the_named_one() -> None:
    cases = [replace(TCP, network=name) for name in ("bare", "vxlan", "geneve")]
    one = made("a", numbered(*(runs(case, 1 - 0.1 * at, seed=at) for at, case in enumerate(cases))))
    found = compared_levels(one, "network")
    assert [(row.match.base_level, row.match.level) for row in found.of(THROUGHPUT)] == [
        ("bare", "vxlan"),
        ("bare", "geneve"),
    ]
    assert [row.outcome for row in found.of(THROUGHPUT)] == ["worse", "worse"]
    named = compared_levels(one, "network", "vxlan")
    assert [(row.match.level, row.outcome) for row in named.of(THROUGHPUT)] == [
        ("bare", "better"),
        ("geneve", "worse"),
    ]


def test_rates_are_levels_by_the_words_of_rates_and_are_meant_by_any_way_to_write_them() -> None:
    cases = [replace(TCP, rate_bps=rate_bps) for rate_bps in (1e9, 1.0005e9)]
    one = made("a", numbered(*(runs(case, seed=at) for at, case in enumerate(cases))))
    levels = compared_levels(one, "rate").levels
    assert levels == ("1.00 Gbps", "1.0005 Gbps")
    for written in ("1.00 Gbps", "1G", "1e9", "1000 Mbit/s"):
        assert level_meant(written, "rate", levels) == "1.00 Gbps"
    assert level_meant("2G", "rate", levels) is None
    assert level_meant("fast", "rate", levels) is None


def test_factors_and_kernels_of_hosts_are_levels_too() -> None:
    factors = [replace(TCP, factors=(("mtu", level),)) for level in ("1500", "9000")]
    found = compared_levels(made("a", numbered(runs(factors[0]), runs(factors[1], 1.1, seed=2))), "mtu")
    assert the(found).verdict.words.startswith("faster by")
    hosts = {name: with_facts(name, kernel={"release": f"6.{name[1]}"}) for name in ("h1", "h2", "h3", "h4")}
    hosts["h2"], hosts["h4"] = (
        with_facts(name, kernel={"release": hosts[to]["facts"]["kernel"]["release"]})
        for name, to in (("h2", "h1"), ("h4", "h3"))
    )
    kernels = made("a", numbered(runs(), runs(Case("tcp", "h3", "h4"), seed=2)), hosts=hosts)
    found = compared_levels(kernels, "kernel")
    assert found.levels == ("6.1", "6.3")
    assert the(found).outcome == "same"


def test_a_label_called_kernel_compares_levels_of_the_same_hosts() -> None:
    cases = [
        replace(TCP, sender=sender, factors=(("kernel", level),))
        for sender in ("h1", "h3")
        for level in ("old", "new")
    ]
    found = compared_levels(
        made("a", numbered(*(runs(case, seed=at) for at, case in enumerate(cases)))), "kernel"
    )
    assert [row.match.base.hosts[0] for row in found.of(THROUGHPUT)] == ["h1", "h3"]


# what refuses


OFFLOADS = {"generic-receive-offload": "on", "tcp-segmentation-offload": "on"}


def nic(**changes: str) -> dict[str, Any]:
    return {"offloads": OFFLOADS | {name.replace("_", "-"): state for name, state in changes.items()}}


def hosts(**sections: dict[str, Any]) -> dict[str, Any]:
    return {name: with_facts(name, **sections) for name in ("h1", "h2")}


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"campaign": {"window_s": 30.0}}, "window", "window of 60 s in A, 30 s in B"),
        ({"campaign": {"omit_s": 0.0}}, "window", "warm-up left out of 5 s in A, 0 s in B"),
        (
            {"hosts": hosts(nic=nic(generic_receive_offload="off"))},
            "offloads",
            "offloads of the sender: gro on in A, off in B; offloads of the receiver: gro on in A, off in B",
        ),
        (
            {"campaign": {"settings": {"iperf3.length": "1M"}}},
            "iperf3-options",
            "options of iperf3: none in A, iperf3.length=1M in B",
        ),
    ],
)
def test_what_must_be_equal_refuses_every_verdict_by_name_unless_it_is_allowed(
    changes: dict[str, Any], code: str, words: str
) -> None:
    base = made("a", runs(), hosts=hosts(nic=nic()))
    other = made("b", runs(seed=2), day=2, **({"hosts": hosts(nic=nic())} | changes))
    found = compared(base, other)
    assert {row.outcome for row in found.rows} == {"refused"}
    assert the(found).verdict.words == f"not comparable: {words}"
    assert the(compared(base, other, allowed=(code,))).outcome == "same"


def test_offloads_that_a_trial_had_set_count_more_than_those_found_before() -> None:
    base = made("a", runs(), hosts=hosts(nic=nic()))
    trials = [
        replace(one, receiver=replace(one.receiver, settings={"offload eth0 gro": "gro=off"}))
        for one in runs(seed=2)
        if one.receiver is not None
    ]
    other = made("b", trials, day=2, hosts=hosts(nic=nic()))
    assert the(compared(base, other)).verdict.words.endswith(
        "offloads of the receiver: gro on in A, off in B"
    )


def test_the_offload_that_is_compared_may_differ() -> None:
    def at(level: str) -> tuple[Trial, ...]:
        case = replace(TCP, factors=(("gro", level),))
        return tuple(
            replace(one, receiver=replace(one.receiver, settings={"offload eth0 gro": f"gro={level}"}))
            for one in runs(case, seed=len(level))
            if one.receiver is not None
        )

    found = compared_levels(made("a", numbered(at("on"), at("off")), hosts=hosts(nic=nic())), "gro")
    assert the(found).outcome == "same"


@pytest.mark.parametrize(("streams", "outcome"), [(1, "same"), (8, "refused")])
def test_iperf3_with_threads_is_another_load_where_it_has_several_streams(streams: int, outcome: str) -> None:
    case = replace(TCP, streams=streams)
    base = made("a", runs(case), hosts=hosts(tools={"iperf3": "iperf 3.15 (cJSON 1.7.15)"}))
    other = made("b", runs(case, seed=2), day=2, hosts=hosts(tools={"iperf3": "iperf 3.18 (cJSON 1.7.15)"}))
    row = the(compared(base, other))
    assert row.outcome == outcome
    if outcome == "refused":
        assert (
            "8 streams of iperf3 at the receiver: one thread for all in A, one thread a stream in B"
            in row.verdict.words
        )


def test_cpu_by_the_tick_and_exact_cpu_are_not_compared_but_throughput_is() -> None:
    base = made("a", runs(), hosts=hosts(kernel={"tick_accounting": True}))
    other = made("b", runs(seed=2), day=2, hosts=hosts(kernel={"tick_accounting": False}))
    found = compared(base, other)
    assert the(found).outcome == "same"
    words = "not comparable: CPU accounting of the receiver by the tick in A, exact in B"
    assert the(found, EFFICIENCY).verdict.words == words


def test_smaller_datagrams_are_another_load_except_where_the_network_is_compared() -> None:
    case = replace(UDP, network="vxlan")
    smaller = [
        replace(one, packets=int(one.packets * 1472 / 1422), lost_packets=int(one.lost_packets * 1472 / 1422))
        for one in runs(UDP, seed=2)
        if one.packets is not None and one.lost_packets is not None
    ]
    found = compared(made("a", runs(UDP)), made("b", smaller, day=2))
    assert the(found).verdict.words == "not comparable: payload of 1472 bytes in A, 1422 bytes in B"
    tunnelled = [replace(one, case=case) for one in smaller]
    assert the(compared(made("a", runs(UDP)), made("b", tunnelled, day=2), by="network")).outcome == "same"


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        (powered(runs(seed=2), provenance="simulated"), "watts measured in A, simulated in B"),
        (powered(runs(seed=2), provenance="estimate"), "watts measured in A, estimate in B"),
        (
            tuple(
                replace(one, receiver=replace(one.receiver, power=(watts("wall", 250.0),)))
                for one in runs(seed=2)
                if one.receiver is not None
            ),
            "watts of PSU DC out in A, of wall in B",
        ),
        (runs(seed=2), "no watts in B"),
    ],
)
def test_watts_of_another_kind_are_never_compared(trials: tuple[Trial, ...], words: str) -> None:
    base = made("a", powered(runs()))
    found = compared(base, made("b", trials, day=2), allowed=("window", "offloads", "accounting"))
    row = the(found, PER_WATT["receiver"])
    assert (row.outcome, row.verdict.words) == ("refused", f"not comparable: {words}")
    assert the(found).outcome == "same"


def test_what_is_not_on_record_refuses_nothing() -> None:
    bare = {name: host(name, facts={}) for name in ("h1", "h2")}
    base = made("a", runs(), campaign={}, hosts=bare)
    assert the(compared(base, made("b", runs(seed=2), day=2))).outcome == "same"


# surroundings


def test_differences_of_hosts_come_with_what_matters_first_and_roles_mapped() -> None:
    base = made("a", runs())
    there = Case("tcp", "g", "d")
    changed = {
        "g": with_facts("g"),
        "d": with_facts("d", nic={"firmware": "22.41"}, kernel={"release": "6.12"}, system={"hostname": "d"}),
    }
    found = compared(base, made("b", runs(there, seed=2), day=2, hosts=changed))
    assert [(one.where, one.fact, one.base, one.other) for one in found.differences] == [
        ("h2 / d", "kernel.release", "5.14.0-427", "6.12"),
        ("h2 / d", "nic.firmware", "22.39.1002", "22.41"),
    ]


def test_what_by_names_is_expected_to_differ_and_the_rest_is_not() -> None:
    changed = hosts(kernel={"release": "6.12"}, nic={"firmware": "22.41"})
    found = compared(made("a", runs()), made("b", runs(seed=2), day=2, hosts=changed), by="kernel")
    assert {one.fact: one.expected for one in found.differences} == {
        "nic.firmware": False,
        "kernel.release": True,
    }


def test_secrets_and_names_are_no_differences() -> None:
    changed = hosts(system={"hostname": "x", "bmc_password": "s3cret"}, nic={"mac": "02::1"})
    own = hosts(system={"hostname": "y", "bmc_password": "other"}, nic={"mac": "02::2"})
    found = compared(made("a", runs(), hosts=own), made("b", runs(seed=2), day=2, hosts=changed))
    assert found.differences == ()


def set_to(settings: dict[str, str], **changes: Any) -> tuple[Trial, ...]:
    """Slower runs in which both ends had these settings."""
    return tuple(
        one.with_ends(lambda end: replace(end, settings=dict(settings)))
        for one in runs(seed=2, ratio=0.7, **changes)
    )


def told(found: Comparison) -> set[tuple[str, str, str | None, str | None]]:
    return {(one.where, one.fact, one.base, one.other) for one in found.differences}


@pytest.mark.parametrize(
    ("facts", "setting", "fact", "before", "after"),
    [
        ({"nic": {"mtu": 1500}}, ("mtu enp1s0f0np0", "1400/68-9978"), "nic.mtu", "1500", "1400"),
        (
            {"nic": {"rings": {"rx mini": 512, "max rx mini": 8192}}},
            ("rings enp1s0f0np0", "rx-mini=1024/8192"),
            "nic.rings.rx mini",
            "512",
            "1024",
        ),
        (
            {"nic": {"coalescing": {"adaptive rx": "on"}}},
            ("coalescing enp1s0f0np0", "adaptive-rx=off"),
            "nic.coalescing.adaptive rx",
            "on",
            "off",
        ),
        (
            {"nic": {"offloads": {"rx-vlan-filter": "off [fixed]"}}},
            ("offload enp1s0f0np0 rx-vlan-filter", "rx-vlan-filter=on"),
            "nic.offloads.rx-vlan-filter",
            "off [fixed]",
            "on",
        ),
        (
            {"cpu": {"governor": "performance"}},
            ("governor host", "powersave@0-3"),
            "cpu.governor",
            "performance",
            "powersave",
        ),
        ({"cpu": {"no_turbo": "0"}}, ("turbo host", "intel_pstate/no_turbo=1"), "cpu.no_turbo", "0", "1"),
        (
            {"sysctl": {"net.core.rmem_max": "212992"}},
            ("sysctl net.core.rmem_max", "4096"),
            "sysctl.net.core.rmem_max",
            "212992",
            "4096",
        ),
        ({}, ("c_states host", "C6=off"), "setting.c_states", None, "C6=off"),
    ],
)
def test_a_setting_of_one_side_differs_from_what_the_other_shows(
    facts: dict[str, Any], setting: tuple[str, str], fact: str, before: str | None, after: str
) -> None:
    shown = hosts(**facts)
    base = made("a", runs(), hosts=shown)
    other = made("b", set_to(dict([setting])), day=2, hosts=shown)
    assert told(compared(base, other)) == {(host, fact, before, after) for host in ("h1", "h2")}
    assert told(compared(other, base)) == {(host, fact, after, before) for host in ("h1", "h2")}
    assert told(compared(other, made("c", set_to(dict([setting])), day=3, hosts=shown))) == set()


def test_a_setting_that_brings_a_host_to_what_the_other_has_is_no_difference() -> None:
    base = made("a", runs(), hosts=hosts(nic={"mtu": 1400}))
    other = made("b", set_to({"mtu enp1s0f0np0": "1400/68-9978"}), day=2, hosts=hosts(nic={"mtu": 1500}))
    assert told(compared(base, other)) == set()


def test_what_only_one_campaign_sets_differs_and_says_not_set() -> None:
    base = made("a", runs(), campaign={"settings": {}})
    for key in ("settings", "sysctl", "factors"):
        other = made("b", runs(seed=2, ratio=0.7), day=2, campaign={key: {"mtu": ["1400"]}})
        found = compared(base, other)
        assert told(found) == {("campaign", f"campaign.{key}.mtu", None, "1400")}
        assert difference_lines(found.differences) == [f"campaign: campaign.{key}.mtu not set → 1400"]
        assert "nothing else that is on record" not in str(
            first_screen_of_comparison(found, exit_finding(found, ()))
        )


def test_what_a_campaign_has_no_record_of_is_no_difference() -> None:
    base = made("a", runs(), campaign={"tail_s": 2.0})
    assert told(compared(base, made("b", runs(seed=2), day=2))) == set()


def test_a_key_that_only_one_host_has_differs_unless_the_other_could_not_learn_it() -> None:
    own = hosts(sysctl={"net.core.rmem_max": "1", "net.ipv4.tcp_new": "1"})
    plain = hosts(sysctl={"net.core.rmem_max": "1"})
    unread = hosts(sysctl={"net.core.rmem_max": "1"}, not_known={"sysctl.net.ipv4.tcp_new": "no rights"})
    base = made("a", runs(), hosts=plain)
    found = compared(base, made("b", runs(seed=2), day=2, hosts=own))
    assert told(found) == {(host, "sysctl.net.ipv4.tcp_new", None, "1") for host in ("h1", "h2")}
    assert difference_lines(found.differences)[0] == "h1: sysctl.net.ipv4.tcp_new not on record → 1"
    assert told(compared(made("c", runs(), hosts=unread), made("b", runs(), day=2, hosts=own))) == set()


def test_levels_differ_in_what_the_factor_sets_and_that_is_expected() -> None:
    low, high = (replace(TCP, factors=(("mtu", level),)) for level in ("1400", "1500"))
    trials = numbered(
        [
            one.with_ends(lambda end: replace(end, settings={"mtu enp1s0f0np0": "1400/68-9978"}))
            for one in runs(low)
        ],
        [
            one.with_ends(lambda end: replace(end, settings={"mtu enp1s0f0np0": "1500/68-9978"}))
            for one in runs(high, seed=2)
        ],
    )
    found = compared_levels(made("two", trials, hosts=hosts(nic={"mtu": 1500})), by="mtu")
    assert {(one.fact, one.base, one.other, one.expected) for one in found.differences} == {
        ("nic.mtu", "1400", "1500", True)
    }


def sysctls(**values: str) -> dict[str, Any]:
    return hosts(sysctl={f"net.{name.replace('__', '.')}": value for name, value in values.items()})


@pytest.mark.parametrize(
    ("base", "other", "short", "words"),
    [
        (
            hosts(tools={"iperf3": "iperf 3.12 (cJSON 1.7.15)"}),
            hosts(tools={"iperf3": "iperf 3.15 (cJSON 1.7.15)"}),
            "iperf3 of the sender, iperf3 of the receiver",
            "receiver: iperf3 3.12 in A, 3.15 in B",
        ),
        (
            sysctls(ipv4__tcp_congestion_control="cubic"),
            sysctls(ipv4__tcp_congestion_control="bbr"),
            "congestion control of the sender",
            "sender: congestion control cubic in A, bbr in B",
        ),
        (
            sysctls(ipv4__tcp_rmem="4096 131072 6291456"),
            sysctls(ipv4__tcp_rmem="4096 4096 4096"),
            "socket limits of the receiver",
            "receiver: net.ipv4.tcp_rmem 4096 131072 6291456 in A, 4096 4096 4096 in B",
        ),
        (
            hosts(firewall={"rules": 12, "digest": "aa", "conntrack": "off"}),
            hosts(firewall={"rules": 12, "digest": "bb", "conntrack": "on"}),
            "firewall of the sender, firewall of the receiver",
            "receiver: their digest aa in A, bb in B; conntrack off in A, on in B",
        ),
    ],
)
def test_what_else_differs_is_said_with_the_verdict_and_refuses_none(
    base: dict[str, Any], other: dict[str, Any], short: str, words: str
) -> None:
    found = compared(made("a", runs(), hosts=base), made("b", runs(ratio=0.9, seed=2), day=2, hosts=other))
    row = the(found)
    assert row.outcome == "worse"
    assert row.verdict.words.endswith(f"; also different: {short}")
    assert words in found.pairs[0].remarks
    assert ", ".join(row.besides) == short
    same = compared(made("a", runs(), hosts=base), made("b", runs(seed=2), day=2, hosts=base))
    assert "also different" not in the(same).verdict.words


def test_what_goes_with_by_is_no_also() -> None:
    base, other = sysctls(ipv4__tcp_rmem="1 2 3"), sysctls(ipv4__tcp_rmem="1 2 4")
    sides = made("a", runs(), hosts=base), made("b", runs(ratio=0.9, seed=2), day=2, hosts=other)
    assert "also different" in the(compared(*sides)).verdict.words
    assert "also different" not in the(compared(*sides, by="kernel")).verdict.words


def test_a_thread_is_no_core_and_efficiency_alone_says_so() -> None:
    one, two = (hosts(cpus={"cores": cores}) for cores in (["0", "1"], ["0,1"]))
    found = compared(made("a", runs(), hosts=one), made("b", runs(seed=2), day=2, hosts=two))
    said = {row.response.name: row.verdict.words for row in found.rows}
    assert "also different" not in said["throughput_bps"]
    assert said["efficiency_receiver_bps_per_core"].endswith("also different: what a core is of the receiver")


def test_iperf3_of_each_end_is_compared_with_that_of_the_same_end() -> None:
    """Both sides mix versions, and the receivers differ."""
    case = replace(TCP, streams=8)

    def mixed(sender: str, receiver: str) -> dict[str, Any]:
        versions = {"h1": sender, "h2": receiver}
        return {
            name: with_facts(name, tools={"iperf3": f"iperf {own} (x)"}) for name, own in versions.items()
        }

    base = made("a", runs(case), hosts=mixed("3.18", "3.12"))
    other = made("b", runs(case, seed=2), day=2, hosts=mixed("3.18", "3.18"))
    assert (
        "8 streams of iperf3 at the receiver: one thread for all in A"
        in the(compared(base, other)).verdict.words
    )


def test_levels_that_were_not_measured_in_turn_say_that_drift_is_in_the_ratio() -> None:
    def at(level: str, start: int, step: int) -> tuple[Trial, ...]:
        case = replace(TCP, factors=(("gro", level),))
        return tuple(
            replace(one, started_s=1e9 + 60 * (start + step * number))
            for number, one in enumerate(runs(case, seed=start + 1))
        )

    apart = compared_levels(made("a", numbered(at("on", 0, 1), at("off", 10, 1))), "gro")
    assert the(apart).verdict.words.endswith("; also different: the time (not interleaved)")
    assert "what drifted meanwhile is in the ratio" in apart.pairs[0].remarks[0]
    in_turn = compared_levels(made("a", numbered(at("on", 0, 2), at("off", 1, 2))), "gro")
    assert "also different" not in the(in_turn).verdict.words


def test_two_results_are_never_in_turn_and_the_heading_says_so() -> None:
    found = compared(made("a", runs()), made("b", runs(seed=2)))
    assert any("were not measured in turn" in line for line in heading(found))


def test_flags_and_failures_of_either_side_stand_beside_the_verdict() -> None:
    flag = Flag("process-moved", "h2", "seen on CPU 5", "pin it")
    base = made("a", (*runs(n=9), failed(10, TCP, "refused")))
    other = made("b", runs(seed=2, flags=(flag,)), day=2)
    (pair,) = compared(base, other).pairs
    assert pair.base_flags == ()
    assert [(one.code, one.trials) for one in pair.other_flags] == [("process-moved", 10)]
    assert pair.remarks == ("1 of 10 trials failed in A",)


# exit codes


@pytest.mark.parametrize(
    ("ratio", "n", "fail_on", "code"),
    [
        (0.95, 10, ("slower",), 3),
        (0.95, 10, (), 0),
        (0.95, 10, ("less-per-watt",), 4),  # no watts at all
        (1.05, 10, ("slower",), 0),
        (1.0, 10, ("slower",), 0),
        (0.5, 3, ("slower",), 4),
        (0.95, 10, ("less-efficient",), 3),
    ],
)
def test_exit_codes_say_regression_evidence_or_neither(
    ratio: float, n: int, fail_on: tuple[str, ...], code: int
) -> None:
    found = compared(made("a", runs(n=n)), made("b", runs(ratio=ratio, n=n, seed=2), day=2))
    assert exit_finding(found, fail_on).exit_code == code


def test_a_regression_beside_a_case_without_verdict_is_still_a_regression() -> None:
    few = Case("tcp", "h1", "h2", instances=4)
    base = made("a", numbered(runs(), runs(few, n=2)))
    other = made("b", numbered(runs(ratio=0.9, seed=2), runs(few, n=2, seed=3)), day=2)
    found = compared(base, other)
    assert exit_finding(found, ("slower",)).exit_code == 3
    assert (
        exit_finding(
            compared(base, made("b", numbered(runs(seed=2), runs(few, n=2)), day=2)), ("slower",)
        ).exit_code
        == 4
    )


def test_a_refused_case_is_no_evidence() -> None:
    found = compared(*two(campaign={"window_s": 30.0}))
    assert exit_finding(found, ("slower",)).exit_code == 4
    assert CAMPAIGN["window_s"] == 60.0


def test_matching_of_nothing_says_so() -> None:
    matching = match_two(side("A", made("a", runs())), side("B", made("b", runs(UDP), day=2)), None)
    assert matching.matches == ()
    assert {one.why for one in matching.left_over} == {"no such case in B", "no such case in A"}


def test_what_limits_each_side_stands_with_the_verdict() -> None:
    spare = end("h2", "receiver", 2.0, 0.5, 0.5)
    at_line = made("b", runs(seed=2, receiver=spare, line_goodput_bps=96e9), day=2)
    assert compared(*two()).pairs[0].remarks == (), "both are limited alike"
    (differ,) = compared(two()[0], at_line).pairs[0].remarks
    assert differ == "limited by the receiver's IRQ CPUs in A, by the line rate in B"
    same = made("a", runs(receiver=spare, line_goodput_bps=96e9))
    (both,) = compared(same, at_line).pairs[0].remarks
    assert both.startswith("both are limited by the line rate: more that a host could do does not show")


def later(trials: Sequence[Trial], seconds: float) -> tuple[Trial, ...]:
    return tuple(replace(one, started_s=one.started_s + seconds) for one in trials)


def drifting(ratio: float, per_run: float) -> tuple[Trial, ...]:
    steady = runs(ratio=ratio, n=5, cv=0.001)
    return tuple(
        replace(one, throughput_bps=(one.throughput_bps or 0) * (1 - per_run * at))
        for at, one in enumerate(steady)
    )


def test_a_drift_that_goes_on_from_a_to_b_is_no_verdict_and_says_so() -> None:
    base = made("a", drifting(1.0, 0.004))
    after = later(drifting(0.98, 0.004), 86_400)
    (row,) = compared(base, made("b", after, day=2), metrics=("throughput",)).rows
    assert row.outcome == "undecided"
    assert row.verdict.words.startswith("not told from drift: slower by 2.0 % (CI ")
    change = row.verdict.change
    assert change is not None
    assert change.is_within_drift
    assert change.low < -0.02 < change.high


def test_interleaved_runs_and_a_step_beyond_the_drift_have_their_verdict() -> None:
    base = made("a", drifting(1.0, 0.004))
    for other in (drifting(0.98, 0.004), later(drifting(0.9, 0.004), 86_400)):
        (row,) = compared(base, made("b", other, day=2), metrics=("throughput",)).rows
        assert row.outcome == "worse"


def test_the_side_that_was_measured_first_may_be_the_other() -> None:
    base = made("a", later(drifting(0.98, 0.004), 86_400))
    (row,) = compared(base, made("b", drifting(1.0, 0.004), day=2), metrics=("throughput",)).rows
    assert row.outcome == "undecided"
    assert row.verdict.words.startswith("not told from drift: faster by ")


def test_a_row_is_judged_among_all_rows_of_the_comparison() -> None:
    found = compared(made("a", runs()), made("b", runs(ratio=0.99, seed=2), day=2))
    testable = [row.verdict.change for row in found.rows if row.verdict.change is not None]
    assert len(found.responses) > 1
    for change in testable:
        assert change.p_all is not None
        assert change.p_holm <= change.p_all <= min(1.0, len(testable) * max(change.p, change.p_all))
    smallest = min(testable, key=lambda change: change.p)
    assert smallest.p_all == pytest.approx(len(testable) * smallest.p)
