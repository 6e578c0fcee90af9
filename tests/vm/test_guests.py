# SPDX-License-Identifier: Apache-2.0
"""Guests as users have them: kernels, drivers, sshd, campaigns, and nothing left when they are gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.lab.test_lab import LINEWATT, Parts, until
from tests.vm.conftest import renew, stuck
from tests.vm.machine import Machine

from linewatt.errors import InvalidInput
from linewatt.features.lab import api as lab
from linewatt.features.lab import processes
from linewatt.features.lab.guests import start
from linewatt.features.lab.guests.tools import kernels
from linewatt.features.lab.layout import HostLayout
from linewatt.features.lab.recipe import log_file
from linewatt.features.lab.state import ROOT, Registry

pytestmark = [pytest.mark.vm, pytest.mark.full]

RUN_LIMIT_S = 400.0
STAGE_LIMIT_S = 60.0
BOOT = "cat /proc/sys/kernel/random/boot_id"


def ssh(one: lab.Lab, host: str, command: str, status: int = 0) -> str:
    """What a command says on a guest, over real ssh with nothing but what the inventory says."""
    return Machine.of(one.inventory, host).run(command, status)


def linewatt(tmp: Path, *words: str, status: int = 0, limit_s: float = RUN_LIMIT_S) -> str:
    done = subprocess.run(
        [*LINEWATT, *words],
        env={"PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "LINEWATT_STATE": str(tmp / "state"), "HOME": str(tmp)},
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout


def campaign(one: lab.Lab, tmp: Path) -> Path:
    """A little TCP between the first NICs of both, at a rate that a CPU in software carries."""
    tree = YAML(typ="safe").load(one.inventory.read_text())
    for host in tree["all"]["hosts"].values():
        for key in ("linewatt_data", "linewatt_data_ipv4", "linewatt_data_ipv6"):
            host[key] = host[key][0]
    inventory = tmp / "inventory.yaml"
    inventory.write_text(json.dumps(tree))
    document = {
        "name": "vm",
        "hosts": str(inventory),
        "pairs": ["h1 -> h2"],
        "tests": ["tcp"],
        "trials": 1,
        "rate": "20M",
        "window": {"seconds": 3, "omit": 1},
        "idle": {"seconds": 0},
    }
    path = tmp / "campaign.yaml"
    path.write_text(json.dumps(document))
    return path


def test_each_guest_is_a_host_with_a_kernel_of_its_own(guests: lab.Lab) -> None:
    assert [ssh(guests, host, "hostname") for host in ("h1", "h2")] == ["h1", "h2"]
    boots = {ssh(guests, host, BOOT) for host in ("h1", "h2")}
    assert len(boots | {Path("/proc/sys/kernel/random/boot_id").read_text().strip()}) == 3


def test_guests_of_one_lab_have_two_kernels_where_there_are_two(guests: lab.Lab) -> None:
    newest = [image.name.removeprefix("vmlinuz-") for image in kernels()[:2]]
    assert {ssh(guests, host, "uname -r") for host in ("h1", "h2")} == set(newest)


def test_a_guest_writes_nothing_to_this_machine(guests: lab.Lab) -> None:
    where = "/etc /usr /usr/local/bin /root /var/lib /run/linewatt-handed"
    said = ssh(
        guests,
        "h1",
        f"for d in {where}; do touch $d/linewatt-was-here 2>/dev/null && echo wrote $d; done; true",
    )
    assert not Path("/usr/linewatt-was-here").exists()
    written = [line.split()[1] for line in said.splitlines()]
    assert [place for place in written if Path(place, "linewatt-was-here").exists()] == []
    assert list((ROOT / guests.name / "guests").rglob("linewatt-was-here")) == []


def test_nothing_is_routed_out_of_a_guest(guests: lab.Lab) -> None:
    assert "default" not in ssh(guests, "h1", "ip route; ip -6 route")


@pytest.mark.parametrize("family", ["-4", "-6"])
def test_guests_reach_each_other_on_the_data_network(guests: lab.Lab, family: str) -> None:
    second = guests.hosts[1]
    address = second.data_ipv4 if family == "-4" else second.data_ipv6
    assert " 0% packet loss" in ssh(guests, "h1", f"ping {family} -n -c 2 -w 60 -I data0 {address}")


def test_drivers_are_those_that_were_asked_for_with_their_interrupts(guests: lab.Lab) -> None:
    drivers = [
        ssh(guests, host, f"ethtool -i {nic} | sed -n 's/^driver: //p'")
        for host, nic in (("h1", "data0"), ("h2", "data0"), ("h2", "data1"))
    ]
    assert drivers == ["vmxnet3", "e1000e", "virtio_net"]
    assert ssh(guests, "h1", "grep -c data0-rxtx /proc/interrupts") == "2"
    assert "Combined:\t2" in ssh(guests, "h2", "ethtool -l data1 | tail -n 3")


def test_nodes_threads_and_the_node_of_a_nic_are_what_was_asked_for(guests: lab.Lab) -> None:
    said = ssh(
        guests,
        "h2",
        "cd /sys/devices/system; cat node/online node/node1/cpulist cpu/cpu0/topology/thread_siblings_list"
        " /sys/class/net/data0/device/numa_node; cat /sys/class/net/data1/device/../numa_node",
    )
    assert said.split() == ["0-1", "2-3", "0-1", "1", "0"]


def test_check_finds_the_guests_ready(guests: lab.Lab, tmp_path: Path) -> None:
    document = json.loads(linewatt(tmp_path, "check", "--json", str(campaign(guests, tmp_path))))
    assert document["ready"]


def test_a_campaign_runs_over_guests_and_puts_their_interrupts_back(guests: lab.Lab, tmp_path: Path) -> None:
    where = "cat /proc/irq/*/smp_affinity"
    before = [ssh(guests, host, where) for host in ("h1", "h2")]
    linewatt(tmp_path, "run", str(campaign(guests, tmp_path)), "--results", str(tmp_path / "results"))
    (path,) = (tmp_path / "results").glob("*/trials/*/trial.json")
    trial = json.loads(path.read_text())
    assert trial["status"] == "done"
    assert [ssh(guests, host, where) for host in ("h1", "h2")] == before


def stage_state(directory: Path) -> bool:
    return (directory / "state.json").exists()


def stage_script(directory: Path) -> bool:
    return (directory / "guests" / "h1.sh").exists()


def stage_guest(directory: Path) -> bool:
    """QEMU runs."""
    state = json.loads((directory / "state.json").read_text())
    inside = set(processes._identities(state["namespaces"]).values())
    found = (Path(f"/proc/{pid}/cmdline") for pid, _ in processes._inside(inside))
    return any(b"qemu-system-x86_64\0" in _bytes(path) for path in found)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@contextmanager
def killed_up(stage: Callable[[Path], bool], name: str) -> Iterator[Parts]:
    """A lab of one guest whose ``up`` was killed as soon as ``stage`` was reached."""
    process = subprocess.Popen(
        [*LINEWATT, "lab", "up", "--vm", "1", "--name", name],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until((ROOT / name / "state.json").exists, STAGE_LIMIT_S, "the state to be written")
        until(lambda: stage(ROOT / name), STAGE_LIMIT_S, stage.__name__)
        process.kill()
        process.wait()
        yield Parts.of(name)
    finally:
        process.kill()
        process.wait()
        lab.down(name)


@pytest.mark.parametrize("stage", [stage_state, stage_script, stage_guest], ids=lambda stage: stage.__name__)
def test_down_leaves_nothing_of_an_up_that_was_killed(stage: Callable[[Path], bool]) -> None:
    name = f"t{os.getpid()}-vk"
    with killed_up(stage, name) as parts:
        assert [each.state for each in lab.status(name)] == ["half-built"]
        assert lab.down(name)
        assert parts.left() == []


def test_two_labs_of_guests_have_nothing_in_common(guests: lab.Lab) -> None:
    state = json.loads((ROOT / guests.name / "state.json").read_text())
    name = f"t{os.getpid()}-v2"
    with killed_up(stage_guest, name) as parts:
        other = json.loads((ROOT / name / "state.json").read_text())
        assert other["index"] != state["index"]
        assert not {*other["namespaces"], *other["links"]} & {*state["namespaces"], *state["links"]}
        assert lab.down(name)
        assert parts.left() == []
    assert [host.runs for host in lab.status(guests.name)[0].hosts] == [True, True]


def test_up_again_finds_the_guests_and_another_shape_is_refused(guests: lab.Lab) -> None:
    state = Registry(ROOT).read(guests.name)
    assert state is not None
    assert lab.up(state.request).was_up
    with pytest.raises(InvalidInput, match="is up with 2 guests"):
        lab.up(lab.LabRequest(name=guests.name, rate="1gbit", guests=(lab.Guest(), lab.Guest())))


def emulator_of(host: HostLayout) -> int:
    """The process of a guest's QEMU."""
    (qemu,) = (
        pid
        for pid, _ in processes._inside(set(processes._identities([host.namespace]).values()))
        if _bytes(Path(f"/proc/{pid}/comm")).startswith(b"qemu-system")
    )
    return qemu


def test_a_guest_that_is_silent_is_waited_for(guests: lab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine whose CPUs others have: QEMU runs, and its guest does not answer in time."""
    state = Registry(ROOT).read(guests.name)
    assert state is not None
    qemu = emulator_of(guests.hosts[1])
    os.kill(qemu, signal.SIGSTOP)
    try:
        with monkeypatch.context() as hasty:
            hasty.setattr(start, "answering", partial(start.answering, limit_s=1.0))
            assert stuck(guests) is None, "its kernel says nothing of a CPU that stands still"
            (status,) = lab.status(guests.name)
        assert (status.state, status.hosts[1].answers) == ("slow", False)
        assert lab.up(state.request, tell=lambda _: os.kill(qemu, signal.SIGCONT)).was_up
    finally:
        os.kill(qemu, signal.SIGCONT)


@pytest.mark.thorough
def test_guests_that_stand_still_make_room_for_new_ones(
    guests: lab.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the tests after this one need them: by the same names, keys and addresses."""
    boots = [ssh(guests, host.name, BOOT) for host in guests.hosts]
    qemu = emulator_of(guests.hosts[0])
    with log_file(guests.hosts[0], ROOT / guests.name).open("a") as log:
        log.write("watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [swapper/1:0]\n")
    assert stuck(guests) is None, "it answers"
    os.kill(qemu, signal.SIGSTOP)
    with monkeypatch.context() as hasty:
        hasty.setattr(start, "answering", partial(start.answering, limit_s=1.0))
        assert stuck(guests) == "h1"
    renew(guests)
    assert stuck(guests) is None
    assert not set(boots) & {ssh(guests, host.name, BOOT) for host in guests.hosts}
