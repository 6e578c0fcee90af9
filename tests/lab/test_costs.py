# SPDX-License-Identifier: Apache-2.0
"""What a campaign asks of its hosts: how many commands, and how many processes these are there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.lab.test_campaign import HANG_LIMIT_S, Bench, end

pytestmark = pytest.mark.lab


class Counting(forked.Forked):
    """A command that writes down to whom it sends each command over SSH."""

    before = """
import asyncssh, os
send = asyncssh.SSHClientConnection.create_process
async def sent(self, *argv, **more):
    with open(os.environ["COUNTED"], "a") as file:
        print(self.get_extra_info("peername")[0], file=file)
    return await send(self, *argv, **more)
asyncssh.SSHClientConnection.create_process = sent
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """On the host that has more of it."""

    commands: int
    processes: int


@pytest.fixture
def bench(lab2: Any, tmp_path: Path) -> Iterator[Bench]:
    """With BMCs: reading them asks nothing of the hosts."""
    one = Bench(lab2, tmp_path)
    yield one
    one.until_nothing_runs()


def last_pids(bench: Bench) -> list[int]:
    """Of each host, which has process ids of its own: what was started between two looks is the rest."""
    looks = [bench.inside(number, "sh", "-c", "echo $$") for number in (1, 2)]
    return [int(subprocess.run(look, capture_output=True, check=True).stdout) for look in looks]


def cost(bench: Bench, trials: int) -> Cost:
    counted = bench.tmp / f"counted-{trials}"
    bench.environment["COUNTED"] = str(counted)
    before = last_pids(bench)
    end(bench.start("run", bench.campaign(trials=trials), kind=Counting), 0)
    bench.until_nothing_runs()
    processes = [now - then - 1 for then, now in zip(before, last_pids(bench), strict=True)]
    return Cost(max(Counter(counted.read_text().split()).values()), max(processes))


def test_a_short_campaign_sends_few_commands_and_a_trial_adds_few(bench: Bench) -> None:
    """Each is a round trip, a fork of sshd and a shell on a host whose CPUs are being measured."""
    one, two = cost(bench, 1), cost(bench, 2)
    assert one.commands <= 15
    assert two.commands - one.commands <= 3
    assert one.processes <= 186, "122, and what sensors start in each second that a busy machine takes longer"


IMPORTS = """
import os, sys, time
said = open(os.environ["IMPORTED"], "w", buffering=1)
class Asked:
    @staticmethod
    def find_spec(name, path=None, target=None):
        said.write(f"{time.time()} {name}\\n")
sys.meta_path.insert(0, Asked)
from linewatt.cli import program
from linewatt.cli import answer_imports as later
later.OF_THE_ANSWER = tuple(f"slow_{number}" for number in range(80)) + later.OF_THE_ANSWER
program()
"""


def test_nothing_is_imported_while_a_load_runs_or_hosts_are_idle(bench: Bench) -> None:
    """This machine may be one of the hosts. Only looks for modules count: what is there is not looked for."""
    told = bench.tmp / "imported"
    for number in range(80):  # more than there is time for before the first load
        (bench.tmp / f"slow_{number}.py").write_text("import time\ntime.sleep(0.1)\n")
    file = bench.campaign(trials=2, idle={"seconds": 1})
    command = [sys.executable, "-c", IMPORTS, *bench.words("run", file)]
    environment = bench.environment | {"IMPORTED": str(told), "PYTHONPATH": str(bench.tmp)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=HANG_LIMIT_S)
    imported = [(float(when), name) for when, name in (line.split() for line in told.open())]
    started_s, load_s = [trial["started_s"] for trial in bench.trials()], 2.0
    windows = [(one, one + load_s) for one in started_s]
    for path in bench.result.glob("idle*.json"):
        window = json.loads(path.read_text())["window"]
        windows.append((window["start_s"], window["end_s"]))
    assert len(windows) == 4, "two trials, and idle before and after them"
    assert [one for one in imported for start_s, end_s in windows if start_s <= one[0] <= end_s] == []
    before = {name for when, name in imported if when < min(started_s)}
    assert {"duckdb", "linewatt.engine.measuring.measure"} <= before
    assert any(name.startswith("slow") for _, name in imported)
    assert not any(name == "slow_79" for _, name in imported), "nobody waits for what is only wanted"
