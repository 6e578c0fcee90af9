# SPDX-License-Identifier: Apache-2.0
"""Matrices, networks side by side and detail blocks in a browser, in both schemes, wide and on a phone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Open, Opened
from tests.report_factories import end, renumbered, result, shares, trial, watts

from linewatt.model import Case, Role, Trial
from linewatt.report.printing import html
from linewatt.report.trials.digest import digest_of

pytestmark = [pytest.mark.browser, pytest.mark.full]

HOSTS = ("altra", "netdev19", "a-host-with-a-rather-long-name")


def _end(host: str, role: Role) -> object:
    both = {"app_cpu": shares(0.5), "irq_cpu": shares(0.999, cpus=(1,), soft=0.999)}
    power = (watts("system", 150.0, provenance="simulated", idle_w=120.0),)
    return end(host, role, 1.5, 0, 0, power=power, **both)


@cache
def page_of() -> str:
    """Three hosts, three tests, two networks, two directions; one pair was not run."""
    made: list[Trial] = []
    tests = (("tcp", 27e9), ("udp-1500", 5e9), ("udp-60", 150e6))
    kinds = itertools.product(tests, ("bare", "vxlan"), ("forward", "reverse"))
    for (test, bps), network, direction in kinds:
        for sender, receiver in itertools.permutations(HOSTS, 2):
            if (sender, receiver) == ("netdev19", "altra"):
                continue
            case = Case(test, sender, receiver, network=network, direction=direction)  # type: ignore[arg-type]
            for repetition in (1, 2):
                rate = bps * (0.7 if network == "vxlan" else 1) * (1 + 0.02 * repetition)
                one = trial(1, case, rate, 1.5, repetition=repetition)
                ends = {"sender": _end(sender, "sender"), "receiver": _end(receiver, "receiver")}
                made.append(replace(one, **ends))  # type: ignore[arg-type]
    return html.render_html(digest_of(result(renumbered(made), name="matrix")))


@pytest.fixture(scope="module")
def report(open_file: Open, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """The report with everything unfolded, opened once for all tests."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page_of(), encoding="utf-8")
    seen = open_file(path)
    unfold(seen.page)
    yield seen
    assert seen.console == []


@pytest.fixture(scope="module")  # so that pytest runs together what looks at the page in the same way
def opened(report: Opened, request: pytest.FixtureRequest) -> Page:
    """The report at a width and in a scheme."""
    width, scheme = request.param
    report.look(scheme, width)
    return report.page


def unfold(page: Page) -> None:
    """Open all that is folded, and have also laid out what a large page lays out only in sight."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    page.evaluate("document.querySelectorAll('.large').forEach(e => e.classList.remove('large'))")


everywhere = pytest.mark.parametrize(
    "opened", [(390, "light"), (1280, "dark"), (390, "dark"), (1280, "light")], indirect=True
)
phone_and_desk = pytest.mark.parametrize("opened", [(390, "light"), (1280, "dark")], indirect=True)


def luminance(colour: str) -> float:
    """Relative luminance of a computed colour ``rgb(r, g, b)``. Source: WCAG 2.1."""
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@everywhere
def test_the_page_never_scrolls_sideways_with_everything_open(opened: Page) -> None:
    viewport = opened.viewport_size
    assert viewport is not None
    assert opened.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    for section in ("#matrix", "#detail", "#roles"):
        assert opened.locator(section).is_visible()


@everywhere
def test_values_in_heat_map_cells_can_be_read(opened: Page) -> None:
    chart = opened.locator("#matrix figure svg").first
    assert "TCP: throughput" in (chart.locator("> title").text_content() or "")
    cells = chart.locator("path[fill*='--heat-'], rect[fill*='--heat-']")
    inks = chart.locator("text[fill*='--heat-ink-']")
    assert cells.count() == inks.count() == 4 * 5
    fills = "every => every.map(e => getComputedStyle(e).fill)"
    for ground, ink in zip(cells.evaluate_all(fills), inks.evaluate_all(fills), strict=True):
        low, high = sorted((luminance(ground), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5
    assert chart.locator("text", has_text="27.8").count() > 0
    assert chart.locator("[stroke-dasharray]").count() == 4, "the pair that was not run"


@phone_and_desk
def test_labels_of_charts_stay_inside_their_chart_s_box(opened: Page) -> None:
    outside = opened.evaluate(
        "[...document.querySelectorAll('#matrix svg, #figures svg')].flatMap(svg => {"
        " const box = svg.closest('.scroll'), {left} = box.getBoundingClientRect();"
        " const right = left + box.scrollWidth;"
        " return [...svg.querySelectorAll('text')].filter(text => {"
        " const place = text.getBoundingClientRect();"
        " return place.left < left - 1 || place.right > right + 1"
        "}).map(text => text.textContent)})"
    )
    assert outside == []


@phone_and_desk
def test_no_label_of_a_heat_map_covers_another(opened: Page) -> None:
    covered = opened.evaluate(
        "[...document.querySelectorAll('#matrix figure[data-figure^=matrix] svg')].flatMap(svg => {"
        " const texts = [...svg.querySelectorAll('text')]"
        " .map(e => [e.textContent, e.getBoundingClientRect()]);"
        " return texts.flatMap(([a, p], at) => texts.slice(at + 1).filter(([b, q]) =>"
        " Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 &&"
        " Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3).map(([b]) => [a, b]))})"
    )
    assert covered == []


@pytest.mark.parametrize("opened", [(1280, "dark")], indirect=True)
def test_charts_fit_a_desktop(opened: Page) -> None:
    hidden = opened.evaluate(
        "[...document.querySelectorAll('#matrix figure .scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))"
    )
    assert hidden == []


@pytest.mark.parametrize("opened", [(390, "light")], indirect=True)
def test_on_a_phone_wide_tables_scroll_in_their_own_box(opened: Page) -> None:
    for box in opened.locator("#matrix .scroll:has(table), #roles .scroll").all():
        assert box.evaluate("e => e.scrollWidth > e.clientWidth")
        assert box.evaluate("e => getComputedStyle(e).overflowX") == "auto"


@phone_and_desk
def test_the_two_ends_of_a_case_fit_side_by_side(opened: Page) -> None:
    for box in opened.locator("#detail .scroll").all():
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth")


@phone_and_desk
def test_every_test_has_bars_in_pairs_for_both_directions(opened: Page) -> None:
    titles = opened.locator("#matrix figure h3").all_inner_texts()
    for test in ("TCP", "UDP 1500", "UDP 60"):
        for direction in ("forward", "reverse"):
            assert f"{test}, {direction}: generated and received" in titles
            assert f"{test}, {direction}: CPU per throughput at both ends" in titles
    chart = opened.locator("#matrix figure", has_text="TCP, forward: generated and received").locator("svg")
    assert chart.locator("text", has_text="bare: generated").first.is_visible()
    assert chart.locator("text", has_text="vxlan: received").first.is_visible()


@phone_and_desk
def test_blocks_of_each_end_are_folded_and_mark_simulated_watts(opened: Page) -> None:
    rows = opened.locator("#detail tbody tr:not(.series)")
    assert rows.count() == 3 * 2 * 2 * 5 * 18
    first_case = opened.locator("#detail tbody").first
    titles = first_case.locator("tr:has(.unmeasured) th").all_inner_texts()
    assert titles == ["Power, W", "Idle power, W", "W/tput, W per Gbit/s"]
    assert first_case.locator(".unmeasured").all_inner_texts() == ["sim"] * 6
    opened.reload()
    assert not rows.first.is_visible()
    opened.locator("#detail summary").first.click()
    assert rows.first.is_visible()
    unfold(opened)


@phone_and_desk
def test_what_limits_each_case_is_said_in_words(opened: Page) -> None:
    said = opened.locator("#scalability h3:has-text('What limits each case') + ul").inner_text()
    assert "TCP: Limited by the receiver's IRQ CPU" in said
    assert "99.9 % busy, 99.9 % soft" in said
