# SPDX-License-Identifier: Apache-2.0
"""The knob of networks against what ``ip`` really shows, and against a small stand-in for it."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.errors import ChangeError, InvalidInput, LinewattError, ParseError
from linewatt.network import removed_interface
from linewatt.network.build import describe_network
from linewatt.network.checks import check_state
from linewatt.network.description import HostNetwork
from linewatt.network.foreign import find_unsupported
from linewatt.network.items import items, parse_network_key
from linewatt.network.knob import NetworkKnob
from linewatt.network.schema import NetworkState
from linewatt.network.text import canonical, mapping

CAPTURES = Path(__file__).parents[2] / "captures" / "network"
CASES = sorted(path.parent.name for path in CAPTURES.glob("*/expected.json"))
KNOB = NetworkKnob()


def network(document: dict[str, Any]) -> HostNetwork:
    assert list(find_unsupported(document)) == []
    state = NetworkState.model_validate(document)
    assert list(check_state(state)) == []
    return describe_network(state, "dut")


def refusal(method: Callable[[str], object], text: str) -> str:
    """Why a text is refused; empty if it is not."""
    try:
        method(text)
    except LinewattError as error:
        return str(error)
    return ""


class FakeIp:
    """Does what lines of ``ip -batch`` say, and shows it as ``ip -j -d`` does, as far as linewatt asks."""

    def __init__(self, *names: str) -> None:
        self.links: dict[str, dict[str, Any]] = {}
        self.routes: list[dict[str, Any]] = []
        for name in names:
            self._make(name, {"info_kind": "veth"}, {})

    def _make(self, name: str, info: dict[str, Any], more: dict[str, Any]) -> None:
        link = {"ifname": name, "mtu": 1500, "flags": ["BROADCAST"], "min_mtu": 68, "max_mtu": 9978}
        self.links[name] = {**link, "linkinfo": info, "addr_info": [], **more}

    def run(self, stdin: str) -> None:
        """Input of the script that writes: what goes, an empty line, what comes."""
        gone, _, made = f"\n{stdin}".partition("\n\n")
        for line in gone.split("\n"):
            if line:
                self._gone(line.split())
        for line in made.splitlines():
            kind, name, address, words = line.split("|")
            if kind == "link" and name in self.links:
                continue
            own = {
                f"{one['local']}/{one['prefixlen']}" for one in self.links.get(name, {}).get("addr_info", [])
            }
            if kind != "address" or address not in own:
                self._made(words.split())

    def _gone(self, words: list[str]) -> None:
        name = words[words.index("dev") + 1]
        if words[0] == "link":
            peer = self.links.get(name, {}).get("link")
            kind = self.links.get(name, {}).get("linkinfo", {}).get("info_kind")
            for one in {name, str(peer) if kind == "veth" else name}:
                self.links.pop(one, None)
                self.routes = [route for route in self.routes if route["dev"] != one]
            for link in self.links.values():
                if link.get("master") == name:
                    del link["master"]
        elif words[0] == "address" and name in self.links:
            own = self.links[name]["addr_info"]
            own[:] = [one for one in own if f"{one['local']}/{one['prefixlen']}" != words[2]]
        elif words[0] == "route":
            self.routes = [route for route in self.routes if _route_id(route) != _route_id(_route(words[2:]))]

    def _made(self, words: list[str]) -> None:
        match words:
            case ["link", "add", *rest]:
                self._add(rest)
            case ["link", "set", "dev", name, "type", _, option, value]:
                shown = "ad_lacp_rate" if option == "lacp_rate" else option
                known = int(value) if value.isdecimal() else value
                self.links[name]["linkinfo"].setdefault("info_data", {})[shown] = known
            case ["link", "set", "dev", name, "master", master]:
                assert master in self.links
                self.links[name]["master"] = master
            case ["link", "set", "dev", name, "nomaster"]:
                self.links[name].pop("master", None)
            case ["link", "set", "dev", name, "mtu", mtu]:
                self.links[name]["mtu"] = int(mtu)
            case ["link", "set", "dev", name, ("up" | "down") as state]:
                self.links[name]["flags"] = ["BROADCAST", "UP"] if state == "up" else ["BROADCAST"]
            case ["address", "add", address, "dev", name, *_]:
                ip, _, length = address.partition("/")
                self.links[name]["addr_info"].append({"local": ip, "prefixlen": int(length), "family": "x"})
            case ["route", "replace", *rest]:
                route = _route(rest)
                assert route["dev"] in self.links
                self.routes = [one for one in self.routes if _route_id(one) != _route_id(route)] + [route]
            case _:
                raise AssertionError(words)

    def _add(self, words: list[str]) -> None:
        before, _, after = " ".join(words).partition(" type ")
        name = before.split()[-1]
        kind, *rest = after.split()
        if kind == "veth":
            self._make(name, {"info_kind": kind}, {"link": rest[-1]})
            self._make(rest[-1], {"info_kind": kind}, {"link": name})
            return
        flags = [word for word in rest if word in ("nolearning", "nopromisc")]
        rest = [word for word in rest if word not in flags]
        pairs = dict(zip(rest[::2], rest[1::2], strict=True))
        data: dict[str, Any] = {"learning": "nolearning" not in flags} if kind == "vxlan" else {}
        names = {"dev": "link", "dstport": "port"}
        for word, value in pairs.items():
            v6 = "6" if word in ("remote", "local", "group") and ":" in value else ""
            data[names.get(word, word) + v6] = int(value) if word in ("id", "dstport") else value
        if "protocol" in data:
            data["protocol"] = data["protocol"].upper().replace("AD", "ad")
        if "nopromisc" in flags:
            data["nopromisc"] = True
        base = before.split()[1] if before.startswith("link ") else None
        assert base is None or base in self.links
        assert data.get("link") in (None, *self.links)
        self._make(name, {"info_kind": kind, "info_data": data}, {} if base is None else {"link": base})

    def show(self, target: str) -> str:
        arrays = (list(self.links.values()), self.routes)
        return "\n".join([target, *(json.dumps(one) for one in arrays)])

    def state(self) -> str:
        return json.dumps([self.links, self.routes], sort_keys=True)


def _route(words: list[str]) -> dict[str, Any]:
    pairs = dict(zip(words[1::2], words[2::2], strict=True))
    ipv6 = ":" in words[0]
    metric = int(pairs.get("metric", 1024 if ipv6 else 0))
    route: dict[str, Any] = {"dst": words[0], "dev": pairs["dev"], "table": pairs["table"], "metric": metric}
    route |= {"type": "1", "protocol": {"static": "4"}.get(pairs.get("proto", ""), "3"), "flags": []}
    route["scope"] = "0" if "via" in pairs or ipv6 else "253"
    return (
        route | ({"gateway": pairs["via"]} if "via" in pairs else {}) | ({"pref": "medium"} if ipv6 else {})
    )


def _route_id(route: dict[str, Any]) -> tuple[Any, ...]:
    return route["dst"], route["table"], route["metric"]


@pytest.mark.parametrize("case", CASES)
def test_what_ip_shows_is_read_item_by_item(case: str) -> None:
    says = json.loads((CAPTURES / case / "expected.json").read_text())
    output = (CAPTURES / case / "output").read_text()
    assert json.loads(KNOB.parse(f"{says['target']}\n{output}")) == says["setting"]
    assert KNOB.read(says["target"]).argv[-1] == says["target"]
    assert (CAPTURES / case / "ORIGIN").read_text().strip()


@pytest.mark.parametrize("case", CASES)
def test_an_answer_that_is_cut_off_is_one_line_or_less_than_all(case: str) -> None:
    says = json.loads((CAPTURES / case / "expected.json").read_text())
    output = f"{says['target']}\n{(CAPTURES / case / 'output').read_text()}"
    first = output.index("]\n") if "]\n" in output else len(output) - 2
    for end in range(0, first, 211):
        with pytest.raises(ParseError) as caught:
            KNOB.parse(output[:end])
        assert "\n" not in str(caught.value)


@given(st.text(max_size=80))
def test_noise_is_refused_in_one_line(text: str) -> None:
    methods = (KNOB.parse, partial(KNOB.wanted, "{}"), KNOB.read)
    assert all("\n" not in refusal(method, text) for method in methods)


names = st.sampled_from(["n0", "n1", "n2", "n3", "n4"])
numbers = st.integers(1, 250)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Documents of all kinds over eth0, eth1 and eth2, that no check has anything against."""
    free = ["eth1", "eth2"]
    interfaces: list[dict[str, Any]] = []
    for name in draw(st.lists(names, unique=True, max_size=4)):
        octet = 10 + len(interfaces)
        made = _interface(draw, name, free)
        for family, ip, length in (
            ("ipv4", f"10.{octet}.0.{draw(numbers)}", 24),
            ("ipv6", f"fd00:{octet}::1", 64),
        ):
            if draw(st.booleans()):
                made[family] = {"enabled": True, "address": [{"ip": ip, "prefix-length": length}]}
        if "ipv6" not in made and draw(st.booleans()):
            made["mtu"] = draw(st.integers(68, 1400))
        interfaces.append(made)
    if draw(st.booleans()):
        interfaces.insert(
            0, {"name": "eth0", "type": "ethernet", "state": "up", "mtu": draw(st.integers(1400, 9000))}
        )
    routes = [
        {
            "destination": f"172.{16 + index}.0.0/16",
            "next-hop-interface": one["name"],
            "metric": draw(numbers),
        }
        for index, one in enumerate(interfaces)
        if draw(st.booleans())
    ]
    return {"interfaces": draw(st.permutations(interfaces)), "routes": {"config": routes}}


def _interface(draw: st.DrawFn, name: str, free: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["veth", "vxlan", "vlan", "bond", "linux-bridge", "geneve", "mac-vlan"]))
    made: dict[str, Any] = {"name": name, "type": kind, "state": "up"}
    six = draw(st.booleans())
    remote = f"2001:db8::{draw(numbers)}" if six else f"192.0.2.{draw(numbers)}"
    if kind == "veth":
        made["veth"] = {"peer": f"p{name}"}
    elif kind == "vxlan":
        config: dict[str, Any] = {"id": draw(st.integers(1, 2**24 - 1)), "remote": remote}
        config |= {"base-iface": "eth0"} if draw(st.booleans()) else {}
        config |= {"learning": draw(st.booleans())}
        made["vxlan"] = config | ({"destination-port": 4789} if draw(st.booleans()) else {})
    elif kind == "vlan":
        protocol = draw(st.sampled_from(["802.1q", "802.1ad"]))
        made["vlan"] = {"id": draw(st.integers(1, 4094)), "base-iface": "eth0", "protocol": protocol}
    elif kind == "geneve":
        made["geneve"] = {"id": draw(st.integers(1, 2**24 - 1)), "remote": remote}
    elif kind == "mac-vlan":
        mode = draw(st.sampled_from(["bridge", "private", "vepa", "passthru"]))
        made["mac-vlan"] = {"base-iface": "eth0", "mode": mode}
        if mode == "passthru":
            made["mac-vlan"]["promiscuous"] = False
    else:
        ported: bool = draw(st.booleans())
        ports = [free.pop()] if free and ported else []
        bonded: dict[str, Any] = {}
        options: dict[str, Any] = {}
        if kind == "bond":
            bonded = {"miimon": draw(numbers), "lacp_rate": "fast"} if draw(st.booleans()) else {}
            made["link-aggregation"] = {"mode": "802.3ad", "port": ports, "options": bonded}
        else:
            options = {
                "stp": {"enabled": draw(st.booleans()), "forward-delay": 4},
                "multicast-snooping": False,
            }
            made["bridge"] = {"port": [{"name": port} for port in ports], "options": options}
    return made


@settings(max_examples=inputs(60))
@given(documents())
def test_what_is_written_reads_back_and_the_undo_leaves_nothing(document: dict[str, Any]) -> None:
    host, (_, target, value) = FakeIp("eth0", "eth1", "eth2"), network(document).change()
    found = host.state()
    before = KNOB.parse(host.show(target)) if target else "{}"
    if not target:
        return
    wanted = KNOB.wanted(before, value)
    assert KNOB.wanted(wanted, value) == wanted, "a host that shows it already needs no change"
    host.run(KNOB.write(target, wanted).stdin)
    assert KNOB.parse(host.show(target)) == wanted
    host.run(KNOB.write(target, wanted).stdin)
    assert KNOB.parse(host.show(target)) == wanted
    host.run(KNOB.write(target, before).stdin)
    assert KNOB.parse(host.show(target)) == before
    assert host.state() == found


@settings(max_examples=inputs(40))
@given(documents())
def test_target_and_value_are_the_same_however_the_document_is_ordered(document: dict[str, Any]) -> None:
    _, target, value = network(document).change()
    turned = {**document, "interfaces": document["interfaces"][::-1]}
    _, other, same = network(turned).change()
    assert same == value
    assert sorted(other.split()) == sorted(target.split())
    assert canonical(mapping(value, InvalidInput)) == value
    assert [str(parse_network_key(word)) for word in target.split()] == target.split()


def lines(document: dict[str, Any]) -> list[str]:
    """What is made, as words behind ``ip``."""
    described = network(document)
    wanted = items(described.interfaces, described.routes)
    text = KNOB.write(" ".join(wanted), json.dumps(wanted)).stdin
    return [line.rpartition("|")[2] for line in text.splitlines() if "|" in line]


def test_a_vlan_takes_its_protocol_first_and_its_mtu_after_that_of_its_base() -> None:
    vlan = {
        "name": "eth1.5",
        "type": "vlan",
        "mtu": 9000,
        "vlan": {"id": 5, "base-iface": "eth1", "protocol": "802.1ad"},
    }
    made = lines({"interfaces": [vlan, {"name": "eth1", "type": "ethernet", "mtu": 9000}]})
    assert made == [
        "link add link eth1 name eth1.5 type vlan protocol 802.1ad id 5",
        "link set dev eth1 mtu 9000",
        "link set dev eth1.5 mtu 9000",
        "link set dev eth1 up",
        "link set dev eth1.5 up",
    ]


def test_a_bond_takes_its_ports_down_first_and_its_options_by_their_own_words() -> None:
    bond = {
        "name": "bond0",
        "type": "bond",
        "link-aggregation": {
            "mode": "802.3ad",
            "port": ["eth1"],
            "options": {"miimon": "140", "lacp_rate": "fast", "xmit_hash_policy": "layer3+4"},
        },
    }
    assert lines({"interfaces": [bond]}) == [
        "link add name bond0 type bond mode 802.3ad",
        "link set dev bond0 type bond miimon 140",
        "link set dev bond0 type bond xmit_hash_policy layer3+4",
        "link set dev bond0 type bond lacp_rate fast",
        "link set dev eth1 down",
        "link set dev eth1 master bond0",
        "link set dev eth1 up",
        "link set dev bond0 up",
    ]


def test_tunnels_are_made_with_all_that_makes_them() -> None:
    geneve = {"name": "gnv0", "type": "geneve", "geneve": {"id": 7, "remote": "192.0.2.2"}}
    vxlan = {"name": "vx0", "type": "vxlan", "vxlan": {"id": 8, "base-iface": "eth1", "remote": "239.1.1.1"}}
    made = lines({"interfaces": [geneve, vxlan]})
    assert made[:2] == [
        "link add name gnv0 type geneve id 7 dstport 6081 remote 192.0.2.2",
        "link add name vx0 type vxlan dev eth1 id 8 dstport 8472 group 239.1.1.1",
    ]


def test_a_pair_of_veths_is_made_once() -> None:
    ends = [
        {"name": name, "type": "veth", "veth": {"peer": peer}} for name, peer in (("v0", "v1"), ("v1", "v0"))
    ]
    for document in ({"interfaces": ends}, {"interfaces": ends[:1]}):
        assert [line for line in lines(document) if "add" in line] == [
            "link add name v0 type veth peer name v1"
        ]
        assert {"link set dev v0 up", "link set dev v1 up"} <= set(lines(document))


VXLAN: dict[str, Any] = {
    "name": "vx0",
    "type": "vxlan",
    "mtu": 1450,
    "vxlan": {"id": 8, "base-iface": "eth1", "remote": "192.0.2.2"},
    "ipv4": {"address": [{"ip": "198.18.0.1", "prefix-length": 24}]},
}
DOCUMENT: dict[str, Any] = {
    "interfaces": [{"name": "eth1", "type": "ethernet", "mtu": 1600}, VXLAN],
    "routes": {"config": [{"destination": "198.19.0.0/16", "next-hop-interface": "vx0"}]},
}


@pytest.mark.parametrize(
    ("item", "shown", "words"),
    [
        ("need:eth1", None, "there is no interface eth1"),
        (
            "link:vx0",
            {"kind": "vxlan", "id": 9},
            "an interface vx0 already, with id 9 in place of 8, base none in place of eth1",
        ),
        ("link:vx0", {"kind": "veth"}, "an interface vx0 already, with kind veth"),
        ("need:eth1", "68-1500", "eth1 cannot have an MTU of 1600; its device takes 68 to 1500 bytes"),
        (
            "address:vx0/198.18.0.1/24",
            "eth9/16",
            "the host has 198.18.0.1 already, as eth9 with the length 16",
        ),
        ("route:198.19.0.0/16@vx0", {"protocol": "boot", "elsewhere": "eth9"}, "already, through eth9"),
        (
            "route:198.19.0.0/16@vx0",
            {"protocol": "boot", "via": "10.0.0.9"},
            "already, by 10.0.0.9 in place of the link",
        ),
    ],
)
def test_what_a_host_cannot_show_is_refused_in_one_line(item: str, shown: Any, words: str) -> None:
    _, target, value = network(DOCUMENT).change()
    before: dict[str, Any] = dict.fromkeys(target.split())
    before |= {"need:eth1": "68-9978", "mtu:eth1": 1500, "up:eth1": True}
    KNOB.wanted(json.dumps(before), value)
    with pytest.raises(ChangeError) as caught:
        KNOB.wanted(json.dumps(before | {item: shown}), value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ports_of_others_and_options_of_others_are_refused() -> None:
    bridge = {"name": "br0", "type": "linux-bridge", "bridge": {"port": [{"name": "eth1"}], "options": {}}}
    bridge["bridge"]["options"] = {"stp": {"enabled": True}}  # type: ignore[index]
    _, target, value = network({"interfaces": [bridge]}).change()
    before: dict[str, Any] = dict.fromkeys(target.split()) | {"need:eth1": "68-9978", "master:eth1": ""}
    KNOB.wanted(json.dumps(before), value)
    with pytest.raises(ChangeError, match="eth1 is a port of br9; take it out there first"):
        KNOB.wanted(json.dumps(before | {"master:eth1": "br9"}), value)
    with pytest.raises(ChangeError, match="br0 is there already with stp_state 0 in place of 1"):
        KNOB.wanted(json.dumps(before | {"option:br0/stp_state": 0}), value)


def test_a_bond_refuses_ports_that_would_lose_something() -> None:
    bond = {"name": "b0", "type": "bond", "link-aggregation": {"mode": "active-backup", "port": ["eth1"]}}
    _, target, value = network({"interfaces": [bond]}).change()
    before: dict[str, Any] = dict.fromkeys(target.split()) | {
        "need:eth1": "68-9978",
        "master:eth1": "",
        "lost:eth1": [],
    }
    KNOB.wanted(json.dumps(before), value)
    with pytest.raises(ChangeError, match="eth1 would lose 2001:db8::1/64 when it goes down"):
        KNOB.wanted(json.dumps(before | {"lost:eth1": ["2001:db8::1/64"]}), value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"linkinfo": {"info_kind": "wireguard"}}, "old0 is wireguard"),
        ({"linkinfo": {}}, "old0 is a physical interface"),
        ({"master": "br9"}, "it is a port of br9"),
        ({"altnames": ["other"]}, "it has other names"),
        ({"qdisc": "fq"}, "its queueing is fq"),
        (
            {"addr_info": [{"family": "inet", "local": "10.0.0.1", "prefixlen": 24, "valid_life_time": 3}]},
            "its address",
        ),
    ],
)
def test_an_interface_that_could_not_be_made_again_is_not_removed(change: dict[str, Any], words: str) -> None:
    data = {"id": 7, "remote": "192.0.2.9", "port": 4789, "learning": True, "ttl": 0, "external": False}
    link: dict[str, Any] = {"ifname": "old0", "mtu": 1450, "address": "02:00:00:00:00:01", "txqlen": 1000}
    link |= {
        "linkinfo": {"info_kind": "vxlan", "info_data": data},
        "inet6_addr_gen_mode": "eui64",
        "flags": ["UP"],
    }
    assert removed_interface.capture(link, [link], [])["kind"] == "vxlan"
    assert words in removed_interface.capture(link | change, [link | change], [])["cannot"]
    strange = {"info_kind": "vxlan", "info_data": data | {"gpe": True}}
    assert (
        "its gpe is not known here"
        in removed_interface.capture(link | {"linkinfo": strange}, [link], [])["cannot"]
    )
    above = {"ifname": "top0", "link": "old0"}
    assert "top0 stands on it" in removed_interface.capture(link, [link, above], [])["cannot"]
    routes = [{"dst": "10.0.0.0/8", "dev": "old0", "nexthops": []}]
    assert "its route to 10.0.0.0/8" in removed_interface.capture(link, [link], routes)["cannot"]


def test_the_link_local_address_of_a_mac_is_not_made_again() -> None:
    link_local = {"family": "inet6", "local": "fe80::20c:29ff:fef5:b711", "prefixlen": 64}
    link: dict[str, Any] = {"ifname": "old0", "mtu": 1500, "address": "00:0c:29:f5:b7:11", "txqlen": 1000}
    link |= {
        "linkinfo": {"info_kind": "macvlan", "info_data": {"mode": "bridge"}},
        "link": "eth0",
        "flags": [],
    }
    link |= {"inet6_addr_gen_mode": "eui64", "addr_info": [link_local]}
    made = removed_interface.capture(link, [link], [])["lines"]
    assert not [line for line in made if line.startswith("address")]
    assert ipaddress.ip_address(link_local["local"]).is_link_local  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "word",
    [
        "link",
        "link:",
        "link:a b",
        "link:vx0/9",
        "address:vx0",
        "address:vx0/1.2.3.4",
        "route:x@y",
        "route:1.0.0.0/8",
        "other:vx0",
        "link:-x",
    ],
)
def test_a_target_that_is_none_of_a_network_is_refused(word: str) -> None:
    with pytest.raises(ChangeError):
        KNOB.read(word)
    with pytest.raises(ChangeError):
        KNOB.read("")
    with pytest.raises(InvalidInput):
        KNOB.wanted("{}", word)
