# SPDX-License-Identifier: Apache-2.0
"""This interpreter as a program of its own, with the package of another tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

EACH = """
import contextlib, io, json, sys
from linewatt.cli.entry_point import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["linewatt", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main()
        except SystemExit as end:
            assert not end.code, words
    print(json.dumps(out.getvalue()))
"""


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


def outputs_of(
    package_parent: Path, commands: Sequence[Sequence[str]], *, cwd: Path, **environment: str
) -> list[str]:
    """What each command of linewatt printed, all in one process; each must succeed."""
    said = output_of(package_parent, "-c", EACH, json.dumps(commands), cwd=cwd, **environment)
    return [json.loads(line) for line in said.splitlines()]
