# SPDX-License-Identifier: Apache-2.0
"""Networks through nmstatectl: what is read, asked for, applied and put back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linewatt.errors import ChangeError, LinewattError, ParseError
from linewatt.hosts.facts import parsers as fact_parsers
from linewatt.network.build import describe_network
from linewatt.network.description import HostNetwork
from linewatt.network.nmstatectl import NmstateKnob, nmstate_change, uses_nmstate
from linewatt.network.schema import NetworkState

SHOWN = (Path(__file__).parents[2] / "captures" / "nmstate" / "2.2-documentation" / "output").read_text()
KNOB = NmstateKnob()
VXLAN: dict[str, Any] = {
    "interfaces": [
        {
            "name": "vx0",
            "type": "vxlan",
            "mtu": 1450,
            "vxlan": {"id": 7, "base-iface": "eth1", "remote": "192.0.2.2", "learning": False},
            "ipv4": {"address": [{"ip": "198.18.0.1", "prefix-length": 24}]},
        },
        {
            "name": "eth1",
            "type": "ethernet",
            "ipv4": {"address": [{"ip": "198.18.1.1", "prefix-length": 24}]},
        },
    ],
    "routes": {
        "config": [
            {"destination": "198.19.0.0/16", "next-hop-interface": "vx0", "next-hop-address": "198.18.0.2"},
            {"destination": "192.168.2.0/24", "next-hop-interface": "eth1", "metric": 108, "table-id": 200,
             "state": "absent"},
        ]
    },
}  # fmt: skip


def network(document: dict[str, Any]) -> HostNetwork:
    return describe_network(NetworkState.model_validate(document), "dut")


def apply(shown: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """What nmstate would show once a document is applied (nmstate.io: properties left out stay)."""
    interfaces = {one["name"]: one for one in json.loads(json.dumps(shown["interfaces"]))}
    for one in document["interfaces"]:
        if one.get("state") == "absent":
            interfaces.pop(one["name"])
        else:
            interfaces[one["name"]] = _merged(interfaces.get(one["name"], {}), one)
    entries = list(shown["routes"]["config"])
    for route in document["routes"]["config"]:
        keys = set(route) - {"state"}
        entries = [one for one in entries if any(one.get(key) != route[key] for key in keys)]
        if "state" not in route:
            entries.append(route)
    entries = [one for one in entries if one["next-hop-interface"] in {*interfaces, "eth2"}]
    return {"interfaces": list(interfaces.values()), "routes": {"config": entries}}


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    both = {
        name: _merged(old[name], value) if isinstance(value, dict) and name in old else value
        for name, value in new.items()
    }
    return old | both


def test_a_network_is_applied_read_back_and_undone() -> None:
    _, target, value = nmstate_change(network(VXLAN))
    shown = json.loads(SHOWN)
    before = KNOB.parse(f"{target}\n{SHOWN}")
    wanted = KNOB.wanted(before, value)
    command = KNOB.write(target, wanted)
    assert command.argv[-4:] == ("nmstatectl", "apply", "--memory-only", "-")
    after = apply(shown, json.loads(command.stdin))
    assert KNOB.parse(f"{target}\n{json.dumps(after)}") == wanted
    assert KNOB.wanted(wanted, value) == wanted
    back = apply(after, json.loads(KNOB.write(target, before).stdin))
    assert KNOB.parse(f"{target}\n{json.dumps(back)}") == before


def test_what_is_applied_is_a_document_of_nmstate() -> None:
    _, target, value = nmstate_change(network(VXLAN))
    document = json.loads(KNOB.write(target, KNOB.wanted(KNOB.parse(f"{target}\n{SHOWN}"), value)).stdin)
    eth1, vx0 = sorted(document["interfaces"], key=lambda one: str(one["name"]))
    assert vx0 == {
        "name": "vx0",
        "type": "vxlan",
        "state": "up",
        "mtu": 1450,
        "ipv4": {"enabled": True, "address": [{"ip": "198.18.0.1", "prefix-length": 24}]},
        "vxlan": {"id": 7, "base-iface": "eth1", "remote": "192.0.2.2", "learning": False},
    }
    addresses = {one["ip"] for one in eth1["ipv4"]["address"]}
    assert addresses == {"192.0.2.251", "198.18.1.1"}, "NMState replaces the list: what was there stays in it"
    assert document["routes"]["config"] == [
        {
            "destination": "192.168.2.0/24",
            "next-hop-interface": "eth1",
            "table-id": 200,
            "state": "absent",
        },
        {
            "destination": "198.19.0.0/16",
            "next-hop-interface": "vx0",
            "next-hop-address": "198.18.0.2",
            "table-id": 254,
        },
    ]


def test_an_interface_that_is_removed_comes_back_with_all_that_was_shown_of_it() -> None:
    document = {"interfaces": [{"name": "eth1.102", "type": "vxlan", "state": "absent"}]}
    _, target, value = nmstate_change(network(document))
    before = KNOB.parse(f"{target}\n{SHOWN}")
    wanted = KNOB.wanted(before, value)
    assert json.loads(KNOB.write(target, wanted).stdin)["interfaces"] == [
        {"name": "eth1.102", "state": "absent"}
    ]
    (back,) = json.loads(KNOB.write(target, before).stdin)["interfaces"]
    assert back in json.loads(SHOWN)["interfaces"]


def test_bridges_bonds_and_vlans_are_read_by_their_properties() -> None:
    words = [
        "interface:br0/bridge.port,bridge.options.stp.enabled,ipv4.address",
        "interface:bond99/link-aggregation.port,link-aggregation.options.miimon,type",
        "interface:eth1.101/vlan.id,vlan.base-iface",
        "interface:eth1/ipv6.address",
        "interface:none0/mtu",
        "route:2001:db8:a::/64@eth1,table=200,metric=108",
        "route:2001:db8:a::/64@eth1",
    ]
    shown = json.loads(KNOB.parse(f"{' '.join(words)}\n{SHOWN}"))
    assert [shown[word] for word in words] == [
        {"bridge.options.stp.enabled": True, "bridge.port": ["eth2", "eth3"], "ipv4.address": []},
        {"link-aggregation.options.miimon": 100, "link-aggregation.port": ["eth4", "eth5"], "type": "bond"},
        {"vlan.base-iface": "eth1", "vlan.id": 101},
        {"ipv6.address": ["2001:db8:1::1/64"]},
        None,
        {"next-hop-address": "2001:db8:1::2"},
        None,
    ]


@pytest.mark.parametrize(
    ("interface", "words"),
    [
        ({"name": "eth9", "type": "ethernet", "mtu": 9000}, "there is no interface eth9"),
        (
            {"name": "eth1.102", "type": "vxlan", "vxlan": {"id": 103, "base-iface": "eth1"}},
            "there is an interface eth1.102 already, with vxlan.id 102",
        ),
        (
            {"name": "eth1", "type": "vlan", "vlan": {"id": 5, "base-iface": "eth2"}},
            "an interface eth1 already, with type",
        ),
    ],
)
def test_what_a_host_cannot_show_is_refused_in_one_line(interface: dict[str, Any], words: str) -> None:
    _, target, value = nmstate_change(network({"interfaces": [interface]}))
    with pytest.raises(ChangeError) as caught:
        KNOB.wanted(KNOB.parse(f"{target}\n{SHOWN}"), value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_geneve_is_not_nmstates() -> None:
    geneve = {"name": "g0", "type": "geneve", "geneve": {"id": 1, "remote": "192.0.2.2"}}
    with pytest.raises(ChangeError, match="geneve is not NMState's"):
        nmstate_change(network({"interfaces": [geneve]}))


@pytest.mark.parametrize(
    "output", ["", "interface:a/mtu\n", "interface:a/mtu\n[]", 'interface:a/mtu\n{"interfaces": 3}']
)
def test_an_answer_that_is_none_is_one_line(output: str) -> None:
    with pytest.raises(ParseError) as caught:
        KNOB.parse(output)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_noise_is_no_target(text: str) -> None:
    for word in (text, f"interface:{text}", f"route:{text}"):
        try:
            KNOB.read(word)
        except LinewattError as error:
            said = str(error)
        else:
            said = ""
        assert "\n" not in said


@pytest.mark.parametrize(
    ("nic", "tools", "expected"),
    [
        ({"networkmanager": True}, {"nmstatectl": "nmstatectl 2.2.38"}, True),
        ({"networkmanager": False}, {"nmstatectl": "nmstatectl 2.2.38"}, False),
        ({"networkmanager": None}, {"nmstatectl": "nmstatectl 2.2.38"}, False),
        ({"networkmanager": True}, {"nmstatectl": None}, False),
        ({}, {}, False),
    ],
)
def test_nmstate_is_used_where_networkmanager_has_the_interface(
    nic: dict[str, Any], tools: dict[str, Any], expected: bool
) -> None:
    assert uses_nmstate({"nic": nic, "tools": tools}) is expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("100 (connected)", True),
        ("30 (disconnected)", True),
        ("20 (unavailable)", True),
        ("10 (unmanaged)", False),
        ("Error: NetworkManager is not running.", False),
        ("no NetworkManager", False),
    ],
)
def test_an_interface_is_managed_or_not(said: str, expected: bool) -> None:
    """States by number and name: NetworkManager, NMDeviceState."""
    assert fact_parsers.managed(f"{said}\n") is expected


@pytest.mark.parametrize("said", ["Error: Device 'eth9' not found.", "", "connected"])
def test_what_nmcli_does_not_tell_is_not_known(said: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        fact_parsers.managed(said)
