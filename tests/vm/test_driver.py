# SPDX-License-Identifier: Apache-2.0
"""A campaign over a real NIC driver: what it sets, as the field's tools show it, and how it is put back.

These are the tests on guests that ``make test`` runs. The guests are small, because their boot takes most of
the time.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.faults.ground import Command, Ground
from tests.lab.conftest import _reason
from tests.lab.test_lab import output
from tests.vm.conftest import _show_logs
from tests.vm.machine import Machine
from tests.vm.moments import HOSTS, until
from tests.vm.test_guests import _bytes

from linewatt.features.lab import api as lab
from linewatt.features.lab import processes
from linewatt.features.lab.api import Guest, Nic
from linewatt.features.lab.guests.tools import why_no_guests
from linewatt.features.lab.state import ROOT
from linewatt.sensors.registry import SENSORS

pytestmark = pytest.mark.vm

SMALL_PAIR = tuple(Guest(nics=(Nic("e1000e"),), cpus=cpus, memory_mib=512) for cpus in (1, 2))
TRIAL_LIMIT_S = 300.0
END_LIMIT_S = 300.0
SETTINGS = {"rings": "rx=512", "coalescing": "rx-usecs=100", "irq_affinity": "0"}
PAUSE = ["rx=on tx=on", "rx=off tx=off"]
"""as the driver has it, and what the driver accepts and ignores"""

# Rings, coalescing and pause frames of data0; then the CPUs of the interrupts of its queues
_LOOK = r"""for letter in g c a; do ethtool -$letter data0; done
while read -r number rest; do
  [[ $rest == *data0-* ]] && read -r cpus <"/proc/irq/${number%:}/smp_affinity_list" && echo "irq $cpus"
done </proc/interrupts; true"""


@pytest.fixture(scope="module")
def pair() -> Iterator[lab.Lab]:
    """h1 with one CPU, h2 with two."""
    if reason := _reason() or why_no_guests():
        pytest.skip(reason)
    name = f"t{os.getpid()}-vd"
    try:
        yield lab.up(lab.LabRequest(name=name, rate="1gbit", guests=SMALL_PAIR))
    finally:
        _show_logs(ROOT / name)
        lab.down(name)


@pytest.fixture
def ground(pair: lab.Lab, tmp_path: Path) -> Iterator[Ground]:
    ground = Ground(pair, tmp_path)
    yield ground
    for command in ground.commands:
        command.process.kill()
        command.process.wait()


def on_both(one: lab.Lab, command: str) -> dict[str, str]:
    machines = [Machine.of(one.inventory, name) for name in HOSTS]
    with ThreadPoolExecutor(len(machines)) as pool:
        return dict(zip(HOSTS, pool.map(lambda machine: machine.run(command), machines), strict=True))


def has_begun(run: Command, trial: int) -> bool:
    assert run.process.poll() is None, run.err.read_text()[-2000:]
    return any(one["event"] == "trial_started" and one["number"] == trial for one in run.events)


def test_a_driver_has_the_settings_of_a_campaign_in_its_trial_and_the_old_ones_afterwards(
    pair: lab.Lab, ground: Ground
) -> None:
    """The second trial wants pause frames off: the driver accepts that without an effect, which linewatt sees
    when it reads them back."""
    look = partial(on_both, pair, shlex.join(("bash", "-c", _LOOK)))
    before = look()
    campaign = ground.campaign(
        trials=1,
        rate="5M",
        window={"seconds": 1.5, "omit": 0.5, "tail": 4},  # guests that wait for a CPU begin seconds apart
        idle={"seconds": 0},
        sensors={name: False for name in SENSORS if name not in ("mpstat", "interrupts")},
        settings=SETTINGS,
        factors={"pause": PAUSE},
    )
    run = ground.start("run", campaign, "--json")
    until(partial(has_begun, run, 1), TRIAL_LIMIT_S, f"waited {TRIAL_LIMIT_S:g} s for the first trial")
    run.process.send_signal(signal.SIGSTOP)  # so that the trial is not over before the look is
    during = look()
    run.process.send_signal(signal.SIGCONT)
    status = run.end(END_LIMIT_S)
    assert status == 1, run.err.read_text()
    assert before["h2"].endswith("irq 0-1"), before["h2"]
    for host in HOSTS:
        rings, coalescing = r"Current hardware settings:\nRX:\t+(\d+)\n", r"\nrx-usecs:\s+(\d+)\n"
        assert re.findall(rings, during[host]) == ["512"] != re.findall(rings, before[host])
        assert re.findall(coalescing, during[host]) == ["100"] != re.findall(coalescing, before[host])
        assert set(re.findall(r"^irq (.*)$", during[host], re.MULTILINE)) == {"0"}
    set_trial, ignored_trial = (one["trial"] for one in run.events if one["event"] == "trial_stored")
    assert set_trial["status"] == "done", set_trial["reason"]
    assert ignored_trial["status"] == "failed"
    assert "without complaint but still reads 'autoneg=on rx=on tx=on'" in ignored_trial["reason"]
    assert look() == before
    assert list((ground.store / "state" / "journal").iterdir()) == [], "nothing is left to restore"


@contextmanager
def feeder_held(one: lab.Lab) -> Iterator[None]:
    """What feeds the BMCs is stopped, so that two readings one after the other are of one value."""
    inside = set(processes._identities(one.namespaces).values())
    commands = {pid: _bytes(Path(f"/proc/{pid}/cmdline")) for pid, _ in processes._inside(inside)}
    (feeder,) = (pid for pid, command in commands.items() if b"linewatt.features.lab.feeder" in command)
    os.kill(feeder, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(feeder, signal.SIGCONT)


def test_a_bmc_says_in_band_what_it_says_over_the_network(pair: lab.Lab) -> None:
    if pair.no_bmc is not None or shutil.which("ipmitool") is None:
        pytest.skip("BMCs need ipmi_sim and ipmitool")
    h1 = Machine.of(pair.inventory, "h1")
    h1.run("for _ in $(seq 600); do [ ! -e /dev/ipmi0 ] || exit 0; sleep 0.1; done; exit 1")
    words = ("sensor", "reading", "PSU1 Power In", "CPU_Power", "FAN1")
    password = str(pair.inventory.parent / "bmc.password")
    asked = ("-H", pair.hosts[0].bmc_address, "-U", "admin", "-f", password)
    with feeder_held(pair):
        in_band = h1.run(shlex.join(("ipmitool", *words)))
        over_lan = output("ipmitool", "-I", "lanplus", "-C", "3", *asked, *words)
    assert in_band == over_lan
    assert len(in_band.splitlines()) == 3
