# SPDX-License-Identifier: Apache-2.0
"""What is seen of each page before anybody scrolls: the answer, with its number, also on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.browser.conftest import Open, Scheme
from tests.first_screens import KINDS, LINE_BPS
from tests.report_factories import demo_trials, powered, result, stored
from typer.testing import CliRunner

from linewatt.cli.entry_point import whole
from linewatt.model import Flag

pytestmark = pytest.mark.browser
PageOf = Callable[[str], Path]
LOOKS: tuple[tuple[Scheme, int, int], ...] = (
    ("light", 390, 844),
    ("dark", 390, 844),
    ("dark", 1400, 900),
    ("light", 1400, 900),
)
FIGURE = re.compile(r"\d[\d.,]* (?:Gbps|Mbps|Mbps/W|%)|\d+ of \d+ comparisons")


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> PageOf:
    """The page of a kind of result, as its command writes it."""

    @cache
    def written(kind: str) -> Path:
        place = tmp_path_factory.mktemp(kind)
        with chdir(place):
            names = [path.name for path in KINDS[kind]()]
            words = ["compare", *names] if len(names) > 1 else ["report", *names]
            done = CliRunner().invoke(whole(), [*words, "-o", "page.html"])
        assert (place / "page.html").is_file(), done.output
        return place / "page.html"

    return written


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_with_its_number_is_in_the_first_fold(page_of: PageOf, open_file: Open, kind: str) -> None:
    seen = open_file(page_of(kind))
    answer = seen.page.locator(".answer strong")
    assert FIGURE.search(answer.inner_text().replace("\u00a0", " "))
    for look in LOOKS:
        seen.look(*look)
        _, width, height = look
        box = answer.bounding_box()
        assert box is not None, look
        assert box["y"] + box["height"] < 0.6 * height, look
        assert box["x"] + box["width"] <= width, look
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, look
    assert seen.console == []


@pytest.mark.full
def test_a_bar_is_as_long_as_its_part_of_the_line(page_of: PageOf, open_file: Open) -> None:
    page = open_file(page_of("campaign"), "light", 1400).page
    for row in page.locator("table.first tbody tr").all():
        cell = row.locator("td:has(.bar)")
        part = float(cell.inner_text().partition("%")[0]) / 100
        whole_box, bar = cell.locator(".bar").bounding_box(), cell.locator(".bar span").bounding_box()
        assert whole_box is not None
        assert bar is not None
        assert bar["width"] / whole_box["width"] == pytest.approx(part, abs=0.01)


def test_what_limits_each_series_is_read_without_scrolling_to_the_side(
    open_file: Open, tmp_path: Path
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
    seen = open_file(shown)
    table = seen.page.locator(".scroll:has(table.first)").first
    assert "limited by" in table.inner_text().lower()
    for width in (1280, 1440):
        seen.look(width=width)
        assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, width
