# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser, from a file, in both colour schemes, wide, on a phone, and printed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Open, Opened, Scheme
from tests.compare_factories import courses_of_sides, made, runs, side
from tests.report_factories import (
    DISAGREE,
    HOSTILE,
    demo_trials,
    failed,
    host,
    idle_reading,
    level_trials,
    powered,
    renumbered,
    result,
    scaling_trials,
    trial,
    watts,
)

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.features.history import page as history_page
from linewatt.features.history.report import History
from linewatt.model import Case
from linewatt.report.printing import html
from linewatt.report.trials.digest import digest_of
from linewatt.store.read import Result

pytestmark = pytest.mark.browser

SCHEMES: tuple[Scheme, ...] = ("light", "dark")
NAME_CELLS = """() => document.querySelectorAll("th[data-key]").forEach(head =>
    head.closest("table").querySelectorAll("tbody tr").forEach(row => {
        const cell = row.cells[head.cellIndex]
        if (cell && cell.tagName === "TD") cell.dataset.key = head.dataset.key
    }))"""
"""so that tests find cells by the key of their column"""


@pytest.fixture
def open_report(open_file: Open, tmp_path: Path) -> Open:
    """Write a result's report and open it as a file."""

    def opened(made: Result, scheme: Scheme = "light", width: int = 1280) -> Opened:
        path = tmp_path / "report.html"
        html.write_page(path, demo_page() if made is demo() else html.render_html(digest_of(made)))
        return open_file(path, scheme, width)

    return opened


@cache
def demo() -> Result:
    hosts = {name: host(name, lab="demo", shares_cpus_with=["h1", "h2"]) for name in ("h1", "h2")}
    return result(demo_trials(), name="demo", hosts=hosts)


@cache
def demo_page() -> str:
    return html.render_html(digest_of(demo()))


def brightness(page: Page, selector: str, what: str) -> float:
    """0 (black) … 255 of a computed colour."""
    colour: str = page.locator(selector).first.evaluate(
        "(element, what) => getComputedStyle(element)[what]", what
    )
    parts = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


def test_a_report_opens_offline_stands_out_in_both_colour_schemes_and_fits_any_width(
    open_report: Open,
) -> None:
    seen = open_report(demo())
    assert [url.partition(":")[0] for url in seen.requests] == ["file"]
    assert seen.page.title() == "demo – linewatt report"
    for scheme in SCHEMES:
        seen.look(scheme)
        ground = brightness(seen.page, "body", "backgroundColor")
        assert (ground > 200) == (scheme == "light")
        for selector, what in (("body", "color"), ("svg text", "fill"), ("td", "color"), (".flag", "color")):
            apart = abs(brightness(seen.page, selector, what) - ground)
            assert apart > 100, (scheme, selector, apart)
    seen.page.evaluate(NAME_CELLS)
    charts = seen.page.locator("svg")
    cells = seen.page.locator("table.numbers td[data-key=throughput_bps_mean]")
    assert charts.count() == 6
    assert cells.count() == 5
    for width in (320, 390, 768, 1280, 1920):
        seen.look(width=width)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        if width not in (390, 1280):
            continue
        for index in range(charts.count()):
            box = charts.nth(index).bounding_box()
            assert box is not None
            assert box["width"] > 300
            assert box["height"] > 60
        assert all(cells.nth(index).is_visible() for index in range(5))
        assert "79.96" in cells.nth(2).inner_text()
    assert seen.console == []


@pytest.mark.full
def test_tables_and_charts_fit_a_desktop(open_report: Open) -> None:
    flags = tuple(replace(DISAGREE, code=code) for code in ("one", "two", "three", "four"))
    case = Case("udp-1500", "h1", "h2")
    udp = [
        trial(1, replace(case, instances=n), n * 4e8, 1.0, flags=flags * 4) for n in (1, 2) for _ in range(3)
    ]
    page = open_report(result(renumbered(demo_trials()[:9], udp))).page
    hidden = page.evaluate(
        "[...document.querySelectorAll('.scroll')]"
        ".filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.getAttribute('aria-label'))"
    )
    assert hidden == []


SHADOWS = """() => [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => getComputedStyle(e).backgroundAttachment)"""


@pytest.mark.full
def test_on_a_phone_a_shadow_says_that_a_table_goes_on(open_report: Open) -> None:
    page = open_report(demo(), width=390).page
    shadows = page.evaluate(SHADOWS)
    assert len(shadows) >= 3
    assert set(shadows) == {"local, local, scroll, scroll"}


@pytest.mark.full
def test_on_a_phone_a_history_begins_at_its_newest_result(open_file: Open, tmp_path: Path) -> None:
    sides = [side(f"r{day}", made("r", runs(seed=day), day=day)) for day in range(1, 15)]
    path = tmp_path / "history.html"
    html.write_page(path, history_page.render(History(courses_of_sides(sides, THROUGHPUT), len(sides))))
    page = open_file(path, width=390).page
    boxes = [page.locator(selector).bounding_box() for selector in ("figure .scroll", "figure svg")]
    ends = [box["x"] + box["width"] for box in boxes if box is not None]
    assert ends[0] == pytest.approx(ends[1], abs=1), "the right end of the chart is in view"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@cache
def simulated_power() -> Result:
    idle = {"h2": idle_reading(watts("psu-out:PSU1", 180.0, provenance="simulated"))}
    trials = powered(scaling_trials(), provenance="simulated", ends=("receiver", "sender"))
    return result(trials, idle=idle)


@pytest.mark.full
def test_the_power_section_fits(open_report: Open) -> None:
    seen = open_report(simulated_power())
    assert seen.console == []
    for width in (390, 1280):
        seen.look(width=width)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    hidden = seen.page.evaluate(
        "[...document.querySelectorAll('#power .scroll')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))"
    )
    assert hidden == [], "on a desktop"


@pytest.mark.full
def test_simulated_watts_are_called_so_in_words_that_can_be_seen(open_report: Open) -> None:
    seen = open_report(simulated_power())
    page = seen.page
    page.evaluate(NAME_CELLS)
    cells = page.locator("#power td[data-key^='receiver_']")
    assert cells.count() == 55
    marks = cells.locator(".unmeasured").all_inner_texts()
    assert marks == ["sim"] * 55
    assert cells.first.locator(".unmeasured").is_visible()
    assert page.locator("#power caption").first.inner_text().endswith("simulated")
    for chart in page.locator("#power svg").all():
        assert chart.locator("text", has_text="simulated").first.is_visible()
    for scheme in SCHEMES:
        seen.look(scheme)
        ink = brightness(page, "#power td .unmeasured", "color")
        assert abs(ink - brightness(page, "body", "background-color")) > 100, scheme


@pytest.mark.full
def test_chart_labels_stay_inside_the_page(open_report: Open) -> None:
    page = open_report(demo()).page
    outside = page.evaluate(
        "[...document.querySelectorAll('svg text')].filter(e => {const b = e.getBoundingClientRect();"
        " return b.left < 0 || b.right > innerWidth}).map(e => e.textContent)"
    )
    assert outside == []


@pytest.mark.full
def test_flag_marks_lead_to_their_flag(open_report: Open) -> None:
    page = open_report(demo()).page
    page.locator("td a.mark").first.click()
    assert page.url.endswith("#finding-a")
    flag = page.locator("#finding-a")
    assert DISAGREE.evidence in flag.inner_text()
    assert DISAGREE.advice in flag.inner_text()


@pytest.mark.full
def test_every_trial_opens_on_request(open_report: Open) -> None:
    page = open_report(demo()).page
    first = page.locator("table.trials tbody tr").first
    assert not first.is_visible()
    page.get_by_text("15 trials", exact=True).click()
    assert first.is_visible()


@pytest.mark.full
def test_the_first_tab_stop_skips_to_the_results(open_report: Open) -> None:
    page = open_report(demo()).page
    page.keyboard.press("Tab")
    link = page.locator(".skip")
    box = link.bounding_box()
    assert link.evaluate("element => element === document.activeElement")
    assert box is not None
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "results"


def test_print_is_light_and_shows_every_trial(open_report: Open) -> None:
    page = open_report(demo(), "dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page, "body", "color") < 100
    assert not page.locator("nav").is_visible()
    assert page.locator("table.trials tbody tr").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_hostile_names_run_nothing(open_report: Open) -> None:
    bad = replace(DISAGREE, code=HOSTILE, evidence=f'"><img src=x onerror=alert(1)>{HOSTILE}')
    trials = scaling_trials((1, 2), 1, sender=HOSTILE)
    made = result([replace(each, flags=(bad,)) for each in trials], name=HOSTILE, campaign_text=HOSTILE)
    seen = open_report(made)
    assert seen.console == []
    assert len(seen.requests) == 1
    assert seen.page.locator("script, img").count() == 0
    assert seen.page.locator("h1").inner_text() == HOSTILE


@pytest.mark.full
def test_a_matrix_of_many_hosts_stays_in_the_page(open_report: Open) -> None:
    pairs = [scaling_trials((1, 2, 4), 1, sender=f"a-rather-long-host-name-{n:02d}") for n in range(8)]
    page = open_report(result(renumbered(*pairs))).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.locator("figure.wide svg").count() >= 2


@pytest.mark.full
def test_a_result_of_failures_only_is_a_page_of_reasons(open_report: Open) -> None:
    seen = open_report(result([failed(1, Case("tcp", "h1", "h2"), "h2: no route to host")], planned=3))
    assert seen.console == []
    assert seen.page.locator("svg").count() == 0
    assert "h2: no route to host" in seen.page.locator("#failed").inner_text()


@cache
def graduated() -> Result:
    cases = [Case("tcp", "h1", "h2", instances=count) for count in (1, 2)]
    made = [level_trials(case, provenance="simulated", met={0.5: 0.9}) for case in cases]
    return result(renumbered(*made), name="levels")


@pytest.mark.full
def test_load_levels_have_a_table_and_two_charts_with_words_for_them(open_report: Open) -> None:
    seen = open_report(graduated())
    page = seen.page
    assert page.locator("#levels table").count() == 2
    charts = page.locator("#levels figure svg")
    assert charts.count() == 2
    for at, says in enumerate(("active idle", "10 % 5.263 Mbps/W")[::-1]):
        assert "simulated" in (charts.nth(at).locator("> title").text_content() or "")
        assert says in (charts.nth(at).locator("> desc").text_content() or "")
        assert charts.nth(at).get_attribute("role") == "img"
    for scheme, width in product(SCHEMES, (390, 1280)):
        seen.look(scheme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for at in range(2):
            box = charts.nth(at).bounding_box()
            assert box is not None
            assert box["width"] > 300
    assert seen.console == []


@pytest.mark.full
def test_load_levels_stand_out_in_both_colour_schemes(open_report: Open) -> None:
    seen = open_report(graduated())
    page = seen.page
    for scheme in SCHEMES:
        seen.look(scheme)
        ground = brightness(page, "body", "backgroundColor")
        for selector, what in (
            ("#levels svg text", "fill"),
            ("#levels .doubt", "color"),
            ("#levels tr.score th", "color"),
        ):
            assert abs(brightness(page, selector, what) - ground) > 60, (scheme, selector)
        hollow = page.locator("#levels svg path[fill*=ground]").first
        inside = hollow.evaluate("element => getComputedStyle(element).fill")
        seen_through = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert inside == seen_through, scheme


@pytest.mark.full
def test_the_line_on_load_levels_leads_to_them(open_report: Open) -> None:
    page = open_report(graduated()).page
    page.locator("#scalability .elsewhere a").click()
    assert page.url.endswith("#levels")
    assert page.locator("#scalability tbody tr:not(details *)").count() == 2


@pytest.mark.full
def test_columns_that_few_need_are_one_click_away_and_printed(open_report: Open) -> None:
    page = open_report(graduated()).page
    column = page.locator("#scalability th", has_text="at 3 GHz")
    assert not column.is_visible()
    page.locator("#scalability summary", has_text="More columns").click()
    assert column.is_visible()
    page.reload()
    page.emulate_media(media="print")
    assert column.is_visible()
