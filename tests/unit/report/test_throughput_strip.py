# SPDX-License-Identifier: Apache-2.0
"""The strip of throughput over time on the first screen: of the median trial, from its samples alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report_factories import scaling_trials
from tests.stored_samples import Values, series, with_samples

from linewatt.model import Trial
from linewatt.report.full_result import first_screen_of_stored
from linewatt.report.printing.screen import MOST_LINES, Block, Line, Screen, fitted
from linewatt.report.trials.answer.throughput_strip import throughput_strip
from linewatt.report.trials.digest import Digest
from linewatt.report.trials.readings import median_trial
from linewatt.store.samples import Origin, write_samples

FALLS = "█" * 15 + "▅" * 15
"""two of 60 seconds a mark"""


def falling(at: int) -> Values:
    """2 Gbps to the 30th second of the window, then half of it."""
    return {"instance0.receiver.throughput_bps": ("bit/s", 2e9 if at <= 30 else 1e9)}


def three_trials() -> list[Trial]:
    """Of one case; the second one is the median."""
    return [
        replace(trial, throughput_bps=bps)
        for trial, bps in zip(scaling_trials((1,), 3), (9e9, 8e9, 7e9), strict=True)
    ]


def samples_of(view: Digest, number: int) -> Path:
    return view.result.path / "trials" / f"{number:05d}" / "samples.parquet"


def with_rates(root: Path, values: Callable[[int], Values] = falling) -> Digest:
    """Three trials; the files of all but the median one are damaged."""
    view = with_samples(root, three_trials())
    window = view.result.trials[1].window
    assert window is not None
    samples_of(view, 2).unlink()
    rates = series("h2", "iperf3", window.start_s, values, "measured")
    write_samples(samples_of(view, 2), [rates], Origin("r", 2))
    for number in (1, 3):
        samples_of(view, number).write_bytes(b"damaged")
    return view


def shown(view: Digest, width: int = 80) -> list[str]:
    screen = first_screen_of_stored(view.result.path)
    assert screen is not None
    return [line for line, _style in fitted(screen, width)]


def test_the_strip_is_the_window_of_the_median_trial(tmp_path: Path) -> None:
    strip = throughput_strip(with_rates(tmp_path))
    assert strip is not None
    assert strip.prose == f"{FALLS} scale 0 to 2.000 Gbps; 1 min 00 s of trial 2, the median of 3"


@pytest.mark.parametrize("width", [80, 100])
def test_show_begins_with_the_strip_below_the_result(tmp_path: Path, width: int) -> None:
    lines = shown(with_rates(tmp_path), width)
    strip = next(at for at, line in enumerate(lines) if FALLS in line)
    assert lines.index(next(line for line in lines if line.startswith("RESULT"))) < strip
    assert strip < lines.index(next(line for line in lines if line.startswith("COST OF")))
    assert len(lines) <= MOST_LINES


def test_a_second_without_a_reading_is_a_dot(tmp_path: Path) -> None:
    def with_gap(at: int) -> Values:
        return {name: (unit, None if at == 11 else value) for name, (unit, value) in falling(at).items()}

    text = "\n".join(shown(with_rates(tmp_path, with_gap)))
    assert "█████·█████████▅" in text


def test_without_samples_or_with_damaged_ones_there_is_no_strip(tmp_path: Path) -> None:
    view = with_rates(tmp_path)
    samples_of(view, 2).write_bytes(b"damaged")
    assert not any("▅" in line for line in shown(view))
    samples_of(view, 2).unlink()
    assert throughput_strip(view) is None
    assert any("Gbps" in line for line in shown(view))


def test_the_median_of_an_even_number_of_trials_is_one_of_them() -> None:
    trials = [
        replace(trial, throughput_bps=bps)
        for trial, bps in zip(scaling_trials((1,), 4), (4e9, 1e9, 3e9, 2e9), strict=True)
    ]
    median = median_trial(trials)
    assert median is not None
    assert median.throughput_bps == 2e9
    assert median_trial([replace(trials[0], throughput_bps=None)]) is None


@pytest.mark.parametrize(("entries", "is_shown"), [(19, True), (20, False)])
def test_a_picture_takes_no_room_from_lines_and_is_not_counted(entries: int, is_shown: bool) -> None:
    block = Block(
        "Result",
        tuple((Line("", prose=f"entry {number}"),) for number in range(entries)),
        picture=Line("", prose=FALLS, drawn=True),
    )
    trust = Block("Can I trust it", remark="yes")
    screen = Screen("title", (), (), "", "", (block, trust), ("more",))
    lines = [line for line, _style in fitted(screen, 80)]
    assert (f"  {FALLS}" in lines) is is_shown
    assert f"  entry {entries - 1}" in lines
    assert not any("more line" in line for line in lines)
