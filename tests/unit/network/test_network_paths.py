# SPDX-License-Identifier: Apache-2.0
"""Ways between hosts, and what lies below an interface, as their documents describe them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from linewatt.missing import Missing
from linewatt.network.build import describe_network
from linewatt.network.description import HostNetwork
from linewatt.network.framing import Encapsulation
from linewatt.network.paths import NetworkPath, path_between
from linewatt.network.schema import NetworkState


def host(
    name: str, interfaces: Sequence[dict[str, Any]], routes: Sequence[dict[str, Any]] = ()
) -> HostNetwork:
    document = {"interfaces": list(interfaces), "routes": {"config": list(routes)}}
    return describe_network(NetworkState.model_validate(document), name)


def address(*texts: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        ip, _, length = text.partition("/")
        part = found.setdefault("ipv6" if ":" in ip else "ipv4", {"address": []})
        part["address"].append({"ip": ip, "prefix-length": int(length)})
    return found


def vxlan(name: str, vni: int, *texts: str, remote: str = "192.0.2.9", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "vxlan", "vxlan": {"id": vni, "remote": remote, **more}, **address(*texts)}


def route(destination: str, interface: str, **more: Any) -> dict[str, Any]:
    return {"destination": destination, "next-hop-interface": interface, **more}


def ends(path: NetworkPath | Missing) -> tuple[str, str, str, str]:
    assert isinstance(path, NetworkPath), path
    return path.sender.interface, path.sender.address, path.receiver.interface, path.receiver.address


def test_hosts_in_one_subnet_reach_each_other() -> None:
    a, b = host("a", [vxlan("vx0", 1, "10.0.0.1/24")]), host("b", [vxlan("vx1", 1, "10.0.0.2/24")])
    assert ends(path_between(a, b, "ipv4")) == ("vx0", "10.0.0.1", "vx1", "10.0.0.2")
    assert ends(path_between(b, a, "ipv4")) == ("vx1", "10.0.0.2", "vx0", "10.0.0.1")


def test_host_routes_at_both_ends_make_a_way_and_one_alone_does_not() -> None:
    a = host("a", [vxlan("vx0", 1, "10.0.0.1/32")], [route("10.0.0.2/32", "vx0")])
    b = host("b", [vxlan("vx0", 1, "10.0.0.2/32")], [route("10.0.0.1/32", "vx0")])
    assert ends(path_between(a, b, "ipv4")) == ("vx0", "10.0.0.1", "vx0", "10.0.0.2")
    half = host("b", [vxlan("vx0", 1, "10.0.0.2/32")])
    for one, other in ((a, half), (half, a)):
        assert "nor are there static routes at both ends" in str(path_between(one, other, "ipv4"))


def test_a_family_without_an_address_is_named_with_its_host() -> None:
    a, b = (
        host("a", [vxlan("vx0", 1, "10.0.0.1/24", "fd00::1/64")]),
        host("b", [vxlan("vx0", 1, "10.0.0.2/24")]),
    )
    assert path_between(a, b, "ipv6") == Missing("host b has no ipv6 address in this network")
    assert isinstance(path_between(a, b, "ipv4"), NetworkPath)


def test_a_tunnel_goes_before_the_plain_interface_it_runs_over() -> None:
    plain = {"name": "eth1", "type": "ethernet"}
    a = host("a", [plain | address("192.0.2.1/24"), vxlan("vx0", 1, "10.0.0.1/24", **{"base-iface": "eth1"})])
    b = host("b", [plain | address("192.0.2.2/24"), vxlan("vx0", 1, "10.0.0.2/24", **{"base-iface": "eth1"})])
    assert ends(path_between(a, b, "ipv4"))[0] == "vx0"


def mesh(count: int, *, shared_subnet: bool) -> list[HostNetwork]:
    """A tunnel for each pair of hosts: in subnets of their own, or one address and host routes."""
    hosts = []
    for me in range(count):
        interfaces: list[dict[str, Any]] = []
        routes: list[dict[str, Any]] = []
        for peer in range(count):
            if peer == me:
                continue
            low, high = sorted((me, peer))
            text = f"10.{low}.{high}.{1 if me == low else 2}/30"
            own = () if shared_subnet else (text,)
            if shared_subnet and not interfaces:
                own = (f"10.9.0.{me + 1}/32",)
            remote = f"192.0.2.{peer + 1}"
            interfaces.append(
                vxlan(f"vx{peer}", 100 + 10 * low + high, *own, remote=remote, local=f"192.0.2.{me + 1}")
            )
            if shared_subnet:
                routes.append(route(f"10.9.0.{peer + 1}/32", f"vx{peer}"))
        hosts.append(host(f"h{me}", interfaces, routes))
    return hosts


def test_in_a_mesh_of_tunnels_each_pair_has_its_own() -> None:
    hosts = mesh(4, shared_subnet=False)
    for me, peer in itertools.permutations(range(4), 2):
        path = ends(path_between(hosts[me], hosts[peer], "ipv4"))
        assert (path[0], path[2]) == (f"vx{peer}", f"vx{me}")


def test_in_a_mesh_with_one_address_a_host_the_route_says_the_tunnel() -> None:
    hosts = mesh(4, shared_subnet=True)
    for me, peer in itertools.permutations(range(4), 2):
        path = ends(path_between(hosts[me], hosts[peer], "ipv4"))
        assert path == (f"vx{peer}", f"10.9.0.{me + 1}", f"vx{me}", f"10.9.0.{peer + 1}")


def test_of_two_tunnels_in_one_subnet_the_ends_of_one_are_taken() -> None:
    """One subnet on all tunnels: only their ids say which belong together."""
    a = host("a", [vxlan("vxc", 13, "10.0.0.1/24"), vxlan("vxb", 12, "10.0.0.11/24")])
    b = host("b", [vxlan("vxc", 23, "10.0.0.2/24"), vxlan("vxa", 12, "10.0.0.12/24")])
    assert ends(path_between(a, b, "ipv4")) == ("vxb", "10.0.0.11", "vxa", "10.0.0.12")


def test_the_longest_prefix_and_the_smallest_metric_decide_where_packets_leave() -> None:
    interfaces = [vxlan("vx0", 1, "10.0.0.1/16"), vxlan("vx1", 2, "10.1.0.1/16")]
    b = host("b", [vxlan("vx1", 2, "10.0.7.2/32", "10.1.0.2/16")], [route("10.0.0.0/15", "vx1")])
    a = host("a", interfaces, [route("10.0.7.0/24", "vx1")])
    assert ends(path_between(a, b, "ipv4"))[0] == "vx1"
    metrics = [route("10.5.0.2/32", "vx0", metric=9), route("10.5.0.2/32", "vx1", metric=3)]
    far = host("b", [vxlan("vx1", 2, "10.5.0.2/32")], [route("10.0.0.0/15", "vx1")])
    assert ends(path_between(host("a", interfaces, metrics), far, "ipv4"))[0] == "vx1"


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4), st.lists(st.integers(1, 9), min_size=1, max_size=4)
)
def test_the_way_back_has_the_same_ends(mine: list[int], theirs: list[int]) -> None:
    a = host("a", [vxlan(f"vx{i}", n, f"10.{n}.{i}.1/16") for i, n in enumerate(mine)])
    b = host("b", [vxlan(f"vx{i}", n, f"10.{n}.{i}.2/16") for i, n in enumerate(theirs)])
    there, back = path_between(a, b, "ipv4"), path_between(b, a, "ipv4")
    assert isinstance(there, NetworkPath) == isinstance(back, NetworkPath) == bool(set(mine) & set(theirs))
    if isinstance(there, NetworkPath) and len(set(mine)) == len(mine) and len(set(theirs)) == len(theirs):
        assert there.sender.address.split(".")[1] == there.receiver.address.split(".")[1]


def test_the_ways_of_a_large_mesh_are_found_at_once() -> None:
    """A plan asks for each of thousands of pairs; 95 tunnels a host are those of a mesh of 96."""
    hosts = range(96)

    def subnet(one: int, two: int) -> str:
        return f"10.{min(one, two)}.{max(one, two)}.{1 if one < two else 2}/30"

    mesh = [
        host(f"h{own}", [vxlan(f"vx{peer}", 7, subnet(own, peer)) for peer in hosts if peer != own])
        for own in hosts
    ]
    began = time.process_time()
    for peer in range(1, 96):
        assert ends(path_between(mesh[0], mesh[peer], "ipv4"))[0] == f"vx{peer}"
    assert time.process_time() - began < 1, "it takes 30 ms; parsing every subnet anew takes a minute"


def test_an_mtu_that_is_left_out_is_the_one_that_the_kernel_gives() -> None:
    """Read on Linux 6.18 of interfaces made on one of 9000 bytes, in the order that linewatt makes them."""
    on = {"base-iface": "eth1"}
    six = vxlan("over6", 3, remote="2001:db8::2", **on)
    bridge = {"name": "br0", "type": "linux-bridge", "bridge": {"port": [{"name": "eth1"}, {"name": "v0"}]}}
    made = [
        vxlan("based", 1, **on),
        vxlan("free", 2),
        six,
        {"name": "v0", "type": "veth", "veth": {"peer": "v1"}},
        {"name": "mac", "type": "mac-vlan", "mac-vlan": {"base-iface": "eth1", "mode": "bridge"}},
        bridge,
        {"name": "bond", "type": "bond", "link-aggregation": {"mode": "802.3ad", "port": ["eth1"]}},
        vxlan("named", 4, **on) | {"mtu": 1400},
    ]
    found = {one["name"]: host("a", made).mtu(one["name"], 9000) for one in made}
    assert found == {
        "based": 8950,
        "free": 1500,
        "over6": 8930,
        "v0": 1500,
        "mac": 9000,
        "br0": 1500,
        "bond": 1500,
        "named": 1400,
    }
    assert host("a", made).mtu("eth1", 9000) == 9000
    lowered = host("a", [{"name": "eth1", "type": "ethernet", "mtu": 1400}, made[0], made[4]])
    assert [lowered.mtu(name, 9000) for name in ("eth1", "based", "mac")] == [1400, 8950, 1400]


def test_what_is_around_packets_is_found_on_the_way_down_to_the_data_interface() -> None:
    found = host(
        "a",
        [
            {"name": "br0", "type": "linux-bridge", "bridge": {"port": [{"name": "v9"}, {"name": "vx0"}]}},
            vxlan("vx0", 1, **{"base-iface": "eth1.5"}, remote="2001:db8::2") | {"mtu": 1426},
            {"name": "eth1.5", "type": "vlan", "mtu": 1500, "vlan": {"base-iface": "eth1", "id": 5}},
            {"name": "v0", "type": "veth", "mtu": 1400, "veth": {"peer": "v9"}},
            {"name": "gnv0", "type": "geneve", "geneve": {"id": 1, "remote": "192.0.2.2"}},
        ],
    )
    below = (Encapsulation("vxlan", "ipv6"), Encapsulation("vlan"))
    for name in ("vx0", "br0", "v0"):
        assert found.encapsulations(name, "eth1") == below
    assert found.encapsulations("gnv0", "eth1") == (Encapsulation("geneve"),)
    assert found.encapsulations("eth7", "eth1") == ()
