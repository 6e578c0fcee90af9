# SPDX-License-Identifier: Apache-2.0
"""The effects of factors in a real browser: the chart is drawn where it says, readable in both schemes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page
from tests.browser.conftest import Open, Scheme
from tests.effect_factories import experiment_result, experiment_trials
from tests.report_factories import powered, renumbered

from linewatt.report.printing import html
from linewatt.report.trials.digest import digest_of

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TCP with simulated watts at both ends, and UDP: panels of every response."""
    tcp = powered(experiment_trials("full"), provenance="simulated", ends=("receiver", "sender"))
    udp = powered(experiment_trials("full", test="udp-1500"), ends=("receiver", "sender"))
    path = tmp_path_factory.mktemp("effects") / "report.html"
    html.write_page(path, html.render_html(digest_of(experiment_result(renumbered(tcp, udp), "full"))))
    return path


@pytest.fixture(scope="module")
def opened(open_file: Open, report: Path) -> Callable[..., Page]:
    """The report in a scheme and at a width; opened once, for no test of this file changes it."""
    seen = open_file(report)

    def shown(scheme: Scheme = "light", width: int = 1280) -> Page:
        seen.look(scheme, width)
        return seen.page

    return shown


def charts(page: Page) -> Locator:
    return page.locator("#effects figure svg")


def middle(part: Locator) -> tuple[float, float]:
    box = part.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_each_group_of_cases_has_a_chart_with_its_panels_and_rows(opened: Callable[..., Page]) -> None:
    page = opened()
    assert charts(page).count() == 2
    texts = charts(page).nth(0).locator("text").all_text_contents()
    assert {"mtu=9000", "gro=off", "rps=irq", "Throughput"} <= set(texts)
    assert texts.count("mtu=9000") == 1
    assert any("simulated" in text for text in texts)
    assert not any("simulated" in text for text in charts(page).nth(1).locator("text").all_text_contents())


def test_points_stand_left_and_right_of_the_zero_line_as_their_effects_do(
    opened: Callable[..., Page],
) -> None:
    chart = charts(opened()).nth(0)
    panel = chart.locator(".concat_0_group, [class*=concat_0]").first
    zero, _ = middle(panel.locator(".mark-rule.role-mark line").first)
    points = panel.locator(".mark-symbol path")
    assert points.count() == 3
    (faster, first), (slower, second), (same, third) = (middle(points.nth(at)) for at in range(3))
    assert first < second < third
    assert slower < zero - 40
    assert faster > zero + 5
    assert abs(same - zero) < 1


def test_effects_are_filled_and_what_is_none_is_hollow(opened: Callable[..., Page]) -> None:
    points = charts(opened()).nth(0).locator("[class*=concat_0] .mark-symbol path")
    filling = [points.nth(at).get_attribute("fill-opacity") for at in range(3)]
    assert filling == ["1", "1", "0"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chart_and_table_are_readable_in_both_schemes(opened: Callable[..., Page], scheme: Scheme) -> None:
    page = opened(scheme)
    for selector, what in (("#effects svg text", "fill"), ("#effects td", "color")):
        colour: str = page.locator(selector).first.evaluate("(e, what) => getComputedStyle(e)[what]", what)
        ground: str = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
        ink, paper = (
            sum(map(float, text[text.index("(") + 1 : -1].split(",")[:3])) / 3 for text in (colour, ground)
        )
        assert abs(ink - paper) > 100, selector


def test_words_of_panels_do_not_overlap(opened: Callable[..., Page]) -> None:
    chart = charts(opened()).nth(1)
    titles = chart.locator(".role-title-text text, .role-axis-title text")
    boxes = [box for at in range(titles.count()) if (box := titles.nth(at).bounding_box())]
    assert len(boxes) >= 10
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart = (
                one["x"] + one["width"] <= other["x"] + 1
                or other["x"] + other["width"] <= one["x"] + 1
                or one["y"] + one["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= one["y"] + 1
            )
            assert apart, (one, other)


@pytest.mark.parametrize("width", [320, 1280])
def test_the_page_never_scrolls_sideways(opened: Callable[..., Page], width: int) -> None:
    page = opened(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#effects table.effects td b").first.is_visible()


def test_everything_of_the_effects_fits_a_desktop(opened: Callable[..., Page]) -> None:
    hidden = opened().evaluate(
        "[...document.querySelectorAll('#effects .scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))"
    )
    assert hidden == []
