# SPDX-License-Identifier: Apache-2.0
"""What a host shows during a trial: its threads and its settings, in one question to the real bash."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linewatt.engine.live.readback import read_back
from linewatt.errors import HostLost
from linewatt.hosts.base import Completed, HostSpec
from linewatt.hosts.local import LocalHost
from linewatt.tuning.registry import TUNING_KNOBS


class Host(LocalHost):
    """This machine, and how often it was asked."""

    def __init__(self) -> None:
        super().__init__(HostSpec("here", "local", "lo"))
        self.asked = 0

    async def run(self, argv: Sequence[str], **options: Any) -> Completed:
        self.asked += 1
        return await super().run(argv, **options)


class Lost(Host):
    async def run(self, argv: Sequence[str], **options: Any) -> Completed:
        raise HostLost("here: the SSH connection ended")


SETTINGS = [("mtu", "lo", "9"), ("rps_cpus", "lo", "rx-0=0"), ("sysctl", "no.such.key", "1")]


def test_threads_and_settings_are_read_in_one_go() -> None:
    host = Host()
    found = asyncio.run(read_back(host, [os.getpid(), 2**22 + 1], SETTINGS, TUNING_KNOBS))
    assert host.asked == 1
    assert found.problem is None
    own = {thread.tid: thread for thread in found.of(os.getpid())}
    assert set(own[os.getpid()].allowed) == os.sched_getaffinity(0)
    mtu, steering, missing = found.settings
    assert (mtu.wanted, mtu.problem) == ("9", None)
    assert (mtu.found or "").split("/")[0] == Path("/sys/class/net/lo/mtu").read_text().strip()
    assert (steering.found or "").startswith("rx-0=")
    assert missing.found is None
    assert "here: cannot read sysctl no.such.key" in (missing.problem or "")


def test_a_host_that_is_lost_gives_no_number_and_says_why() -> None:
    found = asyncio.run(read_back(Lost(), [1], SETTINGS, TUNING_KNOBS))
    assert found.threads == ()
    assert found.problem == "here: the SSH connection ended"
    assert [one.found for one in found.settings] == [None] * 3
    assert {one.problem for one in found.settings} == {found.problem}


def test_a_target_that_cannot_be_is_a_problem_of_the_answer() -> None:
    found = asyncio.run(read_back(Host(), [1], [("sysctl", "-a", "1")], TUNING_KNOBS))
    assert found.problem is not None
    assert "here: sysctl -a: '-a' is not a key" in found.problem
