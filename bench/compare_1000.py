# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt compare`` of two results of 1,000 cases takes, beside json reading the same files."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.compare_results import CASES, TRIALS, write_pair
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row, Target

ABOUT_S = 100
_REGRESSION = 3
_PARSE = """
import json, pathlib, sys
for root in sys.argv[1:]:
    for path in sorted(pathlib.Path(root, "trials").iterdir()):
        json.loads((path / "trial.json").read_bytes())
"""


def measure(*, quick: bool) -> list[Row]:
    """Each in turn, so that all see the same machine; both read files that are in the page cache."""
    cases = CASES // 10 if quick else CASES
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        pair = [str(path) for path in write_pair(Path(directory), cases)]
        commands = {
            "compare": [*COMMAND, "compare", *pair, "--json"],
            "table": [*COMMAND, "compare", *pair],
            "parse": [sys.executable, "-c", _PARSE, *pair],
        }
        walls: dict[str, list[float]] = {name: [] for name in commands}
        for name, argv in commands.items():  # once before, for the page cache
            _wall_s(name, argv)
        for _ in range(3 if quick else 5):
            for name, argv in commands.items():
                walls[name].append(_wall_s(name, argv))
    peer = Peer("json.loads of the same files", tuple(walls["parse"]))
    what = f"compare of {cases:,} cases × {TRIALS} trials twice"
    return [
        Row(f"{what}, to JSON", "s", tuple(walls["compare"]), Target(at_most=5.0), peer),
        Row(f"{what}, to a table", "s", tuple(walls["table"]), Target(at_most=5.0), peer),
    ]


def _wall_s(name: str, argv: Sequence[str]) -> float:
    began_s = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    wall_s = time.monotonic() - began_s
    if done.returncode != (0 if name == "parse" else _REGRESSION):
        raise MeasurementFailed(f"{name}: status {done.returncode}: {done.stderr.strip()}")
    return wall_s
