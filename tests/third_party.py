# SPDX-License-Identifier: Apache-2.0
"""A package of somebody else's that adds to linewatt, and commands that see it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

NAME, VERSION = "thirdparty", "3.1"


def install(folder: Path, entry_points: Mapping[str, str], source: str) -> None:
    """A distribution of the module ``thirdparty``; ``entry_points`` are group → ``name = module:object``."""
    (folder / f"{NAME}.py").write_text(source)
    metadata = folder / f"{NAME}-{VERSION}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n")
    sections = [f"[{group}]\n{line}\n" for group, line in entry_points.items()]
    (metadata / "entry_points.txt").write_text("".join(sections))


def linewatt(
    *words: str | Path, path: Path, environment: Mapping[str, str] | None = None, limit_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """A command in a new interpreter that imports packages from ``path``, too."""
    command = [sys.executable, "-c", "from linewatt.cli import program; program()", *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **(environment or {}), "PYTHONPATH": ":".join([str(path), *sys.path])},
        timeout=limit_s,
        check=False,
    )
