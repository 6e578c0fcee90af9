# SPDX-License-Identifier: Apache-2.0
"""How long ``linewatt --help`` and ``plan`` of 1,000 and 10,000 cases take, beside Python doing nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.effort import Effort
from bench.rig import COMMAND, rig
from bench.rows import MeasurementFailed, Peer, Row, Target

ABOUT_S = 15
_CASES = 1000
_MOST = 10_000
"""what a campaign may have"""


def measure(effort: Effort) -> list[Row]:
    """Each in turn, so that all see the same machine."""
    commands = {"python": [sys.executable, "-c", "pass"], "help": [*COMMAND, "--help"]}
    walls: dict[str, list[float]] = {"python": [], "help": [], "plan": [], "most": []}
    with rig() as own:
        for name, cases in (("plan", _CASES), ("most", _MOST)):
            plan = [*COMMAND, "plan", str(_big_campaign(own.directory, cases))]
            _check_cases([*plan, "--json"], cases)
            commands[name] = plan
        for _ in range(effort.of(7, 3, 1)):
            for name, argv in commands.items():
                walls[name].append(_wall_s(argv))
    peer = Peer("python -c pass", tuple(walls["python"]))
    return [
        Row("linewatt --help", "s", tuple(walls["help"]), Target(at_most=0.25), peer),
        Row(f"linewatt plan of {_CASES} cases", "s", tuple(walls["plan"]), Target(at_most=1.0), peer),
        Row(f"linewatt plan of {_MOST:,} cases", "s", tuple(walls["most"]), Target(at_most=1.5), peer),
    ]


def _big_campaign(directory: Path, cases: int) -> Path:
    """2 tests × 25 instance counts × 10 or 100 stream counts × 2 directions, ten trials each."""
    host = {"data": "eth1", "app_cpus": "0-7", "irq_cpus": "8-15"}
    document = {
        "name": "thousand",
        "hosts": {name: {"address": address, **host} for name, address in _ADDRESSES.items()},
        "tests": ["tcp", "udp-1500"],
        "instances": list(range(1, 26)),
        "streams": list(range(1, 1 + cases // 100)),
        "directions": ["forward", "reverse"],
    }
    path = directory / f"{cases}.yaml"
    path.write_text(json.dumps(document, indent=1))
    return path


_ADDRESSES = {"gen": "192.0.2.11", "dut": "192.0.2.10"}


def _check_cases(argv: Sequence[str], cases: int) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MeasurementFailed(f"linewatt plan: {done.stderr.strip()}")
    found = len(json.loads(done.stdout)["cases"])
    if found != cases:
        raise MeasurementFailed(f"the campaign has {found} cases, not {cases}")


def _wall_s(argv: Sequence[str]) -> float:
    began_s = time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - began_s
