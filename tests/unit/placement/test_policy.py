# SPDX-License-Identifier: Apache-2.0
"""Where processes and interrupts go: the rules, the policies, and what must hold on every machine."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linewatt.errors import InvalidInput
from linewatt.placement.hwloc import parse_lstopo_xml
from linewatt.placement.policy import MOST_PROCESSES, POLICIES, Placement, Wish, place_processes
from linewatt.placement.topology import Cpu, Device, Topology

CAPTURES = Path(__file__).parents[2] / "captures" / "topology"
needs_lstopo = pytest.mark.skipif(shutil.which("lstopo") is None, reason="hwloc's lstopo is not installed")


def machine(nodes: int, cores: int, threads: int = 1, caches: int = 1, nic_node: int | None = 0) -> Topology:
    """A machine numbered as Linux does on x86: first threads of all cores, then second threads."""
    cpus = []
    for thread in range(threads):
        for core in range(nodes * cores):
            node = core // cores
            llc = node * caches + core % cores * caches // cores
            cpus.append(Cpu(thread * nodes * cores + core, core, node, node, llc, smt=thread))
    everywhere = tuple(cpu.id for cpu in cpus)
    near = tuple(cpu.id for cpu in cpus if nic_node is None or cpu.node == nic_node)
    return Topology(tuple(cpus), (Device("eth0", None, near, nic_node),), allowed=everywhere)


@cache
def synthetic(description: str) -> Topology:
    argv = ["lstopo", "-i", description, "--of", "xml"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30)
    return parse_lstopo_xml(done.stdout)


def captured(case: str) -> Topology:
    return parse_lstopo_xml((CAPTURES / case / "topology.xml").read_text())


def cpus(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


@needs_lstopo
@pytest.mark.parametrize(
    ("processes", "own", "interrupts"),
    [
        (4, cpus(0, 3), cpus(4, 7)),
        (16, cpus(0, 15), cpus(16, 31)),
        (40, cpus(0, 39), cpus(40, 79)),
    ],
)
def test_published_pinnings_of_a_machine_with_80_cores_and_one_node(
    processes: int, own: tuple[int, ...], interrupts: tuple[int, ...]
) -> None:
    found = place_processes(synthetic("pack:1 [numa] core:80 pu:1"), Wish(processes, node=0))
    assert (found.rule, found.process_cpus, found.irq_cpus) == (1, own, interrupts)
    assert (found.shared, found.notes) == (False, ())


def test_rule_1_gives_interrupts_as_many_cores_as_are_left() -> None:
    found = place_processes(machine(2, 8), Wish(6, nic="eth0"))
    assert (found.rule, found.process_cpus, found.irq_cpus) == (1, cpus(0, 5), (6, 7))
    assert found.why == (
        "6 processes and their interrupts fit on the 8 cores local to eth0 (NUMA node 0): "
        "processes on 0-5, interrupts on 6-7, all that are left"
    )


@pytest.mark.parametrize(
    ("processes", "rule"), [(1, 1), (7, 1), (8, 2), (16, 2), (32, 2), (33, 3), (MOST_PROCESSES, 3)]
)
def test_rules_change_at_l_and_beyond_2t(processes: int, rule: int) -> None:
    assert place_processes(machine(2, 8), Wish(processes, nic="eth0")).rule == rule


def test_rule_2_leaves_local_cores_to_interrupts_and_runs_processes_on_the_others() -> None:
    found = place_processes(machine(3, 4, nic_node=1), Wish(10, nic="eth0"))
    assert found.process_cpus == (0, 1, 2, 3, 8, 9, 10, 11, 0, 1)
    assert found.irq_cpus == (4, 5, 6, 7)
    assert found.shared is False
    assert found.notes == ("up to 2 processes share a CPU: 10 of them on 8 CPUs",)


def test_rule_2_without_other_cores_shares_the_local_ones_and_says_so() -> None:
    laptop = place_processes(machine(1, 2), Wish(3, nic="eth0"))
    assert (laptop.rule, laptop.process_cpus, laptop.irq_cpus) == (2, (0, 1, 0), (0, 1))
    assert laptop.shared is True
    assert "there are no other cores: processes and interrupts share CPUs" in laptop.why
    assert laptop.notes == (
        "processes and interrupts share CPU 0-1: the two roles cannot be told apart there",
        "up to 2 processes share a CPU: 3 of them on 2 CPUs",
    )


@pytest.mark.parametrize(
    ("processes", "own", "interrupts"), [(2, (0, 1), (2, 3)), (3, (0, 1, 2), (3,)), (4, (0, 1, 2, 3), (0, 1))]
)
def test_second_threads_come_before_shared_cpus(
    processes: int, own: tuple[int, ...], interrupts: tuple[int, ...]
) -> None:
    found = place_processes(machine(1, 2, threads=2), Wish(processes, nic="eth0"))
    assert (found.rule, found.process_cpus, found.irq_cpus) == (2, own, interrupts)
    assert found.shared is (processes == 4)


def test_what_is_said_of_second_threads() -> None:
    found = place_processes(machine(2, 2, threads=2), Wish(2, nic="eth0", usable=(0, 1, 4, 5)))
    assert found.why == (
        "the 2 cores local to eth0 (NUMA node 0) are not enough for 2 processes and their interrupts, and "
        "there are no other cores: second threads of the cores keep both apart: processes on 0-1,"
        " interrupts on 4-5"
    )
    assert found.notes == ("interrupts on 4-5 run on the other thread of a core that runs a process",)


def test_a_core_without_a_second_thread_lends_none() -> None:
    found = place_processes(machine(1, 2, threads=2), Wish(2, nic="eth0", usable=(0, 1, 2)))
    assert (found.process_cpus, found.irq_cpus, found.shared) == ((0, 1), (2,), False)


@pytest.mark.parametrize("policy", ["auto", "remote"])
def test_processes_elsewhere_use_second_threads_before_a_cpu_has_two(policy: str) -> None:
    found = place_processes(machine(2, 2, threads=2), Wish(3, nic="eth0", policy=policy))
    assert found.process_cpus == (2, 3, 6)
    assert found.irq_cpus == (0, 1)
    assert found.notes == ("3 CPUs with processes are threads of 2 cores",)


def test_the_role_that_is_not_named_gets_second_threads_before_shared_cpus() -> None:
    computer = machine(1, 2, threads=2)
    assert place_processes(computer, Wish(2, nic="eth0", process_cpus=(0, 1))).irq_cpus == (2, 3)
    assert place_processes(computer, Wish(2, nic="eth0", process_cpus=(0,))).irq_cpus == (1,)
    assert place_processes(computer, Wish(2, nic="eth0", irq_cpus=(0, 1))).process_cpus == (2, 3)


def test_one_cpu_does_everything() -> None:
    found = place_processes(machine(1, 1), Wish(1, nic="eth0"))
    assert (found.rule, found.process_cpus, found.irq_cpus, found.shared) == (2, (0,), (0,), True)


def test_rule_3_leaves_it_to_the_system() -> None:
    found = place_processes(machine(2, 8), Wish(1000, nic="eth0"))
    assert (found.process_cpus, found.irq_cpus, found.shared, found.notes) == ((), (), False, ())
    assert found.why.startswith("1,000 processes are more than two for each of the 16 cores")


def test_one_thread_a_core_unless_threads_are_asked_for() -> None:
    computer = machine(1, 4, threads=2)
    assert place_processes(computer, Wish(4, nic="eth0")).rule == 2
    threads = place_processes(computer, Wish(4, nic="eth0", smt=True))
    assert (threads.rule, threads.process_cpus, threads.irq_cpus) == (1, (0, 1, 2, 3), (4, 5, 6, 7))
    assert threads.notes == ("interrupts on 4-7 run on the other thread of a core that runs a process",)
    five = place_processes(computer, Wish(5, nic="eth0", smt=True))
    assert five.notes[0] == "5 CPUs with processes are threads of 4 cores"


@needs_lstopo
def test_threads_with_adjacent_numbers_are_one_core_too() -> None:
    found = place_processes(synthetic("node:2 core:4 pu:2"), Wish(2, node=1))
    assert (found.process_cpus, found.irq_cpus) == ((8, 10), (12, 14))
    threads = place_processes(synthetic("node:2 core:4 pu:2"), Wish(5, node=1, smt=True))
    assert (threads.process_cpus, threads.irq_cpus) == ((8, 10, 12, 14, 9), (11, 13, 15))


def test_a_device_without_a_node_keeps_processes_together_on_one() -> None:
    interleaved = tuple(Cpu(cpu, cpu, cpu % 2, cpu % 2, cpu % 2) for cpu in range(8))
    found = place_processes(Topology(interleaved, allowed=cpus(0, 7)), Wish(2))
    assert (found.process_cpus, found.irq_cpus) == ((0, 2), (4, 6))
    assert "the 8 cores of the machine" in found.why


def test_a_device_without_a_node_is_local_everywhere() -> None:
    found = place_processes(machine(2, 4, nic_node=None), Wish(4, nic="eth0"))
    assert (found.rule, found.process_cpus, found.irq_cpus) == (1, (0, 1, 2, 3), (4, 5, 6, 7))
    assert "8 cores local to eth0 (on no one NUMA node)" in found.why


def test_a_device_of_a_file_is_placed_on_its_own_node() -> None:
    found = place_processes(captured("2.9.0-v2-devices"), Wish(2, nic="ens2f0np0"))
    assert (found.process_cpus, found.irq_cpus) == ((8, 10), (12, 14))


def test_isolated_cores_carry_the_processes_where_there_are_enough() -> None:
    computer = replace(machine(1, 8), isolated=(4, 5, 6))
    found = place_processes(computer, Wish(2, nic="eth0"))
    assert (found.process_cpus, found.irq_cpus, found.notes) == ((4, 5), (6, 0), ())
    assert "processes on isolated 4-5, interrupts on 0,6" in found.why
    assert place_processes(computer, Wish(3, nic="eth0")).process_cpus == (4, 5, 6)


def test_too_few_isolated_cores_change_nothing_but_are_named() -> None:
    found = place_processes(replace(machine(1, 8), isolated=(2,)), Wish(3, nic="eth0"))
    assert found.process_cpus == (0, 1, 2)
    assert "isolated" not in found.why
    assert found.notes == ("1 of 3 CPUs with processes are isolated (2), the others not",)


def test_rule_2_prefers_isolated_cores_of_other_nodes() -> None:
    found = place_processes(replace(machine(2, 4), isolated=(6, 7)), Wish(4, nic="eth0"))
    assert found.process_cpus == (4, 5, 6, 7)
    computer = replace(machine(2, 4), isolated=(4, 5, 6, 7))
    assert "processes run on isolated 4-7" in place_processes(computer, Wish(4, nic="eth0")).why


def test_fast_cores_come_before_slow_ones_whatever_their_numbers() -> None:
    kinds = [replace(cpu, slower=int(cpu.id < 4)) for cpu in machine(1, 8).cpus]
    computer = replace(machine(1, 8), cpus=tuple(kinds))
    found = place_processes(computer, Wish(3, nic="eth0"))
    assert (found.process_cpus, found.irq_cpus, found.notes) == ((4, 5, 6), (7, 0, 1), ())
    assert place_processes(computer, Wish(5, nic="eth0")).notes == (
        "1 of 5 CPUs with processes are slower cores (0)",
    )
    hybrid = place_processes(captured("2.9.0-v2-hybrid"), Wish(2, node=0))
    assert (hybrid.process_cpus, hybrid.irq_cpus) == ((0, 2), (4, 5))
    weak = place_processes(computer, Wish(2, nic="eth0", usable=(0, 1, 2)))
    assert weak.notes == ("all processes run on slower cores (0-1)",)


def low_power_machine() -> Topology:
    """Two performance cores of two threads (0-3), four efficiency cores (4-7), two low-power ones (8-9)."""
    cores = [(0, 0), (0, 1), (1, 0), (1, 1), *((core, 0) for core in range(2, 8))]
    cpus = [
        Cpu(cpu, core, 0, 0, llc=0 if cpu < 8 else None, smt=smt, slower=(cpu >= 4) + (cpu >= 8))
        for cpu, (core, smt) in enumerate(cores)
    ]
    return Topology(cpus=tuple(cpus), allowed=tuple(range(10)))


@pytest.mark.parametrize(
    ("processes", "own", "interrupts"),
    [
        (1, (0,), (2,)),
        (4, (0, 2, 4, 5), (6, 7)),
        (6, (0, 2, 4, 5, 6, 7), (1, 3)),
        (7, (0, 2, 4, 5, 6, 7, 1), (3,)),
    ],
)
def test_low_power_cores_are_left_alone_while_faster_ones_are_free(
    processes: int, own: tuple[int, ...], interrupts: tuple[int, ...]
) -> None:
    found = place_processes(low_power_machine(), Wish(processes, node=0))
    assert (found.process_cpus, found.irq_cpus) == (own, interrupts)
    assert found.notes[0] == "low-power cores (8-9) are left alone while faster ones are free"


def test_low_power_cores_are_used_and_named_where_the_others_do_not_suffice() -> None:
    found = place_processes(low_power_machine(), Wish(8, node=0))
    assert found.process_cpus == (0, 2, 4, 5, 6, 7, 8, 9)
    assert not any("left alone" in note for note in found.notes)
    only = place_processes(low_power_machine(), Wish(1, node=0, usable=(8, 9)))
    assert (only.process_cpus, only.irq_cpus) == ((8,), (9,))
    assert only.notes == (
        "all processes run on slower cores (8)",
        "interrupts run on low-power cores (9)",
    )
    named = place_processes(low_power_machine(), Wish(1, node=0, process_cpus=(8,)))
    assert (named.process_cpus, named.irq_cpus) == ((8,), (0,))
    assert place_processes(low_power_machine(), Wish(1, policy="none")).notes == ()


def test_interrupts_on_slower_cores_are_said_where_processes_have_faster_ones() -> None:
    found = place_processes(captured("2.9.0-v2-hybrid"), Wish(2, node=0))
    assert found.why.endswith("interrupts on 4-5; 4-5 are slower cores")


def test_offline_and_forbidden_cpus_are_left_out_and_do_not_count() -> None:
    found = place_processes(captured("2.9.0-v2-offline"), Wish(2, node=0))
    assert (found.rule, found.process_cpus, found.irq_cpus) == (1, (0, 1), (8,))
    limited = place_processes(captured("2.9.0-v2-allowed"), Wish(1, node=0))
    assert (limited.process_cpus, limited.irq_cpus) == ((2,), (3,))
    chosen = place_processes(machine(2, 8), Wish(1, nic="eth0", usable=(3, 6, 9)))
    assert (chosen.process_cpus, chosen.irq_cpus) == ((3,), (6,))


def test_the_second_thread_stands_for_a_core_whose_first_may_not_be_used() -> None:
    found = place_processes(machine(1, 3, threads=2), Wish(1, nic="eth0", usable=(3, 1, 4, 2)))
    assert (found.process_cpus, found.irq_cpus) == ((1,), (2,))
    assert place_processes(machine(1, 2, threads=2), Wish(1, nic="eth0", usable=(2, 3))).process_cpus == (2,)


def test_a_cpuset_away_from_the_device_takes_what_there_is_and_says_so() -> None:
    found = place_processes(machine(2, 4), Wish(1, nic="eth0", usable=(4, 5, 6)))
    assert (found.rule, found.process_cpus, found.irq_cpus) == (1, (4,), (5,))
    assert found.notes == (
        "none of the CPUs local to eth0 (NUMA node 0) may be used: all others are taken as local",
    )
    with pytest.raises(InvalidInput, match="none of the CPUs of NUMA node 0 may be used"):
        place_processes(machine(2, 4), Wish(1, node=0, usable=(4, 5, 6)))


def test_notes_of_the_topology_stay_with_the_placement() -> None:
    assert place_processes(replace(machine(1, 4), notes=("a guess",)), Wish(1, nic="eth0")).notes == (
        "a guess",
    )


def test_policy_none_leaves_it_to_the_system() -> None:
    found = place_processes(machine(2, 8), Wish(2, nic="eth0", policy="none"))
    assert (found.rule, found.policy, found.process_cpus, found.irq_cpus) == (None, "none", (), ())


def test_policy_neighbour_puts_interrupts_beside_their_process() -> None:
    computer = machine(2, 8, caches=2)
    found = place_processes(computer, Wish(3, nic="eth0", policy="neighbour"))
    assert (found.process_cpus, found.irq_cpus) == ((0, 2, 4), (1, 3, 5))
    assert place_processes(computer, Wish(3, nic="eth0")).irq_cpus == (3, 4, 5)
    assert (found.rule, found.policy, found.shared) == (None, "neighbour", False)
    with pytest.raises(InvalidInput, match="for each of 5 processes, and there are 4; take fewer"):
        place_processes(computer, Wish(5, nic="eth0", policy="neighbour"))


def test_an_odd_core_of_a_cache_is_nobodys_neighbour() -> None:
    found = place_processes(machine(1, 6, caches=2), Wish(2, nic="eth0", policy="neighbour"))
    assert list(zip(found.process_cpus, found.irq_cpus, strict=True)) == [(0, 1), (3, 4)]


def test_threads_of_one_core_are_no_neighbours() -> None:
    computer = machine(1, 4, threads=2)
    found = place_processes(computer, Wish(4, nic="eth0", policy="neighbour", smt=True))
    core = {cpu.id: cpu.core for cpu in computer.cpus}
    pairs = zip(found.process_cpus, found.irq_cpus, strict=True)
    assert all(core[own] != core[interrupt] for own, interrupt in pairs)
    with pytest.raises(InvalidInput, match=r"two threads .* and there is none"):
        place_processes(computer, Wish(1, nic="eth0", policy="neighbour", smt=True, usable=(0, 4)))


def test_without_a_shared_cache_there_are_no_neighbours() -> None:
    with pytest.raises(InvalidInput, match="and there is none"):
        place_processes(captured("2.9.0-v2-allowed"), Wish(1, node=0, policy="neighbour"))


def test_policy_remote_moves_the_processes_and_not_the_interrupts() -> None:
    found = place_processes(machine(3, 4, nic_node=1), Wish(3, nic="eth0", policy="remote"))
    assert (found.process_cpus, found.irq_cpus) == ((0, 1, 2), (4, 5, 6))
    assert (found.rule, found.policy, found.shared) == (None, "remote", False)
    many = place_processes(machine(2, 2), Wish(3, nic="eth0", policy="remote"))
    assert many.process_cpus == (2, 3, 2)
    assert many.notes == ("up to 2 processes share a CPU: 3 of them on 2 CPUs",)


@pytest.mark.parametrize("nic_node", [0, None])
def test_policy_remote_needs_another_node(nic_node: int | None) -> None:
    with pytest.raises(InvalidInput, match="needs cores elsewhere than the 4 cores local to eth0"):
        place_processes(machine(1, 4, nic_node=nic_node), Wish(1, nic="eth0", policy="remote"))


def test_named_cpus_are_taken_as_they_are() -> None:
    found = place_processes(machine(2, 4), Wish(3, nic="eth0", process_cpus=(7, 1), irq_cpus=(2,)))
    assert (found.process_cpus, found.irq_cpus) == ((7, 1, 7), (2,))
    assert (found.rule, found.policy, found.shared) == (None, "explicit", False)
    both = place_processes(machine(2, 4), Wish(1, nic="eth0", process_cpus=(1,), irq_cpus=(1,)))
    assert both.shared is True


def test_the_role_that_is_not_named_gets_what_is_left_of_the_local_cores() -> None:
    assert place_processes(machine(2, 4), Wish(2, nic="eth0", process_cpus=(0, 1))).irq_cpus == (2, 3)
    assert place_processes(machine(2, 4), Wish(2, nic="eth0", irq_cpus=(0, 1))).process_cpus == (2, 3)
    full = place_processes(machine(2, 2), Wish(1, nic="eth0", irq_cpus=(0, 1)))
    assert (full.process_cpus, full.shared) == ((0,), True)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Wish(0, nic="eth0"), "must be 1 to 65535, got 0"),
        (Wish(65536, nic="eth0"), "must be 1 to 65535, got 65536"),
        (Wish(1, nic="eth0", policy="best"), "no policy 'best'; there are: auto, none, neighbour, remote"),
        (Wish(1, nic="eth0", node=0), "name the one or the other"),
        (Wish(1, nic="eth1"), "no network device 'eth1'; there are: eth0"),
        (Wish(1, node=2), "no NUMA node 2; nodes with CPUs: 0, 1"),
        (Wish(1, nic="eth0", usable=()), "no CPU is left"),
        (Wish(1, nic="eth0", usable=(99,)), "no CPU is left"),
        (Wish(1, nic="eth0", process_cpus=(8,)), "has no CPU 8 for the processes; it has 0-7"),
        (Wish(1, nic="eth0", irq_cpus=(1,), usable=(2, 3)), "CPU 1 cannot be used for the interrupts"),
        (Wish(1, nic="eth0", irq_cpus=()), "no CPU is named for the interrupts"),
        (Wish(1, nic="eth0", irq_cpus=(1,), policy="remote"), "name CPUs, or the policy"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_in_one_line(wish: Wish, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        place_processes(machine(2, 4), wish)
    assert "\n" not in str(refused.value)


def test_a_machine_without_devices_says_what_to_do() -> None:
    with pytest.raises(InvalidInput, match=r"nor any other: .* name the NUMA node"):
        place_processes(replace(machine(2, 4), devices=()), Wish(1, nic="eth0"))


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    """Machines with offline, forbidden, isolated and slower CPUs, with or without shared caches."""
    nodes, cores, threads = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(1, 2))
    nic_node = draw(st.sampled_from([None, *range(nodes)]))
    found = machine(nodes, cores, threads, draw(st.integers(1, 2)), nic_node)
    some = st.sets(st.sampled_from([cpu.id for cpu in found.cpus]), max_size=len(found.cpus) - 1)
    offline, forbidden, isolated, slow = draw(some), draw(some), draw(some), draw(some)
    kinds = (
        Cpu(cpu.id, None, None, None, online=False)
        if cpu.id in offline
        else replace(cpu, slower=int(cpu.id in slow))
        for cpu in found.cpus
    )
    allowed = tuple(cpu.id for cpu in found.cpus if cpu.id not in forbidden | offline)
    assume(allowed)
    return replace(found, cpus=tuple(kinds), allowed=allowed, isolated=tuple(sorted(isolated)))


def placed(topology: Topology, wish: Wish) -> Placement:
    """The placement; a wish that this machine cannot meet is no example."""
    try:
        return place_processes(topology, wish)
    except InvalidInput:
        assume(False)
        raise


def local_cores(topology: Topology) -> set[int | None]:
    near = set(topology.device("eth0").cpus)
    local = {cpu.core for cpu in topology.usable() if cpu.id in near}
    return local or {cpu.core for cpu in topology.usable()}


wishes = st.builds(
    Wish, st.integers(1, 60), nic=st.just("eth0"), policy=st.sampled_from(POLICIES), smt=st.booleans()
)


@given(machines(), wishes)
def test_no_cpu_is_offline_or_forbidden_and_the_same_wish_gives_the_same(
    topology: Topology, wish: Wish
) -> None:
    found = placed(topology, wish)
    usable = {cpu.id for cpu in topology.cpus if cpu.online} & set(topology.allowed)
    assert {*found.process_cpus, *found.irq_cpus} <= usable
    assert found == place_processes(replace(topology, cpus=tuple(reversed(topology.cpus))), wish)
    assert found.shared == bool({*found.process_cpus} & {*found.irq_cpus})
    assert len(found.irq_cpus) == len(set(found.irq_cpus))
    if found.process_cpus:
        assert len(found.process_cpus) == wish.processes
        assert found.irq_cpus


@given(machines(), wishes)
def test_no_process_has_less_than_a_core_without_saying_so(topology: Topology, wish: Wish) -> None:
    found = placed(topology, wish)
    core = {cpu.id: cpu.core for cpu in topology.cpus}
    own, served = Counter(core[cpu] for cpu in found.process_cpus), {core[cpu] for cpu in found.irq_cpus}
    if max(own.values(), default=0) > 1 or served & set(own):
        assert found.notes
        assert wish.smt or found.shared or _uses_second_threads(topology, found)


def _uses_second_threads(topology: Topology, found: Placement) -> bool:
    """Or has more processes than CPUs."""
    core = {cpu.id: cpu.core for cpu in topology.cpus}
    everything = (*found.process_cpus, *found.irq_cpus)
    return len({core[cpu] for cpu in everything}) < len(everything)


@given(machines(), st.integers(1, 60))
def test_rules_hold_on_every_machine(topology: Topology, processes: int) -> None:
    found = place_processes(topology, Wish(processes, nic="eth0"))
    core = {cpu.id: cpu.core for cpu in topology.cpus}
    local, everywhere = local_cores(topology), {cpu.core for cpu in topology.usable()}
    own, interrupts = ({core[cpu] for cpu in cpus} for cpus in (found.process_cpus, found.irq_cpus))
    if processes < len(local):
        assert found.rule == 1
        assert own | interrupts <= local
        assert not own & interrupts
        assert len(own) == processes
        assert len(interrupts) == min(processes, len(local) - processes)
    elif processes <= 2 * len(everywhere):
        assert found.rule == 2
        alone = local == everywhere
        theirs = local if alone else everywhere - local
        threads = [cpu.id for cpu in topology.usable() if cpu.core in theirs]
        assert own <= theirs
        assert len(own) == min(processes, len(theirs))
        assert len(set(found.process_cpus)) == min(processes, len(threads))
        assert found.shared == (alone and processes >= len(threads))
        assert interrupts == local or (alone and not found.shared)
    else:
        assert (found.rule, found.process_cpus, found.irq_cpus) == (3, (), ())


@given(machines(), st.integers(1, 30))
def test_one_process_more_never_moves_the_others(topology: Topology, processes: int) -> None:
    plain = replace(topology, isolated=())
    fewer, more = (place_processes(plain, Wish(count, nic="eth0")) for count in (processes, processes + 1))
    assert (fewer.rule or 0) <= (more.rule or 0)
    if fewer.rule == more.rule != 3:
        assert more.process_cpus[:processes] == fewer.process_cpus


@given(machines(), st.integers(1, 30), st.booleans())
def test_isolated_cpus_are_all_or_in_their_usual_place(topology: Topology, processes: int, smt: bool) -> None:
    found = place_processes(topology, Wish(processes, nic="eth0", smt=smt))
    usual = place_processes(replace(topology, isolated=()), Wish(processes, nic="eth0", smt=smt))
    assert found.rule == usual.rule
    if not set(found.process_cpus) <= set(topology.isolated):
        assert (found.process_cpus, found.irq_cpus) == (usual.process_cpus, usual.irq_cpus)


@given(machines(), st.integers(1, 6))
def test_neighbours_are_pairs_of_one_cache_or_there_are_not_enough(
    topology: Topology, processes: int
) -> None:
    core_of = {cpu.id: cpu for cpu in topology.cpus}
    near = {cpu.id for cpu in topology.usable() if cpu.core in local_cores(topology)}
    caches = Counter(llc for llc, _ in {(core_of[cpu].llc, core_of[cpu].core) for cpu in near})
    if sum(count // 2 for llc, count in caches.items() if llc is not None) < processes:
        with pytest.raises(InvalidInput, match="behind one last-level cache"):
            place_processes(topology, Wish(processes, nic="eth0", policy="neighbour"))
        return
    found = place_processes(topology, Wish(processes, nic="eth0", policy="neighbour"))
    for own, interrupt in zip(found.process_cpus, found.irq_cpus, strict=True):
        assert core_of[interrupt].llc == core_of[own].llc is not None
        assert core_of[interrupt].core != core_of[own].core
    assert {*found.process_cpus, *found.irq_cpus} <= near
    assert len({*found.process_cpus, *found.irq_cpus}) == 2 * processes


@given(machines(), st.integers(1, 12), st.booleans())
def test_remote_processes_are_away_or_there_is_nowhere_to_go(
    topology: Topology, processes: int, smt: bool
) -> None:
    near = set(topology.device("eth0").cpus)
    usable = {cpu.id for cpu in topology.usable()}
    wish = Wish(processes, nic="eth0", policy="remote", smt=smt)
    if not usable & near or not usable - near:
        with pytest.raises(InvalidInput, match="the policy remote needs"):
            place_processes(topology, wish)
        return
    found = place_processes(topology, wish)
    assert not near & set(found.process_cpus)
    assert set(found.irq_cpus) <= near


BESIDE = Path(__file__).resolve().parents[3].parent / "shared" / "topologies"


@pytest.mark.parametrize("processes", [1, 2, 7, 24, 100, 500])
@pytest.mark.parametrize("name", ["2-socket-opteron", "4-socket-96-core"])
def test_machines_of_others_get_placements_that_make_sense(name: str, processes: int) -> None:
    file = BESIDE / f"{name}.xml"
    if not file.exists():
        pytest.skip("no shared/topologies beside this clone")
    topology = parse_lstopo_xml(file.read_text())
    for node in topology.nodes:
        local = {cpu.id for cpu in topology.usable() if cpu.node == node}
        cores = len({cpu.core for cpu in topology.usable() if cpu.id in local})
        total = len({cpu.core for cpu in topology.usable()})
        found = place_processes(topology, Wish(processes, node=node))
        assert found.rule == (1 if processes < cores else 2 if processes <= 2 * total else 3)
        if found.rule == 1:
            assert {*found.process_cpus, *found.irq_cpus} <= local
            assert not {*found.process_cpus} & {*found.irq_cpus}
        elif found.rule == 2:
            assert {*found.irq_cpus} <= local
            assert not {*found.process_cpus} & local
        else:
            assert found.process_cpus == found.irq_cpus == ()
