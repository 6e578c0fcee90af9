# SPDX-License-Identifier: Apache-2.0
"""A real Chromium for the tests of pages; they are skipped, with the reason, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, HttpCredentials, Page, expect, sync_playwright
from tests.live_server import Served

from linewatt.features.serve.settings import USER

Scheme = Literal["light", "dark"]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

LIMIT_MS = 120_000
"""for Chromium to do anything, where how soon is not what is tested"""

FOLDER = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; ``LINEWATT_CHROMIUM`` names another.

    Playwright's event loop runs until the end: in this thread, asyncio.run() fails meanwhile.
    """
    named = os.environ.get("LINEWATT_CHROMIUM")
    wanted = (named,) if named else NAMES
    found = next((path for name in wanted if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no {' or '.join(wanted)} on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=ARGUMENTS, timeout=LIMIT_MS)
        expect.set_options(timeout=LIMIT_MS)
        yield started
        started.close()


def credentials(served: Served) -> HttpCredentials:
    """What a browser needs to open pages of a server."""
    return {"username": USER, "password": served.token or ""}


class Shared:
    """One Chromium for all tests of this folder that a process runs in a row: each start takes 0.8 CPU s."""

    def __init__(self) -> None:
        self._browser: Browser | None = None
        self._end = ExitStack()

    def get(self) -> Browser:
        """The running Chromium; another one after a crash."""
        if self._browser is None or not self._browser.is_connected():
            self.end()
            self._browser = self._end.enter_context(chromium())
        return self._browser

    def end(self) -> None:
        self._browser = None
        self._end.close()


_shared = Shared()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Each user opens contexts of its own, which share no cookie, storage or cache, and closes them."""
    started = _shared.get()
    yield started
    left_open = len(started.contexts)
    for context in started.contexts:
        context.close()
    assert left_open == 0, "tests of this module left contexts open"


@pytest.hookimpl(trylast=True)  # after the fixtures of this folder have ended
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End Chromium, and with it Playwright's event loop, before tests of other folders."""
    if nextitem is None or FOLDER not in nextitem.path.parents:
        _shared.end()


def pytest_sessionfinish() -> None:
    """End Chromium also after a run that stopped early."""
    _shared.end()


@dataclass
class Opened:
    """A page and what happened since its file was opened."""

    page: Page
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def look(self, scheme: Scheme = "light", width: int = 1280, height: int = 900) -> None:
        """Show the page in another way, without opening it again."""
        self.page.emulate_media(media="null", color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": height})


Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def open_file(browser: Browser) -> Iterator[Open]:
    """Opens a file; all tests of a module do so in one page, for a page of its own costs each a second."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MS)
    page = context.new_page()
    seen = Opened(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.console.append(str(error)))

    def opened(path: Path, scheme: Scheme = "light", width: int = 1280) -> Opened:
        page.goto("about:blank")
        seen.look(scheme, width)
        seen.requests, seen.console = [], []
        page.goto(path.as_uri(), wait_until="load")
        return seen

    yield opened
    context.close()
