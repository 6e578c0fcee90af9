# SPDX-License-Identifier: Apache-2.0
"""What it costs a Chromium to open a page from a file, and to scroll through it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page

_WATCH = """
window.seen = {tasks_ms: [], answer_ms: null};
new PerformanceObserver(found => found.getEntries().forEach(task => seen.tasks_ms.push(task.duration)))
    .observe({type: "longtask", buffered: true});
const look = () => requestAnimationFrame(() => document.querySelector(".answer")
    ? setTimeout(() => seen.answer_ms = performance.now()) : look());
look();
"""
_NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"


@dataclass(frozen=True, slots=True)
class Opening:
    """From the navigation on: until the answer was painted, until all was loaded, and the page's own CPU.

    ``longest_task_s`` is the longest time for which nothing else, no scrolling, was possible; 0: under 50 ms.
    """

    answer_s: float
    loaded_s: float
    cpu_s: float
    longest_task_s: float
    nodes: int


class Visit:
    """A page while it is open."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self.page = page
        self._session = session
        session.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU time; else it is wall time

    def open(self, path: Path) -> Opening:
        """Open a file to its end."""
        before_s = self.cpu_s()
        self.page.add_init_script(_WATCH)
        self.page.goto(path.as_uri(), wait_until="load", timeout=60_000)
        self.page.wait_for_function("seen.answer_ms !== null", timeout=60_000)
        loaded_ms = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        return Opening(
            self.page.evaluate("seen.answer_ms") / 1e3,
            self.page.evaluate(loaded_ms) / 1e3,
            self.cpu_s() - before_s,
            self.longest_task_s(),
            self.page.evaluate("document.querySelectorAll('*').length"),
        )

    def scroll_through(self, stops: int) -> Iterator[int]:
        """The top of the window at each of some places down to the page's end, once it is painted there."""
        for at in range(1, stops + 1):
            part = f"(document.documentElement.scrollHeight - innerHeight) * {at / stops}"
            self.page.evaluate(f"scrollTo({{top: {part}, behavior: 'instant'}})")
            self.page.evaluate(_NEXT_FRAME)
            yield int(self.page.evaluate("Math.round(scrollY)"))

    def cpu_s(self) -> float:
        """CPU of the page's main thread until now: its tasks."""
        found = self._session.send("Performance.getMetrics")["metrics"]
        return next(float(one["value"]) for one in found if one["name"] == "TaskDuration")

    def longest_task_s(self) -> float:
        return max(self.page.evaluate("seen.tasks_ms"), default=0.0) / 1e3


@contextmanager
def visit(browser: Browser) -> Iterator[Visit]:
    """A page of its own, with nothing cached."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    try:
        yield Visit(page, context.new_cdp_session(page))
    finally:
        context.close()


def opening(browser: Browser, path: Path) -> Opening:
    """What one opening of a page took."""
    with visit(browser) as visited:
        return visited.open(path)
