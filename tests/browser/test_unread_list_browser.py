# SPDX-License-Identifier: Apache-2.0
"""The list of results in a real browser while they are read: whole at once, and filled in where it stands."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import LIMIT_MS
from tests.browser.test_accessibility import violations_in_both_looks
from tests.live_server import Served, serving
from tests.report_factories import result, scaling_trials, stored

from linewatt.features.serve.settings import Settings
from linewatt.report import listing
from linewatt.report.listing import Listed

pytestmark = pytest.mark.browser
LIMIT_S = 20.0
FIRST_S = 1_767_225_600.0
"""2026-01-01 00:00 UTC, as in the id"""
OLDEST, MIDDLE, NEWEST = (f"2026010{day}-000000-night" for day in (1, 2, 3))


class Gate:
    """Lets a server read results when the test says so; the first one is the newest."""

    def __init__(self) -> None:
        self.newest, self.all = threading.Event(), threading.Event()

    def wait(self, path: Path) -> None:
        event = self.newest if path.name == NEWEST else self.all
        assert event.wait(LIMIT_S)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.newest.set()
    gate.all.set()


@pytest.fixture
def served(tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server over three results that has read none of them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read_row = listing.kept

    def gated(path: Path) -> Listed:
        gate.wait(path)
        return read_row(path)

    monkeypatch.setattr(listing, "kept", gated)
    for at, result_id in enumerate((OLDEST, MIDDLE, NEWEST)):
        night = result(scaling_trials((1, 2), 1), id=result_id, created_s=FIRST_S + 86_400 * at)
        stored(tmp_path / "results", night)
    with serving(Settings(tmp_path / "results", tmp_path / "state")) as server:
        yield server


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    context.set_default_timeout(LIMIT_MS)
    yield context.new_page()
    context.close()


def test_rows_are_filled_in_where_they_stand(served: Served, gate: Gate, page: Page) -> None:
    page.goto(served.url)
    rows = page.locator("table.results tbody tr:not(.said)")
    expect(rows).to_have_count(3)
    expect(page.locator(".reading")).to_have_count(3)
    expect(page.get_by_role("status").first).to_contain_text("figures of 3 are still being read")
    region = page.get_by_role("region", name="Results")
    page.get_by_label(f"Compare {MIDDLE}", exact=True).check()
    region.evaluate("part => { part.scrollLeft = 40; }")

    gate.newest.set()
    expect(page.get_by_role("status").first).to_contain_text("figures of 2 are still being read")
    expect(page.locator(".reading")).to_have_count(2)
    expect(rows.first).to_contain_text("Gbps")
    assert region.evaluate("part => part.scrollLeft") == 40, "the list stays where it was scrolled to"
    expect(page.get_by_label(f"Compare {MIDDLE}", exact=True)).to_be_checked()
    expect(page.get_by_label(f"Compare {MIDDLE}", exact=True)).to_be_focused()

    gate.all.set()
    expect(page.get_by_role("status").first).to_have_text("3 results.")
    expect(page.locator(".reading")).to_have_count(0)
    expect(page.get_by_label(f"Compare {MIDDLE}", exact=True)).to_be_checked()


def test_axe_finds_nothing_serious_while_results_are_read(served: Served, gate: Gate, page: Page) -> None:
    gate.newest.set()
    page.goto(served.url)
    expect(page.locator(".reading")).to_have_count(2)
    assert violations_in_both_looks(page) == []


@pytest.mark.full
def test_without_scripts_a_link_loads_the_list_again(served: Served, gate: Gate, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(LIMIT_MS)
    try:
        page = context.new_page()
        page.goto(served.url)
        expect(page.get_by_role("link", name=OLDEST)).to_be_visible()
        gate.newest.set()
        gate.all.set()
        page.goto(f"{served.url}/list.json")  # waits until all are read
        page.goto(served.url)
        expect(page.locator(".reading")).to_have_count(0)
    finally:
        context.close()
