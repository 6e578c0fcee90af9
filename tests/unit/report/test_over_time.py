# SPDX-License-Identifier: Apache-2.0
"""Trials over time: what is drawn is what the metrics count, and what was not read is a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import DISAGREE, demo_trials, host, powered, scaling_trials
from tests.stored_samples import of_cpus, of_load, series, with_samples

from linewatt.errors import StoreError
from linewatt.model import Channel, Sample, Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.charts.time_series import thinned, throughput_points
from linewatt.report.printing import html
from linewatt.report.trials.charts.over_time import MOST_TRIALS, over_time_figures
from linewatt.report.trials.digest import Digest
from linewatt.store.samples import Course, Origin, Series, write_samples


def with_a_rest(points: int, rest_s: float, rate_bps: float) -> Course:
    """A second each, and behind them a last interval of ``rest_s`` in which bytes came in one jump."""
    known = [(float(at), 9.36e9) for at in range(1, points + 1)]
    return Course(
        "h2", "iperf3", "instance0.receiver.throughput_bps", "bit/s", (*known, (points + rest_s, rate_bps))
    )


def test_a_last_interval_of_10_ms_is_not_drawn_as_a_rate() -> None:
    (trial,) = scaling_trials((1,))[:1]
    drawn = throughput_points([with_a_rest(10, 0.01, 28e9)], trial, "receiver")
    assert {rate for _, rate in drawn} == {9.36e9}
    assert throughput_points([with_a_rest(10, 0.6, 9e9)], trial, "receiver")[-1] == (10.6, 9e9)


def figures(view: Digest) -> tuple[Figure, ...]:
    return over_time_figures(view, runs_of(view.result.trials))


def track(figure: Figure, name: str) -> list[dict[str, Any]]:
    """The readings of a row of a figure."""
    for row in figure.spec["vconcat"]:
        if " ".join(row["spec"]["layer"][1]["encoding"]["y"]["title"]).startswith(name):
            return [one for one in row["data"]["values"] if one["kind"] == "reading"]
    return []


def test_the_system_s_watts_are_the_sum_that_the_metric_counts(tmp_path: Path) -> None:
    view = with_samples(tmp_path, powered(scaling_trials((1,), 2), provenance="simulated"))
    [figure] = figures(view)
    own = {row["time_s"]: row["value"] for row in track(figure, "System power") if row["trial"] == "trial 1"}
    assert own[-5.0] == 95 + 60, "both supplies, and not the CPU"
    assert own[3.0] is None, "one supply was not read"
    assert own[4.0] == 104 + 60
    assert {row["end"] for row in track(figure, "System power")} == {"receiver"}
    assert "The watts are simulated." in figure.caption


def test_cpu_is_that_of_the_host_s_own_cpus(tmp_path: Path) -> None:
    hosts = {"h1": host("h1"), "h2": host("h2", cpus=[0, 1])}
    [figure] = figures(with_samples(tmp_path, scaling_trials((1,), 1), hosts=hosts))
    cpu = {row["end"]: row["value"] for row in track(figure, "CPU")}
    assert cpu == {"receiver": pytest.approx(60), "sender": pytest.approx(90)}


def test_throughput_is_of_all_instances_together(tmp_path: Path) -> None:
    [figure] = figures(with_samples(tmp_path, scaling_trials((4,), 1)))
    assert [row["value"] for row in track(figure, "Throughput")][:2] == [pytest.approx(4)] * 2
    assert "(Gbps)" in figure.spec["vconcat"][0]["spec"]["layer"][1]["encoding"]["y"]["title"][1]


def test_a_missing_instance_leaves_no_sum(tmp_path: Path) -> None:
    view = with_samples(tmp_path, [replace(scaling_trials((2,), 1)[0])])
    samples = view.result.path / "trials" / "00001" / "samples.parquet"
    samples.unlink()
    begun = view.result.trials[0].window
    assert begun is not None
    one = series("h2", "iperf3", begun.start_s, of_load("receiver", 1), "measured")
    write_samples(samples, [one, series("h2", "mpstat", begun.start_s, of_cpus, "measured")], Origin("r", 1))
    [figure] = figures(view)
    assert track(figure, "Throughput") == []
    assert "Throughput: no reading is stored." in figure.caption


def test_fans_are_there_where_they_were_read_and_frequencies_only_then(tmp_path: Path) -> None:
    [figure] = figures(with_samples(tmp_path, scaling_trials((1,), 1)))
    assert track(figure, "Fastest fan")[0]["value"] == 4995
    assert track(figure, "Frequency") == []
    assert "requency" not in figure.caption


def with_retransmits(root: Path, counts: Sequence[float | None], case: Trial | None = None) -> Figure:
    """The figure of a trial whose sender counts so many TCP segments sent again, a reading each 2 s."""
    view = with_samples(root, [case or scaling_trials((1,), 1)[0]])
    samples = view.result.path / "trials" / "00001" / "samples.parquet"
    samples.unlink()
    window = view.result.trials[0].window
    assert window is not None
    name = "nstat.TcpRetransSegs"
    readings = [Sample(window.start_s + 2 * at, name, count) for at, count in enumerate(counts)]
    counters = Series("h1", "netcounters", {name: Channel(name, "count", "counter", "host")}, readings)
    rates = series("h2", "iperf3", window.start_s, of_load("receiver", 1), "measured")
    write_samples(samples, [counters, rates], Origin("r", 1))
    [figure] = figures(view)
    return figure


def test_retransmits_are_the_sender_s_count_per_second(tmp_path: Path) -> None:
    figure = with_retransmits(tmp_path, [100, 100, 130, None, 140, 20, 24])
    drawn = [(row["end"], row["time_s"], row["value"]) for row in track(figure, "Retransmits")]
    rates = [(2.0, 0.0), (4.0, 15.0), (6.0, None), (8.0, None), (10.0, None), (12.0, 2.0)]
    assert drawn == [("sender", *rate) for rate in rates], "a reset counter is no rate"
    assert "Retransmits are of all TCP of the sender's host." in figure.caption


def test_without_retransmits_the_caption_says_so_if_all_were_counted(tmp_path: Path) -> None:
    figure = with_retransmits(tmp_path / "counted", [7, 7, 7])
    assert track(figure, "Retransmits") == []
    assert "No TCP segment was retransmitted." in figure.caption
    figure = with_retransmits(tmp_path / "missing", [7, None, 7])
    assert "retransmitted" not in figure.caption
    udp = next(trial for trial in demo_trials() if trial.case.test != "tcp")
    figure = with_retransmits(tmp_path / "udp", [7, 9, 9], replace(udp, number=1))
    assert track(figure, "Retransmits") == []


def with_rtt(root: Path, *instances: Sequence[float | None], trial: Trial | None = None) -> Figure:
    """The figure of a trial whose instances have these RTTs, one a second, each 0.2 s after the last."""
    view = with_samples(root, [trial or scaling_trials((len(instances),), 1)[0]])
    samples = view.result.path / "trials" / "00001" / "samples.parquet"
    window = view.result.trials[0].window
    assert window is not None
    names = [f"instance{number}.sender.rtt_s" for number in range(len(instances))]
    channels = {name: Channel(name, "s", "gauge", f"instance:{at}") for at, name in enumerate(names)}
    readings = [
        Sample(window.start_s + second + 0.2 * at, name, rtt_s)
        for at, (name, rtts_s) in enumerate(zip(names, instances, strict=True))
        for second, rtt_s in enumerate(rtts_s)
    ]
    rates = series("h2", "iperf3", window.start_s, of_load("receiver", len(instances)), "measured")
    cpus = series("h1", "mpstat", window.start_s, of_cpus, "measured")
    samples.unlink()
    write_samples(samples, [Series("h1", "iperf3", channels, readings), cpus, rates], Origin("r", 1))
    [figure] = figures(view)
    return figure


def quantities(figure: Figure) -> list[str]:
    return [row["spec"]["layer"][1]["encoding"]["y"]["title"][0] for row in figure.spec["vconcat"]]


def test_rtt_is_the_mean_of_the_senders_instances_in_ms(tmp_path: Path) -> None:
    figure = with_rtt(tmp_path, [1e-3, 2e-3, None, 4e-3], [3e-3, 4e-3, 5e-3, 6e-3])
    drawn = [(row["end"], row["time_s"], row["value"]) for row in track(figure, "RTT (ms)")]
    means = [(0.0, 2.0), (1.0, 3.0), (2.0, None), (3.0, 5.0)]
    assert drawn == [("sender", *mean) for mean in means], "a missing RTT is a gap, not 0"
    assert quantities(figure) == ["Throughput", "CPU", "RTT"]
    assert "smoothed RTT of the sender's kernel (tcp_info)" in figure.caption
    assert "mean of the load's streams" in figure.caption
    assert "RTT (ms) from 2 to 5" in figure.description


def test_rtt_needs_every_instance(tmp_path: Path) -> None:
    figure = with_rtt(tmp_path, [1e-3, 2e-3], [])
    assert "RTT" not in quantities(figure)
    assert "RTT" not in figure.caption


def test_a_result_without_rtt_and_a_test_of_udp_have_no_row_of_it(tmp_path: Path) -> None:
    for figure in figures(with_samples(tmp_path / "before", scaling_trials((1, 2), 2))):
        assert "RTT" not in quantities(figure)
        assert "RTT" not in figure.caption + figure.description
    udp = next(trial for trial in demo_trials() if trial.case.test != "tcp")
    figure = with_rtt(tmp_path / "udp", [1e-3] * 9, trial=replace(udp, number=1))
    assert "RTT" not in quantities(figure)


def test_every_trial_has_a_column_with_its_findings_and_the_window(tmp_path: Path) -> None:
    first, *rest = scaling_trials((1,), 3)
    view = with_samples(tmp_path, [replace(first, flags=(DISAGREE,)), *rest])
    [figure] = figures(view)
    top = figure.spec["vconcat"][0]
    assert top["facet"]["column"]["sort"] == ["trial 1, see a", "trial 2", "trial 3"]
    windows = [row for row in top["data"]["values"] if row["kind"] == "window"]
    assert [(row["time_s"], row["until_s"]) for row in windows] == [(0.0, 60.0)] * 3
    svg = render_svg(figure.spec)
    assert "trial 1, see a" in svg
    assert svg.count(">receiver</text>") == 1, "named once, behind the last trial"


def test_of_many_trials_those_with_findings_and_the_extremes_are_drawn(
    tmp_path: Path,
) -> None:
    trials = list(scaling_trials((1,), 9))
    trials[4] = replace(trials[4], flags=(DISAGREE,))
    trials[6] = replace(trials[6], throughput_bps=1e9)
    trials[7] = replace(trials[7], throughput_bps=99e9)
    [figure] = figures(with_samples(tmp_path, trials))
    shown = figure.spec["vconcat"][0]["facet"]["column"]["sort"]
    assert len(shown) == MOST_TRIALS
    assert {"trial 5, see a", "trial 7", "trial 8"} <= set(shown)
    assert "Drawn are 4 of 9 trials" in figure.caption


def test_no_samples_no_course_and_damaged_ones_are_named(tmp_path: Path) -> None:
    view = with_samples(tmp_path, scaling_trials((1,), 2))
    samples = sorted(view.result.path.glob("trials/*/samples.parquet"))
    samples[0].unlink()
    [figure] = figures(view)
    assert {row["trial"] for row in track(figure, "CPU")} == {"trial 2"}
    samples[1].write_bytes(samples[1].read_bytes()[:200])
    with pytest.raises(StoreError, match=r"00002/samples\.parquet: damaged"):
        figures(view)
    samples[1].unlink()
    assert figures(view) == ()


def test_courses_are_folded_below_every_trial(tmp_path: Path) -> None:
    page = html.render_html(with_samples(tmp_path, scaling_trials((1, 2), 1)))
    _, below = page.split('id="trials"', 1)
    assert "<details><summary>Over time: 2 cases" in below
    assert below.count('data-figure="time-') == 2


def test_thinning_keeps_the_peak_the_dip_and_a_gap() -> None:
    points: list[tuple[float, float | None]] = [(float(at), 100.0) for at in range(10_000)]
    points[4321], points[8765], points[5000] = (4321.0, 900.0), (8765.0, 3.0), (5000.0, None)
    kept = thinned(points, 200)
    assert len(kept) <= 200
    assert {(4321.0, 900.0), (8765.0, 3.0), (5000.0, None)} <= set(kept)
    assert [time_s for time_s, _ in kept] == sorted(time_s for time_s, _ in kept)
    assert thinned(points[:50], 200) == points[:50]
