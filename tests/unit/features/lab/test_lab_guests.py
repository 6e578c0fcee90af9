# SPDX-License-Identifier: Apache-2.0
"""Guests of a lab before any is made: what is asked for, how QEMU is told, and what is missing here."""

from __future__ import annotations

import platform
import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from linewatt.errors import InvalidInput, LabError
from linewatt.features.lab import processes
from linewatt.features.lab.api import Guest, LabRequest, Nic
from linewatt.features.lab.bmc_recipe import lan_conf
from linewatt.features.lab.guests import meter, recipe, start, tools
from linewatt.features.lab.guests.spec import MODELS, parse_nic, same_guests
from linewatt.features.lab.layout import Layout, lay_out
from linewatt.features.lab.recipe import inventory, log_file
from linewatt.features.lab.state import Registry

CORES = ((0,), (1,))
NUMA = Guest(
    nics=(Nic("e1000e", node=1), Nic("virtio-net-pci", queues=2), Nic("vmxnet3", node=0)),
    cpus=8,
    threads=2,
    nodes=2,
)


def layout_of(*guests: Guest, index: int = 1, cores: Any = CORES) -> Layout:
    return lay_out(LabRequest(hosts=len(guests), guests=guests), index, cores)


def options_of(guest: Guest) -> list[str]:
    layout = layout_of(guest)
    return recipe.qemu_options(guest, start.wires_of(layout, layout.hosts[0], guest))


def devices(guest: Guest) -> list[str]:
    options = options_of(guest)
    return [value for option, value in pairwise(options) if option == "-device"]


@pytest.mark.parametrize(
    ("text", "nic"),
    [
        ("vmxnet3", Nic()),
        ("e1000e,node=1", Nic("e1000e", node=1)),
        ("virtio-net-pci,queues=4,node=0", Nic("virtio-net-pci", 4, 0)),
    ],
)
def test_a_nic_is_written_as_its_model_and_what_it_has(text: str, nic: Nic) -> None:
    assert parse_nic(text) == nic


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("e1001", "no model 'e1001'"),
        ("vmxnet3,queues=2", "follow from the guest's CPUs"),
        ("rtl8139,queues=2", "queues of a rtl8139 are one pair"),
        ("e1000,node=0", "a e1000 is on a bus of no NUMA node"),
        ("virtio-net-pci,queues=9", "queues must be 1 to 8"),
        ("virtio-net-pci,queues=2,queues=3", "is not queues=N"),
        ("virtio-net-pci,speed=2", "is not queues=N"),
        ("virtio-net-pci,queues=-1", "is not queues=N"),
        ("", "no model ''"),
    ],
)
def test_a_nic_that_there_cannot_be_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse_nic(text)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cpus": 6, "nodes": 2, "threads": 2}, "a multiple of 4"),
        ({"nics": (Nic("e1000e", node=1),)}, "nodes are 0 to 0"),
        ({"nics": ()}, "NICs must be 1 to 4"),
        ({"memory_mib": 64}, "memory in MiB must be 512"),
        ({"memory_mib": 769, "nodes": 2}, "cannot be dealt to 2 nodes"),
    ],
)
def test_a_guest_that_there_cannot_be_is_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Guest(**settings)


def test_kernels_are_dealt_to_guests_in_turn() -> None:
    assert [guest.kernel for guest in same_guests(4, kernels=("a", "b"))] == ["a", "b", "a", "b"]
    with pytest.raises(InvalidInput, match="3 kernels for 2 guests"):
        same_guests(2, kernels=("a", "b", "c"))


def test_all_hosts_of_a_lab_are_guests_or_none() -> None:
    with pytest.raises(InvalidInput, match="1 guests for 2 hosts"):
        LabRequest(guests=(Guest(),))
    with pytest.raises(InvalidInput, match="a port for each --nic"):
        LabRequest(hosts=1, ports=2, guests=(Guest(),))


def test_a_guest_has_a_port_for_each_nic_and_others_may_have_fewer() -> None:
    first, second = layout_of(Guest(), NUMA).hosts
    assert [port.interface for port in first.ports] == ["data0"]
    assert [port.interface for port in second.ports] == ["data0", "data1", "data2"]
    assert first.ports[0].ipv4_prefix == second.ports[0].ipv4_prefix == 26


def test_a_guest_with_more_cpus_than_its_part_of_the_machine_shares_all_and_says_so() -> None:
    small, big = layout_of(Guest(cpus=1), Guest(cpus=1)), layout_of(Guest(), Guest())
    assert [(host.cpus, host.shares_cpus_with) for host in small.hosts] == [((0,), ()), ((1,), ())]
    assert [(host.cpus, host.shares_cpus_with) for host in big.hosts] == [
        ((0, 1), ("h2",)),
        ((0, 1), ("h1",)),
    ]


def test_a_guest_tells_its_cpus_itself_and_its_bmc_has_an_address_of_its_own() -> None:
    layout = layout_of(Guest(), Guest())
    text = inventory(layout, Path("/lab"), Path("/lab/bmc.password"))
    assert "linewatt_cpus" not in text
    assert '"address": "198.18.1.129"' in text
    assert 'ansible_host: "198.18.1.1"' in text


@pytest.mark.parametrize("emulated", [True, False])
def test_guests_without_kvm_have_the_limits_of_slow_hosts(emulated: bool, tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text(inventory(layout_of(Guest()), tmp_path, emulated=emulated))
    text = (tmp_path / "inventory.yaml").read_text()
    assert ('linewatt_limits: {"silence": "20 s"' in text) is emulated


@given(st.integers(1, 254), st.integers(1, 254), st.integers(1, 16), st.integers(1, 16))
def test_no_two_wires_of_a_machine_have_one_mac(index: int, other: int, number: int, wires: int) -> None:
    its = {recipe.mac(index, number, wire) for wire in range(wires % 5 + 1)}
    assert len(its) == wires % 5 + 1
    if other != index:
        assert not its & {recipe.mac(other, number, wire) for wire in range(wires % 5 + 1)}


def test_a_nic_is_on_the_bus_of_its_node_and_queues_have_vectors() -> None:
    nodes = [device for device in devices(NUMA) if "pxb-pcie" in device]
    assert nodes == [
        "pxb-pcie,id=pxb0,bus=pcie.0,bus_nr=64,numa_node=0",
        "pxb-pcie,id=pxb1,bus=pcie.0,bus_nr=80,numa_node=1",
    ]
    nics = [device for device in devices(NUMA) if device.split(",")[0] in MODELS][1:]
    assert nics == [
        "e1000e,id=nic0,netdev=d0,mac=02:6c:77:11:01:01,romfile=,bus=port0",
        "virtio-net-pci,id=nic1,netdev=d1,mac=02:6c:77:12:01:01,romfile=,mq=on,rss=on,hash=on,vectors=6",
        "vmxnet3,id=nic2,netdev=d2,mac=02:6c:77:13:01:01,romfile=,bus=port2",
    ]


def test_the_carrier_of_each_nic_can_be_taken_away() -> None:
    """By its name, through the monitor: a tap that goes down is no cable that is pulled."""
    wires = start.wires_of(layout_of(NUMA), layout_of(NUMA).hosts[0], NUMA)
    boot = recipe.Boot("virtme-run", "busybox", "/boot/vmlinuz-6", kvm=False)
    argv = recipe.command(NUMA, "h1", wires, Path("/lab/guests/h1"), boot)
    assert argv[argv.index("-qmp") + 1] == "unix:/lab/guests/h1.qmp,server=on,wait=off"
    assert [one.split(",")[1] for one in devices(NUMA) if "netdev=d" in one] == [
        "id=nic0",
        "id=nic1",
        "id=nic2",
    ]


def test_nodes_have_equal_parts_of_cpus_and_memory() -> None:
    options = options_of(NUMA)
    assert [value for value in options if value.startswith("node,")] == [
        "node,nodeid=0,cpus=0-3,memdev=node0",
        "node,nodeid=1,cpus=4-7,memdev=node1",
    ]
    assert "memory-backend-ram,id=node1,size=384M" in options


def test_a_tap_has_several_queues_where_its_nic_has() -> None:
    layout = layout_of(NUMA)
    wires = start.wires_of(layout, layout.hosts[0], NUMA)
    batch = recipe.network_batch(wires, "198.18.1.129", 9000).splitlines()
    assert "tuntap add dev tap1 mode tap multi_queue" in batch
    assert "tuntap add dev tap0 mode tap" in batch
    assert "link set tap1 mtu 9000 master br1 addrgenmode none up" in batch
    assert batch[-1] == "addr add 198.18.1.129/24 dev mgmt"


@pytest.mark.parametrize("kvm", [True, False])
def test_a_guest_cannot_write_to_this_machine(kvm: bool) -> None:
    layout = layout_of(Guest())
    wires = start.wires_of(layout, layout.hosts[0], Guest())
    boot = recipe.Boot("virtme-run", "busybox", "/boot/vmlinuz-1", kvm)
    argv = recipe.command(Guest(), "h1", wires, Path("/lab/guests/h1"), boot)
    assert {"--rw", "--rwdir", "--overlay-rwdir"}.isdisjoint(argv)
    assert "--force-9p" in argv
    assert [value for value in argv if value.startswith("local,")] == [
        "local,id=usr,path=/usr,security_model=none,readonly=on,multidevs=remap"
    ]
    assert ("--disable-kvm" in argv) is not kvm


@pytest.mark.parametrize(
    ("cores", "cpus", "kvm", "in_turn"),
    [
        (((0,), (1,)), 2, False, True),
        (((0,), (1,), (2,), (3,)), 2, False, False),
        (((0,), (1,)), 2, True, False),
    ],
    ids=["more CPUs than the machine", "as many", "KVM"],
)
def test_one_thread_emulates_all_cpus_of_a_guest_that_shares_those_of_the_machine(
    tmp_path: Path, cores: Any, cpus: int, kvm: bool, in_turn: bool
) -> None:
    layout = layout_of(*same_guests(2, template=Guest(cpus=cpus)), cores=cores)
    (tmp_path / "guests").mkdir()
    for host in layout.hosts:
        (tmp_path / "guests" / host.name).mkdir()
    image = kernel(tmp_path, "6.1")
    found = tools.GuestTools("virtme-run", "busybox", (image, image), kvm)
    start.write_files(layout, tmp_path, "sshd", found, bmc=False)
    for host in layout.hosts:
        assert ("tcg,thread=single" in start.start_file(host, tmp_path).read_text()) is in_turn


def test_what_init_would_do_for_nobody_ends_at_once_and_nothing_else_does() -> None:
    layout = layout_of(Guest())
    wires = start.wires_of(layout, layout.hosts[0], Guest())
    boot = recipe.Boot("virtme-run", "busybox", "/boot/vmlinuz-1", kvm=False)
    argv = recipe.command(Guest(), "h1", wires, Path("/lab/guests/h1"), boot)
    (path,) = [option.removeprefix("PATH=") for option in argv if option.startswith("PATH=")]
    first, *others = path.split(":")
    assert [program.name for program in Path(first).iterdir()] == ["systemd-tmpfiles"]
    assert subprocess.run([Path(first) / "systemd-tmpfiles"], check=False, timeout=60).returncode == 0
    assert {"/bin", "/sbin"} <= set(others)


def test_each_interface_of_a_guest_is_named_by_its_mac() -> None:
    guest = Guest(nics=(Nic(), Nic()))
    layout = layout_of(guest)
    wires = start.wires_of(layout, layout.hosts[0], guest)
    script = recipe.guest_script(guest, wires, 1500, "sshd", "h1")
    for wire in wires:
        assert f"[{wire.mac}]={wire.interface}" in script
    assert subprocess.run(["bash", "-n", "-c", script], check=False, timeout=60).returncode == 0


def test_a_guest_has_its_bmc_in_band_where_the_lab_has_bmcs() -> None:
    layout = layout_of(Guest())
    wires = start.wires_of(layout, layout.hosts[0], Guest())
    for bmc in (True, False):
        boot = recipe.Boot("virtme-run", "busybox", "/boot/vmlinuz-1", kvm=False, bmc=bmc)
        argv = recipe.command(Guest(), "h1", wires, Path("/lab/guests/h1"), boot)
        assert ("isa-ipmi-kcs,bmc=bmc" in argv) is bmc
        assert ("socket,id=ipmi,host=127.0.0.1,port=9002,reconnect=1" in argv) is bmc
    assert "serial 15 127.0.0.1 9002 codec VM" in lan_conf("x", "198.18.1.1", "secret", in_band=True)
    assert "serial" not in lan_conf("x", "198.18.1.1", "secret")


def test_a_start_script_is_what_was_asked_whatever_is_in_it() -> None:
    script = recipe.start_script(["run", "a b", "$(x)"], {"HOME": "/la b/h1"})
    assert script.splitlines() == ["export HOME='/la b/h1'", f"exec {shlex.join(['run', 'a b', '$(x)'])}"]


def test_what_is_written_down_of_a_lab_has_its_guests(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    request = LabRequest(hosts=2, guests=(Guest(kernel="/boot/vmlinuz-1"), NUMA))
    with registry.claim("lab"):
        registry.allocate(request, CORES, lambda _: True)
    read = registry.read("lab")
    assert read is not None
    assert read.request == request


def kernel(root: Path, version: str, *, modules: bool = True) -> Path:
    (root / "boot").mkdir(parents=True, exist_ok=True)
    image = root / "boot" / f"vmlinuz-{version}"
    image.touch()
    if modules:
        (root / "lib" / "modules" / version).mkdir(parents=True)
    return image


def test_the_newest_kernel_is_by_its_numbers_and_has_its_modules(tmp_path: Path) -> None:
    machine, unpacked = tmp_path / "root", tmp_path / "unpacked"
    assert tools.newest_kernel(machine, unpacked) is None
    kernel(machine, "6.1.0-9-amd64")
    there = kernel(machine, "6.1.0-56-amd64")
    kernel(machine, "6.9.0-1-amd64", modules=False)
    assert tools.newest_kernel(machine, unpacked) == there
    newer = kernel(unpacked / "one", "6.12.1-amd64")
    assert tools.newest_kernel(machine, unpacked) == newer


def test_kernels_are_named_once_and_the_newest_is_the_plain_one(tmp_path: Path) -> None:
    machine, unpacked = tmp_path / "root", tmp_path / "unpacked"
    plain = kernel(machine, "6.1.0-56-amd64")
    kernel(unpacked / "again", "6.1.0-56-amd64")
    real_time = kernel(unpacked / "rt", "6.1.0-56-rt-amd64")
    older = kernel(unpacked / "older", "6.1.0-55-amd64")
    assert tools.kernels(machine, unpacked) == [plain, real_time, older]
    assert tools.newest_kernel(machine, unpacked) == plain


def test_modules_of_an_unpacked_kernel_are_handed_to_its_guest(tmp_path: Path) -> None:
    image = kernel(tmp_path / "my kernel", "6.1")
    modules = tools.unpacked_modules(image)
    assert modules == tmp_path / "my kernel" / "lib" / "modules" / "6.1"
    layout = layout_of(Guest())
    wires = start.wires_of(layout, layout.hosts[0], Guest())
    boot = recipe.Boot("virtme-run", "busybox", str(image), kvm=False, modules=modules)
    argv = recipe.command(Guest(), "h1", wires, Path("/lab/guests/h1"), boot)
    assert argv[argv.index("--kimg") + 1] == str(image)
    assert f"/run/linewatt-modules/6.1={modules}" in argv


def test_modules_of_the_machines_own_kernel_are_there_anyway(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tools, "MODULES", tmp_path / "lib" / "modules")
    assert tools.unpacked_modules(kernel(tmp_path, "6.1")) is None


def test_kvm_is_where_the_cpu_has_it_and_the_device_can_be_opened(tmp_path: Path) -> None:
    cpuinfo, device = tmp_path / "cpuinfo", tmp_path / "kvm"
    cpuinfo.write_text("flags\t\t: fpu vme svm_lock\n")
    device.touch()
    assert not tools.has_kvm(device, cpuinfo)
    cpuinfo.write_text("flags\t\t: fpu vmx sse\n")
    assert tools.has_kvm(device, cpuinfo)
    assert not tools.has_kvm(tmp_path / "none", cpuinfo)


def test_all_that_is_missing_is_one_line_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(tools, "newest_kernel", lambda: None)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(LabError) as caught:
        tools.find_guest_tools((Guest(),))
    said = str(caught.value)
    assert "\n" not in said
    assert "qemu-system-x86 busybox-static kmod linux-image-amd64 && " in said
    assert said.endswith("-m pip install virtme-ng")


def test_an_acpi_meter_needs_its_compiler_and_a_bmc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    for guest, needed in ((Guest(acpi_meter=True), True), (Guest(), False)):
        with pytest.raises(LabError) as caught:
            tools.find_guest_tools((guest,))
        assert ("iasl, ipmi_sim" in str(caught.value)) is needed
        assert (" acpica-tools openipmi " in str(caught.value)) is needed
    with pytest.raises(InvalidInput, match="asks the BMC; leave --no-bmc or --acpi-meter away"):
        LabRequest(hosts=1, bmc=False, guests=(Guest(acpi_meter=True),))


def test_a_guest_with_an_acpi_meter_has_its_table_its_drivers_and_its_mark(tmp_path: Path) -> None:
    with_meter = Guest(acpi_meter=True)
    layout = layout_of(with_meter, Guest())
    wires = start.wires_of(layout, layout.hosts[0], with_meter)
    table = "/lab/guests/meter.aml"
    boot = recipe.Boot("virtme-run", "busybox", "/boot/vmlinuz-1", kvm=False, bmc=True, table=table)
    assert f"file={table}" in recipe.command(with_meter, "h1", wires, Path("/lab/guests/h1"), boot)
    scripts = [recipe.guest_script(guest, wires, 1500, "sshd", "h1") for guest in (with_meter, Guest())]
    assert ["modprobe acpi_power_meter" in script for script in scripts] == [True, False]
    tree = YAML(typ="safe").load(inventory(layout, tmp_path, tmp_path / "bmc.password"))
    power = [tree["all"]["hosts"][host]["linewatt_power"] for host in ("h1", "h2")]
    assert power[0]["acpi"] == {"driver": "hwmon", "channels": ["power_meter.power1"], "simulated": True}
    assert "acpi" not in power[1]
    assert with_meter.description.endswith(", ACPI meter")


def test_an_acpi_meter_adds_what_the_bmc_says_of_both_supplies() -> None:
    text = meter.source()
    assert [line.strip() for line in text.splitlines() if "WATT (" in line and "=" in line] == [
        "Local1 = WATT (1, 4)",
        "Local1 = WATT (3, 4)",
    ]


def test_a_compiler_that_refuses_is_quoted(tmp_path: Path) -> None:
    compiler = tmp_path / "iasl"
    compiler.write_text("#!/bin/sh\necho no such thing\nexit 1\n")
    compiler.chmod(0o755)
    with pytest.raises(LabError, match="cannot compile it: no such thing"):
        meter.write_table(tmp_path, str(compiler))


def test_another_machine_than_the_guests_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "this machine is aarch64" in str(tools.why_no_guests())


def test_a_busybox_that_needs_libraries_is_none(tmp_path: Path) -> None:
    program = tmp_path / "busybox"
    program.write_bytes(b"\x7fELF" + b"\0" * 500 + b"/lib64/ld-linux-x86-64.so.2\0")
    assert not tools._is_static(program)
    program.write_bytes(b"\x7fELF" + b"\0" * 500)
    assert tools._is_static(program)


@pytest.mark.parametrize("present", [True, False])
def test_a_kernel_that_is_no_use_is_named(present: bool, tmp_path: Path) -> None:
    image = kernel(tmp_path, "6.1", modules=False) if present else tmp_path / "boot" / "vmlinuz-6.1"
    with pytest.raises(InvalidInput, match="its modules are not in" if present else "no kernel image"):
        tools._kernel_of(Guest(kernel=str(image)), None)


STUCK = "[  {at}.538676] watchdog: BUG: soft lockup - CPU#1 stuck for {for_s}s! [swapper/1:0]\n"
"""as a guest with Linux 6.1.0-55 said under QEMU 7.2, until it was taken down"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            "".join(STUCK.format(at=at, for_s=at - 238) for at in (264, 696)),
            "h1 does not answer: its kernel says that CPU 1 has stood still for 458 s",
        ),
        (STUCK.format(at=264, for_s=26), "sshd of guest h1 does not answer on 198.18.1.1:22"),
        (
            STUCK.format(at=696, for_s=458) + STUCK.format(at=990, for_s=22),
            "sshd of guest h1 does not answer on 198.18.1.1:22",
        ),
        ("", "sshd of guest h1 does not answer on 198.18.1.1:22"),
    ],
    ids=["for-minutes", "a-moment", "went-on", "says-nothing"],
)
def test_a_guest_whose_cpu_stands_still_is_not_waited_for(
    log: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "answering", lambda addresses: [False] * len(addresses))
    monkeypatch.setattr(processes, "is_inside", lambda _pid, _namespace: True)
    monkeypatch.setattr(start, "_UP_LIMIT_S", -1.0)
    hosts = layout_of(Guest()).hosts
    log_file(hosts[0], tmp_path).write_text(log)
    with pytest.raises(LabError, match=said):
        start.wait_for_guests(hosts, tmp_path, {"h1": 1}, "lab x")
