# SPDX-License-Identifier: Apache-2.0
"""What a change costs over all pairs of hosts, where each pair alone has too few runs for a verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.compare_factories import TCP, UDP, compared, compared_levels, made, numbered, runs
from tests.documents import valid

from linewatt.analysis.comparison.compare import exit_finding
from linewatt.analysis.statistics.contrasts import Contrast, over_strata, welch
from linewatt.analysis.statistics.permutation import STRATA_DRAWS, strata_p
from linewatt.missing import Missing
from linewatt.model import Case, Trial
from linewatt.report.comparison.document import comparison_document
from linewatt.report.comparison.tables import tables

PAIRS = [("h1", "h2"), ("h2", "h1"), ("h1", "h3"), ("h3", "h1"), ("h2", "h3"), ("h3", "h2")]
EXPERIMENTS = 1500
Strata = list[tuple[list[float], list[float]]]


def matrix(ratio: float, case: Case = TCP, n: int = 3, cv: float = 0.004) -> list[tuple[Trial, ...]]:
    """Every pair bare and through a tunnel, ``n`` runs each; pairs differ, the tunnel's ratio does not."""
    found = []
    for at, (sender, receiver) in enumerate(PAIRS):
        own = replace(case, sender=sender, receiver=receiver)
        level = 1 - 0.1 * at
        found.append(runs(own, level, n=n, cv=cv, seed=2 * at))
        found.append(runs(replace(own, network="vxlan"), level * ratio, n=n, cv=cv, seed=2 * at + 1))
    return found


def test_a_loss_that_no_pair_alone_can_show_is_told_over_all_of_them() -> None:
    found = compared_levels(made("a", numbered(*matrix(0.95))), "network", metrics=("throughput",))
    assert {row.outcome for row in found.rows} == {"undecided"}
    assert all("give no p below 0.10" in row.verdict.words for row in found.rows)
    (row,) = found.overall
    assert (row.outcome, row.pairs) == ("worse", 6)
    change = row.verdict.change
    assert change is not None
    assert change.low < -0.05 < change.high
    assert change.high < 0
    assert row.base is not None
    assert row.base.n == 18
    assert row.base.mean == pytest.approx(0.75 * 94e9, rel=0.01)


def test_a_pair_without_a_verdict_still_has_its_ratio_and_interval() -> None:
    found = compared_levels(made("a", numbered(*matrix(0.95))), "network", metrics=("throughput",))
    for row in found.rows:
        assert row.verdict.change is not None
        assert row.verdict.change.low < -0.05 < row.verdict.change.high
        assert not row.verdict.change.significant


def test_equal_networks_are_not_said_to_differ_over_all_pairs() -> None:
    found = compared_levels(made("a", numbered(*matrix(1.0))), "network", metrics=("throughput",))
    assert {row.outcome for row in found.overall} == {"same"}


def test_one_pair_has_no_row_over_all_and_tests_are_apart() -> None:
    one = compared_levels(made("a", numbered(*matrix(0.9)[:2])), "network")
    assert one.overall == ()
    both = compared_levels(
        made("a", numbered(*matrix(0.9), *matrix(0.8, UDP))), "network", metrics=("throughput",)
    )
    bases = [row.match.base for row in both.overall]
    assert [base.parameters["test"] for base in bases if isinstance(base, Case)] == ["tcp", "udp-1500"]


def test_a_regression_over_all_pairs_is_one_though_no_pair_has_a_verdict() -> None:
    base = made("a", numbered(*matrix(1.0)[::2]))
    slower = made(
        "b",
        numbered(
            *(
                runs(one[0].case, 0.9 * (1 - 0.1 * at), n=3, seed=90 + at)
                for at, one in enumerate(matrix(1.0)[::2])
            )
        ),
    )
    found = compared(base, slower)
    assert {row.outcome for row in found.rows if row.response.name == "throughput_bps"} == {"undecided"}
    assert exit_finding(found, ("slower",)).exit_code == 3


def test_the_row_over_all_pairs_leads_its_table_and_names_no_host() -> None:
    found = compared_levels(made("a", numbered(*matrix(0.95))), "network", metrics=("throughput",))
    (table,) = tables(found)
    assert table.lines[0].case == "all 6 pairs of hosts, 1 instance"
    assert [line.case for line in table.lines[1:3]] == [
        "h1 → h2, 1 instance",
        "h2 → h1, 1 instance",
    ]
    counted = table.table.title.rpartition(": ")[2]
    assert counted == "6 without a verdict", "what is over pairs is not counted with them"
    document = comparison_document(found, exit_finding(found, ()))
    valid("compare", document)
    (overall,) = document["overall"]
    assert overall["pairs"] == 6
    assert overall["ratio_low"] < 0.95 < overall["ratio_high"]
    assert "sender" not in overall


def test_one_stratum_is_what_welch_says() -> None:
    base, other = [1.0, 1.1, 1.3, 1.2, 1.25], [1.5, 1.4, 1.9, 1.6]
    one, two = over_strata([(base, other)]), welch(base, other)
    assert isinstance(one, Contrast)
    assert isinstance(two, Contrast)
    assert (one.value, one.se, one.df) == pytest.approx((two.value, two.se, two.df))


def test_a_spread_that_is_that_of_one_side_alone_has_an_interval_and_no_verdict() -> None:
    still = ([1.0, 1.0, 1.0], [1.2, 1.2, 1.2])
    found = over_strata([([1.0, 1.1, 1.2], [1.3, 1.3, 1.3]), still])
    assert isinstance(found, Contrast)
    assert found.doubt == "2.0 degrees of freedom, and 4 are needed"
    assert found.interval[0] < found.value < found.interval[1]


def test_strata_with_one_run_on_a_side_give_no_contrast() -> None:
    assert over_strata([([1.0], [1.0, 2.0])]) == Missing("1 trial on a side, and each needs 2")


def experiments(shift: float) -> list[Strata]:
    """Six pairs of hosts at different levels, three runs a side."""
    draw = np.random.default_rng(3)
    found = []
    for _ in range(EXPERIMENTS):
        levels = draw.normal(25, 0.3, 6)
        found.append(
            [
                (
                    list(map(float, draw.normal(at, 0.02, 3))),
                    list(map(float, draw.normal(at + shift, 0.02, 3))),
                )
                for at in levels
            ]
        )
    return found


def test_the_interval_over_pairs_covers_the_truth_as_often_as_it_says() -> None:
    shift = math.log(0.97)
    ends = [one.interval for strata in experiments(shift) if isinstance(one := over_strata(strata), Contrast)]
    assert len(ends) == EXPERIMENTS
    covered = sum(low <= shift <= high for low, high in ends) / EXPERIMENTS
    assert 0.93 <= covered <= 0.97


def test_runs_dealt_within_pairs_give_a_p_that_is_uniform_where_nothing_differs() -> None:
    ps = np.array([strata_p(strata, at) for at, strata in enumerate(experiments(0.0)[:400])])
    assert ps.min() >= 1 / (STRATA_DRAWS + 1)
    assert 0.02 <= (ps < 0.05).mean() <= 0.08
    assert 0.42 <= (ps < 0.5).mean() <= 0.58


def test_levels_of_pairs_do_not_hide_a_change_within_them() -> None:
    (strata, *_) = experiments(math.log(0.9))
    assert strata_p(strata, 1) < 0.01


def test_runs_without_any_spread_that_differ_are_beyond_chance_and_equal_ones_are_not() -> None:
    assert strata_p([([1.0] * 3, [2.0] * 3)] * 3, 1) < 0.05
    assert strata_p([([1.0] * 3, [1.0] * 3)] * 3, 1) == 1.0
