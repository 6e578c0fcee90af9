# SPDX-License-Identifier: Apache-2.0
"""iperf3 as one runs it by hand: the same argument lists in the same namespaces, and no linewatt anywhere."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.rows import MeasurementFailed
from linewatt.features.lab.processes import listens
from linewatt.store import raw
from linewatt.store.write import RAW_FOLDER, trial_dir

_LISTEN_LIMIT_S = 5.0
_LOOK_S = 0.002
_EDGE_S = 0.05
"""iperf3's intervals end some milliseconds late, and later with each; they are at least 200 ms long"""


@dataclass(frozen=True, slots=True)
class Commands:
    """The two argument lists of one instance, and the namespaces they run in."""

    server: tuple[str, ...]
    client: tuple[str, ...]
    server_namespace: str
    client_namespace: str

    @property
    def port(self) -> int:
        return int(self.client[self.client.index("--port") + 1])

    @property
    def seconds(self) -> float:
        return float(self.client[self.client.index("--time") + 1])


@dataclass(frozen=True, slots=True)
class Run:
    """What a run by hand gave: its receiver's document, and the client's wall time."""

    received: dict[str, Any]
    wall_s: float


def commands_of(result: Path, namespaces: Mapping[str, str], trial: int = 1) -> Commands:
    """What linewatt ran in a trial of a result, word by word; ``namespaces`` by host."""
    listed = json.loads(raw.raw_texts(trial_dir(result, trial) / RAW_FOLDER)["commands.json"])
    (server,) = [one for one in listed if "--server" in one["argv"]]
    (client,) = [one for one in listed if "--client" in one["argv"]]
    return Commands(
        tuple(server["argv"]),
        tuple(client["argv"]),
        namespaces[server["host"]],
        namespaces[client["host"]],
    )


def run(commands: Commands) -> Run:
    """One test, its server listening before the client starts. Raises MeasurementFailed."""
    limit_s = commands.seconds + 15
    with ExitStack() as stack:
        server = _entered(stack, commands.server_namespace, commands.server)
        wait_listening(server, commands.port)
        began_s = time.monotonic()
        client = _entered(stack, commands.client_namespace, commands.client)
        sent, _ = client.communicate(timeout=limit_s)
        wall_s = time.monotonic() - began_s
        received, _ = server.communicate(timeout=limit_s)
    for text in (sent, received):
        if "error" in json.loads(text):
            raise MeasurementFailed(f"iperf3 by hand: {json.loads(text)['error']}")
    return Run(json.loads(received), wall_s)


def run_at_once(every: Sequence[Commands]) -> None:
    """Many tests at the same time, as a script does it: all servers, then one client after the other."""
    with ExitStack() as stack:
        servers = [_entered(stack, one.server_namespace, one.server) for one in every]
        for one, server in zip(every, servers, strict=True):
            wait_listening(server, one.port)
        clients = [_entered(stack, one.client_namespace, one.client) for one in every]
        for process, one in zip((*clients, *servers), (*every, *every), strict=True):
            process.communicate(timeout=one.seconds + 15)


def _entered(stack: ExitStack, namespace: str, argv: Sequence[str]) -> subprocess.Popen[str]:
    process = stack.enter_context(_started(namespace, argv))
    stack.callback(process.kill)
    return process


def _started(namespace: str, argv: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["ip", "netns", "exec", namespace, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def wait_listening(server: subprocess.Popen[Any], port: int) -> None:
    """``ip netns exec`` replaces itself by the command, so the server has the id of the child."""
    deadline = time.monotonic() + _LISTEN_LIMIT_S
    while not listens(server.pid, port):
        if server.poll() is not None or time.monotonic() > deadline:
            raise MeasurementFailed(f"iperf3 by hand does not listen on port {port}")
        time.sleep(_LOOK_S)


def throughput_bps(document: dict[str, Any], omit_s: float, seconds: float) -> float:
    """What the receiver got from ``omit_s`` on for ``seconds``: the sum of its own intervals there."""
    inside = [
        interval["sum"]
        for interval in document["intervals"]
        if interval["sum"]["start"] >= omit_s - _EDGE_S
        and interval["sum"]["end"] <= omit_s + seconds + _EDGE_S
    ]
    covered_s = sum(part["end"] - part["start"] for part in inside)
    if covered_s < 0.9 * seconds:
        raise MeasurementFailed(f"iperf3 by hand: its intervals cover {covered_s:.2f} s of {seconds:g} s")
    return float(8 * sum(part["bytes"] for part in inside) / covered_s)
