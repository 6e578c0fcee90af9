# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt compare`` of two results of 1,000 cases takes, beside json reading the same files.

The first time each trial is read; again, what was kept of them is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.compare_results import CASES, TRIALS, write_pair
from bench.effort import Effort
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row, Target, of_a_part

ABOUT_S = 100
_REGRESSION = 3
SETTLED_S = 2.5
"""before that linewatt takes no file for unchanged"""
PARSE = """
import json, pathlib, sys
for root in sys.argv[1:]:
    for path in sorted(pathlib.Path(root, "trials").iterdir()):
        json.loads((path / "trial.json").read_bytes())
"""


def measure(effort: Effort) -> list[Row]:
    """Each in turn, so that all see the same machine; both read files that are in the page cache."""
    cases = effort.of(CASES, CASES // 10, 5)
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        pair = [str(path) for path in write_pair(Path(directory), cases)]
        commands = {
            "compare": [*COMMAND, "compare", *pair, "--json"],
            "table": [*COMMAND, "compare", *pair],
            "parse": [sys.executable, "-c", PARSE, *pair],
        }
        walls: dict[str, list[float]] = {name: [] for name in commands}
        environment = {**os.environ, "XDG_CACHE_HOME": directory}
        _wall_s("parse", commands["parse"], environment)  # for the page cache
        time.sleep(SETTLED_S)
        first_s = _wall_s("compare", commands["compare"], environment)
        for _ in range(effort.of(5, 3, 1)):
            for name, argv in commands.items():
                walls[name].append(_wall_s(name, argv, environment))
    peer = Peer("json.loads of the same files", tuple(walls["parse"]))
    what = f"compare of {cases:,} cases × {TRIALS} trials twice"
    rows = [
        Row(f"{what}, the first time", "s", (first_s,), None, peer),
        Row("– again, to JSON", "s", tuple(walls["compare"]), Target(at_most=2.0), peer),
        Row("– again, to a table", "s", tuple(walls["table"]), Target(at_most=2.0), peer),
    ]
    return rows if effort is Effort.WHOLE else of_a_part(rows)


def _wall_s(name: str, argv: Sequence[str], environment: dict[str, str]) -> float:
    began_s = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, env=environment)
    wall_s = time.monotonic() - began_s
    if done.returncode != (0 if name == "parse" else _REGRESSION):
        raise MeasurementFailed(f"{name}: status {done.returncode}: {done.stderr.strip()}")
    return wall_s
