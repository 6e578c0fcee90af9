# SPDX-License-Identifier: Apache-2.0
"""What two hosts show becomes a campaign over the interfaces through which they reach each other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.unit.conftest import Run

from linewatt.analysis.comparison.rows import are_too_few
from linewatt.campaign.planning.plan import plan_campaign
from linewatt.campaign.reading.file import load_campaign
from linewatt.errors import HostError, ParseError
from linewatt.features.init import action
from linewatt.features.init.file import Login, name_of_campaign, text_of_campaign
from linewatt.features.init.looked import Looked, is_one_host, parse_look, ways
from linewatt.hosts import HostSpec


def entry(name: str, *addresses: str, kind: str | None = None, up: bool = True) -> dict[str, Any]:
    """As ``ip -j -d address show`` has an interface (iproute2 6.1)."""
    found: dict[str, Any] = {
        "ifname": name,
        "flags": ["BROADCAST", "MULTICAST", "UP", *(["LOWER_UP"] if up else [])],
        "link_type": "loopback" if name == "lo" else "ether",
        "addr_info": [
            {
                "family": "inet6" if ":" in address else "inet",
                "local": address.partition("/")[0],
                "prefixlen": int(address.partition("/")[2]),
                "scope": "link" if address.startswith("fe80") else "global",
            }
            for address in addresses
        ],
    }
    return found | ({"linkinfo": {"info_kind": kind}} if kind else {})


def look(*entries: dict[str, Any], said: str = "user 0", speeds: str = "") -> Looked:
    return parse_look(f"{said}\n{speeds}addresses\n{json.dumps([entry('lo', '127.0.0.1/8'), *entries])}\n")


GEN = look(
    entry("eno1", "10.0.0.11/24", "fe80::1/64"),
    entry("enp1s0f0np0", "192.168.1.1/24"),
    entry("enp1s0f1np1", "192.168.2.1/24", "2001:db8:2::1/64"),
    entry("docker0", "172.17.0.1/16", kind="bridge"),
    entry("bmc0", "169.254.1.2/16"),
    said="user 1000\nsudo yes\nssh 10.0.0.5 50000 10.0.0.11 22\nbmc yes\nrapl yes",
    speeds="speed eno1 1000\nspeed enp1s0f0np0 25000\nspeed enp1s0f1np1 100000\n",
)
DUT = look(
    entry("eno1", "10.0.0.10/24"),
    entry("ens3f0", "192.168.1.2/24"),
    entry("ens3f1", "192.168.2.2/24", "2001:db8:2::2/64"),
    entry("docker0", "172.17.0.1/16", kind="bridge"),
    entry("bmc0", "169.254.1.3/16"),
    said="user 0\nssh 10.0.0.5 50001 10.0.0.10 22",
    speeds="speed ens3f0 25000\nspeed ens3f1 -1\n",
)


def test_a_host_is_read_with_its_ports_and_what_may_be_done_there() -> None:
    assert [port.name for port in GEN.ports] == ["eno1", "enp1s0f0np0", "enp1s0f1np1", "docker0"]
    assert [port.of_ssh for port in GEN.ports] == [True, False, False, False]
    assert [port.speed_bps for port in DUT.ports] == [None, 25e9, None, None]
    assert (GEN.is_root, GEN.sudo, GEN.bmc, GEN.rapl) == (False, True, True, True)
    assert (DUT.is_root, DUT.sudo, DUT.bmc, DUT.rapl) == (True, False, False, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "user 0\n",
        "user 0\naddresses\n",
        "user 0\naddresses\nnot json",
        "user 0\naddresses\n[1]",
        'user 0\naddresses\n[{"link_type": "ether"}]',
        'user 0\nspeed a\naddresses\n[{"ifname": "a"}]',
    ],
)
def test_what_is_no_answer_is_told(text: str) -> None:
    with pytest.raises(ParseError):
        parse_look(text)


def test_the_fastest_way_apart_from_ssh_comes_first_and_that_of_ssh_last() -> None:
    found = [(way.sender.name, way.receiver.name) for way in ways(GEN, DUT)]
    assert found == [("enp1s0f0np0", "ens3f0"), ("enp1s0f1np1", "ens3f1"), ("eno1", "eno1")]


@pytest.mark.parametrize(
    "other",
    [
        look(entry("eth0", "192.168.9.1/24")),
        look(entry("eth0", "192.168.1.2/24", up=False)),
        look(entry("eth0", "192.168.1.2/16")),
        look(entry("eth0", "192.168.1.1/24")),
        look(entry("x\n    jump: evil", "192.168.1.2/24")),
    ],
    ids=["another subnet", "no carrier", "a wider subnet", "the same address", "a name that is YAML"],
)
def test_hosts_that_reach_each_other_by_no_interface_have_no_way(other: Looked) -> None:
    assert ways(GEN, other) == []


def test_a_bridge_comes_after_interfaces_of_their_own() -> None:
    bridged = look(entry("br0", "192.168.1.2/24", kind="bridge"), entry("eth9", "192.168.2.2/24"))
    found = [(way.sender.name, way.receiver.name) for way in ways(GEN, bridged)]
    assert found == [("enp1s0f1np1", "eth9"), ("enp1s0f0np0", "br0")]


def test_a_way_by_ipv6_alone_is_written_with_its_family_and_addresses(tmp_path: Path) -> None:
    first, second = (look(entry("eth0", f"10.{at}.0.1/24", f"2001:db8::{at}/64")) for at in (1, 2))
    logins = Login("a", "a", None, None), Login("b", "b", None, None)
    file = tmp_path / "a-b.yaml"
    file.write_text(text_of_campaign("a-b", logins, (first, second), *ways(first, second)))
    campaign = load_campaign(file)
    assert campaign.families == ("ipv6",)
    assert [host.data_ipv6 for host in campaign.hosts.values()] == ["2001:db8::1", "2001:db8::2"]


def test_two_names_of_one_host_are_told() -> None:
    assert is_one_host(GEN, GEN)
    assert not is_one_host(GEN, DUT)
    assert not is_one_host(Looked(()), Looked(()))


def test_the_file_is_a_campaign_that_can_be_planned_and_says_what_its_lines_mean(tmp_path: Path) -> None:
    logins = Login("gen", "gen.example.org", "perf", None), Login("dut", "2001:db8::10", None, 2222)
    text = text_of_campaign("two-hosts", logins, (GEN, DUT), ways(GEN, DUT)[0])
    file = tmp_path / "gen-dut.yaml"
    file.write_text(text)
    campaign = load_campaign(file)
    gen, dut = campaign.hosts["gen"], campaign.hosts["dut"]
    assert (gen.address, gen.user, gen.sudo, gen.data) == ("gen.example.org", "perf", True, "enp1s0f0np0")
    assert (dut.address, dut.user, dut.port, dut.sudo, dut.data) == (
        "2001:db8::10",
        None,
        2222,
        False,
        "ens3f0",
    )
    assert campaign.pairs == (("gen", "dut"),)
    assert {name: [*sources] for name, sources in campaign.power.items() if sources} == {
        "gen": ["bmc", "cpu"]
    }
    planned = plan_campaign(replace(campaign, power={}), seed=1)
    assert len(list(planned.trials)) == 6
    assert planned.duration_s <= 120
    assert "# 192.168.1.1/24, 25.0 Gbps; other interfaces: eno1, enp1s0f1np1, docker0" in text
    assert (gen.data_ipv4, dut.data_ipv4) == ("192.168.1.1", "192.168.1.2")
    assert max(map(len, text.splitlines())) <= 120


def test_the_file_agrees_with_the_example_of_the_readme() -> None:
    logins = Login("gen", "gen", None, None), Login("dut", "dut", None, None)
    written = YAML(typ="safe").load(text_of_campaign("two-hosts", logins, (GEN, DUT), ways(GEN, DUT)[0]))
    readme = (Path(__file__).parents[4] / "README.md").read_text()
    example = YAML(typ="safe").load(readme.partition("```yaml\n")[2].partition("```")[0])
    assert "linewatt init gen dut -o two-hosts.yaml" in readme
    assert name_of_campaign(Path("two-hosts.yaml")) == example["name"]
    assert {key: value for key, value in written.items() if key != "hosts"} == {
        key: value for key, value in example.items() if key != "hosts"
    }


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a/two-hosts.yaml", "two-hosts"),
        ("My rack (2).yml", "My-rack-2"),
        ("gen.dut.yaml", "gen.dut"),
        ("ö.yaml", "two-hosts"),
        (f"{'x' * 99}.yaml", "x" * 64),
        ("no.yaml", "no"),
    ],
)
def test_a_campaign_is_called_as_its_file(tmp_path: Path, file: str, name: str) -> None:
    logins = Login("gen", "gen", None, None), Login("dut", "dut", None, None)
    assert name_of_campaign(Path(file)) == name
    path = tmp_path / "campaign.yaml"
    path.write_text(text_of_campaign(name, logins, (GEN, DUT), ways(GEN, DUT)[0]))
    assert load_campaign(path).name == name


def test_the_file_says_how_many_trials_a_verdict_needs() -> None:
    logins = Login("gen", "gen", None, None), Login("dut", "dut", None, None)
    text = text_of_campaign("two-hosts", logins, (GEN, DUT), ways(GEN, DUT)[0])
    fewest = next(runs for runs in range(1, 20) if not are_too_few(runs, runs))
    assert f"compare needs {fewest} or more" in text


def test_load_over_the_interface_of_ssh_is_said_in_the_file() -> None:
    first = look(entry("eth0", "10.0.0.1/24"), said="user 0\nssh 10.0.0.5 5 10.0.0.1 22")
    second = look(entry("eth0", "10.0.0.2/24"), said="user 1000\nssh 10.0.0.5 5 10.0.0.2 22")
    text = text_of_campaign(
        "a-b",
        (Login("a", "a", None, None), Login("b", "b", None, None)),
        (first, second),
        *ways(first, second),
    )
    assert text.count("SSH uses it, too") == 2
    assert text.count("#   sudo: true") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gen", "gen"), "gen: sends to itself; name two hosts"),
        (
            ("gen", "bad host"),
            "bad host: must be [user@]host[:port], as ssh has it; an IPv6 address in brackets",
        ),
        (
            ("gen", "dut", "-o", "there.yaml"),
            "there.yaml is there already; name another with --output, or take it away",
        ),
        (("gen", "dut", "-o", "no/where.yaml"), "no/where.yaml: there is no directory no; make it first"),
    ],
)
def test_wrong_use_is_one_line_before_any_host_is_touched(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    async def touched(*_: object) -> None:
        pytest.fail("a host was looked at")

    monkeypatch.setattr(action, "connect_to_host", touched)
    Path("there.yaml").touch()
    status, _, err = run("init", *words)
    assert (status, err) == (2, f"linewatt: {said}\n")


def test_names_come_from_what_ssh_is_told() -> None:
    first, second = action._logins("perf@gen01.rack2.example.org:2222", "[2001:db8::10]")
    assert first == Login("gen01", "gen01.rack2.example.org", "perf", 2222)
    assert second == Login("host-2001-db8-10", "2001:db8::10", None, None)
    assert [login.name for login in action._logins("a.north", "a.south")] == ["sender", "receiver"]
    assert max(len(login.name) for login in action._logins("[2001:db8:1:2:3:4:5:6]", "g" * 60)) <= 25


def test_hosts_that_both_cannot_be_reached_are_both_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(spec: HostSpec) -> None:
        raise HostError("is not there", where=spec.name)

    monkeypatch.setattr(action, "connect_to_host", unreachable)
    code, out, err = run("init", "gen", "dut")
    assert (code, out) == (1, "")
    assert err == "linewatt: gen: is not there\ndut: is not there\n"
