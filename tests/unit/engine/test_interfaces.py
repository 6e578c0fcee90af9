# SPDX-License-Identifier: Apache-2.0
"""Which interfaces are named where a campaign names none that can carry its data; the loopback interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.live import session as sessions
from linewatt.engine.live.interfaces import NAME_ANOTHER, advise_interface, shared_lines
from linewatt.engine.live.session import Session
from linewatt.engine.readiness import readiness_net
from linewatt.engine.readiness.readiness import HostAnswer, Wants
from linewatt.errors import HostError, InvalidInput
from linewatt.hosts.base import Completed, DataPort, HostSpec

UP, DOWN = ["UP", "LOWER_UP"], ["NO-CARRIER", "UP"]
LINKS = [("lo", UP), ("docker0", DOWN), ("enp1s0f1", UP), ("enp1s0f0", UP)]


class Host:
    """A host that says which links it has."""

    def __init__(self, answer: object) -> None:
        self._answer = answer if isinstance(answer, str) else json.dumps(answer)
        self.status = 0

    async def run(self, argv: object, *, timeout_s: float) -> Completed:
        if self._answer == "gone":
            raise HostError("gone")
        return Completed((), self.status, self._answer, "")


def links(*names_and_flags: tuple[str, list[str]]) -> list[Mapping[str, Any]]:
    return [{"ifname": name, "flags": flags} for name, flags in names_and_flags]


def advice(answer: object) -> str:
    return asyncio.run(advise_interface(Host(answer)))  # type: ignore[arg-type]


def test_interfaces_with_a_link_come_first_and_loopback_is_none() -> None:
    expected = "name one of its interfaces: enp1s0f1, enp1s0f0, docker0 (no link)"
    assert advice(links(*LINKS)) == expected


def test_of_many_interfaces_six_are_named() -> None:
    many = links(*((f"eth{number}", DOWN if number == 0 else UP) for number in range(10)))
    assert advice(many).endswith(": eth1, eth2, eth3, eth4, eth5, eth6 and 4 more")


@pytest.mark.parametrize("answer", ["gone", "", "[1]", [{"ifname": "eth0"}], links(("lo", UP))])
def test_without_a_list_it_is_said_where_to_look(answer: object) -> None:
    assert advice(answer) == NAME_ANOTHER


def test_an_ip_that_prints_no_json_is_not_taken_for_an_interface_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(tmp_path, monkeypatch, "eth0", ("1", "2"), None)
    host = Host("")
    host.status = 1
    session.hosts["a"] = host  # type: ignore[assignment]
    host.name = "a"  # type: ignore[attr-defined]
    with pytest.raises(HostError, match=r"^a: its ip prints no JSON, like that of BusyBox; install iproute2"):
        asyncio.run(session.learn())


def facts(boot_id: str, mtu: int | None = 1500) -> dict[str, dict[str, Any]]:
    return {
        "system": {"boot_id": boot_id},
        "nic": {"mtu": mtu, "state": "UNKNOWN"},
        "tools": {"iperf3": "iperf 3.18", "mpstat": "sysstat version 12.6.1"},
        "cpus": {},
    }


def session_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, data: str, boot_ids: tuple[str, str], mtu: int | None
) -> Session:
    """A session with two hosts that answer."""
    file = folder / "two.yaml"
    hosts = ", ".join(f"{name}: {{address: {name}.example, data: {data}}}" for name in ("a", "b"))
    file.write_text(f"name: two\nhosts: {{{hosts}}}\npairs: [a -> b]\ntests: [tcp]\n")
    session = Session(load_campaign(file), {})
    by_name = dict(zip(("a", "b"), boot_ids, strict=True))

    async def read(host: Any, _load: object) -> dict[str, dict[str, Any]]:
        return facts(by_name[host.name], mtu)

    for name in by_name:
        host = Host(links(*LINKS))
        host.name = name  # type: ignore[attr-defined]
        session.hosts[name] = host  # type: ignore[assignment]
    monkeypatch.setattr(sessions, "read_facts", read)
    return session


def test_a_run_names_the_interfaces_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(tmp_path, monkeypatch, "eth9", ("1", "2"), None)
    with pytest.raises(InvalidInput, match=r"^a: no interface eth9; name one of its interfaces: enp1s0f1, "):
        asyncio.run(session.learn())


def test_loopback_between_two_machines_is_refused_and_within_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(tmp_path, monkeypatch, "lo", ("1", "2"), 65536)
    asyncio.run(session.learn())
    text = (
        "^a: lo is the loopback interface: its packets stay on the host and cannot reach b; name one of its"
    )
    with pytest.raises(InvalidInput, match=text):
        asyncio.run(session.refuse_loopback())
    session = session_of(tmp_path, monkeypatch, "lo", ("1", "1"), 65536)
    asyncio.run(session.learn())
    with pytest.raises(InvalidInput, match="stay on the host, and it has no address for data; name one of"):
        asyncio.run(session.refuse_loopback())
    for host_facts in session.facts.values():
        host_facts["nic"]["ipv4_addresses"] = ["198.51.100.1"]
    asyncio.run(session.refuse_loopback())
    assert set(session.facts) == {"a", "b"}, "both were looked at"


def answer_of(name: str, data: str, boot_id: str, mtu: int | None, advice: str) -> HostAnswer:
    spec = HostSpec(name, f"{name}.example", data)
    return HostAnswer(Wants(spec), facts(boot_id, mtu), interface_advice=advice)


def test_check_names_the_interfaces_and_refuses_loopback() -> None:
    peer = answer_of("b", "eth0", "2", 1500, "")
    for data, mtu, words in (("eth9", None, "no interface eth9"), ("lo", 65536, "cannot reach b")):
        check = readiness_net.link(answer_of("a", data, "1", mtu, "name one of its interfaces: e0"), [peer])
        assert (check.status, check.advice) == ("fail", "name one of its interfaces: e0")
        assert words in check.found
    same = answer_of("a", "lo", "2", 65536, "")
    assert "no address for data" in readiness_net.link(same, [peer]).found
    same.facts["nic"]["ipv4_addresses"] = ["198.51.100.1"]  # type: ignore[index]
    assert readiness_net.link(same, [peer]).status != "fail"


@pytest.mark.parametrize(
    ("ssh", "address", "shared"),
    [
        ({"address": "192.0.2.7"}, "a.example", ["eth0"]),
        ({"address": "2001:db8::7"}, "a.example", ["eth1"]),
        ({"address": "203.0.113.1"}, "a.example", []),
        ({"address": None}, "a.example", []),
        ({}, "a.example", []),
        ({"address": "192.0.2.7"}, "local", []),
    ],
    ids=["the first port", "a further port", "another interface", "not told", "not asked", "without SSH"],
)
def test_a_data_interface_that_has_the_address_of_ssh_is_noticed(
    ssh: dict[str, Any], address: str, shared: list[str]
) -> None:
    spec = HostSpec("a", address, "eth0", more_ports=(DataPort("eth1"),))
    known = {
        "ssh": ssh,
        "nic": {"ipv4_addresses": ["192.0.2.7"], "ipv6_addresses": None},
        "further_nics": {"eth1": {"ipv4_addresses": [], "ipv6_addresses": ["2001:db8::7"]}},
    }
    assert [line.interface for line in shared_lines(spec, known)] == shared


def test_check_warns_where_ssh_and_load_share_an_interface() -> None:
    answer = answer_of("a", "eth0", "1", 1500, "")
    answer.facts["nic"]["ipv4_addresses"] = ["192.0.2.7"]  # type: ignore[index]
    answer.facts["ssh"] = {"address": "192.0.2.7"}  # type: ignore[index]
    (check,) = readiness_net.shared_with_ssh(answer)
    assert (check.host, check.name, check.status) == ("a", "link", "warn")
    assert check.found == "eth0 carries the load and also linewatt's SSH (192.0.2.7) and sensor readings"
    assert "name an interface that only carries the load" in check.advice
