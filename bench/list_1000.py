# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt list``, ``history`` and ``sql`` of 1,000 results take. Beside: stat of their files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.compare_1000 import SETTLED_S
from bench.compare_results import write_one
from bench.effort import Effort
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row, Target, of_a_part

ABOUT_S = 90
_RESULTS, _CASES, _TRIALS = 1000, 5, 3
_LOOK = """
import os, sys
for base, folders, files in os.walk(sys.argv[1]):
    for name in files:
        os.stat(os.path.join(base, name))
"""


def measure(effort: Effort) -> list[Row]:
    """In turn; all files are in the page cache."""
    results = effort.of(_RESULTS, _RESULTS // 10, 5)
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory, "results")
        for number in range(results):
            write_one(root / f"20260101-{number:06d}-r", _CASES, _TRIALS, seed=number)
        time.sleep(SETTLED_S)
        options = ["--results", str(root)]
        environment = {**os.environ, "XDG_CACHE_HOME": directory}
        commands = {
            "again": [*COMMAND, "list", "--json", *options],
            "table": [*COMMAND, "list", *options],
            "history": [*COMMAND, "history", *options],
            "sql": [*COMMAND, "sql", "select count(*) from trials", *options],
            "look": [sys.executable, "-c", _LOOK, str(root)],
        }
        first_s = _wall_s(commands["again"], environment)
        _wall_s(commands["history"], environment)
        first_sql_s = _wall_s(commands["sql"], environment)
        walls: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(effort.of(5, 3, 1)):
            for name, argv in commands.items():
                walls[name].append(_wall_s(argv, environment))
    peer = Peer("os.stat of the same files", tuple(walls["look"]))
    what = f"list of {results:,} results of {_CASES * _TRIALS} trials"
    rows = [
        Row(f"{what}, the first time", "s", (first_s,), Target(at_most=3.0), peer),
        Row("– again, to JSON", "s", tuple(walls["again"]), Target(at_most=0.3), peer),
        Row("– again, to a table", "s", tuple(walls["table"]), Target(at_most=0.3), peer),
        Row("history of them", "s", tuple(walls["history"]), Target(at_most=1.0), peer),
        Row("sql, a count of their trials, the first time", "s", (first_sql_s,), Target(at_most=1.0), peer),
        Row("– again", "s", tuple(walls["sql"]), Target(at_most=1.0), peer),
    ]
    return rows if effort is Effort.WHOLE else of_a_part(rows)


def _wall_s(argv: Sequence[str], environment: dict[str, str]) -> float:
    began_s = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, env=environment)
    if done.returncode != 0:
        raise MeasurementFailed(f"{argv[1]}: status {done.returncode}: {done.stderr.strip()}")
    return time.monotonic() - began_s
