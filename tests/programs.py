# SPDX-License-Identifier: Apache-2.0
"""This interpreter as a program of its own, with the package of another tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def python(
    package_parent: Path, *words: str | Path, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end; ``package_parent`` is the folder that has the package ``linewatt``."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(package_parent), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def output_of(package_parent: Path, *words: str | Path, cwd: Path, **environment: str) -> str:
    """What it printed; it must succeed."""
    ended = python(package_parent, *words, cwd=cwd, **environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
