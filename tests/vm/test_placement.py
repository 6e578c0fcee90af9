# SPDX-License-Identifier: Apache-2.0
"""Processes and interrupts on guests with NUMA nodes and hardware threads: where bare tools see them in a
trial is where linewatt said that it would put them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.faults.ground import Command, Ground
from tests.lab.conftest import _reason
from tests.vm.conftest import SMALL, _show_logs
from tests.vm.machine import Machine, data_port
from tests.vm.moments import until

from linewatt.features.lab import api as lab
from linewatt.features.lab.api import Guest, Nic
from linewatt.features.lab.guests.tools import why_no_guests
from linewatt.features.lab.state import ROOT
from linewatt.sensors.registry import SENSORS

pytestmark = [pytest.mark.vm, pytest.mark.thorough]

FOUR_NODES = Guest(nics=(Nic("e1000e", node=3), Nic("vmxnet3", node=2)), cpus=8, threads=2, nodes=4)
"""node K is one core with the CPUs 2K and 2K + 1"""
TRIAL_LIMIT_S = 300.0
END_LIMIT_S = 600.0
KEYS: dict[str, Any] = {
    "trials": 1,
    "rate": "4M",
    "window": {"seconds": 15, "omit": 1, "tail": 1},
    "idle": {"seconds": 0},
    "settings": {},
    "factors": {},
    "sensors": {name: False for name in SENSORS if name not in ("mpstat", "netcounters")},
}
SOME = 30
"""interrupts of each interface"""

# $1: interrupts; then interfaces. "process CPUS [POLICY]" of each iperf3, "irq NAME CPUS" of each queue; then
# "grew NAME COUNT…", a count a CPU, once those of each interface have grown by so many together
_SEEN = r"""wanted=$1; shift
exec 8<> <(:)
for file in /proc/[0-9]*/comm; do
  read -r program <"$file" && [[ $program == iperf3 ]] || continue
  cpus= policy=
  while read -r key value; do [[ $key == Cpus_allowed_list: ]] && cpus=$value; done <"${file%comm}status"
  while read -r _ its _; do
    [[ $its == prefer* ]] && { policy=$its; break; }
  done <"${file%comm}numa_maps"
  echo "process $cpus $policy"
done 2>/dev/null
declare -A first
for (( tries = 0; tries < 300; tries++ )); do
  missing=$# said=
  mapfile -t rows </proc/interrupts
  cpus=(${rows[0]})
  for net; do
    total=0
    for row in "${rows[@]}"; do
      [[ ${row##* } == "$net"-* ]] || continue
      words=($row) name=${row##* } grew=
      for (( at = 1; at <= ${#cpus[@]}; at++ )); do
        : "${first[$name.$at]:=${words[at]}}"
        (( own = words[at] - first[$name.$at], total += own, 1 )); grew+=" $own"
      done
      read -r effective </proc/irq/${words[0]%:}/effective_affinity_list
      said+="irq $name $effective"$'\n'"grew $name$grew"$'\n'
    done
    (( total < wanted )) || (( missing-- ))
  done
  (( missing )) || { echo "$said"; exit 0; }
  read -r -t 0.2 -u 8
done
echo "not $wanted interrupts of each of $* in 60 s: $said" >&2; exit 1"""


@dataclass(frozen=True)
class Seen:
    """What bare tools show of a host in a trial."""

    processes: tuple[str, ...]
    """CPUs that each load process may run on"""
    memory: tuple[str, ...]
    """and what its memory prefers"""
    effective: Mapping[str, str]
    """interrupt of a queue → CPUs that it goes to"""
    grew_on: Mapping[str, frozenset[int]]
    """interface → CPUs that took its interrupts meanwhile"""

    @classmethod
    def of(cls, text: str) -> Seen:
        processes, memory, effective = [], [], {}
        grew: dict[str, set[int]] = {}
        for kind, name, *rest in (line.split() for line in text.splitlines() if line):
            if kind == "process":
                processes.append(name)
                memory += rest
            elif kind == "irq":
                effective[name] = rest[0]
            else:
                own = grew.setdefault(name.partition("-")[0], set())
                own |= {cpu for cpu, count in enumerate(rest) if int(count)}
        on = {name: frozenset(cpus) for name, cpus in grew.items()}
        return cls(tuple(sorted(processes)), tuple(sorted(memory)), effective, on)


@dataclass(frozen=True)
class Campaign:
    """One that runs, and its host h2."""

    run: Command
    store: Path
    h2: Machine

    def seen(self, number: int, interfaces: Sequence[str]) -> Seen:
        """In the window of a trial."""
        self._await("trial_started", number)
        argv = shlex.join(("bash", "-c", _SEEN, "test", str(SOME), *interfaces))
        seen = Seen.of(self.h2.run(argv))
        assert not self._has("trial_stored", number), "the trial was over before its host was looked at"
        return seen

    def end(self) -> list[str]:
        """What was said of places when it began."""
        assert self.run.end(END_LIMIT_S) == 0, self.run.err.read_text()[-2000:]
        (manifest,) = (self.store / "results").glob("*/manifest.json")
        places: list[str] = json.loads(manifest.read_text())["places"]
        return places

    def trial(self, number: int) -> dict[str, Any]:
        (path,) = (self.store / "results").glob(f"*/trials/{number:05d}/trial.json")
        trial: dict[str, Any] = json.loads(path.read_text())
        return trial

    def _await(self, kind: str, number: int) -> None:
        def come() -> bool:
            assert self.run.process.poll() is None, self.run.err.read_text()[-2000:]
            return self._has(kind, number)

        until(come, TRIAL_LIMIT_S, f"waited {TRIAL_LIMIT_S:g} s for {kind} of trial {number}")

    def _has(self, kind: str, number: int) -> bool:
        of_kind = (one.get("trial", one) for one in self.run.events if one["event"] == kind)
        return any(one["number"] == number for one in of_kind)


def begun(ground: Ground, inventory: Path, **keys: Any) -> Campaign:
    run = ground.start("run", ground.campaign(**{**KEYS, "hosts": str(inventory), **keys}), "--json")
    return Campaign(run, ground.store, Machine.of(ground.lab.inventory, "h2"))


def on_cpus(inventory: Path, tmp: Path, cpus: str) -> Path:
    """The inventory in which h2 has no other CPUs."""
    tree = YAML(typ="safe").load(inventory.read_text())
    tree["all"]["hosts"]["h2"]["linewatt_cpus"] = cpus
    path = tmp / "some-cpus.inventory.yaml"
    path.write_text(json.dumps(tree))
    return path


@pytest.fixture
def ground(guests: lab.Lab, tmp_path: Path) -> Iterator[Ground]:
    yield from _ground(guests, tmp_path)


def _ground(one: lab.Lab, tmp: Path) -> Iterator[Ground]:
    ground = Ground(one, tmp)
    yield ground
    for command in ground.commands:
        command.process.kill()
        command.process.wait()


def test_what_has_no_core_of_its_own_gets_a_thread_before_a_cpu_is_shared(ground: Ground) -> None:
    """Two nodes of one core: the NIC is on node 1, with the CPUs 2 and 3."""
    inventory = data_port(ground.lab.inventory, ground.tmp, 0)
    campaign = begun(ground, inventory, instances=[1, 2])
    one, two = (campaign.seen(number, ["data0"]) for number in (1, 2))
    places = campaign.end()
    assert one.processes == ("0",), "a core that is not the NIC's"
    assert two.processes == ("0", "1"), "both of its threads"
    for seen in (one, two):
        assert set(seen.effective.values()) == {"2"}
        assert seen.grew_on == {"data0": {2}}
    assert "h2: 2 CPUs with processes are threads of 1 cores" in places
    reason = "the 1 core local to data0 (NUMA node 1) is not enough for 1 process and its interrupts"
    assert len([line for line in places if line.startswith(f"h2: placement rule 2: {reason}")]) == 1
    told = {flag["code"] for number in (1, 2) for flag in campaign.trial(number)["flags"]}
    assert "interrupts-elsewhere" not in told, "timers take time on every CPU of a guest"


def test_on_the_core_of_the_nic_alone_each_role_has_a_thread_of_it(ground: Ground) -> None:
    inventory = data_port(on_cpus(ground.lab.inventory, ground.tmp, "2-3"), ground.tmp, 0)
    campaign = begun(ground, inventory)
    seen = campaign.seen(1, ["data0"])
    places = campaign.end()
    assert seen.processes == ("2",)
    assert set(seen.effective.values()) == {"3"}
    assert seen.grew_on == {"data0": {3}}
    said = "second threads of the cores keep both apart: processes on 2, interrupts on 3"
    start = "h2: placement rule 2: the 1 core "
    assert any(line.startswith(start) and line.endswith(said) for line in places)
    assert "h2: interrupts on 3 run on the other thread of a core that runs a process" in places


@pytest.fixture(scope="module")
def four_nodes() -> Iterator[lab.Lab]:
    """h1 with two NICs, h2 as :data:`FOUR_NODES`."""
    if reason := _reason() or why_no_guests():
        pytest.skip(reason)
    name = f"t{os.getpid()}-nodes"
    try:
        yield lab.up(lab.LabRequest(name=name, rate="1gbit", bmc=False, guests=(SMALL, FOUR_NODES)))
    finally:
        _show_logs(ROOT / name)
        lab.down(name)


@pytest.fixture
def far(four_nodes: lab.Lab, tmp_path: Path) -> Iterator[Ground]:
    yield from _ground(four_nodes, tmp_path)


def test_a_nic_on_the_last_of_four_nodes_has_its_interrupts_there_and_nothing_else(far: Ground) -> None:
    inventory = data_port(far.lab.inventory, far.tmp, 0)
    campaign = begun(far, inventory, instances=[1, 4])
    one, four = (campaign.seen(number, ["data0"]) for number in (1, 2))
    places = campaign.end()
    assert (one.processes, one.memory) == (("0",), ("prefer:0",))
    assert four.processes == ("0", "1", "2", "4")
    assert four.memory == ("prefer:0", "prefer:0", "prefer:1", "prefer:2")
    for seen in (one, four):
        assert set(seen.effective.values()) == {"6"}
        assert seen.grew_on == {"data0": {6}}
    assert "h2: 4 CPUs with processes are threads of 3 cores" in places


def test_nics_on_two_of_four_nodes_share_out_the_cores_of_the_others(far: Ground) -> None:
    """One has its interrupts on node 3, one on node 2, and each a process on a node without a NIC."""
    campaign = begun(far, far.lab.inventory, instances=[2])
    seen = campaign.seen(1, ["data0", "data1"])
    campaign.end()
    assert (seen.processes, seen.memory) == (("0", "2"), ("prefer:0", "prefer:1"))
    assert {name.partition("-")[0]: cpus for name, cpus in seen.effective.items()} == {
        "data0": "6",
        "data1": "4",
    }
    assert seen.grew_on == {"data0": {6}, "data1": {4}}
