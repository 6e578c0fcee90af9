# SPDX-License-Identifier: Apache-2.0
"""The files that pages of docs/studies show: campaigns and inventories."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "studies"
_FILE = re.compile(
    r"^```(?:yaml\n(?=name: (?P<campaign>\S+)\n)|ini\n# (?P<file>\S+)\n)(?P<text>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


def files_of(page: str) -> dict[str, str]:
    """File name → text: campaigns have the name in their first line, inventories that of their comment."""
    return {found["file"] or f"{found['campaign']}.yaml": found["text"] for found in _FILE.finditer(page)}


def write_files(folder: Path) -> None:
    """Write the files of all pages, as a reader of all of them would."""
    for page in sorted(FOLDER.glob("*.md")):
        for name, text in files_of(page.read_text(encoding="utf-8")).items():
            (folder / name).write_text(text, encoding="utf-8")
