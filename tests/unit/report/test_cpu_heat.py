# SPDX-License-Identifier: Apache-2.0
"""CPUs over time: which are rows, how busy their cells are, and which colours those have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import host, scaling_trials
from tests.stored_samples import with_samples

from linewatt.errors import StoreError
from linewatt.model import Channel, Sample, Trial
from linewatt.report.charts.data import runs_of
from linewatt.report.charts.figure import Figure, render_svg
from linewatt.report.printing import html
from linewatt.report.trials.charts.cpu_heat import MOST_COLUMNS, cpu_heat_figures, host_cpus, step_of
from linewatt.report.trials.digest import Digest
from linewatt.store.samples import Course, Origin, Series, write_samples

Busy = Mapping[int, Sequence[float | None]]
"""CPU → the part of each second of the window that it was busy"""


def one_trial() -> Trial:
    """Its app CPUs are 0 and 1, its IRQ CPUs 2 and 3."""
    return scaling_trials((1,), 1)[0]


def with_cpus(root: Path, busy: Busy, **manifest: Any) -> Digest:
    """A trial whose receiver has these CPUs; iowait and steal take 10 % of each second."""
    view = with_samples(root, [one_trial()], **manifest)
    window = view.result.trials[0].window
    assert window is not None
    channels: dict[str, Channel] = {}
    samples = []
    for cpu, values in busy.items():
        for name, share in (("idle", 0.9), ("iowait", 0.06), ("steal", 0.04)):
            channel = f"cpu{cpu}.{name}_ratio"
            channels[channel] = Channel(channel, "ratio", "mean", f"cpu:{cpu}")
            for at, value in enumerate(values, start=1):
                known = value if value is None else share - value if name == "idle" else share
                samples.append(Sample(window.start_s + at, channel, known))
    path = view.result.path / "trials" / "00001" / "samples.parquet"
    path.unlink()
    write_samples(path, [Series("h2", "mpstat", channels, samples)], Origin("r", 1))
    return view


def figures(view: Digest) -> tuple[Figure, ...]:
    return cpu_heat_figures(view, runs_of(view.result.trials))


def cells(figure: Figure, cpu: str) -> list[tuple[float, float, float]]:
    """From, until and busy % of a CPU's rectangles."""
    _legend, *maps = figure.spec["vconcat"]
    rows = [row for host_map in maps for row in host_map["data"]["values"]]
    return [(row["time_s"], row["until_s"], row["busy"]) for row in rows if row["cpu"] == cpu]


def labels(figure: Figure) -> list[str]:
    return [
        row
        for host_map in figure.spec["vconcat"][1:]
        for row in host_map["layer"][0]["encoding"]["y"]["sort"]
    ]


def test_cells_are_what_is_neither_idle_iowait_nor_steal(tmp_path: Path) -> None:
    [figure] = figures(with_cpus(tmp_path, {0: [0.1, 0.12, 0.8, None, 0.5]}))
    assert labels(figure) == ["CPU 0 (app)"]
    merged = (0.0, 2.0, pytest.approx(11))
    assert cells(figure, "CPU 0 (app)") == [merged, (2.0, 3.0, 80.0), (4.0, 5.0, 50.0)]
    assert "Blank: no reading." in figure.caption
    assert figure.title.endswith("CPUs over time")
    assert figure.wide
    assert "CPU 0 (app) 38 %" in figure.description


def test_rows_are_cpus_of_roles_then_others_that_were_busy(tmp_path: Path) -> None:
    quiet, busy = [0.01] * 5, [0.3] * 5
    [figure] = figures(with_cpus(tmp_path, {7: busy, 2: quiet, 5: quiet, 0: quiet}))
    assert labels(figure) == ["CPU 0 (app)", "CPU 2 (IRQ)", "CPU 7"]


def test_cpus_of_another_host_on_the_machine_are_left_out(tmp_path: Path) -> None:
    hosts = {"h1": host("h1"), "h2": host("h2", cpus=[0])}
    [figure] = figures(with_cpus(tmp_path, {0: [0.5] * 3, 9: [0.5] * 3}, hosts=hosts))
    assert labels(figure) == ["CPU 0 (app)"]


def test_of_many_busy_cpus_16_are_drawn_and_the_others_are_named(tmp_path: Path) -> None:
    [figure] = figures(with_cpus(tmp_path, {cpu: [(40 - cpu) / 50] * 3 for cpu in range(20)}))
    assert labels(figure)[-1] == "CPU 15"
    assert len(labels(figure)) == 16
    assert "h2: 4 more such CPUs, 16-19." in figure.caption.replace("–", "-")


def test_a_long_trial_has_columns_of_several_seconds() -> None:
    trial = one_trial()
    assert trial.window is not None
    points = tuple((trial.window.start_s + at, 0.2 if at % 2 else 0.4) for at in range(1, 601))
    shown = host_cpus(trial, "receiver", [Course("h2", "mpstat", "cpu:0", "ratio", points)], None)
    assert len(shown.rows[0].cells) == MOST_COLUMNS
    begin_s, until_s, busy_ratio = shown.rows[0].cells[0]
    assert (begin_s, until_s) == (0.0, 10.0)
    assert busy_ratio == pytest.approx(0.3)


def test_the_seven_steps_are_equal_and_named_in_the_legend(tmp_path: Path) -> None:
    assert [step_of(ratio) for ratio in (-0.01, 0, 0.13, 0.15, 0.5, 0.99, 1, 1.02)] == [
        0,
        0,
        0,
        1,
        3,
        6,
        6,
        6,
    ]
    svg = render_svg(figures(with_cpus(tmp_path, {0: [0.1, 0.99]}))[0].spec)
    assert "0 to 14 %" in svg
    assert "86 to 100 %" in svg
    assert "--heat-7" in svg


def test_no_samples_no_map_and_damaged_ones_are_named(tmp_path: Path) -> None:
    view = with_cpus(tmp_path, {0: [0.5]})
    samples = view.result.path / "trials" / "00001" / "samples.parquet"
    samples.write_bytes(b"damaged")
    with pytest.raises(StoreError, match=r"samples\.parquet: damaged"):
        figures(view)
    samples.unlink()
    assert figures(view) == ()


def test_the_map_is_of_the_median_trial_and_folded_below_every_trial(tmp_path: Path) -> None:
    trials = [
        replace(trial, throughput_bps=bps)
        for trial, bps in zip(scaling_trials((1,), 3), (9e9, 7e9, 8e9), strict=True)
    ]
    view = with_samples(tmp_path, trials)
    assert figures(view)[0].caption.startswith("Trial 3, the median of 3 by throughput.")
    page = html.render_html(view)
    _, below = page.split('id="trials"', 1)
    assert "single trials; CPUs of 1 case</summary>" in below
    assert below.count('data-figure="cpus-') == page.count('data-figure="cpus-') == 1
