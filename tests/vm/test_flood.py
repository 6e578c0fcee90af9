# SPDX-License-Identifier: Apache-2.0
"""A guest whose CPUs are all full of softirqs of a flood keeps its connection, and its trial is stored."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.faults.ground import Ground
from tests.vm.machine import Machine, data_port

from linewatt.features.lab import api as lab
from linewatt.sensors.registry import SENSORS

pytestmark = [pytest.mark.vm, pytest.mark.full]

END_LIMIT_S = 500.0
CPUS = 2
FULL_RATIO = 0.9

# As long as iperf3 runs there each CPU sends itself datagrams: every one is a softirq, and so is the answer
# that nobody listens. $1: CPUs
_ONE = r"""exec 8<> <(:)
while :; do
  for file in /proc/[0-9]*/comm; do
    read -r name <"$file" && [[ $name == iperf3 ]] || continue
    while [[ -e $file ]]; do echo >/dev/udp/127.0.0.1/9; done
  done
  read -r -t 0.3 -u 8
done"""
_FLOOD = r"""for (( cpu = 0; cpu < $1; cpu++ )); do
  setsid taskset -c "$cpu" bash -c "$2" flood </dev/null >/dev/null 2>&1 &
  echo "$!"
done"""


@pytest.fixture
def ground(guests: lab.Lab, tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(guests, tmp_path)
    yield ground
    for command in ground.commands:
        command.process.kill()
        command.process.wait()


@contextmanager
def flooded(machine: Machine) -> Iterator[None]:
    """Every CPU of a guest floods itself in trials: where others have this machine's CPUs, too, the other
    guest alone does not fill them."""
    pids = machine.run(shlex.join(("bash", "-c", _FLOOD, "test", str(CPUS), _ONE))).split()
    try:
        yield
    finally:
        machine.run(f"kill {' '.join(pids)}")


@pytest.mark.parametrize("seconds", [15, pytest.param(60, marks=pytest.mark.thorough)])
def test_a_flood_on_every_cpu_cuts_nothing_and_the_trial_is_stored(ground: Ground, seconds: int) -> None:
    """UDP 60 from h2, whose flows the kernel of h1 deals among its CPUs.

    Loads that begin beside a flood begin seconds apart: so long is the tail.
    """
    campaign = ground.campaign(
        hosts=str(data_port(ground.lab.inventory, ground.tmp, 0)),
        pairs=["h2 -> h1"],
        tests=["udp-60"],
        instances=[2],
        trials=1,
        rate=None,
        placement="none",
        window={"seconds": seconds, "omit": 3, "tail": 6},
        idle={"seconds": 0},
        sensors={name: False for name in SENSORS if name != "mpstat"},
        settings={"rps": "0-1"},
        factors={},
    )
    with flooded(Machine.of(ground.lab.inventory, "h1")):
        run = ground.start("run", campaign, "--json")
        status = run.end(END_LIMIT_S)
    assert status == 0, run.err.read_text()[-2000:]
    (trial,) = [one["trial"] for one in run.events if one["event"] == "trial_stored"]
    assert trial["status"] == "done", trial["reason"]
    assert trial["receiver"]["cpu_cores"] > FULL_RATIO * CPUS
    assert [one["text"] for one in run.events if one["event"] == "warned" and "lost" in one["text"]] == []
