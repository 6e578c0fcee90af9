# SPDX-License-Identifier: Apache-2.0
"""Charts: their data is the summary's, and every specification draws."""

from __future__ import annotations

import itertools
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
from linewatt.report.trials.digest import digest_of

SVG = "{http://www.w3.org/2000/svg}"


def drawn(trials: tuple[Trial, ...]) -> dict[str, Figure]:
    view = digest_of(result(trials))
    return {figure.name: figure for figure in figures(view.groups, runs_of(view.result.trials))}


def rows(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def texts(svg: str) -> list[str]:
    every = ET.fromstring(svg).iter(f"{SVG}text")  # noqa: S314 - our own
    return [" ".join(element.itertext()) for element in every]


def test_demo_has_lines_for_tcp_bars_for_udp_and_roles_for_all() -> None:
    assert list(drawn(demo_trials())) == [
        "throughput-tcp",
        "cpu-tcp",
        "efficiency-tcp",
        "throughput-tests",
        "efficiency-tests",
        "roles",
    ]


def test_throughput_line_has_the_means_sd_and_every_run() -> None:
    trials = scaling_trials((1, 2, 4), 3)
    figure = drawn(trials)["throughput-tcp"]
    for summary, mean in zip(digest_of(result(trials)).summaries, rows(figure, "mean"), strict=True):
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


def test_the_chart_of_cpu_use_has_an_ideal_line_for_each_end() -> None:
    figure = drawn(scaling_trials((1, 2, 4, 8)))["cpu-tcp"]
    first = {row["part"]: row["value"] for row in rows(figure, "mean") if row["x"] == 1}
    starts = {row["part"]: row["value"] for row in rows(figure, "ideal") if row["x"] == 1}
    assert starts == first
    assert len(first) == 2
    for row in rows(figure, "ideal"):
        assert math.isclose(row["value"], row["x"] * first[row["part"]])
    assert "Dashed: ideal linear scaling." in figure.caption


def test_no_ideal_line_without_a_one_instance_case() -> None:
    assert rows(drawn(scaling_trials((2, 4)))["throughput-tcp"], "ideal") == []


def test_efficiency_has_both_ends_of_the_summary() -> None:
    trials = scaling_trials((1, 2))
    figure = drawn(trials)["efficiency-tcp"]
    for summary in digest_of(result(trials)).summaries:
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


def test_bars_of_each_test_have_an_axis_and_a_unit_of_their_own() -> None:
    figure = drawn(demo_trials())["throughput-tests"]
    packets = digest_of(result(demo_trials())).summaries[-1].values["packets_per_s"]
    assert packets is not None
    assert [row["text"] for row in rows(figure, "mean")] == ["3.737 Gbps", f"{packets.mean / 1e3:.1f} kpps"]
    titles = {"Throughput (Gbps)", "Throughput (kpps)"}
    assert {"3.737 Gbps", *titles} <= set(texts(render_svg(figure.spec)))
    reach = [panel["encoding"]["x"]["scale"]["domain"][1] for panel in figure.spec["vconcat"]]
    assert reach[0] < 6 < 600 < reach[1]


def test_small_packets_that_were_not_counted_are_bits() -> None:
    trials = tuple(replace(each, packets=None) for each in demo_trials())
    assert "90.90 Mbps" in [row["text"] for row in rows(drawn(trials)["throughput-tests"], "mean")]


def test_lines_are_named_at_their_ends_and_no_name_covers_another() -> None:
    series = [scaling_trials((1, 2, 4), 1, sender=f"g{n}") for n in range(4)]
    figure = drawn(renumbered(*series))["throughput-tcp"]
    labels = rows(figure, "label")
    assert sorted(text for row in labels for text in row["text"]) == [f"g{n} → h2" for n in range(4)]
    means = {(row["series"], row["x"]): row["value"] for row in rows(figure, "mean")}
    assert all(row["end"] == means[row["series"], 4] for row in labels), "the last of its line"
    scale = figure.spec["height"] / figure.spec["encoding"]["y"]["scale"]["domain"][1]
    places = sorted(row["value"] * scale for row in labels)
    assert all(after - before >= 14.9 for before, after in itertools.pairwise(places))
    assert figure.spec["encoding"]["color"]["legend"] is None
    both = drawn(series[0])["efficiency-tcp"]
    assert {" ".join(row["text"]) for row in rows(both, "label")} == {"Receiver (remote)", "Sender (local)"}


def test_the_line_rate_is_a_reference_of_what_it_carries() -> None:
    trials = tuple(replace(each, line_goodput_bps=118e9) for each in scaling_trials())
    figure = drawn(trials)["throughput-tcp"]
    [row] = rows(figure, "reference")
    assert (row["value"], row["text"]) == (118, "line rate 118.0 Gbps")
    assert figure.spec["encoding"]["y"]["scale"]["domain"][1] > 118
    assert "line rate 118.0 Gbps" in texts(render_svg(figure.spec))


def test_a_line_rate_far_above_is_said_and_does_not_flatten_the_chart() -> None:
    trials = tuple(replace(each, line_goodput_bps=400e9) for each in scaling_trials())
    figure = drawn(trials)["throughput-tcp"]
    assert rows(figure, "reference") == []
    assert "Line rate: 400.0 Gbps of payload, beyond the chart." in figure.caption
    assert figure.spec["encoding"]["y"]["scale"]["domain"][1] < 130


def test_a_line_rate_that_some_trial_does_not_know_is_no_reference() -> None:
    first, *rest = (replace(each, line_goodput_bps=118e9) for each in scaling_trials())
    figure = drawn((replace(first, line_goodput_bps=None), *rest))["throughput-tcp"]
    assert rows(figure, "reference") == []
    assert "ine rate" not in figure.caption


def test_what_was_offered_is_drawn_for_paced_tcp_and_for_udp_in_place_of_linear_growth() -> None:
    paced = drawn(scaling_trials((1, 2, 4), rate_bps=20e9))["throughput-tcp"]
    assert [(row["x"], row["value"]) for row in rows(paced, "offered")] == [(1, 20), (2, 40), (4, 80)]
    assert rows(paced, "ideal") == []
    case = Case("udp-1500", "h1", "h2", rate_bps=4e9)
    udp = [trial(1, replace(case, instances=n), 3.5e9 * n, 1.5) for n in (1, 2)]
    figure = drawn(renumbered(udp))["throughput-udp-1500"]
    assert [row["value"] for row in rows(figure, "offered")] == pytest.approx([4, 8])
    assert "offered" in texts(render_svg(figure.spec))


def test_cpu_against_instances_has_both_ends_of_the_summary_in_percent() -> None:
    trials = scaling_trials()
    figure = drawn(trials)["cpu-tcp"]
    for summary in digest_of(result(trials)).summaries:
        for role, name in (("receiver", "Receiver (remote)"), ("sender", "Sender (local)")):
            [row] = [
                row
                for row in rows(figure, "mean")
                if (row["part"], row["x"]) == (name, summary.case.instances)
            ]
            value = summary.values[f"{role}_cpu_cores"]
            assert value is not None
            assert math.isclose(row["value"], 100 * value.mean)


def test_unknown_role_says_not_measured_and_is_no_empty_bar() -> None:
    unknown = end("h2", "receiver", 1.0, 0.5, 0.5, app_cpu=None)
    trials = (replace(trial(1, Case("tcp", "h1", "h2"), 5e9, 1.0), receiver=unknown),)
    figure = drawn(trials)["roles-tcp"]
    assert [row["role"] for row in rows(figure, "unknown")] == ["Receiver: app CPU"]
    assert "not measured" in texts(render_svg(figure.spec))


def test_a_role_whose_load_was_not_pinned_says_so() -> None:
    unpinned = end("h2", "receiver", 1.0, 0.5, 0.5, app_cpu=None, reasons={"app_cpu": "not pinned"})
    trials = (replace(trial(1, Case("tcp", "h1", "h2"), 5e9, 1.0), receiver=unpinned),)
    figure = drawn(trials)["roles-tcp"]
    assert "not pinned" in texts(render_svg(figure.spec))
    assert "Receiver: app CPU not pinned" in figure.description


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
    assert few([3, 9, 1, 7, 5], float, limit=4, each_way=1) == [9, 1]
    assert few([3, 9, 1], float, limit=4) == [3, 9, 1]


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


@pytest.mark.parametrize(("words", "times"), [(10, 1), (60_000, 2)], ids=["small", "too large to be kept"])
def test_of_equal_charts_one_is_drawn_and_another_is_another(
    monkeypatch: pytest.MonkeyPatch, words: int, times: int
) -> None:
    drawn: list[object] = []

    def draw(spec: object, **_: object) -> str:
        drawn.append(spec)
        return f"{spec}"

    monkeypatch.setattr("vl_convert.vegalite_to_svg", draw)
    one = {"title": "a" * words, "values": (1.5, None), "name": f"made for this test, of {words}"}
    assert render_svg(one) == render_svg(dict(one)) == str({**one, "values": [1.5, None]})
    assert len(drawn) == times
    assert render_svg({**one, "values": (1.5, 2)}) != render_svg(one)
