# SPDX-License-Identifier: Apache-2.0
"""Every kind of network that linewatt makes, on real drivers: made, carrying data, gone without a trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.lab.test_network_knob import both, changes, steady
from tests.vm.test_guests import campaign, ssh

from linewatt.campaign.reading.file import load_campaign
from linewatt.engine.networks.proof import Leg, prove_paths
from linewatt.engine.readiness.checkup_probes import Way
from linewatt.engine.undo.knobs import ALL_KNOBS
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError
from linewatt.features.lab import api as lab
from linewatt.hosts.connect import connect_to_host
from linewatt.hosts.journal.journal import Journal, journal_path
from linewatt.tuning import apply
from linewatt.tuning.base import Change

pytestmark = [pytest.mark.vm, pytest.mark.thorough]

# A bond of both NICs and everything on top of it. {me} and {peer} are 1 and 2, or 2 and 1.
EVERYTHING = """
interfaces:
- name: bond0
  type: bond
  link-aggregation: {mode: active-backup, port: [data0, data1], options: {miimon: 100, primary: data0}}
  ipv4: {address: [{ip: 198.18.210.{me}, prefix-length: 24}]}
  ipv6: {address: [{ip: "2001:db8:210::{me}", prefix-length: 64}]}
- name: bond0.100
  type: vlan
  vlan: {id: 100, base-iface: bond0}
  ipv4: {address: [{ip: 198.18.211.{me}, prefix-length: 24}]}
- name: bond0.200
  type: vlan
  vlan: {id: 200, base-iface: bond0, protocol: 802.1ad}
  ipv4: {address: [{ip: 198.18.212.{me}, prefix-length: 24}]}
- name: vxlan0
  type: vxlan
  vxlan: {id: 213, base-iface: bond0, remote: 198.18.210.{peer}}
  ipv4: {address: [{ip: 198.18.213.{me}, prefix-length: 24}]}
- name: gen0
  type: geneve
  geneve: {id: 214, remote: 198.18.210.{peer}}
  ipv4: {address: [{ip: 198.18.214.{me}, prefix-length: 24}]}
- {name: bond0.300, type: vlan, vlan: {id: 300, base-iface: bond0}}
- {name: v0, type: veth, veth: {peer: v1}}
- name: br0
  type: linux-bridge
  bridge: {port: [{name: bond0.300}, {name: v1}]}
  ipv4: {address: [{ip: 198.18.215.{me}, prefix-length: 24}]}
- name: mac0
  type: mac-vlan
  mac-vlan: {base-iface: bond0, mode: bridge}
  ipv4: {address: [{ip: 198.18.216.{me}, prefix-length: 24}]}
- name: dummy0
  type: dummy
  ipv4: {address: [{ip: 198.18.217.{me}, prefix-length: 32}]}
routes:
  config:
  - {destination: 198.18.217.{peer}/32, next-hop-interface: bond0, next-hop-address: 198.18.210.{peer}}
  - {destination: 10.99.0.0/16, next-hop-interface: bond0.100, metric: 50, table-id: 300}
"""
CARRIED = (
    ("bond0", 210, 1500),
    ("bond0.100", 211, 1500),
    ("bond0.200", 212, 1500),
    ("vxlan0", 213, 1450),
    ("gen0", 214, 1450),
    ("br0", 215, 1500),
    ("mac0", 216, 1500),
    ("bond0", 217, 1500),  # the dummy
)
"""the interface by which packets of a subnet leave, and the MTU that the kernel gives it"""

BOND = """
interfaces:
- name: bond0
  type: bond
  link-aggregation: {mode: MODE, port: [data0, data1], options: {miimon: 100}}
  ipv4: {address: [{ip: 198.18.210.{me}, prefix-length: 24}]}
"""
MODES = ("balance-xor", "802.3ad")
OLD_KINDS = {
    "old.5": ("link mgmt0", "vlan id 5 protocol 802.1ad", "vlan"),
    "oldvx": ("mtu 1400", "vxlan id 7 dev mgmt0 remote 192.0.2.9 dstport 4789", "vxlan"),
    "oldgen": ("", "geneve id 8 remote 192.0.2.9", "geneve"),
    "oldbr": ("", "bridge stp_state 1 forward_delay 400 mcast_snooping 0", "linux-bridge"),
    "oldmac": ("link mgmt0 mtu 1400", "macvlan mode private", "mac-vlan"),
    "olddum": ("", "dummy", "dummy"),
}
"""what somebody made before: words of ``ip link add``, and the type that a document gives it"""
GONE = "interfaces:" + "".join(
    f"\n- {{name: {name}, type: {kind}, state: absent}}" for name, (*_, kind) in OLD_KINDS.items()
)


QUESTIONS = ("-d link show", "-d address show", "-4 -d route show table all", "-6 -d route show table all",
    "-4 rule show", "-6 rule show")  # fmt: skip
SHOW = "; ".join(f"ip -j {words}; echo" for words in QUESTIONS) + "; tc -j qdisc show"
FEATURES = "ethtool -k data0; ethtool -k data1"
"""of which the kernel turns off LRO below a VLAN, a bond or a bridge, and leaves it off"""


def on_both(one: lab.Lab, commands: dict[str, str]) -> dict[str, str]:
    """What a command of each guest says, at once: a login takes seconds there."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(commands, pool.map(partial(ssh, one), commands, commands.values()), strict=True))


def everything(said: dict[str, str]) -> dict[str, list[str]]:
    """Interfaces, addresses, routes, rules and queueing, without numbers that are given anew each time."""
    shown = {}
    for host, text in said.items():
        answers = [json.loads(line) for line in text.splitlines() if line.strip()]
        assert len(answers) == len(QUESTIONS) + 1
        shown[host] = sorted(json.dumps(steady(each), sort_keys=True) for one in answers for each in one)
    return shown


def differences(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    """What was there before and is not now (−), or the other way round (+)."""
    return [
        f"{host} {sign} {each}"
        for host in before
        for sign, these, those in (("−", before, after), ("+", after, before))
        for each in these[host]
        if each not in those[host]
    ]


def until_up(host: lab.HostLayout) -> str:
    """Waits until the data interfaces have the link-local address that the kernel gives them once a link is
    up: of a guest that has just booted it comes up to seconds after everything else."""
    names = " ".join(port.interface for port in host.ports)
    return f"""for name in {names}; do
  for _ in $(seq 150); do
    [ -n "$(ip -6 -o address show dev $name scope link -tentative)" ] && continue 2
    sleep 0.1
  done
  echo "$name got no link-local address in 15 s" >&2; exit 1
done"""


UNTIL_SETTLED = """for _ in $(seq 150); do
  [ -z "$(ip -6 -o address show tentative)" ] && break
  sleep 0.1
done
[ -z "$(ip -6 -o address show tentative)" ] || { echo "addresses are tentative for 15 s" >&2; exit 1; }"""
"""waits for duplicate address detection: the kernel has no local route to an address before its end"""


@contextmanager
def left_as_found(
    one: lab.Lab, make: Callable[[lab.HostLayout], str], undo: Callable[[lab.HostLayout], str]
) -> Iterator[None]:
    """What ``make`` has done on both guests is there unchanged in the end, and then undone."""
    hosts = {host.name: host for host in one.hosts}
    asked = {name: f"{until_up(host)}\n{make(host)}\n{UNTIL_SETTLED}\n{SHOW}" for name, host in hosts.items()}
    before = everything(on_both(one, asked))
    features = on_both(one, dict.fromkeys(hosts, FEATURES))
    try:
        yield
        after = everything(on_both(one, dict.fromkeys(hosts, SHOW)))
        assert after == before, "\n".join(differences(before, after))
        assert on_both(one, dict.fromkeys(hosts, FEATURES)) == features
    finally:
        on_both(one, {name: undo(host) for name, host in hosts.items()})


def somebodys(host: lab.HostLayout) -> str:
    """NICs lose their IPv6 addresses, as ports of a bond do, and there are interfaces of every kind.

    They also leave VLAN tags to the kernel: QEMU's vmxnet3 takes a tag of 802.1ad off too, and its driver
    then hands the frame to the 802.1Q VLAN of that number.
    """
    lines = [f"address del {port.ipv6}/64 dev {port.interface}" for port in host.ports]
    for number, (name, (before, words, _)) in enumerate(OLD_KINDS.items(), 1):
        lines += [
            f"link add {before} name {name} type {words}",
            f"link set {name} up",
            f"address add 10.7.{number}.1/24 dev {name}",
            f"address add 2001:db8:{number}::1/64 dev {name} nodad",
            f"route add 10.70.{number}.0/24 via 10.7.{number}.9 metric 30",
        ]
    return batch(lines) + "".join(f"\nethtool -K {port.interface} rxvlan off >&2" for port in host.ports)


def nobodys(host: lab.HostLayout) -> str:
    """As they were before :func:`somebodys`."""
    lines = [f"address add {port.ipv6}/64 dev {port.interface} nodad" for port in host.ports]
    lines += [f"link del {name}" for name in OLD_KINDS]
    features = "for name in data0 data1; do ethtool -K $name lro on; ethtool -K $name rxvlan on; done"
    return f"{batch(lines)}\n{features} >/dev/null 2>&1; true"


def batch(lines: Sequence[str]) -> str:
    words = "\n".join(lines)
    return f"ip -force -batch - <<END\n{words}\nEND"


@pytest.fixture
def used(guests: lab.Lab) -> Iterator[lab.Lab]:
    """Guests on which somebody has worked before, who finds all of it again."""
    with left_as_found(guests, somebodys, nobodys):
        yield guests


@dataclass(frozen=True)
class Hosts:
    """Both guests as a campaign has them."""

    hosts: dict[str, Any]
    settings: Settings

    async def show(self, changes: Sequence[Change]) -> None:
        await self.settings.to(changes, set(self.hosts))

    async def problems(self, carried: Sequence[tuple[str, int, int]]) -> list[str]:
        legs = [
            Leg("all", interface, Way(f"h{me}", f"h{peer}", "ipv4", at(subnet, me), at(subnet, peer), mtu))
            for interface, subnet, mtu in carried
            for me, peer in ((1, 2), (2, 1))
        ]
        return [one.text for one in await prove_paths(self.hosts, legs) if one is not None]


def shown(text: str) -> list[Change]:
    """What makes both guests show a document."""
    return changes({f"h{1 if name == 'a' else 2}": one for name, one in both(text).items()})


def at(subnet: int, number: int) -> str:
    return f"198.18.{subnet}.{number}"


@asynccontextmanager
async def connected(one: lab.Lab, tmp: Path) -> AsyncIterator[Hosts]:
    specs = load_campaign(campaign(one, tmp)).hosts
    hosts = dict(zip(specs, await asyncio.gather(*map(connect_to_host, specs.values())), strict=True))
    journal = Journal(journal_path(tmp, "networks"), create=True)
    journal.begin(list(specs.values()))
    settings = Settings(hosts, ALL_KNOBS, journal)
    try:
        yield Hosts(hosts, settings)
    finally:
        await settings.to([], set(hosts))
        left = journal.read()[1]
        for host in hosts.values():
            await host.close()
    assert left == ()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_every_kind_carries_data_and_all_that_was_there_comes_back(used: lab.Lab, tmp_path: Path) -> None:
    networks = {mode: shown(BOND.replace("MODE", mode)) for mode in MODES} | {
        "all": shown(EVERYTHING.replace("interfaces:", GONE, 1))
    }

    async def work() -> dict[str, list[str]]:
        found = {}
        async with connected(used, tmp_path) as one:
            await one.settings.check(change for own in networks.values() for change in own)
            for name, own in networks.items():
                await one.show(own)
                found[name] = await one.problems(CARRIED if name == "all" else CARRIED[:1])
        return found

    assert run(work()) == {name: [] for name in networks}


NETEM = "delay 20ms loss 1%"


def test_netem_is_felt_and_the_default_of_each_driver_comes_back(guests: lab.Lab, tmp_path: Path) -> None:
    """One queue and several: h2's second NIC has mq. Beside a discipline set by hand it is refused."""
    ways = [Change(host, "netem", f"data{at}", NETEM, "") for host in ("h1", "h2") for at in (0, 1)]
    peer, there = guests.hosts[1].data_ipv4, "tc qdisc replace dev data1 root fq"

    async def work() -> tuple[str, str]:
        async with connected(guests, tmp_path) as one:
            await one.settings.check(ways)
            await one.show(ways)
            echoes = await one.hosts["h1"].run(["ping", "-n", "-q", "-c", "5", peer], timeout_s=60)
            await one.show([])
            await one.hosts["h2"].run(there.split(), root=True, timeout_s=60)
            found = await apply.read(one.hosts["h2"], ALL_KNOBS["netem"], "data1")
            await one.hosts["h2"].run(["tc", "qdisc", "del", "dev", "data1", "root"], root=True, timeout_s=60)
        return echoes.stdout, found

    with left_as_found(guests, lambda _: "true", lambda _: "true"):
        echoes, found = run(work())
    assert float(echoes.rpartition(" = ")[2].partition("/")[0]) >= 2 * 20
    with pytest.raises(ChangeError, match="h2: netem data1: its root queueing discipline is fq 80"):
        apply.wanted_setting(ALL_KNOBS["netem"], ways[-1], found)
