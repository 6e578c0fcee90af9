# SPDX-License-Identifier: Apache-2.0
"""Networks on real interfaces in namespaces of this process: made, read back, undone, nothing left over."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.lab.test_campaign import HANG_LIMIT_S

from linewatt.campaign.reading.hosts import Locator
from linewatt.campaign.reading.networks import parse_networks
from linewatt.document import parse_yaml
from linewatt.engine.undo.put_back import put_back
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError
from linewatt.hosts.base import Completed, Host, HostSpec
from linewatt.hosts.journal.journal import Journal, journal_path
from linewatt.hosts.local import LocalHost
from linewatt.network.description import HostNetwork
from linewatt.network.knob import NetworkKnob
from linewatt.network.paths import NetworkPath, path_between
from linewatt.tuning.base import Change, Command

pytestmark = pytest.mark.lab

KNOBS = {"network": NetworkKnob()}

# Of each host: eth0 to the other one, eth1 free, and below and beside eth2 what somebody made before: a
# tunnel, a bridge, a MAC-VLAN, routes in a second table and addresses that are nobody's business.
BEFORE = """link set lo up
link set eth0 up
address add 192.0.2.{n}/24 dev eth0
address add 2001:db8::{n}/64 dev eth0 nodad
address add 203.0.113.{n}/24 dev eth0
link set eth1 up
link set eth2 up
route add 10.50.0.0/16 via 192.0.2.254
route add 10.51.0.0/16 dev eth0 table 77 metric 5 proto static
link add name old0 address 02:00:00:00:07:0{n} mtu 1400 type vxlan id 7 dev eth2 remote 192.0.2.9 dstport 4789
link set old0 up
address add 10.7.0.{n}/24 dev old0
address add 2001:db8:7::{n}/64 dev old0 nodad
route add 10.70.0.0/16 via 10.7.0.9 metric 30
route add 2001:db8:70::/48 via 2001:db8:7::9 metric 40
link add name oldbr type bridge stp_state 1 forward_delay 400 mcast_snooping 0
link set oldbr up
address add 10.8.0.{n}/24 dev oldbr broadcast 10.8.0.255
link add link eth2 name oldmac mtu 1400 type macvlan mode private
link set oldmac up
address add 10.6.0.{n}/24 dev oldmac"""

VOLATILE = {
    "ifindex", "link_index", "tentative", "gc_timer", "hello_timer", "tcn_timer", "topology_change_timer",
    "operstate", "qdisc", "promiscuity", "allmulti", "root_path_cost", "link_netnsid", "topology_change",
    "bridge_id", "root_id",
}  # fmt: skip
"""The id of a bridge without ports is empty until somebody gives it its own address again."""

# The kernel gives an interface its link-local address once it sees the other end. $1: seconds
SETTLED = """until [ "$(ip -o -6 address show scope link | wc -l)" -eq 5 ]; do
  [ "$SECONDS" -ge "$1" ] && exit 1
  sleep 0.02
done"""
SETTLED_LIMIT_S = 60
LATE = ("NO-CARRIER", "LOWER_UP", "M-DOWN", "linkdown")
"""flags that the kernel sets a moment after a link is up or down"""


class Namespace(LocalHost):
    """This machine, seen from inside a network namespace."""

    def __init__(self, name: str, host: str) -> None:
        super().__init__(HostSpec(host, "local", "eth0"))
        self.namespace = name

    async def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
    ) -> Completed:
        inside = ["ip", "netns", "exec", self.namespace, *argv]
        return await super().run(inside, stdin=stdin, timeout_s=timeout_s, root=root)

    def call(self, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        inside = (
            ["ip", "-n", self.namespace, *argv[1:]]
            if argv[0] == "ip"
            else ["ip", "netns", "exec", self.namespace, *argv]
        )
        return subprocess.run(
            inside, input=stdin, capture_output=True, text=True, timeout=HANG_LIMIT_S, check=False
        )

    def assert_is(self, before: list[str]) -> None:
        """Is as before, once the kernel has made the routes of link-local addresses, which it does later."""
        end_s = time.monotonic() + SETTLED_LIMIT_S
        while (now := self.everything()) != before and time.monotonic() < end_s:
            time.sleep(0.05)
        assert now == before, f"waited {SETTLED_LIMIT_S} s for what was there before"

    def everything(self) -> list[str]:
        """All interfaces, addresses and routes, without numbers that are given anew each time."""
        shown = []
        for question in (
            "-d address show",
            "-d link show",
            "-4 -d route show table all",
            "-6 -d route show table all",
        ):
            answer = json.loads(self.call("ip", "-j", *question.split()).stdout)
            shown += sorted(json.dumps(steady(one), sort_keys=True) for one in answer)
        return shown


def steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: steady(one) for name, one in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [steady(one) for one in value if one not in LATE]
    return value


@pytest.fixture
def two() -> Iterator[tuple[Namespace, Namespace]]:
    names = [f"lwnet{os.getpid()}{letter}" for letter in "ab"]
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True, timeout=HANG_LIMIT_S)
            steady = [
                "sysctl",
                "-qw",
                "net.ipv6.conf.default.accept_dad=0",
                "net.ipv6.conf.default.accept_ra=0",
            ]
            subprocess.run(["ip", "netns", "exec", name, *steady], check=True, timeout=HANG_LIMIT_S)
        for port in ("eth0", "eth1", "eth2"):
            pair = ["link", "add", port, "mtu", "1600", "type", "veth", "peer", "name", port, "mtu", "1600"]
            subprocess.run(["ip", "-n", names[0], *pair, "netns", names[1]], check=True, timeout=HANG_LIMIT_S)
        hosts = tuple(Namespace(name, letter) for name, letter in zip(names, "ab", strict=True))
        for number, host in enumerate(hosts, 1):
            made = host.call("ip", "-batch", "-", stdin=BEFORE.format(n=number))
            assert (made.returncode, made.stderr) == (0, "")
        for host in hosts:
            settled = host.call("bash", "-c", SETTLED, "test", str(SETTLED_LIMIT_S))
            assert settled.returncode == 0, (
                f"waited {SETTLED_LIMIT_S} s for the link-local addresses of all interfaces"
            )
        yield hosts[0], hosts[1]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=HANG_LIMIT_S)


def networks(text: str) -> dict[str, HostNetwork]:
    document = parse_yaml(text, "network.yaml")
    locate = Locator(document)
    return parse_networks(document.value, (), locate)


def both(text: str) -> dict[str, HostNetwork]:
    """The document of host a, and that of b with 1 and 2 changed over (``{me}``, ``{peer}``)."""
    parts = {}
    for host, me, peer in (("a", "1", "2"), ("b", "2", "1")):
        lines = text.replace("{me}", me).replace("{peer}", peer).strip("\n").splitlines()
        parts[host] = "\n".join(f"  {line}" for line in lines)
    return networks(f"a:\n{parts['a']}\nb:\n{parts['b']}\n")


VXLAN = """
interfaces:
- name: vxlan0
  type: vxlan
  mtu: 1450
  vxlan: {id: 100, base-iface: eth0, remote: 192.0.2.{peer}, destination-port: 4789}
  ipv4: {enabled: true, address: [{ip: 198.18.100.{me}, prefix-length: 32}]}
  ipv6: {enabled: true, address: [{ip: "2001:db8:100::{me}", prefix-length: 64}]}
routes:
  config:
  - {destination: 198.18.100.{peer}/32, next-hop-interface: vxlan0}
  - {destination: 10.99.0.0/16, next-hop-interface: vxlan0, next-hop-address: 198.18.100.{peer}, metric: 50}
  - {destination: "2001:db8:99::/48", next-hop-interface: vxlan0, next-hop-address: "2001:db8:100::{peer}"}
  - {destination: 10.98.0.0/16, next-hop-interface: vxlan0, table-id: 300}
"""
VXLAN6 = """
interfaces:
- {name: eth0, type: ethernet, mtu: 1550}
- name: vx6
  type: vxlan
  mtu: 1480
  vxlan: {id: 101, base-iface: eth0, remote: "2001:db8::{peer}", local: "2001:db8::{me}", learning: false}
  ipv4: {enabled: true, address: [{ip: 198.18.101.{me}, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: "2001:db8:101::{me}", prefix-length: 64}]}
"""
BRIDGE = """
interfaces:
- name: br0
  type: linux-bridge
  mtu: 1500
  bridge:
    options: {stp: {enabled: false}, multicast-snooping: false, mac-ageing-time: 120}
    port: [{name: eth1}, {name: v1}]
  ipv4: {enabled: true, address: [{ip: 198.18.102.{me}, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: "2001:db8:102::{me}", prefix-length: 64}]}
- {name: v0, type: veth, veth: {peer: v1}}
"""
MACVLAN = """
interfaces:
- name: mac0
  type: mac-vlan
  mtu: 1500
  mac-vlan: {base-iface: eth1, mode: bridge}
  ipv4: {enabled: true, address: [{ip: 198.18.103.{me}, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: "2001:db8:103::{me}", prefix-length: 64}]}
"""
PLAIN = """
interfaces:
- name: eth0
  type: ethernet
  mtu: 1400
  ipv4:
    enabled: true
    address: [{ip: 198.18.104.{me}, prefix-length: 24}, {ip: 192.0.2.{me}, prefix-length: 24}]
  ipv6: {enabled: true, address: [{ip: "2001:db8:104::{me}", prefix-length: 64}]}
"""
BRIDGED_TUNNEL = """
interfaces:
- name: br9
  type: linux-bridge
  bridge: {port: [{name: vx9}]}
  ipv4: {enabled: true, address: [{ip: 198.18.105.{me}, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: "2001:db8:105::{me}", prefix-length: 64}]}
- name: vx9
  type: vxlan
  mtu: 1450
  vxlan: {id: 105, base-iface: eth0, remote: 192.0.2.{peer}}
"""
CARRYING = {
    "vxlan": VXLAN,
    "vxlan over IPv6": VXLAN6,
    "bridge": BRIDGE,
    "macvlan": MACVLAN,
    "plain": PLAIN,
    "bridged tunnel": BRIDGED_TUNNEL,
}
REMOVING = {
    "vxlan": "interfaces:\n- {name: old0, type: vxlan, state: absent}\n",
    "bridge": "interfaces:\n- {name: oldbr, type: linux-bridge, state: absent}\n",
    "macvlan": "interfaces:\n- {name: oldmac, type: mac-vlan, state: absent}\n",
    "routes": """
routes:
  config:
  - {state: absent, destination: 10.50.0.0/16, next-hop-interface: eth0}
  - {state: absent, destination: 10.51.0.0/16, next-hop-interface: eth0, table-id: 77, metric: 5}
  - {state: absent, destination: "2001:db8:70::/48", next-hop-interface: old0, metric: 40}
  - {state: absent, destination: 10.222.0.0/16, next-hop-interface: eth0}
""",
    "what is not there": "interfaces:\n- {name: none0, type: vxlan, state: absent}\n",
}


def changes(described: dict[str, HostNetwork]) -> list[Change]:
    return [Change(host, *network.change(), "network") for host, network in described.items()]


def campaign(tmp_path: Path, hosts: Sequence[Namespace]) -> tuple[Journal, Settings]:
    journal = Journal(journal_path(tmp_path, f"r{len(list(tmp_path.rglob('*.jsonl')))}"), create=True)
    journal.begin([host.spec for host in hosts])
    return journal, Settings({one.spec.name: cast(Host, one) for one in hosts}, KNOBS, journal)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


@pytest.mark.parametrize("text", CARRYING.values(), ids=CARRYING)
def test_a_network_carries_data_and_leaves_nothing_behind(
    text: str, two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    described, names = both(text), {"a", "b"}
    journal, settings = campaign(tmp_path, two)
    before = [host.everything() for host in two]
    run(settings.check(changes(described)))
    assert [host.everything() for host in two] == before, "looking changes nothing"
    run(settings.to(changes(described), names))
    for family in ("ipv4", "ipv6"):
        path = path_between(described["a"], described["b"], family)
        assert isinstance(path, NetworkPath)
        said = two[0].call("ping", "-c1", "-W2", "-I", path.sender.address, path.receiver.address)
        assert said.returncode == 0, said.stdout + said.stderr
        route = json.loads(two[0].call("ip", "-j", "route", "get", path.receiver.address).stdout)
        assert route[0]["dev"] == path.sender.interface
    entries = journal.read()[1]
    assert len(entries) == 2
    run(settings.to([], names))
    for host, shown in zip(two, before, strict=True):
        host.assert_is(shown)
    assert journal.read()[1] == ()


@pytest.mark.parametrize("text", REMOVING.values(), ids=REMOVING)
def test_what_was_removed_comes_back_as_it_was(
    text: str, two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    described = {"a": both(text)["a"]}
    _, settings = campaign(tmp_path, two)
    before = two[0].everything()
    run(settings.to(changes(described), {"a"}))
    assert (two[0].everything() == before) == (text == REMOVING["what is not there"])
    run(settings.to([], {"a"}))
    two[0].assert_is(before)


def test_one_network_follows_another_and_the_host_is_as_before(
    two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    _, settings = campaign(tmp_path, two)
    before = two[0].everything()
    for text in (VXLAN, BRIDGE, VXLAN6, REMOVING["vxlan"], VXLAN):
        run(settings.to(changes({"a": both(text)["a"]}), {"a"}))
    run(settings.to([], {"a"}))
    two[0].assert_is(before)


def test_of_two_networks_with_the_same_names_the_second_is_made_anew(
    two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    """A tunnel's id and port cannot be changed once it is made, and both have the same items."""
    journal, settings = campaign(tmp_path, two)
    before = two[0].everything()
    for port in ("4789", "8472", "4789"):
        text = VXLAN.replace("4789", port)
        run(settings.to(changes({"a": both(text)["a"]}), {"a"}))
        (link,) = json.loads(two[0].call("ip", "-j", "-d", "link", "show", "dev", "vxlan0").stdout)
        assert str(link["linkinfo"]["info_data"]["port"]) == port
        assert len(journal.read()[1]) == 1
    run(settings.to([], {"a"}))
    two[0].assert_is(before)


SAME_DESTINATION = """
routes:
  config:
  - {destination: 10.60.0.0/16, next-hop-interface: eth0}
  - {destination: "2001:db8:60::/48", next-hop-interface: eth0}
  - {destination: 0.0.0.0/0, next-hop-interface: eth0, next-hop-address: 192.0.2.254}
"""


def test_an_undo_takes_no_route_of_another_metric_with_it(two: tuple[Namespace, Namespace]) -> None:
    """Without a metric the kernel deletes whichever there is: of a network that was never made, others'."""
    host, knob = two[0], KNOBS["network"]
    for own in ("10.60.0.0/16", "2001:db8:60::/48", "default"):
        via = "2001:db8::9" if ":" in own else "192.0.2.9"
        assert host.call("ip", "route", "add", own, "via", via, "metric", "100").returncode == 0
    before_all = host.everything()
    _, target, value = both(SAME_DESTINATION)["a"].change()

    def ask(command: Command) -> str:
        done = host.call(*command.argv, stdin=command.stdin)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    before = knob.parse(ask(knob.read(target)))
    ask(knob.write(target, before))
    host.assert_is(before_all)
    ask(knob.write(target, knob.wanted(before, value)))
    assert host.everything() != before_all
    ask(knob.write(target, before))
    host.assert_is(before_all)


def test_a_route_that_is_not_to_be_on_one_interface_stays_on_another(
    two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    absent = "  - {state: absent, destination: 10.50.0.0/16, next-hop-interface: eth1}"
    _, settings = campaign(tmp_path, two)
    before = two[0].everything()
    run(settings.to(changes({"a": both(f"{VXLAN.rstrip()}\n{absent}\n")["a"]}), {"a"}))
    assert "via 192.0.2.254 dev eth0" in two[0].call("ip", "route", "show", "10.50.0.0/16").stdout
    run(settings.to([], {"a"}))
    two[0].assert_is(before)


@pytest.mark.parametrize(
    "text", [VXLAN, pytest.param(BRIDGE, marks=pytest.mark.full)], ids=["vxlan", "bridge"]
)
def test_a_half_made_network_is_completed_and_undone(text: str, two: tuple[Namespace, Namespace]) -> None:
    """Every line of what is made is the last one once."""
    host, knob = two[0], KNOBS["network"]
    _, target, value = both(text)["a"].change()
    before_all = host.everything()

    def ask(command: Command) -> str:
        done = host.call(*command.argv, stdin=command.stdin)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def read() -> str:
        return knob.parse(ask(knob.read(target)))

    before = read()
    wanted = knob.wanted(before, value)
    whole = knob.write(target, wanted)
    gone, _, made = f"\n{whole.stdin}".partition("\n\n")
    for count in range(len(made.splitlines())):
        some = "".join(made.splitlines(keepends=True)[:count])
        ask(Command(whole.argv, f"{gone}\n\n{some}".removeprefix("\n")))
        ask(whole)
        assert read() == wanted
        ask(whole)
        assert read() == wanted, "said twice is said once"
        ask(Command(whole.argv, "\n"))
        ask(knob.write(target, before))
        assert read() == before
        ask(knob.write(target, before))
        host.assert_is(before_all)


def test_what_cannot_be_made_says_which_line_and_is_undone(
    two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    """A bridge on eth0 is one: a tunnel whose base is a port of it has no room for this MTU."""
    text = VXLAN.replace("mtu: 1450", "mtu: 9000")
    _, settings = campaign(tmp_path, two)
    before = two[0].everything()
    with pytest.raises(ChangeError, match="link set dev vxlan0 mtu 9000") as caught:
        run(settings.to(changes({"a": both(text)["a"]}), {"a"}))
    assert "\n" not in str(caught.value)
    assert two[0].everything() != before
    run(settings.to([], {"a"}))
    two[0].assert_is(before)


REFUSED = {
    "there is no interface eth7": VXLAN.replace("base-iface: eth0", "base-iface: eth7"),
    "an interface old0 already, with base eth2 in place of eth0, id 7 in place of 100": VXLAN.replace(
        "vxlan0", "old0"
    ),
    "an interface eth1 already, with kind veth": VXLAN.replace("vxlan0", "eth1"),
    "the host has 192.0.2.1 already, as eth0 with the length 24": VXLAN.replace(
        "198.18.100.{me}", "192.0.2.{me}"
    ),
    "the host has a route to 10.50.0.0/16 already, through eth0": VXLAN.replace(
        "10.98.0.0/16, next-hop-interface: vxlan0, table-id: 300", "10.50.0.0/16, next-hop-interface: vxlan0"
    ),
    "eth0 would lose 2001:db8::1/64, route to 10.50.0.0/16": (
        "interfaces:\n- {name: eth0, type: ethernet, state: down}\n"
    ),
    "old0 could not be made again as it was: over0 stands on it": REMOVING["vxlan"],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_somebody_else_has_is_refused_before_anything_is_written(
    words: str, two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    text = REFUSED[words]
    if "over0" in words:
        made = two[0].call("ip", "link", "add", "link", "old0", "name", "over0", "type", "macvlan")
        assert made.returncode == 0
    _, settings = campaign(tmp_path, two)
    before = two[0].everything()
    with pytest.raises(ChangeError) as caught:
        run(settings.check(changes({"a": both(text)["a"]})))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    two[0].assert_is(before)


def test_what_somebody_changed_meanwhile_is_left_and_forced_back(
    two: tuple[Namespace, Namespace], tmp_path: Path
) -> None:
    journal, settings = campaign(tmp_path, two)
    before = two[0].everything()
    run(settings.to(changes({"a": both(VXLAN)["a"]}), {"a"}))
    two[0].call("ip", "link", "set", "vxlan0", "mtu", "1300")
    (entry,) = journal.read()[1]
    (problem,) = run(put_back(cast(Host, two[0]), KNOBS, [entry], journal))
    assert "which linewatt did not set" in str(problem)
    assert run(put_back(cast(Host, two[0]), KNOBS, [entry], journal, force=True)) == [None]
    two[0].assert_is(before)
