# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison shows trials of both sides: which cases, their dots, their lines over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.compare_factories import LOAD_S, TCP, compared, compared_levels, made, numbered, runs, with_rates
from tests.doc_pages import ROOT
from tests.report_factories import HOSTILE, failed, stored
from tests.unit.conftest import Run

from linewatt.analysis.comparison import METRICS_OF_ROWS, Comparison
from linewatt.analysis.comparison.compare import exit_finding
from linewatt.model import Case, Trial
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.comparison import overlaid_courses
from linewatt.report.comparison.drawn_cases import MOST_CASES, drawn_cases
from linewatt.report.comparison.overlaid_courses import MOST_TRIALS, evenly_chosen, overlaid_figures
from linewatt.report.comparison.page import render_comparison_page
from linewatt.report.comparison.trial_strips import MOST_DOTS, strip_figure

MOST_PAGE_BYTES = 1_500_000


def of_instances(counts: Sequence[int], ratios: Sequence[float], n: int = 4) -> tuple[Trial, ...]:
    """A case for each number of instances, whose throughput is ``ratios`` × 94 Gbps."""
    return numbered(
        *(
            runs(replace(TCP, instances=count), ratio, n=n, seed=10 * count + int(100 * ratio))
            for count, ratio in zip(counts, ratios, strict=True)
        )
    )


def rows(figure: Figure, kind: str) -> list[dict[str, Any]]:
    return [row for row in figure.spec["data"]["values"] if row["kind"] == kind]


def page_of(comparison: Comparison, base: Path, compared_path: Path) -> str:
    return render_comparison_page(comparison, exit_finding(comparison, ()), (base, compared_path))


def test_metrics_without_any_verdict_are_folded_behind_the_others(tmp_path: Path) -> None:
    def with_one_cpu(ratio: float, seed: int) -> tuple[Trial, ...]:
        first, *others = runs(ratio=ratio, seed=seed)
        unread = [replace(one.receiver, cpu_cores=None) for one in others if one.receiver is not None]
        return (first, *(replace(one, receiver=end) for one, end in zip(others, unread, strict=True)))

    base, other = made("a", with_one_cpu(1.0, 1)), made("b", with_one_cpu(0.95, 2), day=2)
    paths = [stored(tmp_path, one) for one in (base, other)]
    page = page_of(compared(base, other), *paths)
    words = "Efficiency of the receiver, TCP, Mbps/core: 1 without a verdict"
    assert page.count(f"<details><summary>{words}</summary>") == 1
    assert page.index('id="verdicts-2"') < page.index('id="no-verdict"') < page.index(f"<summary>{words}")
    alone = page_of(compared(base, other, metrics=["throughput"]), *paths)
    assert 'id="no-verdict"' not in alone


def test_significant_changes_are_drawn_first_and_the_largest_of_them_before_the_others() -> None:
    counts = (1, 2, 4, 8)
    few = runs(replace(TCP, instances=16), n=2, seed=5)
    slower_few = runs(replace(TCP, instances=16), 0.5, n=2, seed=6)
    base = made("a", numbered(of_instances(counts, (1, 1, 1, 1), n=10), few))
    other = made("b", numbered(of_instances(counts, (1, 0.95, 0.8, 1.1), n=10), slower_few), day=2)
    drawn = drawn_cases(compared(base, other))
    assert [case.sides[0].case.instances for case in drawn] == [4, 8, 2, 16, 1], (
        "half the throughput without a verdict comes behind every verdict"
    )
    assert drawn[0].verdict.startswith("slower by ")


def test_at_most_twelve_cases_are_drawn_and_the_page_says_so(tmp_path: Path) -> None:
    counts = range(1, MOST_CASES + 4)
    base, other = (
        made(name, of_instances(counts, [1.0] * len(counts), n=3), day=day)
        for name, day in (("a", 1), ("b", 2))
    )
    comparison = compared(base, other)
    assert len(drawn_cases(comparison)) == MOST_CASES
    page = page_of(comparison, stored(tmp_path, base), stored(tmp_path, other))
    assert "Drawn are 12 of 15 cases; the table of throughput has all." in page
    assert page.count('data-figure="every-trial-') == MOST_CASES


def test_the_documentation_has_the_limits_of_what_is_drawn() -> None:
    text = " ".join((ROOT / "docs" / "compare.md").read_text(encoding="utf-8").split())
    assert f"At most {MOST_CASES} cases are drawn" in text
    assert f"Of more than {MOST_DOTS} trials of a side, {MOST_DOTS} at most are drawn" in text
    assert f"Of more than {MOST_TRIALS} trials of a side, {MOST_TRIALS} are drawn" in text


def test_cases_that_are_not_comparable_are_not_drawn() -> None:
    base, other = made("a", runs()), made("b", runs(seed=2), day=2, campaign={"omit_s": 1.0})
    assert drawn_cases(compared(base, other)) == ()
    assert len(drawn_cases(compared(base, other, allowed=("window",)))) == 1
    efficiency = compared(base, other, metrics=("efficiency",), allowed=("window",))
    assert drawn_cases(efficiency) == (), "throughput was not asked for"
    assert METRICS_OF_ROWS["throughput"][0].name == "throughput_bps"


def test_a_dot_is_a_stored_trial_and_the_mean_has_its_interval() -> None:
    base, other = made("a", runs()), made("b", runs(ratio=0.95, seed=2), day=2)
    (drawn,) = drawn_cases(compared(base, other))
    figure = strip_figure(drawn, 1)
    for result, side in ((base, drawn.sides[0]), (other, drawn.sides[1])):
        label = next(row["side"] for row in rows(figure, "mean") if row["side"].startswith(f"{side.name}: "))
        dots = [row["value"] for row in rows(figure, "run") if row["side"] == label]
        assert dots == [pytest.approx((trial.throughput_bps or 0) / 1e9) for trial in result.trials]
        (mean,) = (row for row in rows(figure, "mean") if row["side"] == label)
        assert mean["value"] == pytest.approx(sum(dots) / len(dots))
        assert mean["low"] < mean["value"] < mean["high"]
    places = [row["place"] for row in rows(figure, "run")]
    assert places == sorted(places), "trials go down in the order they ran, B below A"
    assert "The trials of A and B do not overlap." in figure.description
    assert figure.caption.startswith("Slower by ")


def test_a_failed_trial_is_neither_a_dot_nor_a_line() -> None:
    base = made("a", numbered(runs(n=2), [failed(3, TCP, "gone")], runs(n=2, seed=3)))
    (drawn,) = drawn_cases(compared(base, made("b", runs(n=4, seed=2), day=2)))
    assert drawn.sides[0].numbers == (1, 2, 4, 5)
    assert [row["kind"] for row in rows(strip_figure(drawn, 1), "run")] == ["run"] * 8


def test_both_sides_have_one_scale_that_holds_every_trial() -> None:
    base, other = made("a", runs()), made("b", runs(ratio=0.6, seed=2), day=2)
    (drawn,) = drawn_cases(compared(base, other))
    figure = strip_figure(drawn, 1)
    domains = [layer["encoding"]["x"]["scale"]["domain"] for layer in figure.spec["layer"]]
    assert domains[0] == domains[1] == domains[2]
    assert all(domains[0][0] < row["value"] < domains[0][1] for row in rows(figure, "run"))


def test_an_interval_far_wider_than_its_trials_is_cut_and_the_caption_says_so() -> None:
    base, other = made("a", runs(n=2, cv=0.02)), made("b", runs(n=2, cv=0.02, seed=2), day=2)
    (drawn,) = drawn_cases(compared(base, other))
    assert "A band that reaches an edge of the chart goes on beyond it." in strip_figure(drawn, 1).caption
    base, other = made("a", runs()), made("b", runs(seed=2), day=2)
    (drawn,) = drawn_cases(compared(base, other))
    assert "goes on" not in strip_figure(drawn, 1).caption


def test_one_trial_has_no_interval() -> None:
    base, other = made("a", runs(n=1)), made("b", runs(n=1, seed=2), day=2)
    (drawn,) = drawn_cases(compared(base, other))
    figure = strip_figure(drawn, 1)
    assert not any("low" in row for row in rows(figure, "mean"))
    assert "95 % CI" not in figure.caption
    assert len(rows(figure, "run")) == 2


def test_levels_that_are_numbers_are_named_with_their_property() -> None:
    drawn = drawn_cases(compared_levels(made("a", of_instances((1, 4), (1, 0.9))), "instances"))
    assert [side.name for side in drawn[0].sides] == ["instances 1", "instances 4"]
    vxlan = runs(replace(TCP, network="vxlan"), 0.7, seed=2)
    drawn = drawn_cases(compared_levels(made("a", numbered(runs(), vxlan)), "network"))
    assert [side.name for side in drawn[0].sides] == ["bare", "vxlan"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        (HOSTILE, "&lt;script&gt;alert(1)&lt;/script&gt;: 94"),
        ('"] + datum.value + ["', '"] + datum.value + [": 94'),
        ("\x1b[31m", "\\x1b[31m: 94"),
    ],
)
def test_names_from_outside_are_text_and_nothing_else(name: str, label: str) -> None:
    levels = numbered(runs(), runs(replace(TCP, network=name), seed=2))
    (drawn,) = drawn_cases(compared_levels(made("a", levels), "network"))
    svg = render_svg(strip_figure(drawn, 1).spec)
    assert label in svg


def test_lines_are_the_stored_goodput_since_the_load_of_each_trial_began(tmp_path: Path) -> None:
    case = replace(TCP, instances=2)
    base, other = made("a", runs(case, n=3)), made("b", runs(case, 0.9, n=2, seed=2), day=2)
    paths = with_rates(tmp_path, base), with_rates(tmp_path, other)
    (figure,), sentences = overlaid_figures(drawn_cases(compared(base, other)), paths)
    assert sentences == ()
    assert figure.over_time
    assert figure.caption == "3 trials of A and 2 trials of B."
    for name, result in (("A", base), ("B", other)):
        for trial in result.trials:
            line = [
                (row["time_s"], row["value"])
                for row in rows(figure, "reading")
                if (row["side"], row["trial"]) == (name, trial.number)
            ]
            expected = [((trial.throughput_bps or 0) + 2e6 * second) / 1e9 for second in range(1, LOAD_S + 1)]
            assert [time_s for time_s, _ in line] == list(range(LOAD_S + 1))
            assert [value for _, value in line[1:]] == [pytest.approx(value, rel=1e-4) for value in expected]
            assert line[0][1] == line[1][1], "the first reading is the mean since the load began"
    windows = {row["side"]: (row["time_s"], row["until_s"]) for row in rows(figure, "window")}
    assert windows == {"A": (5.0, 65.0), "B": (5.0, 65.0)}
    svg = render_svg(figure.spec)
    assert svg.count(">A</text>") == svg.count(">B</text>") == 1


def test_of_many_trials_the_slowest_and_the_fastest_are_among_those_drawn(tmp_path: Path) -> None:
    base, other = made("a", runs(n=25)), made("b", runs(n=4, seed=2), day=2)
    chosen = evenly_chosen(base.trials)
    rates = [trial.throughput_bps or 0 for trial in base.trials]
    assert len(chosen) == MOST_TRIALS
    assert {min(rates), max(rates)} <= {trial.throughput_bps for trial in chosen}
    assert [trial.number for trial in chosen] == sorted(trial.number for trial in chosen)
    paths = with_rates(tmp_path, base), with_rates(tmp_path, other)
    (figure,), _ = overlaid_figures(drawn_cases(compared(base, other)), paths)
    assert figure.caption == (
        "10 of 25 trials of A and 4 trials of B. "
        "Of more than 10 trials, 10 are chosen evenly from the slowest to the fastest."
    )


def test_the_scale_over_time_begins_at_0_unless_all_readings_are_far_above(tmp_path: Path) -> None:
    for ratio, begins_at_0 in ((0.9, False), (0.1, True)):
        base, other = made("a", runs(n=2)), made("b", runs(ratio=ratio, n=2, seed=2), day=2)
        folder = tmp_path / str(ratio)
        paths = with_rates(folder, base), with_rates(folder, other)
        (figure,), _ = overlaid_figures(drawn_cases(compared(base, other)), paths)
        low, high = figure.spec["layer"][1]["encoding"]["y"]["scale"]["domain"]
        assert (low == 0) is begins_at_0
        assert all(low <= row["value"] <= high for row in rows(figure, "reading"))


def test_a_long_trial_is_thinned_and_the_caption_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlaid_courses, "_MOST_POINTS", 100)
    base, other = made("a", runs(n=1)), made("b", runs(n=1, seed=2), day=2)
    paths = with_rates(tmp_path, base), with_rates(tmp_path, other)
    (figure,), _ = overlaid_figures(drawn_cases(compared(base, other)), paths)
    assert "A line has at most 50 points, its peaks and dips among them." in figure.caption
    assert len(rows(figure, "reading")) <= 100


def test_only_samples_of_drawn_cases_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = range(1, MOST_CASES + 3)
    ratios = [1.0] * len(counts)
    base, other = (
        made(name, of_instances(counts, ratios, n=2), day=day) for name, day in (("a", 1), ("b", 2))
    )
    read: list[Path] = []

    def reading(path: Path, _: object) -> list[object]:
        read.append(path)
        return []

    monkeypatch.setattr(overlaid_courses, "read_courses", reading)
    cases = drawn_cases(compared(base, other))
    overlaid_figures(cases, (stored(tmp_path, base), stored(tmp_path, other)))
    numbers = {(path.parts[-4], int(path.parent.name)) for path in read}
    drawn = {
        (result.id, number)
        for at, result in enumerate((base, other))
        for case in cases
        for number in case.sides[at].numbers
    }
    assert numbers == drawn
    assert len(drawn) == len(read) == MOST_CASES * 2 * 2


def test_what_is_missing_is_said_and_no_heading_stands_without_a_chart(tmp_path: Path) -> None:
    base, other = made("a", of_instances((1, 2), (1, 1))), made("b", of_instances((1, 2), (0.9, 1)), day=2)
    comparison = compared(base, other)
    paths = with_rates(tmp_path, base), stored(tmp_path, other)
    figures, sentences = overlaid_figures(drawn_cases(comparison), paths)
    assert figures == ()
    assert sentences == (
        "TCP, h1 → h2, 1 instance; TCP, h1 → h2, 2 instances: not drawn over time, because B has no stored "
        "samples of throughput.",
    )
    page = page_of(comparison, *paths)
    assert "B has no stored samples of throughput." in page
    assert 'id="over-time"' not in page
    assert 'id="every-trial"' in page


def test_a_case_without_samples_on_one_side_is_named_beside_those_that_are_drawn(tmp_path: Path) -> None:
    base, other = made("a", of_instances((1, 2), (1, 1))), made("b", of_instances((1, 2), (0.9, 1)), day=2)
    paths = with_rates(tmp_path, base, without=range(5, 9)), with_rates(tmp_path, other, without=(2,))
    comparison = compared(base, other)
    (figure,), (sentence,) = overlaid_figures(drawn_cases(comparison), paths)
    assert figure.title == "TCP, h1 → h2, 1 instance"
    assert figure.caption == (
        "4 trials of A and 3 of 4 trials of B. Without stored samples of throughput: 1 trial of B."
    )
    assert sentence == (
        "TCP, h1 → h2, 2 instances: not drawn over time, because A has no stored samples of throughput."
    )
    _, section = page_of(comparison, *paths).split('id="over-time"', 1)
    assert "Not drawn over time" in section


def test_damaged_samples_are_named_and_the_page_is_written_all_the_same(tmp_path: Path) -> None:
    base, other = made("a", runs(n=4)), made("b", runs(n=4, seed=2), day=2)
    paths = with_rates(tmp_path, base), with_rates(tmp_path, other)
    samples = paths[1] / "trials" / "00002" / "samples.parquet"
    samples.write_bytes(samples.read_bytes()[:200])
    figures, (sentence,) = overlaid_figures(drawn_cases(compared(base, other)), paths)
    assert figures == ()
    assert "samples of B cannot be read" in sentence
    assert "00002/samples.parquet: damaged" in sentence


def test_a_pair_of_a_group_has_no_samples_of_its_own(tmp_path: Path) -> None:
    base, other = made("a", runs(n=4)), made("b", runs(n=4, seed=2), day=2)
    paths = with_rates(tmp_path, base), with_rates(tmp_path, other)
    (drawn,) = drawn_cases(compared(base, other))
    of_group = replace(
        drawn,
        sides=(
            replace(drawn.sides[0], case=Case("tcp", "h1", "h2", flow_of=2)),
            replace(drawn.sides[1], case=Case("tcp", "h1", "h2", flow_of=2)),
        ),
    )
    figures, (sentence,) = overlaid_figures([of_group], paths)
    assert figures == ()
    assert "samples of A are of all pairs of hosts that ran at the same time" in sentence


def test_the_page_of_the_command_has_every_trial_and_the_courses(run: Run) -> None:
    base, other = made("a", runs()), made("b", runs(ratio=0.95, seed=2), day=2)
    for result in (base, other):
        with_rates(Path("results"), result)
    code, _, err = run("compare", "20260101", "20260102", "-o", "page.html")
    assert (code, err) == (3, "")
    page = Path("page.html").read_text()
    assert page.count('data-figure="every-trial-') == 1
    assert page.count('data-figure="courses-') == 1
    assert "<script" not in page


def test_levels_of_one_result_are_drawn_from_that_result(run: Run) -> None:
    slow = runs(replace(TCP, network="vxlan"), 0.7, seed=2)
    with_rates(Path("results"), made("a", numbered(runs(), slow)))
    assert run("compare", "last", "--by", "network", "-o", "page.html")[0] == 0
    page = Path("page.html").read_text()
    assert "10 trials of bare and 10 trials of vxlan." in page


def test_the_largest_page_is_bounded(tmp_path: Path) -> None:
    networks = [replace(TCP, network=f"n{at}") for at in range(MOST_CASES + 1)]
    base, other = (
        made(
            name,
            numbered(*(runs(case, n=12, seed=at + 50 * day) for at, case in enumerate(networks))),
            day=day,
        )
        for name, day in (("a", 1), ("b", 2))
    )
    paths = with_rates(tmp_path, base), with_rates(tmp_path, other)
    page = page_of(compared(base, other), *paths)
    assert page.count('data-figure="courses-') == MOST_CASES
    assert 100_000 < len(page.encode()) < MOST_PAGE_BYTES
