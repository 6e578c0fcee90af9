# SPDX-License-Identifier: Apache-2.0
"""A real campaign in a real browser, which is stopped for a while and then stops the run."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.conftest import LIMIT_MS, chromium, credentials
from tests.lab.test_campaign import CHANGES, HANG_LIMIT_S, LONG, Bench, await_event, bench
from tests.lab.test_live_lab import served

pytestmark = [pytest.mark.lab, pytest.mark.browser, pytest.mark.full]
__all__ = ["bench"]

TRIALS = 12
"""more than run before the button is found"""
RUNS = rf"Trial (\d+) of {TRIALS}: tcp, h1 → h2"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with this module: other tests of labs have event loops of their own."""
    with chromium() as started:
        yield started


def of_this_browser() -> list[int]:
    """Processes of Chromium that this one started, at any depth."""
    parents, names = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, _, rest = path.read_text().partition(" (")[2].rpartition(") ")
            parents[int(path.parent.name)], names[int(path.parent.name)] = int(rest.split()[1]), name
    found = {os.getpid()}
    for _ in parents:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            break
        found |= more
    return [pid for pid in found if names.get(pid, "").startswith("chrom")]


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Processes that run no further meanwhile."""
    _tell(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _tell(pids, signal.SIGCONT)


def _tell(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a browser ends helpers that it no longer needs
            os.kill(pid, what)


def test_a_browser_that_stood_still_comes_back_to_the_present_and_stops_the_run(
    bench: Bench, browser: Browser
) -> None:
    before = bench.settings("net.ipv4.tcp_rmem")
    process = bench.start("run", bench.campaign(trials=TRIALS, window=LONG, **CHANGES))
    with served(bench) as web:
        context = browser.new_context(http_credentials=credentials(web))
        context.set_default_timeout(LIMIT_MS)
        name = await_event(process, "started")["id"]
        page = context.new_page()
        page.goto(f"{web.url}/live/{name}")
        expect(page.locator("#throughput")).to_have_text(re.compile("Mbps"))
        expect(page.locator("#cpu tr")).to_have_count(2)
        expect(page.locator("#what")).to_have_text(re.compile(RUNS))
        found = re.match(RUNS, page.locator("#what").inner_text())
        assert found is not None
        number, pids = int(found[1]), of_this_browser()
        assert pids
        with stopped(pids):
            await_event(process, "trial_started", number + 1)
            for _ in range(2):
                await_event(process, "throughput")
        expect(page.locator(f'#rows th:text-is("{number}")')).to_be_visible()
        page.get_by_role("button", name="Stop this run …").click()
        page.get_by_role("dialog").get_by_role("button", name="Stop this run").click()
        expect(page.locator("#closed-text")).to_contain_text(f"Go on with: linewatt resume {name}")
        expect(page.get_by_role("link", name="Its result")).to_have_attribute("href", f"/results/{name}")
        out, err = process.communicate(timeout=HANG_LIMIT_S)
    context.close()
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    assert bench.settings("net.ipv4.tcp_rmem") == before
    bench.until_nothing_runs()
    stored = bench.trials()
    assert number <= len(stored) < TRIALS
    assert [one["status"] for one in stored] == ["done"] * len(stored)
