# SPDX-License-Identifier: Apache-2.0
"""A report of a thousand cases in a browser: opened, read to its end and saved from, beside one of ten."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET  # of a file that the page itself made
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from bench.opening import Opening, Visit, opening, visit
from playwright.sync_api import Browser
from tests.browser.test_saving_browser import kept
from tests.unit.report.test_large_report import page_of_one_server, to_one_server

from linewatt.report.printing import html
from linewatt.report.trials.digest import Digest

pytestmark = [pytest.mark.browser, pytest.mark.full]
MOST_NODES = 80_000
FIRST_BYTES = 64_000
"""of the file, in which the answer is: it is painted when they are there"""


@dataclass(frozen=True)
class Opened:
    """The large page, still open, what it was made of, and what opening it and the small one took."""

    visited: Visit
    view: Digest
    text: str
    large: list[Opening]
    small: list[Opening]


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Both pages opened in turn, the large one at last; how long it took is printed."""
    large, small = (
        tmp_path_factory.mktemp("pages") / "large.html",
        tmp_path_factory.mktemp("pages") / "s.html",
    )
    view = to_one_server()
    text = page_of_one_server()
    html.write_page(large, text)
    html.write_page(small, html.render_html(to_one_server(1, ("bare",))))
    found: dict[Path, list[Opening]] = {small: [], large: []}
    for path in (small, large, small):
        found[path].append(opening(browser, path))
    with visit(browser) as visited:
        found[large].append(visited.open(large))
        for path, seen in found.items():
            print(path.name, *seen, sep="\n  ")  # noqa: T201
        yield Opened(visited, view, text, found[large], found[small])


def test_the_answer_of_a_large_page_is_among_the_first_bytes_of_its_file(opened: Opened) -> None:
    assert len(opened.text.partition('<p class="answer">')[0].encode()) < FIRST_BYTES
    assert len(opened.text.encode()) > 20 * FIRST_BYTES


def test_a_page_of_a_thousand_cases_costs_no_more_an_element_than_one_of_ten(opened: Opened) -> None:
    assert opened.large[0].nodes <= MOST_NODES
    times_the_elements = opened.large[0].nodes / opened.small[0].nodes
    assert times_the_elements > 5, "else it would not be large"
    cost = min(one.cpu_s for one in opened.large) / min(one.cpu_s for one in opened.small)
    assert cost <= times_the_elements


def test_what_is_out_of_sight_costs_nothing_on_a_large_page_alone(opened: Opened) -> None:
    assert '<body class="large">' in opened.text
    style = "getComputedStyle(document.getElementById('trials')).contentVisibility"
    assert opened.visited.page.evaluate(style) == "auto"
    assert "<body>" in html.render_html(to_one_server(1, ("bare",)))


def test_no_task_holds_a_large_page_for_longer_than_a_small_one_needs_to_open(opened: Opened) -> None:
    most_s = 3 * max(one.cpu_s for one in opened.small)
    assert min(one.longest_task_s for one in opened.large) <= most_s
    used_s = [opened.visited.cpu_s()]
    used_s += [opened.visited.cpu_s() for _ in opened.visited.scroll_through(24)]
    assert max(after_s - before_s for before_s, after_s in pairwise(used_s)) <= most_s


def test_a_large_page_shows_something_wherever_it_is_scrolled_to(opened: Opened, browser: Browser) -> None:
    visited = opened.visited
    with visit(browser) as empty:
        blank = len(empty.page.screenshot())
    for top in visited.scroll_through(12):
        assert len(visited.page.screenshot()) > 3 * blank, top
    end = visited.page.locator("footer").bounding_box()
    assert end is not None
    assert end["y"] + end["height"] <= 900, "its end is in sight"


@pytest.mark.parametrize("anchor", ["trials", "roles", "scalability"])
def test_a_link_of_the_contents_leads_to_its_section_of_a_large_page(opened: Opened, anchor: str) -> None:
    page = opened.visited.page
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    page.locator(f"nav a[href='#{anchor}']").click()
    page.wait_for_function(
        "name => Math.abs(document.getElementById(name).getBoundingClientRect().top) < 60",
        arg=anchor,
        timeout=20_000,
    )


def test_a_table_saved_from_a_large_page_has_the_figures_of_the_result(
    opened: Opened, tmp_path: Path
) -> None:
    visited, view = opened.visited, opened.view
    title = "TCP: the ten fastest and the ten slowest of 200 series"
    name, text = kept(visited.page, f"Save {title} as CSV", tmp_path)
    assert name.endswith(".csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    (group,) = view.groups
    by_label = {series.label: series for series in group.series}
    assert len(rows) == 20 * 5
    for row in rows:
        summary = next(
            one for one in by_label[row["Case"]].summaries if f"{one.case.instances}" == row["Instances"]
        )
        assert summary.throughput_bps is not None
        assert float(row["Throughput (Gbps)"]) * 1e9 == pytest.approx(summary.throughput_bps.mean, rel=1e-3)
        cores = summary.cpu_cores("receiver")
        assert cores is not None
        assert float(row["CPU receiver (remote) (%)"]) / 100 == pytest.approx(cores.mean, rel=1e-2)


def test_a_figure_saved_from_a_large_page_is_the_one_that_it_shows(opened: Opened, tmp_path: Path) -> None:
    visited, view = opened.visited, opened.view
    series = view.groups[0].series[0]
    title = f"{series.title}: throughput"
    name, text = kept(visited.page, f"Save {title} as SVG", tmp_path)
    assert name.endswith(".svg")
    words = "".join(ET.fromstring(text).itertext())  # noqa: S314
    for one in series.summaries:
        assert one.throughput_bps is not None
        assert f"{one.case.instances} instances {one.throughput_bps.mean / 1e9:.4g} Gbps" in words.replace(
            "1 instance ", "1 instances "
        )
