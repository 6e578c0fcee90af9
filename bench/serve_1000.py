# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt serve`` takes to list 1,000 results, and the weight of its page."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live_server import Served

from bench.compare_1000 import SETTLED_S
from bench.compare_results import write_one
from bench.effort import Effort
from bench.rig import COMMAND
from bench.rows import MeasurementFailed, Peer, Row, Target, of_a_part

ABOUT_S = 100
_RESULTS, _CASES, _TRIALS = 1000, 5, 3
_START_S = 60.0
_READ_S = 300.0


def measure(effort: Effort) -> list[Row]:
    """All files are in the page cache, and what was made of results is kept."""
    results = effort.of(_RESULTS, _RESULTS // 10, 5)
    requests = effort.of(10, 3, 1)
    with tempfile.TemporaryDirectory(prefix="linewatt-bench-") as directory:
        root = Path(directory, "results")
        for number in range(results):
            write_one(root / f"20260101-{number:06d}-r", _CASES, _TRIALS, seed=number)
        time.sleep(SETTLED_S)
        environment = {**os.environ, "XDG_CACHE_HOME": directory}
        listing = [*COMMAND, "list", "--json", "--results", str(root)]
        with server_over(root, environment) as served:
            first_s, _ = _get(served, "/")
            _until_read(served)
        command_s = [_run(listing, environment) for _ in range(3)]
        with server_over(root, environment) as served:
            begun_s, _ = _get(served, "/")
            _until_read(served)
            plain = [_apart(served, "/") for _ in range(requests)]
            sorted_s = [_apart(served, "/?sort=best&page=5")[0] for _ in range(requests)]
            weight = _weight(served)
    peer = Peer("linewatt list --json of the same, kept", tuple(command_s))
    what = f"list of {results:,} results of {_CASES * _TRIALS} trials, over HTTP"
    rows = [
        Row(what, "s", tuple(seconds for seconds, _ in plain), Target(at_most=0.5), peer),
        Row("– sorted, a later page", "s", tuple(sorted_s), Target(at_most=0.5), peer),
        Row("– the first request of a new server", "s", (begun_s,), Target(at_most=0.5), peer),
        Row("– the first request, when nothing was ever read", "s", (first_s,), Target(at_most=0.5), peer),
        Row("– weight of the first page with all that it loads, kB", "count", (weight / 1000,), Target(300)),
    ]
    return rows if effort is Effort.WHOLE else of_a_part(rows)


@contextmanager
def server_over(root: Path, environment: dict[str, str]) -> Iterator[Served]:
    """A server over results."""
    argv = [*COMMAND, "serve", "--port", "0", "--results", str(root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            served = Served.at(line.strip())
            if served is None:
                raise MeasurementFailed(f"serve: did not say where it listens: {line!r}")
            yield served
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(_START_S)


def _get(served: Served, path: str) -> tuple[float, bytes]:
    """Seconds of one request with a connection of its own, and its body as it is sent."""
    began_s = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=_READ_S)
    connection.request("GET", path, headers={"accept-encoding": "gzip", **served.authorization})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise MeasurementFailed(f"{path}: status {answer.status}")
    return time.monotonic() - began_s, body


def _apart(served: Served, path: str) -> tuple[float, bytes]:
    """A request so long after the one before that results are looked at again."""
    time.sleep(1.1)
    return _get(served, path)


def _until_read(served: Served) -> None:
    """Wait for every result to be read."""
    _get(served, "/list.json")


def _weight(served: Served) -> int:
    """Bytes of the first page and what it loads, as they are sent."""
    import gzip

    body = _get(served, "/")[1]
    text = gzip.decompress(body).decode()
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', text)
    return len(body) + sum(len(_get(served, url)[1]) for url in loaded)


def _run(argv: list[str], environment: dict[str, str]) -> float:
    began_s = time.monotonic()
    subprocess.run(argv, check=True, capture_output=True, timeout=_READ_S, env=environment)
    return time.monotonic() - began_s
