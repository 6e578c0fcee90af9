# SPDX-License-Identifier: Apache-2.0
"""Three small charts near the top: throughput, CPU and watts of both ends on one axis of instances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.report_factories import (
    PUBLISHED_POWER_W,
    demo_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
    trial,
)

from linewatt.model import Case, Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.printing import html
from linewatt.report.trials.charts.overview import overview_figures, overview_words
from linewatt.report.trials.digest import digest_of


def overview(trials: Sequence[Trial]) -> dict[str, Figure]:
    view = digest_of(result(trials))
    return {one.name: one for one in overview_figures(view.groups, runs_of(trials))}


def words(trials: Sequence[Trial]) -> str:
    view = digest_of(result(trials))
    return " ".join(overview_words(view.groups, tuple(overview(trials).values())))


def means(figure: Figure) -> dict[tuple[str, float], float]:
    rows: list[dict[str, Any]] = figure.spec["data"]["values"]
    return {(row.get("part", ""), row["x"]): row["value"] for row in rows if row["kind"] == "mean"}


def test_throughput_cpu_and_watts_of_both_ends_share_an_axis_of_instances() -> None:
    trials = powered(scaling_trials(), provenance="simulated", ends=("receiver", "sender"))
    shown = overview(trials)
    assert list(shown) == ["throughput-tcp", "cpu-tcp", "watts-tcp"]
    axes = [one.spec["encoding"]["x"] for one in shown.values()]
    assert axes[0] == axes[1] == axes[2]
    assert len({one.spec["width"] for one in shown.values()}) == 1
    watts = means(shown["watts-tcp"])
    for count, (system_w, _) in PUBLISHED_POWER_W.items():
        for end in ("receiver", "sender"):
            assert math.isclose(watts[end, count], system_w)
    summaries = digest_of(result(trials)).summaries
    for summary in summaries:
        value = summary.cpu_cores("sender")
        assert value is not None
        assert math.isclose(means(shown["cpu-tcp"])["sender", summary.case.instances], 100 * value.mean)
    assert shown["watts-tcp"].title == "TCP: watts of both ends, simulated"
    assert shown["watts-tcp"].caption == "Watts of the system; PSU DC out."
    assert all(render_svg(one.spec) for one in shown.values())


def test_ends_whose_watts_are_not_alike_say_so_at_their_names() -> None:
    trials = powered(scaling_trials((1, 2)), ends=("receiver",))
    mixed = powered(trials, provenance="simulated", ends=("sender",))
    assert {part for part, _ in means(overview(mixed)["watts-tcp"])} == {"receiver", "sender (simulated)"}
    alone = overview(trials)["watts-tcp"]
    assert {part for part, _ in means(alone)} == {"receiver"}
    assert "receiver: PSU DC out; sender: not measured" in alone.caption


def test_a_case_without_watts_is_no_point_and_said() -> None:
    trials = powered(scaling_trials((1, 2, 4)))
    bare = tuple(
        replace(each, receiver=replace(each.receiver, power=()))
        if each.receiver and each.case.instances == 2
        else each
        for each in trials
    )
    figure = overview(bare)["watts-tcp"]
    assert [x for _, x in means(figure)] == [1, 4]
    assert "PSU DC out for 2 of 3 cases" in figure.caption


def test_what_nobody_measured_is_said_and_not_drawn() -> None:
    trials = tuple(replace(each, sender=None, receiver=None) for each in scaling_trials((1, 2)))
    assert list(overview(trials)) == ["throughput-tcp"]
    assert "TCP: CPU not measured at either end. TCP: watts not measured at either end." in words(trials)
    assert "CPU not measured" not in words(scaling_trials((1, 2)))


def test_of_several_series_the_fastest_is_drawn_under_its_name() -> None:
    slow = [replace(each, throughput_bps=1e9) for each in scaling_trials((1, 2), sender="slow")]
    shown = overview(renumbered(slow, scaling_trials((1, 2), sender="fast")))
    assert list(shown) == ["fastest-throughput-tcp", "fastest-cpu-tcp"]
    assert shown["fastest-throughput-tcp"].title == "TCP, fast → h2: throughput"


def test_tests_with_one_number_of_instances_have_none() -> None:
    assert overview([trial(1, Case("tcp", "h1", "h2"), 9e9, 1.0)]) == {}
    assert overview(()) == {}


def test_the_charts_come_before_the_tables_and_once() -> None:
    page = html.render_html(digest_of(result(demo_trials())))
    at = [page.index(f'id="{anchor}"') for anchor in ("results", "overview", "scalability", "figures")]
    assert at == sorted(at)
    assert page.count('data-figure="throughput-tcp"') == 1
    assert page.count('data-figure="cpu-tcp"') == 1
    assert page.index('data-figure="cpu-tcp"') < at[2]


def test_words_say_what_lines_are_for_one_trial_and_for_many() -> None:
    assert words(scaling_trials((1, 2), 1)).startswith("Line: one trial per case.")
    assert words(scaling_trials((1, 2), 3)).startswith("Line: mean of the trials; bars: standard deviation")
