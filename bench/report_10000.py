# SPDX-License-Identifier: Apache-2.0
"""What ``linewatt report`` and ``show --full`` of 10,000 trials cost, beside json reading the same files."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.compare_1000 import PARSE
from bench.compare_results import CASES, TRIALS, write_one
from bench.rig import COMMAND
from bench.rows import Peer, Row, Target
from bench.soak_report import timed

ABOUT_S = 120


def measure(*, quick: bool) -> list[Row]:
    """In turn; the files are in the page cache."""
    cases = CASES // 10 if quick else CASES
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory)
        result = write_one(root / "20260101-000000-base", cases, TRIALS, seed=1)
        page = root / "report.html"
        of_it = [result.name, "--results", directory]
        commands: dict[str, Sequence[str]] = {
            "report": [*COMMAND, "report", *of_it, "-o", str(page)],
            "show": [*COMMAND, "show", *of_it, "--full"],
            "parse": [sys.executable, "-c", PARSE, str(result)],
        }
        environment = {**os.environ, "XDG_CACHE_HOME": directory}
        turns = [
            {name: timed(argv, environment) for name, argv in commands.items()}
            for _ in range(2 if quick else 3)
        ]
        size_mb = page.stat().st_size / 1e6
    cpu = {name: tuple(turn[name][1] for turn in turns) for name in commands}
    memory = tuple(turn["report"][2] for turn in turns)
    peer = Peer("json.loads of the same files", cpu["parse"])
    what = f"{cases * TRIALS:,} trials of {cases:,} cases"
    note = f"a page of {size_mb:.1f} MB"
    return [
        Row(f"report of {what}, CPU", "s", cpu["report"], Target(at_most=6.0), peer, note),
        Row("– most memory of the process", "mib", memory, Target(at_most=286)),
        Row("– show --full of the same, CPU", "s", cpu["show"], Target(at_most=3.0)),
    ]
