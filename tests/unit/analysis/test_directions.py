# SPDX-License-Identifier: Apache-2.0
"""A pair that carries far more one way than the other is told, with both figures and both limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.report_factories import end, trial

from linewatt.analysis.cases.summary import summarise
from linewatt.model import Case, Flag, Trial, group_of

THERE = Case("tcp", "a", "b")
BACK = Case("tcp", "b", "a")


def run(case: Case, rate_bps: float, **changes: Any) -> Trial:
    """A trial with room on the CPUs of both ends."""
    ends = {role: end(case.host(role), role, 0.5, 0.5, 0.5) for role in ("sender", "receiver")}
    return trial(1, case, rate_bps, 0.5, **(ends | changes))


def flags(*trials: Trial) -> list[Flag]:
    return [
        flag
        for summary in summarise(trials)
        for flag in summary.case_flags
        if flag.code == "directions-differ"
    ]


def test_the_slower_direction_has_both_figures_and_both_limits() -> None:
    (flag,) = flags(run(THERE, 9.4e9), run(BACK, 1.88e9, line_goodput_bps=1.9e9, line_kind="shaper"))
    assert flag.where == "b → a"
    assert flag.evidence == (
        "1.88 Gbps; a → b has 9.40 Gbps, 5.0 times as much; "
        "b → a is limited by the shaper of the line, no limit found for a → b"
    )


@pytest.mark.parametrize(("back_bps", "count"), [(4.6e9, 1), (4.8e9, 0), (9.4e9, 0)])
def test_twice_as_much_is_told_and_what_unlike_hosts_make_is_not(back_bps: float, count: int) -> None:
    assert len(flags(run(THERE, 9.4e9), run(BACK, back_bps))) == count


@pytest.mark.parametrize(
    "fields",
    [{"instances": 2}, {"streams": 4}, {"test": "udp-1500"}, {"network": "vxlan"}, {"rate_bps": 2e9}],
    ids=str,
)
def test_cases_that_differ_in_more_than_the_way_are_not_compared(fields: dict[str, Any]) -> None:
    assert flags(run(THERE, 9.4e9), run(replace(BACK, **fields), 1e9)) == []


@pytest.mark.parametrize("fields", [{"load_level": 0.5}, {"search": "rate"}], ids=str)
def test_what_follows_from_what_a_direction_carries_is_not_told_again(fields: dict[str, Any]) -> None:
    assert flags(*(run(replace(case, **fields), bps) for case, bps in ((THERE, 9.4e9), (BACK, 1e9)))) == []


def test_pairs_that_run_at_once_are_compared_as_pairs() -> None:
    both = Case("tcp", **group_of("both-ways", (("a", "b"), ("b", "a"))))
    assert flags(run(both, 9.4e9)) == []


def test_cases_opened_from_the_same_side_are_compared_before_those_of_the_same_host() -> None:
    there, back = replace(THERE, direction="reverse"), replace(BACK, direction="reverse")
    assert flags(run(THERE, 9.4e9), run(there, 1e9), run(BACK, 9.4e9), run(back, 1e9)) == []
    (flag,) = flags(run(THERE, 9.4e9), run(back, 1e9))
    assert flag.where == "b → a"
