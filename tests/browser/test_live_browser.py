# SPDX-License-Identifier: Apache-2.0
"""The page of a running campaign in a real browser: it goes on by itself, and asks before it stops it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import LIMIT_MS, credentials
from tests.browser.test_accessibility import violations_in_both_looks
from tests.live_runs import CASE, WATTS, Fed, started
from tests.live_server import Served, serving
from tests.report_factories import failed, powered, trial

from linewatt.engine import events
from linewatt.features.serve.settings import Settings, new_token
from linewatt.model import Flag

pytestmark = pytest.mark.browser

ID = "20260101T000000Z-vxlan-cost"
BEGUN = events.Started(ID, f"results/{ID}", 3, 0, 33.0)
DOUBT = Flag("cpu-accounting-disagrees", "h1", "by 9 %", "look")


def now(rate_bps: float | None = 9.01e9) -> events.Throughput:
    return events.Throughput(rate_bps, 28.0, WATTS)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    root = tmp_path_factory.mktemp("live")
    (root / "results" / ID).mkdir(parents=True)
    (root / "results" / ID / "manifest.json").write_text("{}")
    with serving(Settings(root / "results", root / "state", token=new_token())) as made:
        yield made, root


@pytest.fixture
def run(served: tuple[Served, Path]) -> Iterator[Fed]:
    _, root = served
    fed = Fed(root / "state", root / "results" / ID)
    fed.say(BEGUN, started(), now())
    yield fed
    fed.close()


@pytest.fixture(scope="module")
def page(served: tuple[Served, Path], browser: Browser) -> Iterator[Page]:
    """One page for all tests of this file; what it says on its console fails the test that asks."""
    context = browser.new_context(http_credentials=credentials(served[0]))
    context.set_default_timeout(LIMIT_MS)
    made = context.new_page()
    yield made
    context.close()


@pytest.fixture
def shown(served: tuple[Served, Path], run: Fed, page: Page) -> Iterator[Page]:
    """The page of the run, connected; at its end nothing was refused by its content security policy."""
    console: list[str] = []

    def heard(text: str) -> None:
        console.append(text)

    page.on("console", lambda message: heard(message.text))
    page.on("pageerror", lambda error: heard(str(error)))
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{served[0].url}/live/{ID}")
    expect(page.locator("#connection")).to_have_text("Kept up to date.")
    yield page
    assert console == []


@pytest.mark.full
def test_the_list_leads_to_a_run(served: tuple[Served, Path], run: Fed, page: Page) -> None:
    page.goto(f"{served[0].url}/live")
    page.get_by_role("link", name=ID).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ID)


def test_the_page_goes_on_with_the_run_without_being_loaded_again(shown: Page, run: Fed) -> None:
    page = shown
    expect(page.locator("#what")).to_have_text("Trial 1 of 3: tcp, h1 → h2, 4 inst., repetition 1")
    run.say(now(8e9))
    expect(page.locator("#throughput")).to_have_text("8.00 Gbps")
    row = page.locator("#cpu tr", has_text="h2")
    expect(row.locator("td")).to_have_text(["receiver", "134 % of 400 %", "97 %", "41 %"])
    expect(page.locator("#watts li")).to_have_text(
        ["h1: 228.9 W PSU DC out simulated", "h2: 157.2 W PSU AC in"]
    )
    expect(page.locator("#outcome")).to_have_text("")
    for each in (now(None), now(7e9), now(7.5e9)):
        run.say(each)
    expect(page.locator("#throughput")).to_have_text("7.50 Gbps")
    expect(page.locator("#chart text").first).to_have_text(re.compile(r"^\d+ s ago$"))  # its first reading
    course = page.locator("#chart path.course").get_attribute("d") or ""
    assert course.count("M") == 2, f"what was not known is a gap: {course}"
    expect(page.locator("#chart text", has_text="10 Gbps")).to_be_visible()

    done = replace(powered([trial(1, CASE, 9.1e9, 0.5)], provenance="simulated")[0], flags=(DOUBT,))
    run.say(events.TrialStored(done, 3), started(2), events.Warned("h1: answers slowly"))
    expect(page.locator("#rows tr")).to_have_count(1)
    expect(page.locator("#rows")).to_contain_text("9.10 Gbps")
    expect(page.locator("#rows .unmeasured").first).to_have_text("simulated")
    expect(page.locator("#progress")).to_have_text("1 of 3 trials stored")
    expect(page.locator("#findings li")).to_have_count(2)
    expect(page.locator("#findings li").first).to_have_text("Warning: h1: answers slowly")
    expect(page.locator("#outcome")).to_contain_text("Trial 1 of 3, tcp, h1 → h2, 4 inst.: 9.10 Gbps")
    run.say(events.TrialStored(failed(2, CASE, "h2: no route"), 3))
    expect(page.locator("#rows tr").first).to_contain_text("h2: no route")


def test_between_trials_the_page_marks_the_values_of_the_last_trial(shown: Page, run: Fed) -> None:
    page = shown
    run.say(now(8e9))
    expect(page.locator("#throughput")).to_have_text("8.00 Gbps")
    expect(page.locator("#last")).to_be_hidden()
    run.say(events.TrialStored(trial(1, CASE, 9.1e9, 0.5), 3), started(2))
    expect(page.locator("#last")).to_have_text("No current values; these are from the last trial (1 of 3).")
    expect(page.locator("#throughput")).to_have_text("8.00 Gbps")
    expect(page.locator("#cpu tr")).to_have_count(2)
    expect(page.locator("#chart path.last")).to_have_count(1)
    assert violations_in_both_looks(page) == []
    run.say(now(7e9))
    expect(page.locator("#throughput")).to_have_text("7.00 Gbps")
    expect(page.locator("#last")).to_be_hidden()
    expect(page.locator("#chart path.last")).to_have_count(0)


@pytest.mark.full
def test_a_page_that_is_loaded_late_has_what_one_has_that_was_there(shown: Page, run: Fed) -> None:
    page = shown
    run.say(events.TrialStored(trial(1, CASE, 9.1e9, 0.5), 3), started(2), now(8e9), now(6e9))
    expect(page.locator("#throughput")).to_have_text("6.00 Gbps")
    ids = ("progress", "what", "throughput", "cpu", "watts", "findings", "rows")
    there = {name: page.locator(f"#{name}").inner_text() for name in ids}
    page.reload()
    as_loaded = {name: page.locator(f"#{name}").inner_text() for name in ids if name != "cpu"}
    assert as_loaded == {name: text for name, text in there.items() if name != "cpu"}
    expect(page.locator("#connection")).to_have_text("Kept up to date.")
    assert {name: page.locator(f"#{name}").inner_text() for name in ids} == there
    assert (page.locator("#chart path.course").get_attribute("d") or "").count("L") == 2


@pytest.mark.full
def test_at_its_end_the_page_says_how_it_ended_and_links_to_the_result(shown: Page, run: Fed) -> None:
    run.say(events.TrialStored(trial(1, CASE, 9.1e9, 0.5), 3), events.Ended(ID, "x", 1, 0, 2))
    run.end()
    expect(shown.locator("#closed-text")).to_have_text("Ended. 1 of 3 trials are stored.")
    expect(shown.get_by_role("link", name="Its result")).to_have_attribute("href", f"/results/{ID}")
    expect(shown.locator("#outcome")).to_have_text("Ended. 1 of 3 trials are stored.")
    expect(shown.locator("#stop")).to_have_count(0)
    expect(shown.locator("#what")).to_have_text("")


@pytest.mark.full
def test_what_was_told_a_while_ago_is_not_shown_as_of_now(
    served: tuple[Served, Path], run: Fed, browser: Browser
) -> None:
    context = browser.new_context(http_credentials=credentials(served[0]))
    context.set_default_timeout(LIMIT_MS)
    try:
        page = context.new_page()
        page.clock.install(time=0)
        page.goto(f"{served[0].url}/live/{ID}")
        expect(page.locator("#connection")).to_have_text("Kept up to date.")
        page.clock.pause_at(3600)  # s: however long the machine takes, none of it passes for the page
        run.say(now(8e9))
        expect(page.locator("#throughput")).to_have_text("8.00 Gbps")
        page.clock.fast_forward(8000)
        expect(page.locator("#throughput")).to_have_text("–")
        expect(page.locator("#connection")).to_have_text("The run has told nothing for a while.")
        run.say(now(7e9))
        expect(page.locator("#throughput")).to_have_text("7.00 Gbps")
        expect(page.locator("#connection")).to_have_text("Kept up to date.")
        expect(page.locator("#chart text").first).to_have_text("8 s ago")  # its first reading
        course = page.locator("#chart path.course").get_attribute("d") or ""
        assert course.startswith("M92.0 "), f"at the left end of the axis: {course}"
    finally:
        context.close()


@pytest.mark.full
def test_the_button_asks_first_and_can_be_let_alone(shown: Page, run: Fed) -> None:
    shown.get_by_role("button", name="Stop this run …").click()
    dialog = shown.get_by_role("dialog")
    expect(dialog).to_contain_text("Every change to a host is undone")
    expect(dialog).to_contain_text("What is stored stays")
    dialog.get_by_role("button", name="Let it run").click()
    expect(dialog).to_be_hidden()
    run.say(now())
    assert not run.is_over


def test_a_run_is_stopped_by_keys_alone(shown: Page, run: Fed) -> None:
    shown.locator("#stop-ask").focus()
    shown.keyboard.press("Enter")
    dialog = shown.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Let it run")).to_be_focused()
    shown.keyboard.press("Shift+Tab")
    expect(dialog.get_by_role("button", name="Stop this run")).to_be_focused()
    shown.keyboard.press("Enter")
    run.ended()
    assert isinstance(run.outcome, asyncio.CancelledError)
    expect(shown.locator("#closed-text")).to_contain_text(f"Go on with: linewatt resume {ID}")
    expect(dialog).to_be_hidden()
    said = [one.text for one in run.shown if isinstance(one, events.Phase)]
    assert len(said) == 1


@pytest.mark.full
def test_a_run_is_stopped_without_a_script(served: tuple[Served, Path], run: Fed, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, http_credentials=credentials(served[0]))
    context.set_default_timeout(LIMIT_MS)
    try:
        page = context.new_page()
        page.goto(f"{served[0].url}/live/{ID}")
        expect(page.locator("#throughput")).to_have_text("9.01 Gbps")
        page.get_by_role("link", name="Stop this run …").click()
        page.get_by_role("button", name="Stop this run").click()
        run.ended()
    finally:
        context.close()
    assert isinstance(run.outcome, asyncio.CancelledError)


@pytest.mark.full
def test_a_page_that_nobody_sees_keeps_no_connection(shown: Page, run: Fed) -> None:
    assert len(run.broadcast._watching) == 1
    shown.goto("about:blank")
    for _ in range(600):
        if not run.broadcast._watching:
            break
        shown.wait_for_timeout(100)
    assert not run.broadcast._watching


@pytest.mark.full
def test_axe_finds_nothing_serious(shown: Page, run: Fed) -> None:
    done = replace(powered([trial(1, CASE, 9.1e9, 0.5)], provenance="simulated")[0], flags=(DOUBT,))
    run.say(events.TrialStored(done, 3), started(2), now(), events.LeftChanged(("h1: mtu",)))
    expect(shown.locator("#rows tr")).to_have_count(1)
    assert violations_in_both_looks(shown) == []
    shown.get_by_role("button", name="Stop this run …").click()
    assert violations_in_both_looks(shown) == []
