# SPDX-License-Identifier: Apache-2.0
"""A real Chromium for the tests of pages; they are skipped, with the reason, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

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

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")  # its event loop runs as long, and no other test can have its own
def browser() -> Iterator[Browser]:
    """The system's Chromium; ``LINEWATT_CHROMIUM`` names another."""
    named = os.environ.get("LINEWATT_CHROMIUM")
    wanted = (named,) if named else NAMES
    found = next((path for name in wanted if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no {' or '.join(wanted)} on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=ARGUMENTS, timeout=LIMIT_MS)
        yield started
        started.close()


@dataclass
class Opened:
    """A page and what happened since its file was opened."""

    page: Page
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)


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
        page.emulate_media(media="null", color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        seen.requests, seen.console = [], []
        page.goto(path.as_uri(), wait_until="load")
        return seen

    yield opened
    context.close()
