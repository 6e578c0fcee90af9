# SPDX-License-Identifier: Apache-2.0
"""NMState documents: what is read, what is refused and where, in one line each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mistakes import assert_one_line_each

from linewatt.campaign.reading.hosts import Locator
from linewatt.campaign.reading.networks import parse_networks, read_host_network, read_network
from linewatt.document import parse_yaml
from linewatt.errors import InvalidInput, LinewattError
from linewatt.network.description import HostNetwork
from linewatt.network.foreign import find_unsupported
from linewatt.network.interfaces import InterfaceAddress, Route
from linewatt.network.schema import INTERFACES

GOOD = """\
interfaces:
- name: br0
  type: linux-bridge
  state: up
  description: kept for people
  profile-name: br0
  bridge:
    options: {stp: {enabled: false, forward-delay: 4}, mac-ageing-time: 120, multicast-snooping: true}
    port: [{name: bond0}]
  ipv4: {enabled: true, dhcp: false, address: [{ip: 198.18.0.1, prefix-length: 24}]}
  ipv6:
    enabled: true
    autoconf: false
    dhcp: false
    address: [{ip: "2001:DB8:0::1", prefix-length: 64}]
- {name: bond0, type: bond, link-aggregation: {mode: 802.3ad, options: {miimon: '140'}, port: [eth1.5]}}
- {name: eth1.5, type: vlan, vlan: {base-iface: eth1, id: '5'}}
- {name: eth1, type: ethernet, mtu: 9000, min-mtu: 68, max-mtu: 9978, ipv6: {enabled: false}}
- {name: vx0, type: vxlan, mtu: 1450, vxlan: {base-iface: eth1, id: 1, remote: 192.0.2.2, learning: false}}
- {name: gnv0, type: geneve, geneve: {id: 100, remote: 192.0.2.2}}
- {name: v0, type: veth, veth: {peer: v1}}
- {name: mac0, type: mac-vlan, mac-vlan: {base-iface: eth1, mode: passthru, promiscuous: false}}
- {name: dum0, type: dummy}
- {name: old0, type: vxlan, state: absent}
routes:
  running: [{destination: 0.0.0.0/0, next-hop-interface: eth9}]
  config:
  - {destination: 198.18.7.0/24, next-hop-interface: br0, next-hop-address: 198.18.0.7, metric: -1,
     table-id: 0}
  - {destination: 198.18.8.0/24, next-hop-interface: vx0, metric: 50, table-id: 100}
  - {destination: 198.18.9.0/24, next-hop-interface: eth1, state: absent}
"""


def read(text: str, tmp_path: Path) -> HostNetwork:
    file = tmp_path / "dut.yaml"
    file.write_text(text)
    return read_host_network(file, file.stem)


def refused(text: str, tmp_path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        read(text, tmp_path)
    shown = str(caught.value)
    assert_one_line_each(shown)
    return shown.removeprefix(f"{tmp_path / 'dut.yaml'}:")


def test_every_kind_is_read_with_what_it_stands_on_first(tmp_path: Path) -> None:
    found = read(GOOD, tmp_path)
    assert found.host == "dut"
    assert [one.name for one in found.interfaces] == [
        "eth1", "eth1.5", "bond0", "br0", "vx0", "gnv0", "v0", "mac0", "dum0", "old0",
    ]  # fmt: skip
    assert {one.kind for one in found.interfaces} == set(INTERFACES)
    bridge, bond = found.interface("br0"), found.interface("bond0")
    assert bridge is not None and bond is not None  # noqa: PT018
    assert dict(bridge.options) == {
        "forward_delay": 400, "stp_state": 0, "ageing_time": 12000, "mcast_snooping": 1,
    }  # fmt: skip
    assert dict(bond.options) == {"miimon": 140}
    assert found.addresses("ipv6") == (InterfaceAddress("br0", "2001:db8::1", 64),)
    assert found.routes == (
        Route("198.18.7.0/24", "br0", "198.18.0.7"),
        Route("198.18.8.0/24", "vx0", None, 50, 100),
        Route("198.18.9.0/24", "eth1", state="absent"),
    )


def test_the_default_port_of_a_vxlan_is_the_one_that_nmstate_would_give_it(tmp_path: Path) -> None:
    """NetworkManager's default, https://networkmanager.dev/docs/api/latest/settings-vxlan.html"""
    vxlan = read(GOOD, tmp_path).interface("vx0")
    assert vxlan is not None
    assert dict(vxlan.settings)["port"] == 8472


BAD = {
    "1:13: interfaces: captures of a policy are not read; write the interfaces out, got '{{ capture.up.": (
        "interfaces: '{{ capture.up.interfaces }}'\n"
    ),
    "1:21: interfaces[0].name: captures of a policy are not read; write the value out, got": (
        "interfaces: [{name: '{{capture.up.interfaces.0.name}}', type: ethernet}]\n"
    ),
    "1:45: interfaces[0].mtu: templates are not read; write the value out, got '{{ mtu }}'": (
        "interfaces: [{name: e, type: ethernet, mtu: '{{ mtu }}', description: '{{ x }}'}]\n"
    ),
    "1:1: captures of a policy are not read; write the value out, got '{{ capture.all }}'": (
        "'{{ capture.all }}'\n"
    ),
    "1:1: capture: captures of a policy are not read; write the interfaces out, and take the captures": (
        "capture: {up: interfaces.state == 'up'}\n"
    ),
    "1:1: must be an NMState document with `interfaces:`, got a list": "- a\n",
    "1:1: dns-resolver: dns-resolver is NMState's, but linewatt does not set it up": "dns-resolver: {}\n",
    "1:1: spec: is of a policy; keep the document alone": "spec: {desiredState: {}}\n",
    "1:1: interface: unknown key; did you mean interfaces?": "interface: []\n",
    "1:30: interfaces[0].type: ovs-bridge is NMState's, but linewatt does not set it up": (
        "interfaces: [{name: a, type: ovs-bridge}]\n"
    ),
    "1:30: interfaces[0].type: there is no such type; known here: ethernet, veth": (
        "interfaces: [{name: a, type: vxlam}]\n"
    ),
    "1:14: interfaces[0].type: is missing; add it: one of ethernet": "interfaces: [{name: a}]\n",
    "3:3: interfaces[0].mac-address: mac-address is NMState's": (
        "interfaces:\n- {name: a, type: ethernet,\n  mac-address: 02:00:00:00:00:01}\n"
    ),
    "3:12: interfaces[0].vxlan.base-ifase: unknown key; did you mean base-iface?": (
        "interfaces:\n- {name: a, type: vxlan,\n   vxlan: {base-ifase: eth1, id: 1}}\n"
    ),
    "interfaces[0].vlan.id: must be at most 4094, got 4095": (
        "interfaces: [{name: a, type: vlan, vlan: {base-iface: eth1, id: 4095}}]\n"
    ),
    "interfaces[0].vlan.base-iface: is missing; add it": (
        "interfaces: [{name: a, type: vlan, vlan: {id: 5}}]\n"
    ),
    "interfaces[0].mtu: must be at least 68, got 67": "interfaces: [{name: a, type: ethernet, mtu: 67}]\n",
    "interfaces[0].mtu: must be at least 1280 with IPv6, got 1279": (
        "interfaces: [{name: a, type: ethernet, mtu: 1279, ipv6: {address: [{ip:"
        " '2001:db8::1', prefix-length: 64}]}}]\n"
    ),
    "interfaces[0].ipv4.dhcp: is NMState's, but linewatt sets static addresses only": (
        "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, dhcp: true}}]\n"
    ),
    "interfaces[0].ipv6.autoconf: is NMState's, but linewatt sets static addresses only": (
        "interfaces: [{name: a, type: ethernet, ipv6: {enabled: true, autoconf: true}}]\n"
    ),
    "interfaces[0].ipv4.address[0].ip: 2001:db8::1 is ipv6; move it there": (
        "interfaces: [{name: a, type: ethernet, ipv4: {address: [{ip: '2001:db8::1', prefix-length: 64}]}}]\n"
    ),
    "interfaces[0].ipv4.address[0].prefix-length: must be at most 32 with ipv4, got 33": (
        "interfaces: [{name: a, type: ethernet, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 33}]}}]\n"
    ),
    "interfaces[0].ipv4.enabled: is false, but there are addresses": (
        "interfaces: [{name: a, type: ethernet, ipv4: {enabled: false, address: [{ip:"
        " 10.0.0.1, prefix-length: 8}]}}]\n"
    ),
    "interfaces[1].name: a is interfaces[0] already": (
        "interfaces: [{name: a, type: ethernet}, {name: a, type: ethernet}]\n"
    ),
    "interfaces[0].veth: is missing; add it, for example `veth: {peer: veth1}`": (
        "interfaces: [{name: a, type: veth}]\n"
    ),
    "interfaces[0].veth.peer: a cannot be its own peer": (
        "interfaces: [{name: a, type: veth, veth: {peer: a}}]\n"
    ),
    "interfaces[0].veth.peer: b is not a veth with the peer a": (
        "interfaces: [{name: a, type: veth, veth: {peer: b}}, {name: b, type: veth, veth: {peer: c}}]\n"
    ),
    "interfaces[0].vlan.base-iface: a cannot stand on itself": (
        "interfaces: [{name: a, type: vlan, vlan: {base-iface: a, id: 1}}]\n"
    ),
    "interfaces[0].bridge.port: makes a loop: a on b on a": (
        "interfaces: [{name: a, type: linux-bridge, bridge: {port: [{name: b}]}},"
        " {name: b, type: vlan, vlan: {base-iface: a, id: 1}}]\n"
    ),
    "interfaces[1].vlan.base-iface: a is down in this document": (
        "interfaces: [{name: a, type: ethernet, state: down}, {name: b, type: vlan,"
        " vlan: {base-iface: a, id: 1}}]\n"
    ),
    "interfaces[1].mtu: must be at most 1500, the MTU of a below it, got 9000": (
        "interfaces: [{name: a, type: ethernet, mtu: 1500},"
        " {name: b, type: vlan, mtu: 9000, vlan: {base-iface: a, id: 1}}]\n"
    ),
    "interfaces[0].vxlan.local: 2001:db8::1 and the remote 192.0.2.2 must be of one family": (
        "interfaces: [{name: a, type: vxlan, vxlan: {id: 1, remote: 192.0.2.2, local: '2001:db8::1'}}]\n"
    ),
    "interfaces[0].vxlan.base-iface: is missing; a multicast remote needs": (
        "interfaces: [{name: a, type: vxlan, vxlan: {id: 1, remote: 239.1.1.1}}]\n"
    ),
    "interfaces[1].ipv4: b is a port of a, which is to have the addresses": (
        "interfaces: [{name: a, type: linux-bridge, bridge: {port: [{name: b}]}},"
        " {name: b, type: ethernet, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 8}]}}]\n"
    ),
    "interfaces[1].bridge.port[0]: c is a port of a already": (
        "interfaces: [{name: a, type: linux-bridge, bridge: {port: [{name: c}]}},"
        " {name: b, type: linux-bridge, bridge: {port: [{name: c}]}}]\n"
    ),
    "interfaces[1].ipv4: 10.0.0.1 is an address of a already": (
        "interfaces: [{name: a, type: ethernet, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 8}]}},"
        " {name: b, type: ethernet, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 24}]}}]\n"
    ),
    "interfaces[0].state: cannot be absent: the host has it": (
        "interfaces: [{name: a, type: ethernet, state: absent}]\n"
    ),
    "interfaces[0].state: cannot be absent: linewatt could not make the bond again": (
        "interfaces: [{name: a, type: bond, state: absent}]\n"
    ),
    "interfaces[0].state: down is not supported for virtual interfaces": (
        "interfaces: [{name: a, type: vlan, state: down}]\n"
    ),
    "interfaces[0].mac-vlan.promiscuous: may be false in the mode passthru only": (
        "interfaces: [{name: a, type: mac-vlan, mac-vlan: {base-iface: b, mode: bridge,"
        " promiscuous: false}}]\n"
    ),
    "routes.config[0].destination: must be a network without bits of a host: 10.0.0.0/8, got '10.0.0.1/8'": (
        "routes: {config: [{destination: 10.0.0.1/8, next-hop-interface: a}]}\n"
    ),
    "routes.config[0].next-hop-interface: is missing; add it": (
        "routes: {config: [{destination: 10.0.0.0/8}]}\n"
    ),
    "routes.config[0].next-hop-address: 2001:db8::1 is of another family than 10.0.0.0/8": (
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: a,"
        " next-hop-address: '2001:db8::1'}]}\n"
    ),
    "routes.config[0].weight: weight is NMState's": (
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: a, weight: 3}]}\n"
    ),
    "routes.config[1].destination: 10.0.0.0/8 is routes.config[0] already": (
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: a},"
        " {destination: 10.0.0.0/8, next-hop-interface: b}]}\n"
    ),
    "routes.config[0].destination: 10.0.0.0/8 is reached through an address of a; take the route out": (
        "interfaces: [{name: a, type: ethernet, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 8}]}}]\n"
        "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: a}]}\n"
    ),
    "interfaces[0].name: must be an interface name": "interfaces: [{name: 'a;reboot', type: ethernet}]\n",
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_wrong_is_said_where_it_stands(words: str, tmp_path: Path) -> None:
    shown = refused(BAD[words], tmp_path)
    assert re.match(r"\d+:\d+: ", shown)
    assert words in shown


def test_a_vni_out_of_range_is_shown_in_full(tmp_path: Path) -> None:
    for vni in (0, 16777216):
        shown = refused(f"interfaces: [{{name: a, type: vxlan, vxlan: {{id: {vni}}}}}]\n", tmp_path)
        assert f"interfaces[0].vxlan.id: must be a network id from 1 to 16777215, got {vni}" in shown


def test_each_host_has_a_part_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "vxlan.yaml"
    part = (
        "{interfaces: [{name: eth1, type: ethernet, ipv4: {address: [{ip: 10.0.0.%d, prefix-length: 8}]}}]}"
    )
    file.write_text(f"hosts:\n  a: {part % 1}\n  b: {part % 2}\n  spare: {part % 3}\n")
    found = read_network(file, ["a", "b"], further_hosts=["a", "b", "spare"])
    assert {name: one.host for name, one in found.items()} == {"a": "a", "b": "b"}
    for hosts, words in (
        (["a", "b"], "4:3: hosts.spare: there is no host spare in the campaign; known here: a, b"),
        (["a", "b", "spare", "d"], "2:3: hosts: d is missing; add what this host shows"),
    ):
        with pytest.raises(InvalidInput) as caught:
            read_network(file, hosts)
        assert words in str(caught.value)


def test_an_address_of_two_hosts_is_found_where_the_second_one_stands(tmp_path: Path) -> None:
    file = tmp_path / "vxlan.yaml"
    part = "{interfaces: [{name: eth1, type: ethernet, ipv4: {address: [{ip: 10.0.0.1, prefix-length: 8}]}}]}"
    file.write_text(f"hosts:\n  a: {part}\n  b: {part}\n")
    words = r"3:55: hosts\.b\.interfaces\[0\]\.ipv4: 10\.0\.0\.1 is also .* of host a"
    with pytest.raises(InvalidInput, match=words):
        read_network(file, ["a", "b"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("interfaces: []\n", "this is the document of one host"),
        ("hosts: {a: {}}\nname: x\n", "2:1: name: unknown key; the file holds `hosts:` alone"),
        ("hosts: {}\n", "hosts: must be a mapping of hosts to NMState documents"),
        ("", "must be a mapping with `hosts:`"),
        ("hosts: {a: [1]}\n", "hosts.a: must be an NMState document with `interfaces:`, got a list"),
    ],
)
def test_a_file_that_is_no_network_says_what_it_should_be(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_network(file, ["a"])
    assert words in str(caught.value)


def test_documents_written_in_a_campaign_are_located_there() -> None:
    text = "networks:\n- name: x\n  hosts:\n    a: {interfaces: [{name: a, type: vlan}]}\n"
    document = parse_yaml(text, "campaign.yaml")
    locate = Locator(document)
    with pytest.raises(
        InvalidInput, match=r"campaign.yaml:4:22: networks\[0\]\.hosts\.a\.interfaces\[0\]\.vlan: is missing"
    ):
        parse_networks(document.value["networks"][0]["hosts"], ("networks", 0, "hosts"), locate)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 70_000)
    | st.sampled_from(["a", "vxlan", "up", "10.0.0.1", "x y"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["interfaces", "name", "type", "state", "mtu", "ipv4", "address", "ip", "prefix-length", "vxlan",
             "id", "bridge", "port", "options", "routes", "config", "capture", "destination",
             "next-hop-interface"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@given(json_values)
def test_whatever_a_document_holds_is_read_or_refused_in_one_line(value: object) -> None:
    document = parse_yaml("{}", "x.yaml")
    locate = Locator(document)
    list(find_unsupported(value))
    said = ""
    try:
        parse_networks({"a": value}, (), locate)
    except LinewattError as error:
        said = str(error)
    assert_one_line_each(said)
