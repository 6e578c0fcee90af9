# SPDX-License-Identifier: Apache-2.0
"""Charts: their data is the summary's, and every specification draws."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.report_factories import HOSTILE, demo_trials, end, renumbered, result, scaling_trials, trial

from linewatt.model import Case, Trial
from linewatt.report.charts.data import few, runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.trials.charts.cases import figures
from linewatt.report.trials.digest import digest

SVG = "{http://www.w3.org/2000/svg}"


def drawn(trials: tuple[Trial, ...]) -> dict[str, Figure]:
    view = digest(result(trials))
    return {figure.name: figure for figure in figures(view.groups, runs_of(view.result.trials))}


def rows(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own


def test_demo_has_lines_for_tcp_bars_for_udp_and_roles_for_all() -> None:
    assert list(drawn(demo_trials())) == [
        "throughput-tcp",
        "efficiency-tcp",
        "throughput-tests",
        "efficiency-tests",
        "roles",
    ]


def test_throughput_line_has_the_means_sd_and_every_run() -> None:
    trials = scaling_trials((1, 2, 4), 3)
    figure = drawn(trials)["throughput-tcp"]
    for summary, mean in zip(digest(result(trials)).summaries, rows(figure, "mean"), strict=True):
        measured = summary.throughput_bps
        assert measured is not None
        assert measured.sd is not None
        assert mean["x"] == summary.case.instances
        assert math.isclose(mean["value"], measured.mean / 1e9)
        assert math.isclose(mean["high"] - mean["value"], measured.sd / 1e9)
        assert math.isclose(mean["value"] - mean["low"], measured.sd / 1e9)
    assert [row["value"] for row in rows(figure, "run")] == [(t.throughput_bps or 0) / 1e9 for t in trials]
    assert "Gbps" in figure.spec["encoding"]["y"]["title"]


def test_ideal_line_is_linear_from_one_instance_and_stays_in_the_chart() -> None:
    figure = drawn(scaling_trials((1, 2, 4, 8, 16)))["throughput-tcp"]
    one = rows(figure, "mean")[0]["value"]
    start, stop = rows(figure, "ideal")
    assert (start["x"], start["value"]) == (1, one)
    assert math.isclose(stop["value"], stop["x"] * one)
    assert math.isclose(stop["value"], figure.spec["encoding"]["y"]["scale"]["domain"][1])


def test_no_ideal_line_without_a_one_instance_case() -> None:
    assert rows(drawn(scaling_trials((2, 4)))["throughput-tcp"], "ideal") == []


def test_efficiency_has_both_ends_of_the_summary() -> None:
    trials = scaling_trials((1, 2))
    figure = drawn(trials)["efficiency-tcp"]
    for summary in digest(result(trials)).summaries:
        for name, value in (
            ("Receiver (remote)", summary.efficiency_receiver_bps_per_core),
            ("Sender (local)", summary.efficiency_sender_bps_per_core),
        ):
            [row] = [
                row
                for row in rows(figure, "mean")
                if (row["part"], row["x"]) == (name, summary.case.instances)
            ]
            assert value is not None
            assert math.isclose(row["value"], value.mean / 1e6)


def test_unknown_cpu_draws_no_point_at_zero() -> None:
    lost = end("h2", "receiver", None, 0.5, 0.5)
    trials = tuple(replace(each, receiver=lost) for each in scaling_trials((1, 2)))
    figure = drawn(trials)["efficiency-tcp"]
    assert {row["part"] for row in figure.spec["data"]["values"]} == {"Sender (local)"}


def test_no_efficiency_chart_without_any_cpu() -> None:
    trials = tuple(replace(each, sender=None, receiver=None) for each in scaling_trials((1, 2)))
    assert list(drawn(trials)) == ["throughput-tcp"]


def test_one_trial_has_no_error_bar() -> None:
    figure = drawn(scaling_trials((1, 2), 1))["throughput-tcp"]
    assert all("high" not in row for row in rows(figure, "mean"))
    assert render_svg(figure.spec)


def test_bars_say_each_value_in_its_own_unit() -> None:
    figure = drawn(demo_trials())["throughput-tests"]
    assert [row["text"] for row in rows(figure, "mean")] == ["3.737 Gbps", "90.90 Mbps"]
    assert {"3.737 Gbps", "90.90 Mbps"} <= set(texts(render_svg(figure.spec)))


def test_unknown_role_says_not_measured_and_is_no_empty_bar() -> None:
    unknown = end("h2", "receiver", 1.0, 0.5, 0.5, app_cpu=None)
    trials = (replace(trial(1, Case("tcp", "h1", "h2"), 5e9, 1.0), receiver=unknown),)
    figure = drawn(trials)["roles-tcp"]
    assert [row["role"] for row in rows(figure, "unknown")] == ["Receiver: app CPU"]
    assert "not measured" in texts(render_svg(figure.spec))


def test_shares_are_the_summary_s() -> None:
    figure = drawn(scaling_trials((1,)))["roles-tcp"]
    shares = {(row["role"], row["share"]): row["percent"] for row in rows(figure, "share")}
    assert math.isclose(shares["Receiver: IRQ CPU", "soft"], 99.5)
    assert math.isclose(shares["Sender: app CPU", "sys"], 50.4)


def test_many_series_become_panels_and_few_become_colours() -> None:
    def series(number: int) -> tuple[Trial, ...]:
        return renumbered(*(scaling_trials((1, 2), 1, sender=f"g{n}") for n in range(number)))

    few, many = drawn(series(3))["throughput-tcp"], drawn(series(6))["throughput-tcp"]
    assert "facet" not in few.spec
    assert len(few.spec["encoding"]["color"]["scale"]["domain"]) == 3
    assert len(many.spec["facet"]["sort"]) == 6
    assert many.wide
    assert {f"g{n} → h2" for n in range(6)} <= set(texts(render_svg(many.spec)))


def test_of_very_many_series_the_highest_and_the_lowest_are_drawn_and_the_caption_says_so() -> None:
    figure = drawn(renumbered(*(scaling_trials((1, 2), 1, sender=f"g{n:02d}") for n in range(21))))[
        "throughput-tcp"
    ]
    assert len(figure.spec["facet"]["sort"]) == 10
    assert "Drawn are the 5 highest and the 5 lowest of 21 lines; the tables have all." in figure.caption


def test_the_largest_and_the_smallest_of_many_stay_in_their_order() -> None:
    assert few([3, 9, 1, 7, 5], float, most=4, each_way=1) == [9, 1]
    assert few([3, 9, 1], float, most=4) == [3, 9, 1]


def test_very_many_trials_are_means_without_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linewatt.report.trials.charts.lines.MOST_DOTS", 5)
    figure = drawn(scaling_trials((1, 2), 3))["throughput-tcp"]
    assert rows(figure, "run") == []
    assert "small dots: left out of so many trials" in figure.caption


def test_of_very_many_cases_the_busiest_and_the_least_busy_cpus_are_drawn() -> None:
    trials = [scaling_trials((1, 2, 4), 1, sender=f"g{n:02d}") for n in range(14)]
    figure = drawn(renumbered(*trials))["roles-tcp"]
    assert len({row["case"] for row in figure.spec["data"]["values"]}) == 20
    assert "the 10 lowest of 42 cases" in figure.caption


def test_roles_of_many_cases_are_a_figure_a_test() -> None:
    pairs = [scaling_trials((1, 2, 4, 8, 16), 1, sender=f"g{n}") for n in range(5)]
    udp = [trial(1, Case("udp-60", "h1", "h2"), 9e7, 1.0)]
    assert {"roles-tcp", "roles-udp-60"} <= set(drawn(renumbered(*pairs, udp)))


def test_one_instance_count_is_a_bar_and_never_a_lone_point() -> None:
    names = set(drawn(scaling_trials((4,))))
    assert names == {"throughput-tests", "efficiency-tests", "roles-tcp"}


def test_nothing_to_draw_draws_nothing() -> None:
    assert drawn(()) == {}


@pytest.mark.parametrize(
    "name", ["throughput-tcp", "efficiency-tcp", "throughput-tests", "efficiency-tests", "roles"]
)
def test_every_chart_draws_without_a_ground_or_a_font_of_its_own(name: str) -> None:
    figure = drawn(demo_trials())[name]
    svg = render_svg(figure.spec)
    root = ET.fromstring(svg)  # noqa: S314 - our own
    assert float(root.get("width", "0")) > 100
    fonts = {element.get("font-family") for element in root.iter(f"{SVG}text")}
    assert fonts == {"sans-serif"}
    assert "currentColor" in svg
    assert 'fill="white"' not in svg
    assert figure.description


def test_hostile_names_are_text_in_a_chart() -> None:
    trials = scaling_trials((1, 2), 1, sender=HOSTILE)
    both = renumbered(trials, scaling_trials((1, 2), 1))
    svg = render_svg(drawn(both)["throughput-tcp"].spec)
    assert "<script" not in svg
    assert any(HOSTILE in text for text in texts(svg))


def test_a_chart_never_loads_data_from_elsewhere() -> None:
    with pytest.raises(ValueError, match="not allowed"):
        render_svg({"data": {"url": "https://192.0.2.1/data.json"}, "mark": "point"})
