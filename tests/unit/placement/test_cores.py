# SPDX-License-Identifier: Apache-2.0
"""What a core of Mbps/core is, and whether the load had its cores for itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report_factories import demo_trials, result, stored
from tests.report_factories import host as named
from tests.unit.conftest import Run
from tests.wiring import APP, IRQ, both, cpu, setup, story, told

from linewatt.hosts.facts import read as facts
from linewatt.hosts.facts.cores import core_groups, core_is

CAPTURES = Path(__file__).parents[2] / "captures" / "facts"


def host(cores: list[str] | None, **cpu_facts: Any) -> dict[str, Any]:
    return {"cpus": {"cores": cores}, "cpu": cpu_facts}


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        (host(["0", "1", "2", "3"], threads_per_core=1), "physical core"),
        (host(["0,2", "1,3"], threads_per_core=2), "hardware thread"),
        (host(["0", "1"], threads_per_core=1, hypervisor="KVM"), "virtual CPU"),
        (host(["0-1"], threads_per_core=2, hypervisor="KVM"), "virtual CPU"),
        (host(None, threads_per_core=2), "hardware thread"),
        (host(None), None),
        ({}, None),
    ],
)
def test_a_core_is_a_physical_one_only_where_the_host_shows_that_it_is(known: Any, kind: str | None) -> None:
    assert core_is(known) == kind


def test_threads_that_are_switched_off_leave_physical_cores() -> None:
    """lscpu's groups are of online CPUs, its threads per core may be of the model."""
    assert core_is(host(["0", "1"], threads_per_core=2)) == "physical core"


def test_the_cpus_of_each_core_are_read_from_the_facts() -> None:
    assert core_groups(host(["0,64", "1,65"])) == ((0, 64), (1, 65))
    assert core_groups(host(["nonsense"])) == ()
    assert core_groups({}) == ()


@pytest.mark.parametrize("case", sorted(path.name for path in CAPTURES.iterdir()))
def test_every_capture_of_a_host_says_what_its_cores_are_or_why_not(case: str) -> None:
    known = facts.parse_all((CAPTURES / case / "output").read_text())
    expected = json.loads((CAPTURES / case / "expected.json").read_text())
    kind = core_is(known)
    if expected["facts"].get("cpu", {}).get("hypervisor"):
        assert kind == "virtual CPU"
    if kind is None:
        assert known["cpus"]["cores"] is None


def test_every_view_says_what_a_core_is_on_each_host(run: Run) -> None:
    threads = {"cpus": {"cores": ["0,2", "1,3"]}}
    hosts = {"h1": named("h1", facts=threads), "h2": named("h2")}
    stored(Path("results"), result(demo_trials(), hosts=hosts))
    said = "on h1 a hardware thread: two busy ones of a core do less than two cores; on h2 it is not known"
    shown = run("show", "--full")[1]
    assert " ".join(shown.split()).count(said) == 1
    assert json.loads(run("show", "--json")[1])["core_is"] == {"h1": "hardware thread", "h2": None}
    assert run("report", "-o", "r.html")[0] == 0
    assert said in Path("r.html").read_text()


def siblings(**busy: float) -> list[str]:
    shares = [cpu("h1", int(name[3:]), usr=share) for name, share in busy.items()]
    cores = setup(cores={"h1": ((APP, 2), (IRQ, 3))})
    found = told(both(cores, *shares)).trial().flags
    return [flag.evidence for flag in found if flag.code == "smt-sibling-busy"]


def test_a_busy_thread_beside_the_load_is_named_and_a_quiet_one_is_not() -> None:
    assert siblings() == []
    assert siblings(cpu2=0.09, cpu3=0.02) == []
    assert siblings(cpu2=0.4) == ["CPU 2 was 40 % busy; it shares a core with CPU 0 of the load"]
    assert [text[:5] for text in siblings(cpu2=0.4, cpu3=1.0)] == ["CPU 2", "CPU 3"]


def test_both_threads_of_a_core_may_be_the_loads() -> None:
    """That is layout, and in what a core is said to be."""
    change = both(story(placed=((str(APP), str(APP)),)), setup(cores={"h1": ((APP, IRQ), (2, 3))}))
    assert [flag.code for flag in told(change).trial().flags] == []


def test_where_cores_are_not_known_nothing_is_said() -> None:
    assert [flag.code for flag in told(cpu("h1", 2, usr=0.05)).trial().flags] == []
