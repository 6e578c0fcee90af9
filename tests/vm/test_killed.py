# SPDX-License-Identifier: Apache-2.0
"""The controller killed at moments of an experiment on real drivers, ``restore``, and all is as before.

What bare tools show of both guests is compared: links, addresses, routes, queueing, everything of ethtool,
interrupts, CPUs, kernel parameters, TuneD, irqbalance. ``--killed-seed`` draws the same moments again.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.faults import hosts
from tests.faults.ground import Ground, wait_until
from tests.faults.moment import clear
from tests.vm.conftest import LARGE
from tests.vm.machine import Machine, data_port, with_systemd
from tests.vm.moments import HOSTS, Moment, Position, half_restored, moments, strike, watching

from linewatt.features.lab import api as lab
from linewatt.features.lab.api import Guest, Nic
from linewatt.hosts.facts.cpulist import parse_cpulist
from linewatt.sensors.registry import SENSORS

pytestmark = [pytest.mark.vm, pytest.mark.full]

SETTLES_S = 60.0
"""for links to be up again, and addresses to be tried (RFC 4862, 5.4)"""
PHASES = 10
LOAD_S = 20.0
"""for a guest without KVM to be asked twice whether its load runs"""
PAIR = (Guest(nics=(Nic("e1000e"), Nic("virtio-net-pci", queues=2)), cpus=4), LARGE)

COMMON: dict[str, Any] = {
    "trials": 1,
    "rate": "5M",
    "window": {"seconds": 1, "omit": 0.5, "tail": 0.5},
    "idle": {"seconds": 0},
    "sensors": dict.fromkeys(SENSORS, False),  # they only read, and cost a guest without KVM its time
}
SETTINGS = {
    "mtu": 1400,
    "gro": "off",
    "irq_affinity": "1",
    "netem": "delay 2ms",
    "sysctl": {"net.ipv4.tcp_rmem": "4096 131072 7340032"},
}
SERVICES = {"tuned": "network-latency", "irqbalance": "stopped", "cpus_online": "0-1"}
OFFLINE = {2, 3}
"""meanwhile the kernel moves interrupts that go nowhere else; where irqbalance runs, it places them anew"""
BY_PORT: Mapping[int, dict[str, Any]] = {
    0: {
        "settings": {**SETTINGS, **SERVICES, "coalescing": "rx-usecs=100", "pause": "off"},
        "factors": {"rings": ["rx=512", "rx=1024"]},
    },
    1: {"settings": {**SETTINGS, **SERVICES, "channels": "1"}, "factors": {"rings": ["rx=128", "rx=64"]}},
}
"""e1000e has the one, virtio the other"""
PLAIN = {"settings": SETTINGS, "factors": {"rings": ["rx=512", "rx=256"]}}
TRIALS = 2

# Behind what the tests of faults look at
_MORE = r"""
say sysctl -a
cd /proc/irq && echo "== interrupts" && grep . [0-9]*/smp_affinity_list
echo "== cpus"; cat /sys/devices/system/cpu/online
if [ -d /run/systemd/system ]; then
  echo "== tuned"; tuned-adm active; cat /etc/tuned/active_profile /etc/tuned/profile_mode; echo
  echo "== irqbalance"; systemctl is-active irqbalance; pgrep -c -x irqbalance
fi
echo "== loads"; pgrep -l -x 'iperf3|mpstat'
exit 0"""
_BY_ITSELF = re.compile(r"kernel\.(random\.|perf_|ns_last_pid|pty\.nr)|fs\.(dentry|inode|file)-")
"""kernel parameters that are none; the kernel lowers how often perf samples where an interrupt took long"""


@dataclass
class Experiment:
    """Two guests, and how they were found."""

    ground: Ground
    inventory: Path
    machines: tuple[Machine, ...]
    watched: tuple[Machine, ...]
    """the same without systemd, whose namespace of processes hides locks that those who have ended took"""
    found: Mapping[str, str]

    def campaign(self, port: int, keys: Mapping[str, Any], moment: Moment) -> Path:
        """On one of the data ports, in a VLAN of it."""
        inventory = data_port(self.inventory, self.ground.tmp, port)
        networks = [{"name": "vlan", "hosts": {name: vlan(name, port) for name in HOSTS}}]
        longer = {"window": {**COMMON["window"], "seconds": LOAD_S}} if moment.loaded else {}
        return self.ground.campaign(hosts=str(inventory), networks=networks, **{**COMMON, **keys, **longer})

    def changed(self) -> list[str]:
        """What is no longer as it was found, once links are up."""
        left: list[str] = []

        def as_found() -> bool:
            left[:] = hosts.changed(self._of_nobody(self.found), self._of_nobody(state(self.machines)))
            return not left

        wait_until(as_found, SETTLES_S)
        return left

    def _of_nobody(self, shown: Mapping[str, str]) -> dict[str, str]:
        """Without the interrupts that are irqbalance's to place, once the CPUs that they went to are back."""
        return {
            name: "\n".join(line for line in text.splitlines() if _number(line) not in self._placed(name))
            for name, text in shown.items()
        }

    def _placed(self, section: str) -> set[str]:
        host, _, of = section.partition(": ")
        if of != "interrupts" or not self.found.get(f"{host}: irqbalance", "").startswith("active"):
            return set()
        lines = self.found[section].splitlines()
        return {_number(line) for line in lines if {*parse_cpulist(line.rpartition(":")[2])} <= OFFLINE}


def _number(line: str) -> str:
    """Of ``24/smp_affinity_list:2-3``."""
    return line.partition("/")[0]


def vlan(name: str, port: int) -> dict[str, Any]:
    base, own = f"data{port}", f"198.18.205.{HOSTS.index(name) + 1}"
    address = {"enabled": True, "address": [{"ip": own, "prefix-length": 24}]}
    tagged = {"id": 5, "base-iface": base}
    return {
        "interfaces": [{"name": f"{base}.5", "type": "vlan", "state": "up", "vlan": tagged, "ipv4": address}]
    }


def state(machines: Sequence[Machine]) -> dict[str, str]:
    """``HOST: SECTION`` → what bare tools show, of all hosts at once."""
    shown = on_all(machines, shlex.join(("bash", "-c", hosts.LOOK + _MORE, "look", "data0", "data1")))
    return {
        f"{machine.name}: {name}": "\n".join(line for line in text.splitlines() if not _BY_ITSELF.match(line))
        for machine, whole in zip(machines, shown, strict=True)
        for name, text in hosts.sections(whole).items()
    }


def on_all(machines: Sequence[Machine], command: str) -> list[str]:
    with ThreadPoolExecutor(len(machines)) as pool:
        return list(pool.map(lambda machine: machine.run(command), machines))


def found_on(machines: Sequence[Machine]) -> dict[str, str]:
    """How guests are found: twice the same, with all modules of the kernel that the campaigns will load."""
    on_all(machines, "modprobe -a 8021q sch_netem")
    seen = [state(machines)]

    def steady() -> bool:
        seen.append(state(machines))
        return seen[-1] == seen[-2] and not any("NO-CARRIER" in text for text in seen[-1].values())

    steadily = wait_until(steady, SETTLES_S)
    assert steadily, f"waited {SETTLES_S:g} s for guests at rest to stay as they are; {_last(seen)}"
    return seen[-1]


def _last(seen: Sequence[Mapping[str, str]]) -> list[str]:
    return hosts.changed(seen[-2], seen[-1])


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    asked = request.config.getoption("--killed-seed", default=None)
    return random.SystemRandom().getrandbits(32) if asked is None else int(asked)


@pytest.fixture(scope="module")
def experiment(guests: lab.Lab, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """The guests of all tests, as they are."""
    machines = tuple(Machine.of(guests.inventory, name) for name in HOSTS)
    ground = Ground(guests, tmp_path_factory.mktemp("killed"))
    return Experiment(ground, guests.inventory, machines, machines, found_on(machines))


@pytest.fixture(scope="module")
def with_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    """Two guests with systemd, where TuneD and irqbalance run."""
    if missing := [tool for tool in ("tuned-adm", "irqbalance", "systemctl") if shutil.which(tool) is None]:
        pytest.skip(f"needs {', '.join(missing)}; scripts/setup.sh vm installs them")
    tmp = tmp_path_factory.mktemp("killed-services")
    name = f"t{os.getpid()}-killed"
    with ExitStack() as back:
        back.callback(lab.down, name)
        made = lab.up(lab.LabRequest(name=name, rate="1gbit", bmc=False, guests=PAIR))
        inventory = made.inventory
        for host in HOSTS:
            inventory = back.enter_context(with_systemd(inventory, host, tmp, balance_s=3600))
        machines = tuple(Machine.of(inventory, host) for host in HOSTS)
        watched = tuple(Machine.of(made.inventory, host) for host in HOSTS)
        on_all(machines, "systemctl start tuned irqbalance")
        back.callback(on_all, machines, "systemctl stop tuned irqbalance")
        yield Experiment(Ground(made, tmp), inventory, machines, watched, found_on(machines))


def killed(experiment: Experiment, moment: Moment, campaign: Path, seed: int) -> None:
    """Kill a run at a moment, perhaps also the ``restore`` of it, restore, and compare."""
    ground = experiment.ground
    with watching(experiment.watched) as watches:
        run = ground.start("run", campaign, "--json")
        try:
            told = strike(ground, run, watches, moment)
            if moment.restore_too:
                half = half_restored(Position.of(ground, run).undone)
                again = ground.start("restore")
                told += "; " + strike(ground, again, watches, half)
        finally:
            for command in ground.commands:
                command.process.kill()
                command.process.wait()
    print(f"seed {seed}: {told}")  # noqa: T201  which phases were met is a part of what is shown
    assert run.process.returncode == -9, told
    restore = ground.start("restore")
    assert restore.end() == 0, f"seed {seed}: {told}: {restore.err.read_text()[-2000:]}"
    assert experiment.changed() == [], f"seed {seed}: {told}: {restore.err.read_text()[-2000:]}"
    nothing = ground.start("restore")
    assert nothing.end() == 0
    assert "nothing to restore" in nothing.err.read_text(), told


@pytest.mark.parametrize("phase", ["writing the device", pytest.param("load", marks=pytest.mark.thorough)])
def test_a_run_that_is_killed_leaves_nothing_that_restore_does_not_put_back(
    experiment: Experiment, seed: int, phase: str
) -> None:
    """In the middle of a write, and in a load with a ``restore`` that is killed, too."""
    clear(experiment.ground)
    draw = random.Random(f"{seed} {phase}")  # noqa: S311
    (moment,) = [one for one in moments(draw, TRIALS) if one.phase == phase]
    killed(experiment, moment, experiment.campaign(0, PLAIN, moment), seed)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(PHASES))
def test_whatever_phase_a_run_is_killed_in_restore_puts_all_back(
    with_services: Experiment, seed: int, number: int
) -> None:
    """Each phase once, on either driver, with services and CPUs that the campaign changed as well."""
    clear(with_services.ground)
    draw = random.Random(f"{seed} {number}")  # noqa: S311
    port = draw.choice(sorted(BY_PORT))
    moment = moments(draw, TRIALS)[number]
    killed(with_services, moment, with_services.campaign(port, BY_PORT[port], moment), seed)


def test_there_is_a_moment_of_every_phase() -> None:
    phases = [one.phase for one in moments(random.Random(1), TRIALS)]  # noqa: S311
    assert len(set(phases)) == len(phases) == PHASES
