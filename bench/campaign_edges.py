# SPDX-License-Identifier: Apache-2.0
"""How long a campaign takes before its first load, and after its last one until the prompt is back.

Run as at a terminal: with the live display, and the table at the end. Without an idle window, which is
measuring time. The end of the load is when its seconds are over. Windows of 1 s, which is too short to look
for steps in, of 2 s and of 10 s, as campaigns have, in turn. Beside the start, also in turn: a Python that
only logs in to both hosts and runs one command there.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.effort import Effort
from bench.rig import lab_of, rig
from bench.rows import Peer, Row, Target
from linewatt.features.lab.api import Lab

ABOUT_S = 150
_WINDOWS = (
    {"omit": 0, "seconds": 1, "tail": 1},
    {"omit": 1, "seconds": 2, "tail": 1},
    {"omit": 2, "seconds": 10, "tail": 1},
)


_LOGIN_LIMIT_S = 60.0
# key, known hosts, and the addresses of the hosts
_LOGIN = """
import asyncio, sys, asyncssh
key, known, *addresses = sys.argv[1:]
async def one(address):
    async with asyncssh.connect(address, username="root", client_keys=[key], known_hosts=known) as host:
        await host.run("true", check=True)
async def every():
    await asyncio.gather(*map(one, addresses))
asyncio.run(every())
"""


def measure(effort: Effort) -> list[Row]:
    """Campaigns of one trial, one after the other, on one lab."""
    windows = effort.of(_WINDOWS, _WINDOWS, _WINDOWS[:1])
    before: dict[int, list[float]] = {window["seconds"]: [] for window in windows}
    after: dict[int, list[float]] = {window["seconds"]: [] for window in windows}
    logins_s: list[float] = []
    with rig() as own, lab_of(2, "2gbit") as lab:
        for _ in range(effort.of(7, 2, 1)):
            logins_s.append(_login_s(lab))
            for window in windows:
                one = own.run_at_terminal(own.campaign(lab.inventory, trials=1, window=window))
                (trial,) = one.trials
                before[window["seconds"]].append(trial.started_s - one.spawned_s)
                after[window["seconds"]].append(one.exited_s - trial.started_s - sum(window.values()))
    login = Peer("Python, a login and a command on both hosts", tuple(logins_s))
    edges = (
        ("campaign start to first load", before, Target(at_most=0.6), login),
        ("last load to prompt", after, Target(at_most=0.12), None),
    )
    return [
        Row(f"{what}, window of {seconds} s", "s", tuple(values), target, peer)
        for what, by_window, target, peer in edges
        for seconds, values in by_window.items()
    ]


def _login_s(lab: Lab) -> float:
    """Wall time of the Python beside it. Raises OSError, subprocess.SubprocessError."""
    own = lab.inventory.parent
    addresses = [host.address for host in lab.hosts]
    argv = [sys.executable, "-c", _LOGIN, str(own / "id_ed25519"), str(own / "known_hosts"), *addresses]
    began_s = time.monotonic()
    subprocess.run(argv, check=True, timeout=_LOGIN_LIMIT_S)
    return time.monotonic() - began_s
