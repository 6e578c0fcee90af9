# SPDX-License-Identifier: Apache-2.0
"""A real Chromium for the tests of pages; they are skipped, with the reason, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


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
        started = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield started
        started.close()
