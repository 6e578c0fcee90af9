# SPDX-License-Identifier: Apache-2.0
"""The picture of a host: boxes as the machine has them, the load on its CPUs, the same in words."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.amounts import inputs
from tests.report_factories import HOSTILE, host, hosts_of, result, scaling_trials
from tests.topology_factories import NIC, machine, placed_result, placed_trial

from linewatt.hosts.facts.cpulist import parse_cpulist
from linewatt.hosts.facts.read import FURTHER_NICS
from linewatt.model import Case, Trial
from linewatt.placement.hwloc import parse_lstopo_xml
from linewatt.placement.policy import Wish, place_processes
from linewatt.placement.sysfs import topology_of_facts
from linewatt.records import ChosenPlace, PlaceLine
from linewatt.report.machine.boxes import BARRED, FREE_CPU, ISOLATED, OFFLINE, SLOWER, CpuCell, boxes, legend
from linewatt.report.machine.environment import environment_groups
from linewatt.report.machine.map import MachineMap, machine_maps, topology_of
from linewatt.report.printing import html
from linewatt.report.trials import terminal
from linewatt.report.trials.digest import digest_of
from linewatt.report.trials.settings.placements import placements, why

CAPTURES = Path(__file__).parents[2] / "captures"
TCP = Case("tcp", "h1", "h2")
UDP = Case("udp-1500", "h1", "h2")


def maps(facts: Any, *trials: Trial, **manifest: Any) -> tuple[MachineMap, ...]:
    return machine_maps(digest_of(placed_result(facts, trials, **manifest)))


def cells(one: MachineMap) -> list[CpuCell]:
    boxed = [
        cell for node in one.nodes for cache in node.caches for core in cache.cores for cell in core.cells
    ]
    return [*boxed, *one.offline]


def signs(one: MachineMap) -> dict[str, str]:
    """CPU list → its sign, of cells that are part of the load or odd."""
    return {cell.cpus: cell.sign for cell in cells(one) if cell.sign not in ("·", "")}


def test_boxes_stand_in_each_other_as_the_machine_has_them() -> None:
    (one,) = maps(
        machine(packages=2, caches=2, cores=2, threads=2, numa_node=1), placed_trial(1, TCP, [4], [5])
    )
    assert [node.title for node in one.nodes] == ["NUMA node 0 · package 0", "NUMA node 1 · package 1"]
    assert [node.has_nic for node in one.nodes] == [False, True]
    second = one.nodes[1]
    assert [cache.title for cache in second.caches] == ["last-level cache 2", "last-level cache 3"]
    threads = [[cell.cpus for cell in core.cells] for core in second.caches[0].cores]
    assert threads == [["4", "12"], ["5", "13"]]
    assert signs(one) == {"4": "P", "5": "I"}
    assert (one.nic.name, one.nic.details) == (NIC, ("ConnectX-6 Dx", "PCI 0000:41:00.0", "NUMA node 1"))


def test_a_node_of_two_packages_names_both_and_keeps_them_apart() -> None:
    facts = machine(packages=2, cores=2, of_node={"node0": "0-3"})
    facts["cpus"]["caches"] = None
    (one,) = maps(facts, placed_trial(1, TCP, [0], [1]))
    assert [node.title for node in one.nodes] == ["NUMA node 0 · packages 0-1"]
    assert [cache.title for cache in one.nodes[0].caches] == ["package 0", "package 1"]


def test_a_cpu_with_both_roles_is_neither_process_nor_interrupts() -> None:
    (one,) = maps(machine(), placed_trial(1, TCP, [0, 1], [1, 2]))
    assert signs(one) == {"0": "P", "1": "B", "2": "I"}
    assert [mark.sign for mark in one.legend] == ["P", "I", "B", "·"]


def test_an_interface_without_a_node_is_local_everywhere_and_stands_apart() -> None:
    (one,) = maps(machine(nodes=2, numa_node=-1), placed_trial(1, TCP, [0], [1]))
    assert one.nic.details[-1] == "no node: local everywhere"
    assert one.nic_apart
    (at_node,) = maps(machine(nodes=2, numa_node=1), placed_trial(1, TCP, [0], [1]))
    assert not at_node.nic_apart


def test_further_data_ports_stand_beside_the_first_with_their_node() -> None:
    facts = machine(nodes=2, numa_node=1)
    facts[FURTHER_NICS] = {"eth2": {"numa_node": 0}, "eth3": {"numa_node": -1}, "eth4": None}
    (one,) = maps(facts, placed_trial(1, TCP, [0], [1]))
    anywhere = "no node: local everywhere"
    assert one.nic.details[-1] == f"NUMA node 1; eth2: NUMA node 0; eth3: {anywhere}; eth4: {anywhere}"


def test_isolated_cpus_are_free_although_a_session_may_not_run_there() -> None:
    facts = machine(cores=6, isolated=[2, 3], allowed=[0, 1, 4])
    (one,) = maps(facts, placed_trial(1, TCP, [2], [0]))
    found = {cell.cpus: cell.marks for cell in cells(one)}
    assert found["3"] == (FREE_CPU, ISOLATED)
    assert found["5"] == (BARRED,)
    assert ISOLATED in found["2"]
    assert {ISOLATED, BARRED} <= set(one.legend)


def test_a_host_has_only_its_own_cpus_free() -> None:
    hosts = {"h2": host("h2", facts=machine(), cpus=[0, 1])}
    (one,) = machine_maps(digest_of(result([placed_trial(1, TCP, [0], [1])], hosts=hosts)))
    assert signs(one) == {"0": "P", "1": "I", "2": "x", "3": "x"}


def test_offline_cpus_are_struck_through_and_many_are_one_cell() -> None:
    few = machine(cores=4, threads=2, online=[0, 1, 2, 3])
    (one,) = maps(few, placed_trial(1, TCP, [0], [1]))
    assert [cell.cpus for cell in one.offline] == ["4", "5", "6", "7"]
    assert OFFLINE in one.legend
    many = machine(cores=16, threads=2, online=list(range(16)))
    (one,) = maps(many, placed_trial(1, TCP, [0], [1]))
    assert [(cell.count, cell.cpus) for cell in one.offline] == [("16 CPUs", "16-31")]


def test_a_hybrid_machine_shows_its_slower_cores() -> None:
    topology = parse_lstopo_xml((CAPTURES / "topology/2.9.0-v2-hybrid/topology.xml").read_text())
    usable = frozenset(topology.allowed)
    nodes, offline = boxes(topology, None, usable, None)
    cores = [core for node in nodes for cache in node.caches for core in cache.cores]
    slower = {int(cell.cpus) for core in cores if core.slower for cell in core.cells}
    wanted = json.loads((CAPTURES / "topology/2.9.0-v2-hybrid/expected.json").read_text())["slower"]
    assert slower == set(parse_cpulist(wanted)) != set()
    assert SLOWER in legend(nodes, offline)


def test_512_cpus_are_few_cells_and_every_cpu_is_in_one() -> None:
    facts = machine(packages=2, caches=16, cores=8, threads=2, numa_node=1)
    trial = placed_trial(1, TCP, list(range(128, 136)), list(range(136, 144)))
    (one,) = maps(facts, trial)
    assert len(cells(one)) < 40
    shown = [cpu for cell in cells(one) for cpu in parse_cpulist(cell.cpus)]
    assert sorted(shown) == list(range(512))
    assert {"128 free cores", "112 free cores"} == {cell.count for cell in cells(one) if cell.count}
    assert not one.wide


def test_cores_are_drawn_together_only_where_they_are_alike() -> None:
    facts = machine(cores=64, isolated=list(range(32, 48)))
    (one,) = maps(facts, placed_trial(1, TCP, [0], [1]))
    together = [(cell.count, cell.cpus, ISOLATED in cell.marks) for cell in cells(one) if cell.count]
    assert together == [
        ("30 free cores", "2-31", False),
        ("16 free cores", "32-47", True),
        ("16 free cores", "48-63", False),
    ]


def test_busy_cores_are_never_drawn_together() -> None:
    (one,) = maps(machine(cores=64), placed_trial(1, TCP, list(range(16)), list(range(16, 32))))
    assert [cell.cpus for cell in cells(one) if cell.sign in "PI"] == [str(cpu) for cpu in range(32)]


@settings(max_examples=inputs(60), deadline=None)
@given(data=st.data())
def test_every_cpu_is_in_exactly_one_cell_with_its_own_sign(data: st.DataObject) -> None:
    draw = data.draw
    shape = {name: draw(st.integers(1, 3)) for name in ("packages", "nodes", "caches", "threads")}
    facts = machine(**shape, cores=draw(st.integers(1, 9)))
    every = facts["cpus"]["online"]
    some = st.lists(st.sampled_from(every), unique=True, min_size=1)
    facts["cpus"]["isolated"] = sorted(draw(some))
    own, served = draw(some), draw(some)
    (one,) = maps(facts, placed_trial(1, TCP, own, served))
    found = {cpu: cell for cell in cells(one) for cpu in parse_cpulist(cell.cpus)}
    assert sum(len(parse_cpulist(cell.cpus)) for cell in cells(one)) == len(every)
    for cpu in every:
        wanted = "B" if cpu in own and cpu in served else "P" if cpu in own else "I" if cpu in served else "·"
        assert found[cpu].sign == wanted
        assert (ISOLATED in found[cpu].marks) == (cpu in facts["cpus"]["isolated"])


def test_the_case_with_most_instances_is_drawn_and_the_others_are_listed() -> None:
    trials = [placed_trial(1, TCP, [0], [1]), placed_trial(2, TCP, [0, 1], [2, 3])]
    (one,) = maps(machine(), *trials)
    assert one.title == "h2: receiver of TCP, h1 → h2: 2 instances"
    assert one.listed == ("receiver of TCP, h1 → h2: 1 instance: processes on CPU 0, interrupts on CPU 1",)


def test_cases_with_the_same_cpus_share_a_picture() -> None:
    (one,) = maps(machine(), placed_trial(1, TCP, [0], [1]), placed_trial(2, UDP, [0], [1]))
    assert one.title.endswith(", and in 1 more case")
    assert one.listed == ()
    (one,) = maps(machine(), placed_trial(1, TCP, [0], [1]), placed_trial(2, TCP, [0, 0], [1]))
    assert one.title == "h2: receiver of TCP, h1 → h2: 2 instances, and in 1 more case"


def test_each_role_and_each_policy_has_its_picture_and_four_are_the_most() -> None:
    policies = [
        placed_trial(at + 1, replace(TCP, factors=(("placement", name),)), [at], [at + 1])
        for at, name in enumerate(("auto", "remote", "neighbour"))
    ]
    other_way = [
        placed_trial(
            at + 4, replace(TCP, sender="h2", receiver="h1", factors=(("placement", name),)), [at], []
        )
        for at, name in enumerate(("auto", "remote"))
    ]
    found = maps(machine(cores=8), *policies, *other_way)
    assert len(found) == 4
    assert ["sender" in one.title for one in found] == [False, False, False, True]
    assert [len(one.listed) for one in found] == [0, 0, 0, 1]


def test_a_thread_seen_elsewhere_is_marked_where_it_was_seen() -> None:
    trials = [placed_trial(n, TCP, [0, 1], [2], ran_on={1: "1-3"} if n == 2 else None) for n in (1, 2)]
    (one,) = maps(machine(cores=5), *trials)
    assert signs(one) == {"0": "P", "1": "P", "2": "I!", "3": "!"}
    assert one.strays == "a thread was seen on CPUs 2-3, where its process had not been put, in trial 2"
    assert one.strays in one.label
    (fine,) = maps(machine(cores=5), trials[0])
    assert fine.strays is None
    assert "!" not in {mark.sign for mark in fine.legend}


def test_processes_that_nobody_placed_are_shown_where_they_were_seen() -> None:
    trial = placed_trial(1, TCP, [None, None], ran_on={0: "3", 1: "1"})
    (one,) = maps(machine(), trial, campaign={"placement": "none"})
    assert signs(one) == {"1": "P", "3": "P"}
    assert one.words == (
        "Processes where the system put them (seen on CPUs 1,3), interrupts not shown (no IRQ CPUs named)"
    )
    assert one.policy == "none: the system decides"
    assert one.strays is None


def test_nothing_seen_is_nothing_drawn_and_says_so() -> None:
    (one,) = maps(machine(), placed_trial(1, TCP, [None]))
    assert signs(one) == {}
    assert "not seen where" in str(one.words)


def test_interrupt_cpus_come_from_any_trial_that_knows_them() -> None:
    lost = placed_trial(1, TCP, [0])
    (one,) = maps(machine(), lost, placed_trial(2, TCP, [0], [1]))
    assert signs(one) == {"0": "P", "1": "I"}


def test_a_host_without_a_trial_is_drawn_without_load() -> None:
    hosts = {"h1": host("h1"), "h2": host("h2", facts=machine())}
    (one,) = machine_maps(digest_of(result([], hosts=hosts)))
    assert one.title == "h2: no trial has run here"
    assert signs(one) == {}


@pytest.mark.parametrize(
    ("policy", "count"),
    [
        *(("auto", n) for n in (1, 3, 4, 6, 8, 12, 40)),
        *((p, n) for p in ("remote", "neighbour") for n in (1, 3)),
    ],
)
def test_the_line_of_the_policy_is_found_among_those_of_all_counts(policy: str, count: int) -> None:
    """Lines as the policies write them, of every count that they can place."""
    topology = topology_of_facts(machine(packages=2, caches=2, cores=4, numa_node=1), NIC)
    counts = [n for n in (1, 2, 3, 4, 6, 8, 12, 40) if policy == "auto" or n <= 4]
    made = {n: place_processes(topology, Wish(n, NIC, policy=policy)) for n in counts}
    lines = [
        PlaceLine(
            host="h2",
            text=one.why,
            chosen=ChosenPlace(
                processes=number,
                process_cpus=sorted(set(one.process_cpus)),
                irq_cpus=list(one.irq_cpus),
                rule=one.rule,
            ),
        )
        for number, one in made.items()
    ]
    wanted = made[count]
    put: list[int | None] = [*wanted.process_cpus] or [None] * count
    view = digest_of(placed_result(machine(), [placed_trial(1, TCP, put, wanted.irq_cpus)]))
    (placed,) = placements(view, "h2")
    assert why(placed, lines) == lines[list(made).index(count)]


def test_the_rule_and_why_stand_at_the_picture_and_the_rest_below() -> None:
    places = [
        "h1: placement rule 1: of another host",
        "h2: placement rule 1: 1 process and its interrupts fit on the 4 cores: processes on 0, "
        "interrupts on 1",
        "h2: placement rule 1: 2 processes and their interrupts fit on 4 cores: processes on 0-1, "
        "interrupts on 2-3",
        "h2: interrupts stay where they are: moving them needs root (set sudo: true)",
    ]
    trials = [placed_trial(1, TCP, [0], [1]), placed_trial(2, TCP, [0, 1], [2, 3])]
    chosen = [
        None,
        ChosenPlace(processes=1, process_cpus=[0], irq_cpus=[1], rule=1),
        ChosenPlace(processes=2, process_cpus=[0, 1], irq_cpus=[2, 3], rule=1),
        None,
    ]
    lines = [
        PlaceLine(host=host, text=text, chosen=of_line).as_written()
        for (host, _, text), of_line in zip((place.partition(": ") for place in places), chosen, strict=True)
    ]
    (one,) = maps(machine(), *trials, places=places, place_lines=lines)
    assert one.words is None, "its line names the CPUs"
    assert one.why == places[2].removeprefix("h2: ").capitalize()
    assert one.told == (places[1].removeprefix("h2: "), places[3].removeprefix("h2: "))


def test_sentences_alone_are_listed_below_the_picture() -> None:
    lines = [
        PlaceLine(host=host, text=f"of {host}: as the kernel does").as_written() for host in ("h1", "h2")
    ]
    (one,) = maps(machine(), placed_trial(1, TCP, [0], [1]), place_lines=lines)
    assert (one.why, one.told) == (None, ("of h2: as the kernel does",))


def test_the_label_says_in_words_what_the_picture_shows() -> None:
    (one,) = maps(machine(packages=2, cores=4, threads=2, numa_node=1), placed_trial(1, TCP, [4, 5], [6, 7]))
    assert one.label == (
        "h2: receiver of TCP, h1 → h2: 2 instances. 2 packages, 2 NUMA nodes, 8 cores, 16 CPUs. "
        f"Processes on CPUs 4-5, interrupts on CPUs 6-7. {NIC}: NUMA node 1."
    )


def test_threads_that_are_not_known_are_said() -> None:
    facts = machine() | {"not_known": {"cpus.cores": "lscpu is not installed"}}
    facts["cpus"]["cores"] = None
    (one,) = maps(facts, placed_trial(1, TCP, [0], [1]))
    assert any("lscpu is not installed" in note for note in one.notes)


@pytest.mark.parametrize(
    "cpus",
    [
        {},
        {"online": [], "cores": []},
        {"online": [0, 1]},
        {"online": None, "cores": ["0"]},
        {"online": ["a"], "cores": []},
        {"online": [0], "cores": 3},
        {"online": [0], "cores": ["0-x"]},
        {"online": [0], "cores": [], "of_node": {"nodeX": "0"}},
    ],
)
def test_facts_without_a_topology_or_with_a_damaged_one_give_no_section(cpus: Any) -> None:
    facts = {"cpus": cpus}
    assert topology_of(facts, NIC) is None
    page = html.render_html(digest_of(placed_result(facts, [placed_trial(1, TCP, [0], [1])])))
    assert 'id="topology"' not in page
    assert "#topology" not in page


def test_an_old_result_has_no_section() -> None:
    page = html.render_html(digest_of(result(scaling_trials((1,), 1))))
    assert 'id="topology"' not in page


def test_a_damaged_cpu_list_of_a_trial_is_no_cpu() -> None:
    damaged = placed_trial(1, TCP, [0], [1], ran_on={0: "9-"})
    broken = replace(damaged, instances=(replace(damaged.instances[0], receiver_cpu="zero"),))
    (one,) = maps(machine(), broken)
    assert signs(one) == {"1": "I"}


def test_the_page_has_the_picture_with_its_label_and_legend() -> None:
    page = html.render_html(digest_of(placed_result(machine(), [placed_trial(1, TCP, [0], [1])])))
    (label,) = re.findall(r'<div class="nodes" role="img" aria-label="([^"]+)"', page)
    assert "Processes on CPU 0, interrupts on CPU 1" in label
    assert '<span class="cpu process"><b>P</b><span>0</span></span>' in page
    section = page[page.index('id="topology"') : page.index('id="environment"')]
    assert "<script" not in section
    assert "offline" not in section, "the legend has only what the picture has"


def test_hostile_names_stay_text() -> None:
    facts = machine()
    facts["nic"] = {"model": HOSTILE, "bus": HOSTILE, "numa_node": 0}
    hosts = {HOSTILE: host(HOSTILE, facts=facts, data=HOSTILE, lab=HOSTILE)}
    case = Case("tcp", "h1", HOSTILE)
    lines = [f"{HOSTILE}: {HOSTILE}", f"{HOSTILE}: rule 1: processes on 0, interrupts on 1 {HOSTILE}"]
    trials = [placed_trial(1, case, [0], [1]), placed_trial(2, case, [0, 1], [2])]
    page = html.render_html(digest_of(result(trials, hosts=hosts, places=lines)))
    section = page[page.index('<section id="topology"') : page.index('<section id="environment"')]
    assert HOSTILE not in page
    assert section.count("&lt;script&gt;") > 6


def test_a_terminal_says_in_a_line_for_each_host_where_it_ran() -> None:
    trials = [placed_trial(1, TCP, [0], [1]), placed_trial(2, TCP, [0, 1], [2], ran_on={1: "3"})]
    console = Console(width=400, record=True, file=io.StringIO())
    console.print(terminal.show_trials(digest_of(placed_result(machine(), trials, name="h2"))))
    lines = console.export_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip() == "Where it ran")
    assert lines[at + 1].startswith("h1, sender of TCP, h1 → h2: 2 instances: processes on CPUs 0-1")
    assert lines[at + 2] == (
        "h2, receiver of TCP, h1 → h2: 2 instances: processes on CPUs 0-1, interrupts on CPU 2; "
        "! a thread was seen on CPU 3, where its process had not been put, in trial 2; "
        "1 other placement in the report"
    )


def test_lists_of_cpus_of_a_large_machine_are_short_in_the_environment() -> None:
    facts = machine(packages=2, caches=4, cores=8, threads=2, isolated=[1, 2, 3])
    (section,) = environment_groups(hosts_of({"h2": {"facts": {"cpus": facts["cpus"]}}}))
    rows = {row.name: row.values[0] for row in section.rows}
    assert rows["online"] == "0-127"
    assert rows["isolated"] == "1-3"
    assert rows["cores"] == "64 cores of 2 threads (the first: CPU 0,64)"
    assert rows["packages"] == "2 packages of 64 CPUs (the first: CPU 0-31,64-95)"
    assert rows["caches"] == "8 caches of 16 CPUs (the first: CPU 0-7,64-71)"


def test_cores_of_two_kinds_and_damaged_ones_are_told_as_they_are() -> None:
    mixed = {"cores": ["0,1", "2,3", "4", "5", "6"], "caches": ["0-x", "1"]}
    (section,) = environment_groups(hosts_of({"h2": {"facts": {"cpus": mixed}}}))
    rows = {row.name: row.values[0] for row in section.rows}
    assert rows["cores"] == "2 cores of 2 threads, 3 cores of 1 thread (the first: CPU 0,1)"
    assert rows["caches"] == "0-x, 1"
