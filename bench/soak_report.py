# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt report`` of a soak of 48 hours takes (96 hosts, 100 million rows), and its memory.

Beside it DuckDB alone, which only adds up one column of the same files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bench.effort import Effort
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row, Target, of_a_part
from bench.soak_result import CHANNELS, CHUNK_S, HOSTS, write_result

ABOUT_S = 480
HOURS = 48
_ROOM_BYTES = 2 << 30
_LIMIT_S = 600
_ADD_UP = """
import duckdb, sys
database = duckdb.connect(":memory:", config={"memory_limit": "1GB"})
database.execute("SELECT sum(value) FROM read_parquet(?)", [sys.argv[1]]).fetchall()
"""


def measure(effort: Effort) -> list[Row]:
    """Made once, in a folder that is removed; files are in the page cache where there is room for them."""
    seconds = HOURS * 3600 // effort.of(1, 20, 500) // CHUNK_S * CHUNK_S
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory)
        if shutil.disk_usage(root).free < _ROOM_BYTES:
            raise MeasurementFailed(f"{root}: 2 GiB of room are needed; set TMPDIR to another disk")
        result = write_result(root, seconds)
        files = f"{result}/soak/part-001/*.parquet"
        size = sum(path.stat().st_size for path in (result / "soak" / "part-001").iterdir())
        report = [*COMMAND, "report", result.name, "--results", directory, "-o", str(root / "soak.html")]
        show = [*COMMAND, "show", result.name, "--results", directory, "--json"]
        alone = [sys.executable, "-c", _ADD_UP, files]
        found = [(timed(report), timed(alone), timed(show)) for _ in range(effort.of(3, 2, 1))]
    rows = HOSTS * len(CHANNELS) * seconds
    peer = Peer("DuckDB, a sum of the same files", tuple(by_hand[0] for _, by_hand, _ in found))
    what = f"of a soak of {rows / 1e6:,.1f} million rows"
    note = f"{seconds // CHUNK_S:,} chunks, {size / 1e6:,.0f} MB"
    measured = [
        Row(f"report {what}", "s", tuple(one[0] for one, _, _ in found), Target(at_most=30.0), peer, note),
        Row("– CPU", "s", tuple(one[1] for one, _, _ in found)),
        Row(
            "– most memory of the process", "mib", tuple(one[2] for one, _, _ in found), Target(at_most=2048)
        ),
        Row("– show --json of the same", "s", tuple(one[0] for _, _, one in found), Target(at_most=30.0)),
    ]
    return measured if effort is Effort.WHOLE else of_a_part(measured)


def timed(
    argv: Sequence[str], environment: Mapping[str, str] | None = None, *, ends_with: Collection[int] = (0,)
) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and greatest resident set (MiB) of a command that ends with one of these."""
    began_s = time.monotonic()
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        limit = threading.Timer(_LIMIT_S, process.kill)
        limit.start()
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.monotonic() - began_s
    if process.returncode not in ends_with:
        raise MeasurementFailed(f"{argv[-1]}: status {process.returncode}: {said.strip()}")
    return wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
