# SPDX-License-Identifier: Apache-2.0
"""What a campaign asks of its hosts: how many commands, and how many processes these are there."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass

import pytest
from tests import forked
from tests.lab.test_campaign import Bench, bench, end

__all__ = ["bench"]
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
    one, three = cost(bench, 1), cost(bench, 3)
    assert one.commands <= 18
    assert three.commands - one.commands <= 2 * 3
    assert one.processes <= 200, "136, and what sensors start in each second that a busy machine takes longer"
