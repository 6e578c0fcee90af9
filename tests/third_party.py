# SPDX-License-Identifier: Apache-2.0
"""A package of somebody else's that adds to linewatt, and commands that see it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
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


EACH = """
import contextlib, io, json, sys
from linewatt.cli.entry_point import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["linewatt", *words]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([words, status, out.getvalue(), err.getvalue()]))
"""


def linewatt_each(*commands: Sequence[str], path: Path) -> list[subprocess.CompletedProcess[str]]:
    """Commands one after the other in one new interpreter, whose imports take longer than they do."""
    done = _python("-c", EACH, json.dumps(commands), path=path)
    assert done.returncode == 0, done.stderr
    return [subprocess.CompletedProcess(*json.loads(line)) for line in done.stdout.splitlines()]


def linewatt(
    *words: str | Path, path: Path, environment: Mapping[str, str] | None = None, limit_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """A command in a new interpreter that imports packages from ``path``, too."""
    program = "from linewatt.cli import program; program()"
    return _python("-c", program, *map(str, words), path=path, environment=environment, limit_s=limit_s)


def _python(
    *words: str, path: Path, environment: Mapping[str, str] | None = None, limit_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **(environment or {}), "PYTHONPATH": ":".join([str(path), *sys.path])},
        timeout=limit_s,
        check=False,
    )
