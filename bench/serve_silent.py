# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt serve`` takes to answer while 400 other connections send no request."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from tests.live_server import Served
from tests.silent_clients import Outcome, outnumbered

from bench.compare_results import write_one
from bench.effort import Effort
from bench.rows import MeasurementFailed, Row, Target, of_a_part, quantile
from bench.serve_1000 import server_over

ABOUT_S = 90
SILENT, HONEST = 400, 100
_RESULTS, _CASES, _TRIALS = 10, 5, 3
_LONGEST_P99_S = 1.0


def measure(effort: Effort) -> list[Row]:
    """A quarter of the time without silent connections first, for comparison."""
    duration_s = effort.of(60.0, 15.0, 2.0)
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory, "results")
        for number in range(_RESULTS):
            write_one(root / f"20260101-{number:06d}-r", _CASES, _TRIALS, seed=number)
        with server_over(root, {**os.environ, "XDG_CACHE_HOME": directory}) as server:
            status, _, _ = server.ask("/list.json")  # all results are read then
            if status != 200:
                raise MeasurementFailed(f"/list.json: status {status}")
            alone = _answered(server, 0, duration_s / 4)
            crowded = _answered(server, SILENT, duration_s)
    what = f"answer to one of {HONEST} clients beside {SILENT} silent connections, over {duration_s:g} s"
    rows = [
        Row(f"{what}: p99", "s", (quantile(crowded.answers_s, 0.99),), Target(at_most=_LONGEST_P99_S)),
        Row("– median", "s", (quantile(crowded.answers_s, 0.5),)),
        Row("– without silent connections: p99", "s", (quantile(alone.answers_s, 0.99),)),
        Row("– requests, all answered", "count", (len(crowded.answers_s),)),
        Row("– silent connections opened, again when closed", "count", (crowded.silent_connections,)),
    ]
    return rows if effort is Effort.WHOLE else of_a_part(rows)


def _answered(server: Served, silent: int, duration_s: float) -> Outcome:
    """Raises MeasurementFailed if a request is not answered."""
    outcome = asyncio.run(
        outnumbered(
            server.port,
            ("/", "/list.json", "/static/web.css", "/live"),
            server.authorization,
            silent=silent,
            honest=HONEST,
            duration_s=duration_s,
        )
    )
    if outcome.failures:
        raise MeasurementFailed(
            f"{len(outcome.failures)} of {len(outcome.answers_s)} requests failed; the first: "
            f"{outcome.failures[0]}"
        )
    return outcome
