# SPDX-License-Identifier: Apache-2.0
"""How the trials of a case differ: what is drawn is each trial's throughput, if there are enough of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import quantiles
from typing import Any

import pytest
from tests.report_factories import renumbered, result, scaling_trials

from linewatt.model import Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.printing import html
from linewatt.report.trials.charts.spread_of_trials import MOST_CASES, spread_figures
from linewatt.report.trials.digest import digest_of

RATES_BPS = (9.0e9, 10.0e9, 10.2e9, 9.9e9, 10.4e9)


def case_of(rates_bps: Sequence[float], instances: int = 1) -> list[Trial]:
    trials = scaling_trials((instances,), len(rates_bps))
    return [replace(trial, throughput_bps=bps) for trial, bps in zip(trials, rates_bps, strict=True)]


def figures(trials: Sequence[Trial]) -> tuple[Figure, ...]:
    view = digest_of(result(trials))
    return spread_figures(view, runs_of(view.result.trials))


def rows(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def test_each_trial_is_a_dot_and_the_box_has_the_quartiles() -> None:
    [figure] = figures(case_of(RATES_BPS))
    dots = {row["trial"]: row["value"] for row in rows(figure, "run")}
    expected = {
        number: pytest.approx(100 * (bps / 10e9 - 1)) for number, bps in enumerate(RATES_BPS, start=1)
    }
    assert dots == expected
    [box] = rows(figure, "box")
    quartiles = [100 * (bps / 10e9 - 1) for bps in quantiles(RATES_BPS, n=4, method="inclusive")]
    assert [box["lower"], box["median"], box["upper"]] == pytest.approx(quartiles)
    assert (box["low"], box["high"]) == (pytest.approx(-10), pytest.approx(4))
    assert "median 10.00 Gbps" in render_svg(figure.spec)
    assert "5 trials, 9.000 Gbps to 10.40 Gbps" in figure.description


def test_fewer_than_five_trials_with_a_throughput_have_none() -> None:
    assert figures(case_of(RATES_BPS[:4])) == ()
    first, *others = case_of(RATES_BPS)
    assert figures([replace(first, status="failed", throughput_bps=None), *others]) == ()


def test_of_many_cases_those_whose_trials_differ_most_are_drawn() -> None:
    trials = [
        trial
        for count in range(1, 23)
        for trial in case_of([1e9, 1e9, 1e9, 1e9, 1e9 + 1e6 * count], 1)
        for trial in [replace(trial, case=replace(trial.case, instances=count))]
    ]
    [figure] = figures(renumbered(trials))
    assert len(rows(figure, "box")) == MOST_CASES
    assert not any(": 1 instance" in row["case"] for row in rows(figure, "box"))
    assert "Drawn are the 20 of 22 cases whose trials differ most." in figure.caption


def test_a_report_has_it_folded_below_every_trial() -> None:
    page = html.render_html(digest_of(result(case_of(RATES_BPS))))
    _, below = page.split('id="trials"', 1)
    assert "<details><summary>Throughput of each trial</summary>" in below
    assert below.count('data-figure="spread-of-trials"') == 1
