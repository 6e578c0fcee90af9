# SPDX-License-Identifier: Apache-2.0
"""What is seen of each page before anybody scrolls: the answer, with its number, also on a phone."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.browser.conftest import Open, Scheme
from tests.first_screens import KINDS, LINE_BPS
from tests.report_factories import demo_trials, powered, result, stored
from typer.testing import CliRunner

from linewatt.cli import whole
from linewatt.model import Flag

pytestmark = pytest.mark.browser
FIGURE = re.compile(r"\d[\d.,]* (?:Gbps|Mbps|Mbps/W|%)|\d+ of \d+ comparisons")


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, Path]]:
    """A page of each kind."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            yield {kind: _page(kind, Path(place) / f"{kind}.html") for kind in KINDS}
        finally:
            os.chdir(before)


def _page(kind: str, target: Path) -> Path:
    names = [path.name for path in KINDS[kind]()]
    words = ["compare", *names] if len(names) > 1 else ["report", *names]
    done = CliRunner().invoke(whole(), [*words, "-o", str(target)])
    assert target.is_file(), done.output
    return target


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1400, 900)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_answer_with_its_number_is_in_the_first_fold(
    pages: dict[str, Path], open_file: Open, kind: str, width: int, height: int, scheme: Scheme
) -> None:
    seen = open_file(pages[kind], scheme, width)
    answer = seen.page.locator(".answer strong")
    assert FIGURE.search(answer.inner_text().replace("\u00a0", " "))
    box = answer.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 0.6 * height
    assert box["x"] + box["width"] <= width
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.console == []


def test_a_bar_is_as_long_as_its_part_of_the_line(pages: dict[str, Path], open_file: Open) -> None:
    page = open_file(pages["campaign"], "light", 1400).page
    for row in page.locator("table.first tbody tr").all():
        cell = row.locator("td:has(.bar)")
        part = float(cell.inner_text().partition("%")[0]) / 100
        whole_box, bar = cell.locator(".bar").bounding_box(), cell.locator(".bar span").bounding_box()
        assert whole_box is not None
        assert bar is not None
        assert bar["width"] / whole_box["width"] == pytest.approx(part, abs=0.01)


@pytest.mark.parametrize("width", [1280, 1440])
def test_what_limits_each_series_is_read_without_scrolling_to_the_side(
    open_file: Open, tmp_path: Path, width: int
) -> None:
    """Also where watts of both ends are simulated and doubtful, and several findings are told."""
    codes = ("idle-drift", "host-not-idle", "app-irq-share-cpu", "instances-share-cpu", "throughput-dips")
    flags = tuple(Flag(code, "h1", "as it was", "") for code in codes)
    trials = powered(demo_trials(), provenance="simulated", ends=("sender", "receiver"))
    shown = tmp_path / "page.html"
    told = [replace(one, flags=(*one.flags, *flags), line_goodput_bps=LINE_BPS) for one in trials]
    path = stored(tmp_path, result(told))
    done = CliRunner().invoke(whole(), ["report", str(path), "-o", str(shown)])
    assert shown.is_file(), done.output
    table = open_file(shown, "light", width).page.locator(".scroll:has(table.first)").first
    assert "limited by" in table.inner_text().lower()
    assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
