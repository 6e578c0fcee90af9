# SPDX-License-Identifier: Apache-2.0
"""What labs there are is written down before anything is made, and each has its number to itself."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from linewatt.errors import InvalidInput, LabError
from linewatt.features.lab import api, build, state, system
from linewatt.features.lab.api import LabRequest
from linewatt.features.lab.layout import INDEXES
from linewatt.features.lab.recipe import INVENTORY_HEADER
from linewatt.features.lab.state import LabState, Registry

CORES = ((0,), (1,))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "lab", privilege_separation=tmp_path / "sshd")


def always(_: int) -> bool:
    return True


def allocate(registry: Registry, name: str) -> LabState:
    with registry.claim(name):
        return registry.allocate(LabRequest(name=name), CORES, always)


def test_a_state_reads_back_as_it_was_written(registry: Registry) -> None:
    made = allocate(registry, "one").with_copy(Path("/tmp/copy.yaml")).as_ready()
    registry.write(made)
    assert registry.read("one") == made
    assert made.namespaces == made.layout.namespaces
    assert made.links == made.layout.links


def test_a_new_state_is_not_ready_and_lists_what_will_be_made(registry: Registry) -> None:
    allocate(registry, "one")
    found = registry.read("one")
    assert found is not None
    assert not found.ready
    assert found.namespaces == ("lw1-sw", "lw1-h1", "lw1-h2")
    assert found.links == ("lwb1", "lwv1-1", "lwv1-2")


def test_each_lab_gets_a_number_of_its_own_and_gives_it_back(registry: Registry) -> None:
    assert [allocate(registry, name).index for name in ("a", "b", "c")] == [1, 2, 3]
    with registry.lock("b"):
        registry.forget("b")
    assert allocate(registry, "d").index == 2


def test_a_number_whose_names_or_addresses_are_in_use_is_passed_over(registry: Registry) -> None:
    with registry.claim("one"):
        found = registry.allocate(LabRequest(name="one"), CORES, lambda index: index > 4)
    assert found.index == 5


def test_no_free_number_is_one_line_that_says_what_to_do(registry: Registry) -> None:
    with registry.claim("one"), pytest.raises(LabError, match="no free number of 1 to 254; take labs down"):
        registry.allocate(LabRequest(name="one"), CORES, lambda _: False)


def test_processes_that_allocate_at_once_get_different_numbers(registry: Registry) -> None:
    code = (
        "import sys; from pathlib import Path; from linewatt.features.lab.api import LabRequest;"
        "from linewatt.features.lab.state import Registry\n"
        "registry, name = Registry(Path(sys.argv[1])), sys.argv[2]\n"
        "with registry.claim(name):\n"
        "    print(registry.allocate(LabRequest(name=name), ((0,),), lambda _: True).index)"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(registry.root), f"lab{number}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    indexes = [int(process.communicate(timeout=60)[0]) for process in started]
    assert sorted(indexes) == [1, 2, 3, 4, 5, 6]


def test_who_waits_for_a_lab_gets_it_when_its_holder_is_done(registry: Registry) -> None:
    order: list[str] = []
    holding = threading.Event()

    def second() -> None:
        holding.wait()
        with registry.lock("one") as handle:
            order.append("gone" if handle is None else "held")

    waiter = threading.Thread(target=second)
    waiter.start()
    with registry.claim("one"):
        holding.set()
        registry.allocate(LabRequest(name="one"), CORES, always)
        order.append("built")
        registry.forget("one")
    waiter.join(timeout=10)
    assert order == ["built", "gone"]


def test_a_wait_for_a_lab_that_does_not_end_says_what_was_awaited(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_LOCK_LIMIT_S", 0.05)
    with (
        registry.claim("one"),
        pytest.raises(LabError, match=r"lab one: another process .* waited"),
        registry.lock("one"),
    ):
        pass


def test_a_lock_stays_with_a_child_of_a_killed_holder(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tools that ``up`` runs inherit it: ``down`` must not start while one is still making things."""
    monkeypatch.setattr(state, "_LOCK_LIMIT_S", 0.05)
    with registry.claim("one") as handle:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[handle])
    try:
        with pytest.raises(LabError), registry.lock("one"):
            pass
    finally:
        child.communicate(timeout=10)
    with registry.lock("one") as after:
        assert after is not None


def test_there_is_nothing_to_lock_where_there_is_no_lab(registry: Registry) -> None:
    with registry.lock("one") as handle:
        assert handle is None
    assert registry.names() == []


def test_the_last_lab_to_go_takes_the_directory_with_it(registry: Registry, tmp_path: Path) -> None:
    allocate(registry, "one")
    allocate(registry, "two")
    for name, left in (("one", True), ("two", False)):
        with registry.lock(name):
            registry.forget(name)
        assert registry.root.exists() is left
    assert list(tmp_path.iterdir()) == []


def test_sshds_directory_is_removed_with_the_last_lab_if_a_lab_made_it(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "any_called", lambda _: False)
    for name in ("one", "two"):
        allocate(registry, name)
        registry.ensure_privilege_separation()
    for name, left in (("one", True), ("two", False)):
        with registry.lock(name):
            registry.forget(name)
        assert registry.privilege_separation.exists() is left


def test_sshds_directory_stays_where_the_machine_had_it_or_runs_an_sshd(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.privilege_separation.mkdir(parents=True)
    monkeypatch.setattr(state, "any_called", lambda _: False)
    allocate(registry, "one")
    registry.ensure_privilege_separation()
    registry.forget("one")
    assert registry.privilege_separation.is_dir()
    registry.privilege_separation.rmdir()
    monkeypatch.setattr(state, "any_called", lambda _: True)
    allocate(registry, "one")
    registry.ensure_privilege_separation()
    registry.forget("one")
    assert registry.privilege_separation.is_dir()


def test_a_damaged_state_is_named_and_not_guessed_at(registry: Registry) -> None:
    allocate(registry, "one")
    (registry.directory("one") / "state.json").write_text('{"index": 1')
    with pytest.raises(LabError, match=r"one/state.json: not a lab state"):
        registry.read("one")


def test_a_directory_that_cannot_be_a_lab_is_not_listed(registry: Registry) -> None:
    allocate(registry, "one")
    (registry.root / "Not A Lab").mkdir()
    assert registry.names() == ["one"]


def test_down_of_a_lab_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    assert api.down("nosuch", root=tmp_path) is False
    assert api.down_all(root=tmp_path) == []
    assert api.status(root=tmp_path) == []


def test_status_of_an_unknown_lab_lists_those_there_are(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    allocate(registry, "one")
    with pytest.raises(InvalidInput, match="there is no lab two; there are: one"):
        api.status("two", root=tmp_path)


def test_status_calls_a_lab_half_built_until_it_is_ready(tmp_path: Path) -> None:
    allocate(Registry(tmp_path), "one")
    (tmp_path / "two").mkdir()
    one, two = api.status(root=tmp_path)
    assert (one.state, two.state) == ("half-built", "half-built")
    assert [host.answers for host in one.hosts] == [False, False]


def test_only_root_is_let_in_and_told_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    allocate(Registry(tmp_path), "one")
    with pytest.raises(LabError, match="run it as root or with sudo"):
        api.up(LabRequest(), root=tmp_path)
    with pytest.raises(LabError, match="run it as root or with sudo"):
        api.down("one", root=tmp_path)


def test_a_tool_that_hangs_is_one_line_and_leaves_no_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(*_: object) -> None:
        raise subprocess.TimeoutExpired(["ip", "-batch", "-"], 60)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(system, "find_tools", lambda: system.Tools("ip", "sshd", (9, 2)))
    monkeypatch.setattr(Registry, "ensure_privilege_separation", lambda _: None)
    monkeypatch.setattr(api, "take_down", lambda _: None)
    monkeypatch.setattr(api, "build", hangs)
    with pytest.raises(LabError, match=r"lab one: .*timed out after 60 seconds"):
        api.up(LabRequest(name="one"), root=tmp_path / "lab")
    assert list(tmp_path.iterdir()) == []


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda tool, path: None if tool in ("sshd", "tc") else f"/bin/{tool}")
    with pytest.raises(LabError, match=r"not found: tc, sshd; apt-get install .* iproute2 openssh-server$"):
        system.find_tools()


def test_an_inventory_copy_never_overwrites_what_is_not_ours(tmp_path: Path) -> None:
    theirs = tmp_path / "hosts.yaml"
    theirs.write_text("all: {}\n")
    for path in (theirs, tmp_path):
        with pytest.raises(InvalidInput, match="exists and is not an inventory of lab one"):
            api._check_copy(path, "one")
    with pytest.raises(InvalidInput, match="is not a directory"):
        api._check_copy(tmp_path / "nosuch/hosts.yaml", "one")
    build.remove_copy(theirs, "one")
    assert theirs.exists()
    theirs.write_text(f"{INVENTORY_HEADER}one\nall: {{}}\n")
    assert api._check_copy(theirs, "one") == theirs
    build.remove_copy(theirs, "two")
    assert theirs.exists()
    build.remove_copy(theirs, "one")
    assert not theirs.exists()


def test_a_number_is_taken_while_its_names_or_its_subnet_are_in_use() -> None:
    import ipaddress

    route = [ipaddress.IPv4Network("198.18.8.0/22")]
    assert not system.index_is_free(9, route, set())
    assert system.index_is_free(12, route, set())
    assert not system.index_is_free(12, [], {"lwb12"})
    assert not system.index_is_free(12, [], {"lw12-h1"})
    assert system.index_is_free(INDEXES[-1], [], {"lw1-h1", "eth0"})


def test_threads_of_a_core_are_found_from_sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    for cpu, siblings in {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}.items():
        topology = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    assert system.usable_cores(tmp_path) == ((0, 2), (1, 3))


def test_cpus_of_a_machine_that_tells_nothing_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3})
    assert system.usable_cores(tmp_path) == ((1,), (3,))


def test_a_lab_of_another_version_keeps_its_number_and_others_get_theirs(
    registry: Registry,
) -> None:
    made = allocate(registry, "theirs")
    path = registry.directory("theirs") / "state.json"
    path.write_text(path.read_text().replace('"hosts": 2', '"hosts": "many"'))
    with pytest.raises(LabError, match="not a lab state of this linewatt") as caught:
        registry.read("theirs")
    assert "\n" not in str(caught.value)
    assert allocate(registry, "ours").index == made.index + 1
    path.write_text("[]")
    assert allocate(registry, "more").index == made.index
