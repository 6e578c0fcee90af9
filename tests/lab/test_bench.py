# SPDX-License-Identifier: Apache-2.0
"""The bench still runs: the least of its measurements, of which none is judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import USUAL_SMOKE

ROOT = Path(__file__).parents[2]
LIMIT_S = 300


@pytest.mark.lab
def test_the_least_of_the_bench_comes_to_results_without_a_verdict(tmp_path: Path) -> None:
    written = tmp_path / "bench.json"
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--smoke", "--json", str(written)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(written.read_text())
    assert document["effort"] == "smoke"
    assert [one["measurement"] for one in document["measurements"]] == list(USUAL_SMOKE)
    rows = [row for one in document["measurements"] for row in one["rows"]]
    assert len(rows) >= 10
    assert {row["verdict"] for row in rows} == {""}
