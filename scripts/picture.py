# SPDX-License-Identifier: Apache-2.0
"""``make picture``: the picture of README.md, the demo's report as a browser first shows it. Needs root."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from linewatt.report.printing.pdf import find_browser

PICTURE = Path(__file__).parents[1] / "docs/pictures/report.png"
WIDTH, HEIGHT = 1200, 820
"""pixels; wider than what a forge shows of it"""


def main() -> int:
    """Run the demo and take the picture; the exit status is the demo's."""
    with tempfile.TemporaryDirectory(prefix="linewatt-picture-") as directory:
        page = Path(directory, "report.html")
        argv = [str(Path(sys.executable).with_name("linewatt")), "demo", "-o", str(page)]
        status = subprocess.run([*argv, "--results", directory], check=False).returncode
        if page.exists():
            take(page, PICTURE)
    return status


def take(page: Path, picture: Path) -> None:
    """What Chromium shows of a page above the fold, as PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        view = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        view.goto(page.as_uri(), wait_until="networkidle")
        view.screenshot(path=picture)
        chromium.close()


if __name__ == "__main__":
    sys.exit(main())
