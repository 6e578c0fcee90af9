# SPDX-License-Identifier: Apache-2.0
"""Pictures over time in a browser: on a phone, and on paper with their headings."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Open
from tests.report_factories import scaling_trials
from tests.stored_samples import of_load, series, with_samples

from linewatt.model import Channel, Sample
from linewatt.report.printing import html
from linewatt.store.samples import Origin, Series, write_samples

pytestmark = pytest.mark.browser

A4_LANDSCAPE_PX = (1032, 703)
"""the printable part, at 96 pixels an inch"""


def busy_cpus(host: str, start_s: float) -> Series:
    """16 CPUs, each busy to its own part of a minute."""
    names = {f"cpu{cpu}.idle_ratio": f"cpu:{cpu}" for cpu in range(16)}
    channels = {name: Channel(name, "ratio", "mean", scope) for name, scope in names.items()}
    samples = [
        Sample(start_s + at, name, (at * cpu % 17) / 20)
        for at in range(1, 61)
        for cpu, name in enumerate(names)
    ]
    return Series(host, "mpstat", channels, samples)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    view = with_samples(tmp_path, scaling_trials((1,), 5))
    for trial in view.result.trials:
        samples = view.result.path / "trials" / f"{trial.number:05d}" / "samples.parquet"
        samples.unlink()
        assert trial.window is not None
        start_s = trial.window.start_s
        rates = series("h2", "iperf3", start_s, of_load("receiver", 1), "measured")
        cpus = [busy_cpus(host, start_s) for host in ("h1", "h2")]
        write_samples(samples, [rates, *cpus], Origin("r", trial.number))
    page = tmp_path / "report.html"
    page.write_text(html.render_html(view), encoding="utf-8")
    return page


def test_pictures_over_time_fit_a_printed_page_with_their_heading(open_file: Open, report: Path) -> None:
    page = open_file(report, "dark").page
    width, height = A4_LANDSCAPE_PX
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(media="print")
    for name in ("course-", "spread-of-trials", "time-", "cpus-"):
        box = page.locator(f'[data-figure^="{name}"]').first.bounding_box()
        assert box is not None, name
        assert 60 < box["height"] <= height, name


def test_on_a_phone_the_page_is_no_wider_than_the_screen(open_file: Open, report: Path) -> None:
    seen = open_file(report)
    seen.page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    seen.look("light", 390, 844)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    course = seen.page.locator('[data-figure^="course-"]').bounding_box()
    assert course is not None
    assert course["width"] <= 390
    assert seen.console == []
