# SPDX-License-Identifier: Apache-2.0
"""Throughput over time beside the answer of a report: what is stored, of the median trial of each series."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import demo_trials, renumbered, scaling_trials
from tests.stored_samples import with_samples

from linewatt.errors import StoreError
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure
from linewatt.report.printing import html
from linewatt.report.trials.charts.throughput_course import MOST_SERIES, throughput_figures
from linewatt.report.trials.digest import Digest


def figures(view: Digest) -> tuple[Figure, ...]:
    return throughput_figures(view, runs_of(view.result.trials))


def rows(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def test_the_median_trial_of_the_best_case_is_drawn_as_it_is_stored(tmp_path: Path) -> None:
    trials = [
        replace(trial, throughput_bps=bps)
        for trial, bps in zip(scaling_trials((1, 4), 3), (1e9, 2e9, 3e9, 9e9, 7e9, 8e9), strict=True)
    ]
    [figure] = figures(with_samples(tmp_path, trials))
    assert figure.title == "TCP, 4 instances: throughput over time"
    assert figure.caption.startswith("Trial 6, the median of 3 by throughput.")
    readings = rows(figure, "reading")
    assert (readings[0]["time_s"], readings[-1]["time_s"]) == (-5.0, 65.0)
    assert readings[0]["value"] == pytest.approx(4), "all instances together, Gbps"
    assert [(row["time_s"], row["until_s"]) for row in rows(figure, "window")] == [(0.0, 60.0)]
    assert figure.wide, "alone it is as wide as the page"


def test_the_first_three_series_have_one_each(tmp_path: Path) -> None:
    shown = figures(with_samples(tmp_path, renumbered(demo_trials())))
    assert len(shown) == MOST_SERIES
    assert [figure.title.partition(",")[0] for figure in shown] == ["TCP", "UDP 1500", "UDP 60"]
    assert not any(figure.wide for figure in shown), "side by side"


def test_nothing_is_drawn_without_samples_and_damaged_ones_are_named(tmp_path: Path) -> None:
    view = with_samples(tmp_path, scaling_trials((1,), 1))
    (samples,) = view.result.path.glob("trials/*/samples.parquet")
    samples.write_bytes(b"damaged")
    with pytest.raises(StoreError, match=r"samples\.parquet: damaged"):
        figures(view)
    samples.unlink()
    assert figures(view) == ()
    assert 'data-figure="course-' not in html.render_html(view)


def test_a_report_has_it_right_below_the_answer(tmp_path: Path) -> None:
    page = html.render_html(with_samples(tmp_path, scaling_trials((1, 2), 1)))
    answer, _, below = page.partition('<div class="about">')
    assert answer.count('data-figure="course-') == 1
    assert 'data-figure="course-' not in below
