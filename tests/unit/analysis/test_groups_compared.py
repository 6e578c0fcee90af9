# SPDX-License-Identifier: Apache-2.0
"""Pairs that run at once, compared: every host by itself, and no pair with another of the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.groups import group

from linewatt.analysis.comparison.case_runs import CaseRuns, runs_by_case
from linewatt.analysis.comparison.comparable import Ends, obstacles
from linewatt.analysis.comparison.confounders import besides
from linewatt.analysis.comparison.matching import Side, levels_of, match_levels, match_two
from linewatt.model import Case, Shape, group_of
from linewatt.records import Campaign, Host

TO_DUT = (("g1", "dut"), ("g2", "dut"))


def group_case(flows: Sequence[tuple[str, str]] = TO_DUT, shape: Shape = "many-to-one") -> Case:
    return Case("tcp", **group_of(shape, tuple(flows)))


def side(name: str, *cases: Case, **facts: dict[str, Any]) -> Side:
    every = [one for case in cases for one in (case, *(case.pairs if case.flows else ()))]
    hosts = {one: Host(said={}, facts=facts.get(one, {})) for case in cases for one in case.hosts}
    runs = {case: CaseRuns(case, 2, 0, (), {}) for case in every}
    return Side(name, name, Campaign(written={}), hosts, runs)


def ends(case: Case, **facts: dict[str, Any]) -> Ends:
    """Of a case against itself on hosts that have other facts."""
    usual = {
        "nic": {"offloads": {"tcp-segmentation-offload": "on"}},
        "kernel": {"tick_accounting": False},
        "sysctl": {"net.ipv4.tcp_congestion_control": "cubic"},
    }
    base = side("A", case, **dict.fromkeys(case.hosts, usual))
    other = side("B", case, **{name: usual | facts.get(name, {}) for name in case.hosts})
    return Ends(base, other, base.cases[case], other.cases[case], None)


TSO_OFF = {"nic": {"offloads": {"tcp-segmentation-offload": "off"}}}
BY_TICK = {"kernel": {"tick_accounting": True}}
BBR = {"sysctl": {"net.ipv4.tcp_congestion_control": "bbr"}}


def test_what_differs_at_any_host_of_a_group_refuses_the_verdict_and_names_it() -> None:
    found = obstacles(ends(group_case(), g2=TSO_OFF | BY_TICK))
    assert [(one.code, one.words) for one in found] == [
        ("offloads", "offloads of the sender g2: tso on in A, off in B"),
        ("accounting", "CPU accounting of the sender g2 exact in A, by the tick in B"),
    ]


def test_what_else_differs_at_any_host_of_a_group_is_told_beside_the_verdict() -> None:
    (found,) = besides(ends(group_case(), g2=BBR))
    assert found.words == "sender g2: congestion control cubic in A, bbr in B"


def test_both_ways_each_host_sends_and_receives() -> None:
    both = group_case((("g1", "dut"), ("dut", "g1")), "both-ways")
    found = obstacles(ends(both, dut=TSO_OFF | BY_TICK))
    assert [one.words for one in found] == [
        "offloads of the sender dut: tso on in A, off in B",
        "offloads of the receiver dut: tso on in A, off in B",
        "CPU accounting of the receiver dut exact in A, by the tick in B",
    ]
    assert [one.words for one in besides(ends(both, dut=BBR))] == [
        "sender dut: congestion control cubic in A, bbr in B"
    ]


def test_settings_are_those_of_each_host_whatever_row_tells_its_figures() -> None:
    trial = group().trial().with_ends(lambda end: replace(end, settings={"sysctl x": end.host}))
    runs = runs_by_case([trial])
    assert [sorted(one.settings) for one in runs.values()] == [
        ["dut", "g1", "g2", "g3"],
        *[["dut", name] for name in ("g1", "g2", "g3")],
    ]
    assert all(texts == {"sysctl x": host} for one in runs.values() for host, texts in one.settings.items())


def test_pairs_of_a_group_follow_it_whatever_the_shared_host_is_called() -> None:
    one, two = group_case(), group_case([("g1", "dut2"), ("g2", "dut2")])
    for by in (None, "host"):
        found = match_two(side("A", one), side("B", two), by)
        ways = [(match.base.way, match.other.way) for match in found.matches]  # type: ignore[union-attr]
        assert ways == [
            ("g1 + g2 → dut", "g1 + g2 → dut2"),
            ("g1 → dut", "g1 → dut2"),
            ("g2 → dut", "g2 → dut2"),
        ]
        assert not found.left_over
        assert found.words[1:] == ("g1 + g2 → dut in A is compared with g1 + g2 → dut2 in B",)


def test_pairs_of_a_group_without_a_partner_are_left_over_with_it() -> None:
    found = match_two(side("A", group_case()), side("B", Case("tcp", "g1", "dut")), None)
    assert [(one.case.way, one.side) for one in found.left_over] == [
        ("g1 + g2 → dut", "A"),
        ("g1 → dut", "A"),
        ("g2 → dut", "A"),
        ("g1 → dut", "B"),
    ]


def test_pairs_of_the_same_runs_are_not_compared_with_one_another() -> None:
    alone = [Case("tcp", name, "dut") for name in ("g1", "g2")]
    one = side("A", group_case(), *alone)
    assert levels_of(side("A", group_case()), "sender") == ["g1 + g2"]
    found = match_levels(one, "sender", "g1")
    assert [(match.base, match.other) for match in found.matches] == [tuple(alone)]
    why = "it ran at once with the other pairs of its group, so the two are not separate trials"
    assert [left.case.sender for left in found.left_over if left.why == why] == ["g1", "g2"]
