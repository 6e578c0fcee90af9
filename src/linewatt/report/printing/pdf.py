# SPDX-License-Identifier: Apache-2.0
"""A page as PDF, printed by a Chromium of this machine without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from linewatt.errors import InvalidInput, StoreError
from linewatt.foreign import last_line

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIMIT_S = 180
_ARGUMENTS = (
    *("--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--no-pdf-header-footer",
)


def find_browser() -> str:
    """The browser that prints. Raises InvalidInput where there is none."""
    named = os.environ.get("LINEWATT_CHROMIUM")
    program_names = (named,) if named else NAMES
    program = next((path for name in program_names if (path := shutil.which(name))), None)
    if program is None:
        raise InvalidInput(
            f"--format pdf: needs a Chromium, and there is no {' or '.join(program_names)} here; "
            f"install your "
            "distribution's chromium, or print the HTML report from any browser"
        )
    return program


def print_pdf(page: str, program: str) -> bytes:
    """The page on paper, with all that is folded opened. Raises StoreError."""
    with tempfile.TemporaryDirectory(prefix="linewatt-pdf-") as directory:
        source, target = Path(directory, "page.html"), Path(directory, "page.pdf")
        source.write_text(page.replace("<details>", "<details open>"), encoding="utf-8")
        # a browser's sandbox does not work for root; the page is linewatt's own and runs no script
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        switches = [f"--user-data-dir={directory}/profile", f"--print-to-pdf={target}", source.as_uri()]
        try:
            done = subprocess.run(
                [program, *_ARGUMENTS, *sandbox, *switches],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StoreError(f"{program}: waited {LIMIT_S} s for the PDF") from error
        except OSError as error:
            raise StoreError(f"{program}: cannot be started: {error.strerror}") from error
        pdf_bytes = target.read_bytes() if target.is_file() else b""
        if not pdf_bytes.startswith(b"%PDF"):
            complaint = last_line(done.stderr.decode(errors="replace"), "it said nothing")
            raise StoreError(f"{program}: printed no PDF (status {done.returncode}): {complaint}")
        return pdf_bytes
