# SPDX-License-Identifier: Apache-2.0
"""Labs as users have them: real namespaces, real sshd, real ssh, and nothing left when they are gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests import forked
from tests.lab.test_campaign import HANG_LIMIT_S

from linewatt.errors import InvalidInput, LabError
from linewatt.features.lab import api as lab
from linewatt.features.lab import build, processes, recipe, system
from linewatt.features.lab.state import ROOT
from linewatt.hosts.facts.cpulist import format_cpulist

pytestmark = pytest.mark.lab

LINEWATT = [sys.executable, "-c", "from linewatt.cli import program; program()"]
MANY = 40


def output(*argv: str, limit_s: float = HANG_LIMIT_S) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout.strip()


def inside(host: lab.HostLayout, *argv: str) -> str:
    return output("ip", "netns", "exec", host.namespace, *argv)


def ssh(one: lab.Lab, host: str, *argv: str) -> str:
    """Run a command over real ssh, with nothing but what the inventory says."""
    its: dict[str, Any] = YAML(typ="safe").load(one.inventory.read_text())["all"]["hosts"][host]
    return output(
        *("ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"),
        *("-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=10"),
        *its["ansible_ssh_common_args"].split(),
        *("-i", its["ansible_ssh_private_key_file"], "-p", str(its["ansible_port"])),
        *(f"{its['ansible_user']}@{its['ansible_host']}", *argv),
    )


def linewatt(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = forked.run(["lab", *words], timeout=HANG_LIMIT_S)
    assert done.returncode == status, done.stderr
    return done


def until(condition: Callable[[], bool], limit_s: float, awaited: str) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {limit_s} s for {awaited}"
        time.sleep(0.001)


@dataclass(frozen=True)
class Parts:
    """What belongs to one lab, by number and name, whether or not it was ever made."""

    name: str
    index: int
    identities: frozenset[tuple[int, int]]

    @classmethod
    def of(cls, name: str) -> Parts:
        """As they are now; the namespaces' identities outlive their names while a process is in them."""
        document = json.loads((ROOT / name / "state.json").read_text())
        found = processes._identities(document["namespaces"])
        return cls(name, document["index"], frozenset(found.values()))

    def left(self) -> list[str]:
        """Everything of the lab that can still be found on this machine.

        Other tests run at the same time, and one may have been given the lab's number meanwhile, or the
        kernel's number of a namespace: what is theirs is known by its name.
        """
        named, running = self._named(), self._running()
        others = self._others()
        known = set(processes._identities(sorted(others)).values())
        found = sorted(named & self._named() - others)
        found += [f"process {pid}" for pid, its in running & self._running() if its not in known]
        found += [
            f"process {pid}: {line}" for pid, line in _command_lines() if f"{ROOT}/{self.name}/" in line
        ]
        found += [str(path) for path in (ROOT / self.name,) if path.exists()]
        bridge = f"lwb{self.index}"
        routes = output("ip", "route").splitlines() if bridge in found else []
        return found + [f"route {line}" for line in routes if f"{bridge} " in line]

    def _named(self) -> set[str]:
        """Namespaces and links with the lab's number."""
        prefixes = (f"lw{self.index}-", f"lwv{self.index}-")
        names = system.names_present()
        return {name for name in names if name.startswith(prefixes) or name == f"lwb{self.index}"}

    def _running(self) -> set[tuple[int, processes.Identity]]:
        return set(processes._inside(set(self.identities)))

    def _others(self) -> set[str]:
        """Namespaces and links of other labs, and namespaces of no lab."""
        mine, found = self._named(), set[str]()
        for name in set(lab.names()) - {self.name}:
            with suppress(FileNotFoundError):  # it has no number yet, or is just removed
                document = json.loads((ROOT / name / "state.json").read_text())
                found |= {*document["namespaces"], *document["links"]}
        return found | (system.names_present() - mine)


def _command_lines() -> Iterator[tuple[str, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield (
                    entry.name,
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"),
                )
            except OSError:
                continue


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """A lab name for one test, which is taken down whatever the test did."""
    its = f"t{os.getpid()}-n{abs(hash(request.node.name)) % 1000}"
    yield its
    lab.down(its)


def test_each_host_answers_over_ssh_under_its_own_name(lab2: lab.Lab) -> None:
    assert [ssh(lab2, host, "hostname") for host in ("h1", "h2")] == ["h1", "h2"]


def test_each_host_has_its_own_key_and_ssh_checks_it(lab2: lab.Lab) -> None:
    known = (lab2.inventory.parent / "known_hosts").read_text().split()
    assert known[2] != known[5]
    shown = [output("ssh-keyscan", "-t", "ed25519", host.address).split() for host in lab2.hosts]
    assert [words[-1] for words in shown] == [known[2], known[5]]


def test_keys_are_for_root_alone(lab2: lab.Lab) -> None:
    for key in ("id_ed25519", "h1.key", "h2.key"):
        assert (lab2.inventory.parent / key).stat().st_mode & 0o777 == 0o600


def test_a_password_is_not_asked_for(lab2: lab.Lab) -> None:
    done = subprocess.run(
        [
            *("ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"),
            *("-o", "UserKnownHostsFile=/dev/null", "-o", "IdentityFile=none", "-o", "IdentitiesOnly=yes"),
            *(f"root@{lab2.hosts[0].address}", "true"),
        ],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 255
    assert "(publickey)" in done.stderr


@pytest.mark.parametrize("family", ["data_ipv4", "data_ipv6"])
def test_hosts_reach_each_other_on_the_data_network_at_once(lab2: lab.Lab, family: str) -> None:
    first, second = lab2.hosts
    for source, target in ((first, second), (second, first)):
        address = getattr(target, family)
        assert "1 received" in inside(source, "ping", "-I", "data0", "-c", "1", "-W", "5", address)


def test_nothing_is_routed_out_of_a_host_nor_between_its_networks(lab2: lab.Lab) -> None:
    first = lab2.hosts[0]
    for family in ("-4", "-6"):
        routes = inside(first, "ip", family, "route")
        assert "default" not in routes
        assert " via " not in routes
    assert "mgmt0" in inside(first, "ip", "route", "get", lab2.hosts[1].address)
    assert "data0" in inside(first, "ip", "route", "get", lab2.hosts[1].data_ipv4)
    done = subprocess.run(
        ["ip", "netns", "exec", first.namespace, "ip", "route", "get", "192.0.2.1"],
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0


def test_a_host_runs_on_its_own_cpus_and_steers_receive_work_to_them(lab2: lab.Lab) -> None:
    for host in lab2.hosts:
        affinity = ssh(lab2, host.name, "taskset", "-pc", "$$").rpartition(": ")[2]
        assert affinity == format_cpulist(host.cpus)
        masks = ssh(lab2, host.name, "cat", "/sys/class/net/data0/queues/rx-*/rps_cpus").split()
        assert masks
        assert {int(mask.replace(",", ""), 16) for mask in masks} == {sum(1 << cpu for cpu in host.irq_cpus)}
    if len(os.sched_getaffinity(0)) >= 2:
        assert not set(lab2.hosts[0].cpus) & set(lab2.hosts[1].cpus)


def test_building_a_lab_leaves_the_builder_on_its_own_cpus(make_lab: Callable[..., lab.Lab]) -> None:
    before = os.sched_getaffinity(0)
    make_lab(hosts=3, bmc=False)
    assert os.sched_getaffinity(0) == before


def test_a_host_sees_its_own_processes_only(lab2: lab.Lab) -> None:
    lines = ssh(lab2, "h1", "ps", "-eo", "pid,comm").splitlines()[1:]
    assert lines[0].split() == ["1", "sshd"]
    assert {line.split()[1] for line in lines} <= {"sshd", "sshd-session", "ps"}


def test_home_is_empty_and_the_usual_tools_are_on_the_path(lab2: lab.Lab) -> None:
    assert ssh(lab2, "h1", "ls -A $HOME; command -v ip tc sshd taskset").count("/") >= 4
    assert list((lab2.inventory.parent / "home/h1").iterdir()) == []


def test_many_sessions_share_one_connection(lab2: lab.Lab, tmp_path: Path) -> None:
    import asyncio

    import asyncssh

    async def hostnames() -> list[str]:
        directory = lab2.inventory.parent
        async with asyncssh.connect(
            lab2.hosts[0].address,
            username="root",
            client_keys=[str(directory / "id_ed25519")],
            known_hosts=str(directory / "known_hosts"),
            config=None,
            agent_path=None,
        ) as connection:
            done = await asyncio.gather(*(connection.run("hostname", check=True) for _ in range(64)))
        return [str(one.stdout).strip() for one in done]

    assert asyncio.run(hostnames()) == ["h1"] * 64


def processes_in(namespace: str) -> list[int]:
    argv = ["ip", "netns", "pids", namespace]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)  # it may be gone by now
    return [int(word) for word in done.stdout.split()]


def test_the_rate_is_on_the_link_and_a_real_load_does_not_exceed_it(make_lab: Callable[..., lab.Lab]) -> None:
    first, second = make_lab(hosts=2, rate="1gbit", bmc=False).hosts
    for host in (first, second):
        (shaped,) = json.loads(output("tc", "-n", host.namespace, "-j", "qdisc", "show", "dev", "data0"))
        assert shaped["kind"] == "tbf"
        assert shaped["options"]["rate"] == 125_000_000
    server = subprocess.Popen(
        ["ip", "netns", "exec", second.namespace, "iperf3", "-s", "-1", "-B", second.data_ipv4],
        stdout=subprocess.DEVNULL,
    )
    try:
        listening = min(processes_in(second.namespace))
        until(lambda: processes.listens(listening, 5201), 60, "iperf3 to listen")
        said = json.loads(inside(first, "iperf3", "-c", second.data_ipv4, "-t", "1", "-J"))
        server.wait(timeout=HANG_LIMIT_S)
    finally:
        server.kill()
        server.wait()
    received = said["end"]["sum_received"]
    assert 0.1e9 < received["bits_per_second"] < 1.02e9


def test_every_port_has_its_link_and_the_switch_shares_a_rate_among_them(name: str) -> None:
    built = lab.up(lab.LabRequest(name=name, rate="40mbit", ports=2, shared="60mbit", bmc=False))
    first, second = built.hosts
    for host in (first, second):
        for port in host.ports:
            (shaped,) = json.loads(
                output("tc", "-n", host.namespace, "-j", "qdisc", "show", "dev", port.interface)
            )
            assert shaped["options"]["rate"] == 40_000_000 / 8
    shapers = json.loads(output("tc", "-n", built.namespaces[0], "-j", "qdisc", "show"))
    assert [one["options"]["rate"] for one in shapers if one["kind"] == "tbf"] == [60_000_000 / 8] * 2
    for here, there in zip(first.ports, second.ports, strict=True):
        other = {port.interface for port in second.ports} - {there.interface}
        before = {one: received(second, one) for one in (there.interface, *other)}
        inside(first, "ping", "-q", "-i", "0.002", "-c", "40", "-W", "5", "-I", here.ipv4, there.ipv4)
        grown = {one: received(second, one) - before[one] for one in before}
        assert grown[there.interface] >= 40
        assert all(grown[one] < 20 for one in other)
    its = YAML(typ="safe").load(built.inventory.read_text())["all"]["hosts"]["h1"]
    assert its["linewatt_data"] == ["data0", "data1"]
    assert its["linewatt_data_ipv4"] == [port.ipv4 for port in first.ports]
    with pytest.raises(InvalidInput, match="of 2 data ports, which share 60mbit, rate 40mbit"):
        lab.up(lab.LabRequest(name=name, rate="40mbit"))
    parts = Parts.of(name)
    assert lab.down(name)
    assert parts.left() == []


def received(host: lab.HostLayout, interface: str) -> int:
    return int(inside(host, "cat", f"/sys/class/net/{interface}/statistics/rx_packets"))


def test_an_unshaped_link_has_no_queue_of_ours(make_lab: Callable[..., lab.Lab]) -> None:
    (host,) = make_lab(hosts=1, rate="none", bmc=False).hosts
    (found,) = json.loads(output("tc", "-n", host.namespace, "-j", "qdisc", "show", "dev", "data0"))
    assert found["kind"] == "noqueue"


def test_the_mtu_holds_from_end_to_end(name: str) -> None:
    first, second = lab.up(lab.LabRequest(name=name, mtu=9000, bmc=False)).hosts
    fitting, too_long = str(9000 - 28), str(9000 - 27)
    assert "1 received" in inside(
        first, "ping", "-M", "do", "-s", fitting, "-c", "1", "-W", "5", second.data_ipv4
    )
    done = subprocess.run(
        [
            *("ip", "netns", "exec", first.namespace),
            *("ping", "-M", "do", "-s", too_long, "-c", "1", "-W", "1", second.data_ipv4),
        ],
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0


def test_two_labs_live_side_by_side_and_end_apart(make_lab: Callable[..., lab.Lab]) -> None:
    one, other = make_lab(hosts=2, bmc=False), make_lab(hosts=2, bmc=False)
    assert one.index != other.index
    assert not set(one.namespaces) & set(other.namespaces)
    lab.down(one.name)
    assert ssh(other, "h2", "hostname") == "h2"
    again = make_lab(hosts=2, bmc=False)
    assert again.index == one.index or again.index not in (one.index, other.index)


def test_labs_built_at_the_same_moment_do_not_collide(name: str) -> None:
    names = [f"{name}-{letter}" for letter in "abc"]
    started = [
        forked.Forked(["lab", "up", "--name", its, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for its in names
    ]
    try:
        said = [process.communicate(timeout=HANG_LIMIT_S) for process in started]
        assert [process.returncode for process in started] == [0, 0, 0], said
        assert len({json.loads(out)["index"] for out, _ in said}) == 3
    finally:
        for its in names:
            lab.down(its)


def test_the_same_lab_asked_for_twice_at_once_is_built_once(name: str) -> None:
    started = [
        forked.Forked(["lab", "up", "--name", name, "--json"], stdout=subprocess.PIPE) for _ in range(2)
    ]
    said = [json.loads(process.communicate(timeout=HANG_LIMIT_S)[0]) for process in started]
    assert sorted(one["already_up"] for one in said) == [False, True]
    assert said[0]["index"] == said[1]["index"]


def test_up_again_finds_the_lab_and_its_keys_as_they_are(name: str) -> None:
    first = lab.up(lab.LabRequest(name=name, bmc=False))
    keys = (first.inventory.parent / "known_hosts").read_text()
    second = lab.up(lab.LabRequest(name=name, bmc=False))
    assert (first.was_up, second.was_up) == (False, True)
    assert (first.inventory.parent / "known_hosts").read_text() == keys


def test_up_with_another_shape_is_refused_and_the_lab_stays(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name))
    with pytest.raises(InvalidInput, match=r"is up with 2 hosts, rate 10gbit, mtu 1500; take it down first"):
        lab.up(lab.LabRequest(name=name, hosts=3))
    assert ssh(one, "h1", "hostname") == "h1"


def test_a_lab_with_a_dead_host_is_shown_so_and_up_builds_it_anew(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name, bmc=False))
    pids = [pid for pid, _ in processes._inside(set(processes._identities([one.namespaces[2]]).values()))]
    for pid in pids:
        with suppress(ProcessLookupError):  # they end with the first of them
            os.kill(pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}/ns/net").exists() for pid in pids), 60, "the host to die")

    def answers() -> list[bool]:
        return [host.answers for host in lab.status(name)[0].hosts]

    until(lambda: answers() == [True, False], 60, "the port of the dead host to close")
    (status,) = lab.status(name)
    assert status.state == "not answering"
    again = lab.up(lab.LabRequest(name=name, bmc=False))
    assert not again.was_up
    assert ssh(again, "h2", "hostname") == "h2"


def test_down_leaves_nothing_even_with_sessions_and_loads_running(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name, bmc=False))
    parts = Parts.of(name)
    key, known = one.inventory.parent / "id_ed25519", one.inventory.parent / "known_hosts"
    session = subprocess.Popen(
        [
            *("ssh", "-F", "none", "-i", str(key), "-o", f"UserKnownHostsFile={known}"),
            f"root@{one.hosts[0].address}",
            "trap '' TERM INT HUP; echo ready; setsid sleep 1000 & sleep 1000",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    by_hand = subprocess.Popen(
        [
            "ip",
            "netns",
            "exec",
            one.namespaces[1],
            "sh",
            "-c",
            "trap '' TERM; echo ready; while :; do :; done",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    for process in (session, by_hand):
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    assert len(parts.left()) > 10
    assert lab.down(name)
    assert parts.left() == []
    assert by_hand.wait(timeout=HANG_LIMIT_S) == -signal.SIGKILL
    assert session.wait(timeout=HANG_LIMIT_S) == 255
    for process in (session, by_hand):
        assert process.stdout is not None
        process.stdout.close()


def test_down_twice_is_no_error_and_names_the_labs_there_are(lab2: lab.Lab) -> None:
    done = linewatt("down", "--name", "nosuch")
    assert done.stderr.startswith("there is no lab nosuch; there are: ")
    assert lab2.name in done.stderr
    assert done.stdout == ""


def stage_state(directory: Path, _: int) -> bool:
    return (directory / "state.json").exists()


def stage_namespace(_: Path, index: int) -> bool:
    return Path(f"/run/netns/lw{index}-h1").exists()


def stage_link(_: Path, index: int) -> bool:
    return Path(f"/sys/class/net/lwv{index}-{MANY // 2}").exists()


def stage_files(directory: Path, _: int) -> bool:
    return (directory / "h1.conf").exists()


def stage_first_host(directory: Path, _: int) -> bool:
    return (directory / "h1.log").exists()


def stage_last_host(directory: Path, _: int) -> bool:
    return (directory / f"h{MANY}.log").exists()


STAGES = (stage_state, stage_namespace, stage_link, stage_files, stage_first_host, stage_last_host)


@pytest.mark.full
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_down_leaves_nothing_of_an_up_that_was_killed(name: str, stage: Callable[[Path, int], bool]) -> None:
    directory = ROOT / name
    process = _start_many(name)
    until((directory / "state.json").exists, 60, "the state to be written")
    index = json.loads((directory / "state.json").read_text())["index"]
    until(lambda: stage(directory, index) or process.poll() is not None, 60, stage.__name__)
    process.kill()
    process.wait()
    parts = Parts.of(name)
    assert [each.state for each in lab.status(name)] == ["half-built"]
    assert lab.down(name)
    assert parts.left() == []


@pytest.mark.parametrize(
    "stage",
    [*(pytest.param(stage, marks=pytest.mark.full) for stage in ("processes", "namespaces")), "files"],
)
def test_down_again_finishes_a_down_that_was_killed(name: str, stage: str) -> None:
    lab.up(lab.LabRequest(name=name, hosts=MANY // 2, bmc=False))
    parts, directory = Parts.of(name), ROOT / name
    process = forked.Forked(["lab", "down", "--name", name], stderr=subprocess.DEVNULL)
    begun = {
        "processes": lambda: not processes_in(f"lw{parts.index}-h1"),
        "namespaces": lambda: not Path(f"/run/netns/lw{parts.index}-h1").exists(),
        "files": lambda: not (directory / "inventory.yaml").exists(),
    }[stage]
    until(begun, 60, stage)
    process.kill()
    process.wait()
    lab.down(name)
    assert parts.left() == []


def test_up_after_a_killed_up_builds_the_lab(name: str) -> None:
    process = _start_many(name, "--no-bmc")
    until((ROOT / name / "h1.log").exists, 60, "the first host to start")
    process.kill()
    process.wait()
    one = lab.up(lab.LabRequest(name=name, hosts=2, bmc=False))
    assert ssh(one, "h2", "hostname") == "h2"
    assert len(one.namespaces) == 3
    assert not Path(f"/run/netns/lw{one.index}-h3").exists()


def test_an_up_that_is_interrupted_takes_down_what_it_made(name: str) -> None:
    process = _start_many(name, "--no-bmc")
    until((ROOT / name / "h1.log").exists, 60, "the first host to start")
    parts = Parts.of(name)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=HANG_LIMIT_S) == 130
    assert parts.left() == []


def test_an_up_whose_sshd_ends_takes_down_what_it_made_and_waits_for_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Parts] = []
    config = recipe.sshd_config

    def broken(*arguments: Any, **options: Any) -> str:
        seen.append(Parts.of(name))
        return config(*arguments, **options) + "NoSuchKeyword yes\n"

    monkeypatch.setattr(recipe, "sshd_config", broken)
    monkeypatch.setattr(build, "_ANSWER_LIMIT_S", float("inf"))
    with pytest.raises(LabError, match=r"h1: sshd has ended; its log: .*NoSuchKeyword"):
        lab.up(lab.LabRequest(name=name, bmc=False))
    assert len(seen[0].identities) == 3
    assert seen[0].left() == []


class OfItsOwnSession(forked.Forked):
    """A command whose processes are a process group of their own."""

    before = "import os\nos.setsid()"


def _start_many(name: str, *words: str) -> subprocess.Popen[bytes]:
    return OfItsOwnSession(
        ["lab", "up", "--name", name, "--hosts", str(MANY), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.full
def test_ninety_six_hosts_come_up_and_leave_nothing(name: str) -> None:
    one = lab.up(lab.LabRequest(name=name, hosts=96))
    parts = Parts.of(name)
    assert ssh(one, "h96", "hostname") == "h96"
    assert "1 received" in inside(one.hosts[0], "ping", "-c", "1", "-W", "5", one.hosts[95].data_ipv6)
    lab.down(name)
    assert parts.left() == []


def test_the_command_prints_the_inventory_alone_on_stdout(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "inventory.yaml"
    done = linewatt("up", "--name", name, "--inventory", str(copy))
    assert done.stdout == f"{copy}\n"
    assert f'hosts: "{copy}"' in done.stderr
    assert f"linewatt lab down --name {name}" in done.stderr
    assert copy.read_text() == (ROOT / name / "inventory.yaml").read_text()
    again = linewatt("up", "--name", name)
    assert again.stdout == f"{ROOT / name / 'inventory.yaml'}\n"
    assert "was already up" in again.stderr
    linewatt("down", "--name", name)
    assert list(tmp_path.iterdir()) == []


def test_json_says_where_everything_is(name: str) -> None:
    up = json.loads(linewatt("up", "--name", name, "--json").stdout)
    assert (up["schema_version"], up["name"], up["already_up"]) == (1, name, False)
    assert [host["name"] for host in up["hosts"]] == ["h1", "h2"]
    assert Path(up["inventory"]).is_file()
    (found,) = json.loads(linewatt("status", "--name", name, "--json").stdout)["labs"]
    assert (found["state"], found["rate_bps"], found["mtu_bytes"]) == ("up", 10_000_000_000, 1500)
    assert all(host["sshd_answers"] for host in found["hosts"])
    table = linewatt("status", "--name", name).stdout
    assert table.count("answers") == 2
    down = json.loads(linewatt("down", "--name", name, "--json").stdout)
    assert down == {"schema_version": 1, "removed": [name]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "--hosts", "0"), "hosts must be 1 to 250, got 0"),
        (("up", "--rate", "fast"), "like 10gbit"),
        (("up", "--mtu", "68"), "mtu must be 1280 to 9216, got 68"),
        (("up", "--name", "../x"), "use 1 to 20 of a-z, 0-9 and -"),
        (("down", "--name", "../x"), "use 1 to 20 of a-z, 0-9 and -"),
        (("status", "--name", "nosuch"), "there is no lab nosuch"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(words: tuple[str, ...], said: str) -> None:
    done = linewatt(*words, status=2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
