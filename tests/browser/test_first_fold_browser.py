# SPDX-License-Identifier: Apache-2.0
"""What is seen of each page before anybody scrolls: the answer, with its number, also on a phone."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.conftest import Open, Scheme
from tests.first_screens import KINDS
from typer.testing import CliRunner

from linewatt.cli import whole

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
