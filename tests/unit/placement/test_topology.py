# SPDX-License-Identifier: Apache-2.0
"""Topologies from lstopo's XML and from a host's facts: both see the same machine, damage is one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.hosts.facts import read as host_facts
from linewatt.hosts.facts.cpulist import format_cpulist, parse_cpulist
from linewatt.hosts.facts.parsers import cpu_groups
from linewatt.placement.hwloc import parse_lstopo_xml
from linewatt.placement.sysfs import complete_topology, topology_of_facts
from linewatt.placement.topology import Cpu, Topology

CAPTURES = Path(__file__).parents[2] / "captures" / "topology"
CASES = sorted(path.name for path in CAPTURES.iterdir())
WITH_LSCPU = [case for case in CASES if (CAPTURES / case / "lscpu").exists()]
COLLECTION = os.environ.get("LINEWATT_TOPOLOGIES")
"""a folder of files to try beside the captures, such as hwloc's own collection"""
needs_lstopo = pytest.mark.skipif(shutil.which("lstopo") is None, reason="hwloc's lstopo is not installed")


def captured(case: str) -> str:
    return (CAPTURES / case / "topology.xml").read_text()


def expected(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / case / "expected.json").read_text())
    return found


def lstopo(*arguments: str) -> Topology:
    argv = ["lstopo", *arguments, "--of", "xml"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30)
    return parse_lstopo_xml(done.stdout)


def by(topology: Topology, what: str) -> list[str]:
    """CPU lists of online CPUs that have the same number."""
    groups: dict[int, list[int]] = {}
    for cpu in topology.cpus:
        if cpu.online and getattr(cpu, what) is not None:
            groups.setdefault(getattr(cpu, what), []).append(cpu.id)
    return [format_cpulist(groups[number]) for number in sorted(groups)]


@pytest.mark.parametrize("case", CASES)
def test_each_capture_is_the_machine_it_was_taken_of(case: str) -> None:
    machine, wanted = parse_lstopo_xml(captured(case)), expected(case)
    assert wanted["origin"]
    assert by(machine, "core") == wanted["cores"]
    assert by(machine, "package") == wanted["packages"]
    assert by(machine, "llc") == wanted["caches"]
    assert {str(node): format_cpulist(machine.node_cpus(node)) for node in machine.nodes} == wanted["nodes"]
    assert format_cpulist(cpu.id for cpu in machine.cpus if not cpu.online) == wanted["offline"]
    assert format_cpulist(machine.allowed) == wanted["allowed"]
    assert format_cpulist(cpu.id for cpu in machine.cpus if cpu.slower) == wanted["slower"]
    assert list(machine.empty_nodes) == wanted["empty_nodes"]
    devices = {one.name: [one.address, one.node, format_cpulist(one.cpus)] for one in machine.devices}
    assert devices == wanted["devices"]


def test_threads_are_ranked_within_their_core() -> None:
    machine = parse_lstopo_xml(captured("2.9.0-v2-offline"))
    ranks = {cpu.id: cpu.smt for cpu in machine.cpus if cpu.online}
    assert ranks == {0: 0, 1: 0, 3: 0, 4: 0, 5: 0, 7: 1, 8: 0, 9: 1, 10: 1}


def test_all_formats_of_hwloc_give_the_same_machine() -> None:
    first, *others = (parse_lstopo_xml(captured(case)) for case in CASES if case.endswith("devices"))
    assert len(others) == 2
    assert all(other == first for other in others)


@needs_lstopo
@pytest.mark.parametrize(
    "description", ["pack:2 [numa] l3:2 core:4 pu:2", "node:4 core:3 pu:1", "core:1 pu:1"]
)
def test_format_1_and_2_of_a_synthetic_machine_agree(description: str) -> None:
    new = lstopo("-i", description)
    assert new == lstopo("-i", description, "--export-xml-flags", "v1")
    assert new.cpus


@needs_lstopo
def test_a_cpuset_of_several_words_is_read_from_its_high_end() -> None:
    machine = lstopo("-i", "pack:2 [numa] core:64 pu:2")
    assert len(machine.cpus) == 256
    assert machine.node_cpus(1) == tuple(range(128, 256))


@needs_lstopo
def test_this_machine_is_the_same_by_lstopo_and_by_its_facts() -> None:
    done = subprocess.run(host_facts.command("lo"), capture_output=True, text=True, check=True, timeout=20)
    known = host_facts.parse_all(done.stdout)
    by_lstopo, by_facts = lstopo(), topology_of_facts(known)
    plain = [(cpu.id, cpu.core, cpu.package, cpu.node, cpu.smt) for cpu in by_facts.cpus if cpu.online]
    assert plain == [
        (cpu.id, cpu.core, cpu.package, cpu.node, cpu.smt)
        for cpu in complete_topology(by_lstopo, known).cpus
        if cpu.online
    ]
    assert set(complete_topology(by_lstopo, known).allowed) == set(by_facts.allowed)


@pytest.mark.skipif(COLLECTION is None, reason="LINEWATT_TOPOLOGIES names no folder of lstopo's files")
@needs_lstopo
def test_files_of_other_machines_read_as_lstopo_reads_them() -> None:
    files = sorted(Path(COLLECTION or "").glob("*.xml"))
    assert files
    for file in files:
        machine = parse_lstopo_xml(file.read_text())
        for form in ((), ("--export-xml-flags", "v1")):
            argv = ["lstopo", "-i", str(file), *form, "--of", "xml"]
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
            if done.returncode != 0:
                continue  # a newer format than this lstopo reads
            other = parse_lstopo_xml(done.stdout)
            # lstopo leaves out what a cgroup forbade to the one who wrote the file: others are counted anew
            if other.online == machine.online:
                assert other.cpus == machine.cpus, file.name
            assert other.devices == machine.devices, file.name


def known_of(case: str, nic: dict[str, Any] | None = None, **cpus: Any) -> dict[str, Any]:
    """The facts that the host of a capture gives."""
    wanted = expected(case)
    nodes = {f"node{node}": text for node, text in wanted["nodes"].items()}
    nodes |= {f"node{node}": "" for node in wanted["empty_nodes"]}
    online = [cpu for text in wanted["nodes"].values() for cpu in parse_cpulist(text)]
    table = (CAPTURES / case / "lscpu").read_text()
    output = f"\n{host_facts.MARK} begin cpus.cores\n{table}\n\n{host_facts.MARK} end 0\n"
    groups = {name: host_facts.parse_all(output)["cpus"][name] for name in ("cores", "packages", "caches")}
    section = {"online": sorted(online), "isolated": [], "allowed": online, "of_node": nodes, **groups}
    return {"cpus": section | cpus, "nic": nic or {}, host_facts.NOT_KNOWN: {}}


@pytest.mark.parametrize("case", WITH_LSCPU)
def test_lscpu_and_lstopo_see_the_same_cores_packages_and_caches(case: str) -> None:
    machine, other = parse_lstopo_xml(captured(case)), topology_of_facts(known_of(case))
    assert {name: by(machine, name) for name in ("core", "package", "llc", "smt", "node")} == {
        name: by(other, name) for name in ("core", "package", "llc", "smt", "node")
    }
    assert machine.allowed == other.allowed
    assert machine.empty_nodes == other.empty_nodes
    assert other.notes == ()


def test_lscpu_before_2_37_puts_colons_between_caches() -> None:
    new = (CAPTURES / "2.9.0-v2-offline" / "lscpu").read_text()
    old = "\n".join(
        ",".join(line.split(",")[:4]) + "," + ":".join(line.split(",")[5:]) if "," in line[2:] else line
        for line in new.splitlines()
    )
    assert "3:3:3" in old
    assert cpu_groups(old) == cpu_groups(new)


@pytest.mark.parametrize(
    "text", ["", "no table", "# CPU,Core\n1", "# CPU,Core,Socket,Node,,L3\nx,0,0,0,,0\n"]
)
def test_what_is_no_table_of_lscpu_is_not_known_with_a_reason(text: str) -> None:
    output = f"\n{host_facts.MARK} begin cpus.cores\n{text}\n\n{host_facts.MARK} end 0\n"
    known = host_facts.parse_all(output)
    assert known["cpus"]["cores"] is None
    assert known[host_facts.NOT_KNOWN]["cpus.cores"]


def test_512_cpus_cost_the_facts_one_process() -> None:
    (fact,) = [fact for fact in host_facts.FACTS if "cores" in fact.names]
    assert fact.argv == ("lscpu", "--parse=CPU,CORE,SOCKET,NODE,CACHE")


def test_facts_without_lscpu_take_each_cpu_as_a_core_and_say_so() -> None:
    known: dict[str, dict[str, Any]] = {
        "cpus": {"online": [0, 1, 2], "of_node": None, "cores": None},
        host_facts.NOT_KNOWN: {"cpus.cores": "lscpu is not installed"},
    }
    machine = topology_of_facts(known)
    assert by(machine, "core") == ["0", "1", "2"]
    assert by(machine, "node") == ["0-2"]
    assert by(machine, "llc") == []
    assert machine.notes == (
        "which CPUs are threads of one core is not known (lscpu is not installed): each is taken as a core",
    )


def test_facts_without_cpus_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput, match=r"CPUs are not known \(not recorded\)"):
        topology_of_facts({})


@pytest.mark.parametrize(
    ("nic", "node", "cpus", "note"),
    [
        ({"numa_node": 1, "bus": "0000:81:00.0"}, 1, "3-5,9-10", None),
        ({"numa_node": -1}, None, "0-1,3-5,7-10", None),
        ({"numa_node": None}, None, "0-1,3-5,7-10", "the NUMA node of eth0 is not known (not recorded)"),
        ({"numa_node": 7}, None, "0-1,3-5,7-10", "NUMA node 7 of eth0 has no CPU"),
    ],
)
def test_a_device_is_where_the_kernel_says_or_local_everywhere(
    nic: dict[str, Any], node: int | None, cpus: str, note: str | None
) -> None:
    machine = topology_of_facts(known_of("2.9.0-v2-offline", nic), "eth0")
    device = machine.device("eth0")
    assert (device.node, format_cpulist(device.cpus)) == (node, cpus)
    assert device.address == nic.get("bus")
    assert [text.startswith(note) for text in machine.notes if note] == ([True] if note else [])
    assert bool(machine.notes) == bool(note)


def test_with_one_node_there_is_nothing_to_know_of_a_device() -> None:
    machine = topology_of_facts(known_of("2.9.0-v2-hybrid", {"numa_node": None}), "eth0")
    assert (machine.device("eth0").node, machine.notes) == (0, ())


def test_facts_complete_a_file_with_what_it_cannot_say() -> None:
    known = known_of(
        "2.9.0-v2-offline", {"numa_node": 1}, isolated=[4, 10], allowed=[3, 4, 5, 10], online=[0, 3, 4, 10]
    )
    machine = complete_topology(parse_lstopo_xml(captured("2.9.0-v2-offline")), known, "bond0")
    assert machine.isolated == (4, 10)
    assert machine.allowed == (3, 4, 10)
    assert machine.online == (0, 3, 4, 10)
    assert format_cpulist(machine.device("bond0").cpus) == "3-4,10"
    five = next(cpu for cpu in machine.cpus if cpu.id == 5)
    assert five == Cpu(5, None, None, None, online=False)


def test_facts_leave_a_device_of_the_file_as_it_is() -> None:
    known = {"cpus": {}, "nic": {"numa_node": 0}}
    machine = complete_topology(parse_lstopo_xml(captured("2.9.0-v2-devices")), known, "ens2f0np0")
    assert machine == parse_lstopo_xml(captured("2.9.0-v2-devices"))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            lambda machine: machine.device("eth9"),
            "no network device 'eth9'; there are: eno1, ens2f0np0, ens2f1np1",
        ),
        (lambda machine: machine.node_cpus(5), "there is no NUMA node 5; nodes with CPUs: 0, 1"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(question: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        question(parse_lstopo_xml(captured("2.9.0-v2-devices")))


def test_a_node_of_memory_alone_is_no_place_for_processes() -> None:
    with pytest.raises(InvalidInput, match=r"NUMA node 2 shows no CPU .*; with CPUs: 0, 1"):
        parse_lstopo_xml(captured("2.9.0-v2-memory-nodes")).node_cpus(2)


def machine_xml(inner: str, attributes: str = 'cpuset="0x3"', version: str = "2.0") -> str:
    return f'<topology version="{version}"><object type="Machine" {attributes}>{inner}</object></topology>'


def test_memory_beside_a_node_does_not_take_its_cpus() -> None:
    pus = '<object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>'
    nodes = "".join(f'<object type="NUMANode" os_index="{node}" cpuset="0x3"/>' for node in (8, 0))
    machine = parse_lstopo_xml(machine_xml(nodes + pus))
    assert (machine.node_cpus(0), machine.empty_nodes) == ((0, 1), (8,))


def test_format_1_says_which_of_the_cpus_it_shows_are_online() -> None:
    sets = 'cpuset="0x7" complete_cpuset="0xf" online_cpuset="0x5" allowed_cpuset="0x6"'
    text = machine_xml("".join(PU.format(cpu) for cpu in range(3)), sets).replace(' version="2.0"', "")
    machine = parse_lstopo_xml(text)
    assert (machine.online, machine.allowed, len(machine.cpus)) == ((0, 2), (2,), 4)


def test_a_capacity_a_little_lower_is_the_same_kind_of_core() -> None:
    pus = "".join(f'<object type="PU" os_index="{cpu}"/>' for cpu in range(3))
    kinds = "".join(
        f'<cpukind cpuset="{1 << cpu:#x}"><info name="LinuxCapacity" value="{capacity}"/></cpukind>'
        for cpu, capacity in enumerate((1024, 1009, 446))
    )
    text = f'<topology version="2.0"><object type="Machine" cpuset="0x7">{pus}</object>{kinds}</topology>'
    assert [cpu.slower for cpu in parse_lstopo_xml(text).cpus] == [0, 0, 1]


def slower_of(*kinds: dict[str, str]) -> list[int]:
    """Of a machine with a CPU of each kind."""
    pus = "".join(f'<object type="PU" os_index="{cpu}"/>' for cpu in range(len(kinds)))
    texts = [
        f'<cpukind cpuset="{1 << cpu:#x}" forced_efficiency="0">'
        + "".join(f'<info name="{name}" value="{value}"/>' for name, value in kind.items())
        + "</cpukind>"
        for cpu, kind in enumerate(kinds)
    ]
    inner = f'<object type="Machine" cpuset="{(1 << len(kinds)) - 1:#x}">{pus}</object>{"".join(texts)}'
    return [cpu.slower for cpu in parse_lstopo_xml(f'<topology version="2.0">{inner}</topology>').cpus]


CORE, ATOM, LOW = ({"CoreType": f"Intel{name}"} for name in ("Core", "Atom", "LowPower"))


@pytest.mark.parametrize(
    ("kinds", "slower"),
    [
        ([LOW, ATOM, CORE], [2, 1, 0]),
        ([CORE, LOW], [0, 2]),
        ([ATOM, ATOM], [0, 0]),
        ([LOW], [0]),
        ([{"CoreType": "AMD-ECore"}, {"CoreType": "AMD-PCore"}], [1, 0]),
        ([{"CoreType": "AMDPerformance"}, {"CoreType": "AMDEfficiency"}], [0, 1]),
        ([{"FrequencyMaxMHz": "5100"}, {"FrequencyMaxMHz": "4970"}, {"FrequencyMaxMHz": "3300"}], [0, 0, 1]),
        ([{"FrequencyMaxMHz": str(clock)} for clock in range(5000, 8000, 300)], [0] * 10),
        (
            [CORE | {"FrequencyMaxMHz": "4800"}, *(ATOM | {"FrequencyMaxMHz": f} for f in ("3800", "2500"))],
            [0, 1, 2],
        ),
        ([CORE | {"FrequencyMaxMHz": "3000"}, ATOM | {"FrequencyMaxMHz": "5000"}], [0, 1]),
        ([{"LinuxCapacity": "1024"}, {"LinuxCapacity": "780"}, {"LinuxCapacity": "325"}], [0, 1, 2]),
    ],
)
def test_kinds_of_core_are_ranked_by_name_capacity_and_clock(
    kinds: list[dict[str, str]], slower: list[int]
) -> None:
    assert slower_of(*kinds) == slower


@pytest.mark.parametrize(
    ("files", "slower"),
    [
        ({"cpu_core/cpus": "0-1", "cpu_atom/cpus": "2-3", "cpu_lowpower/cpus": "4"}, {"1": "2-3", "2": "4"}),
        (
            {
                f"system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": f
                for cpu, f in enumerate(("5100000", "3300000"))
            },
            {"1": "1"},
        ),
        ({f"system/cpu/cpu{cpu}/cpu_capacity": text for cpu, text in enumerate(("325", "1024"))}, {"1": "0"}),
        ({f"system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq": "3500000" for cpu in range(4)}, {}),
    ],
)
def test_facts_tell_kinds_of_core_without_lstopo(files: dict[str, str], slower: dict[str, str]) -> None:
    output = "\n".join(f"/sys/devices/{path}\t{text}" for path, text in files.items())
    known = host_facts.parse_all(
        f"\n{host_facts.MARK} begin cpus.slower\n{output}\n\n{host_facts.MARK} end 0\n"
    )
    assert known["cpus"]["slower"] == slower
    online = list(range(5))
    machine = topology_of_facts({"cpus": {"online": online, "slower": slower}, host_facts.NOT_KNOWN: {}})
    expected_of = {cpu: int(count) for count, text in slower.items() for cpu in parse_cpulist(text)}
    assert [cpu.slower for cpu in machine.cpus] == [expected_of.get(cpu, 0) for cpu in online]


PU = '<object type="PU" os_index="{}"/>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not well-formed XML"),
        ("lstopo: command not found", "not well-formed XML"),
        ("<svg/>", "not a topology of hwloc, but <svg>"),
        ("<topology/>", "not a topology of hwloc"),
        ("\x00", "not well-formed XML"),
        (machine_xml(""), "has no CPU"),
        (machine_xml(PU.format(0), version="9.0"), "version '9' is not known"),
        (machine_xml(PU.format(0) * 2), "CPU 0 is in the topology twice"),
        (machine_xml(PU.format(-1)), "a PU has the number '-1'"),
        (machine_xml(PU.format(8192)), "a PU has the number '8192'"),
        (machine_xml(PU.format("9" * 5000)), "a PU has the number"),
        (machine_xml('<object type="PU"/>'), "a PU has the number ''"),
        (
            machine_xml(PU.format(0) + '<object type="NUMANode" os_index="x"/>'),
            "a NUMANode has the number 'x'",
        ),
        (machine_xml(PU.format(0), 'cpuset="0-3"'), "'0-3' is not a set of CPUs"),
        (machine_xml(PU.format(0), f'cpuset="0x1{",0x0" * 256}"'), "is not a set of CPUs"),
        (machine_xml(PU.format(0), 'complete_cpuset="-1"'), "'-1' is not a set of CPUs"),
        (machine_xml(PU.format(0) + '<object type="OSDev" name="x" osdev_type="two"/>'), "type 'two'"),
    ],
)
def test_what_is_no_topology_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        parse_lstopo_xml(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


def test_an_entity_bomb_is_refused_before_it_grows() -> None:
    levels = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10}">' for at in range(1, 10))
    bomb = f'<!DOCTYPE topology [<!ENTITY e0 "boom">{levels}]><topology>&e9;</topology>'
    began_s = time.thread_time()
    with pytest.raises(InvalidInput, match="declares XML entities"):
        parse_lstopo_xml(bomb)
    assert time.thread_time() - began_s < 1
    with pytest.raises(InvalidInput, match="declares XML entities"):
        parse_lstopo_xml('<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><topology>&x;</topology>')


def test_objects_nested_without_end_are_read_without_recursion() -> None:
    depth = 20_000
    text = machine_xml('<object type="Group">' * depth + PU.format(0) + "</object>" * depth)
    assert [cpu.id for cpu in parse_lstopo_xml(text).cpus] == [0]


def test_every_cut_of_a_file_is_refused() -> None:
    text = captured("2.9.0-v2-devices").strip()
    for at in range(0, len(text) - 1, 97):
        with pytest.raises(InvalidInput):
            parse_lstopo_xml(text[:at])


@example(579, ",")  # a word of a cpuset that is cut to its prefix
@given(st.integers(0, 7000), st.text(alphabet='<>"&=/ 0x9,f', max_size=4))
def test_a_damaged_file_gives_a_machine_or_one_line(at: int, junk: str) -> None:
    text = captured("2.9.0-v2-devices")
    refused = None
    try:
        assert parse_lstopo_xml(text[:at] + junk + text[at + len(junk) :]).cpus
    except InvalidInput as error:
        refused = str(error)
    assert refused is None or "\n" not in refused


@given(st.sets(st.integers(0, 300), min_size=1))
def test_cpusets_are_read_as_hwloc_writes_them(cpus: set[int]) -> None:
    bits = sum(1 << cpu for cpu in cpus)
    words: list[str] = []
    while bits:
        words.append(f"0x{bits & 0xFFFFFFFF:08x}" if bits & 0xFFFFFFFF or not words else "")
        bits >>= 32
    pus = "".join(PU.format(cpu) for cpu in range(301))
    machine = parse_lstopo_xml(machine_xml(pus, f'allowed_cpuset="{",".join(reversed(words))}"'))
    assert set(machine.allowed) == cpus


def test_an_offline_cpu_is_of_no_use_even_where_it_is_allowed() -> None:
    both = (Cpu(0, 0, 0, 0), Cpu(1, None, None, None, online=False))
    assert [cpu.id for cpu in Topology(both, allowed=(0, 1)).usable()] == [0]
    assert Topology(both, allowed=(0, 1)).usable(cpu_ids=[1]) == ()


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("3.0", {"eth0": 16, "mlx5_0": 48, "mlx5_1": 32, "ib0": 16}),
        ("2.0", {"eth0": 2, "mlx5_0": 3, "ib0": 2}),
    ],
)
def test_rdma_devices_are_no_network_devices(version: str, kinds: dict[str, int]) -> None:
    devices = "".join(
        f'<object type="OSDev" name="{name}" osdev_type="{kind}"/>' for name, kind in kinds.items()
    )
    inner = f'<object type="PU" os_index="0" cpuset="0x1"/>{devices}'
    machine = parse_lstopo_xml(machine_xml(inner, 'cpuset="0x1"', version))
    assert [device.name for device in machine.devices] == ["eth0", "ib0"]
