# SPDX-License-Identifier: Apache-2.0
"""Knobs on a real veth pair in a namespace of this process: set, read back, put back, nothing left over."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from linewatt.engine.undo.put_back import put_back as put_entries_back
from linewatt.engine.undo.settings import Settings
from linewatt.errors import ChangeError, LinewattError
from linewatt.hosts.base import Completed, Host, HostSpec
from linewatt.hosts.journal.journal import Journal, journal_path
from linewatt.hosts.local import LocalHost
from linewatt.tuning import apply
from linewatt.tuning.base import Change
from linewatt.tuning.factors import factor_named
from linewatt.tuning.registry import TUNING_KNOBS

pytestmark = pytest.mark.lab

SPEC = HostSpec("veth", "local", "kn0", irq_cpus=(0,))
SNAPSHOT = """ip -d link show dev kn0; ethtool -k kn0; ethtool -l kn0
cd /sys/class/net/kn0/queues && grep -r . . | sort
sysctl net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.ipv4.tcp_congestion_control"""


class Namespace(LocalHost):
    """This machine, seen from inside a network namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(SPEC)
        self.name = name

    async def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
    ) -> Completed:
        inside = ["ip", "netns", "exec", self.name, *argv]
        return await super().run(inside, stdin=stdin, timeout_s=timeout_s, root=root)

    def everything(self) -> str:
        argv = ["ip", "netns", "exec", self.name, "sh", "-c", SNAPSHOT]
        return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False).stdout


@pytest.fixture
def host() -> Iterator[Namespace]:
    name = f"lwknobs{os.getpid()}"
    queues = ["numtxqueues", "4", "numrxqueues", "4"]
    subprocess.run(["ip", "netns", "add", name], check=True, timeout=20)
    try:
        link = [
            "ip",
            "-n",
            name,
            "link",
            "add",
            "kn0",
            *queues,
            "type",
            "veth",
            "peer",
            "name",
            "kn1",
            *queues,
        ]
        subprocess.run(link, check=True, timeout=20)
        for end in ("kn0", "kn1"):
            subprocess.run(["ip", "-n", name, "link", "set", end, "up"], check=True, timeout=20)
        yield Namespace(name)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True, timeout=20)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(journal_path(tmp_path, "run"), create=True)
    journal.begin([SPEC])
    yield journal
    journal.close()


def changed(host: Namespace, changes: Sequence[Change], journal: Journal) -> int:
    """Make changes; how many of them were not there yet."""
    known = {entry.number for entry in journal.read()[1]}
    asyncio.run(Settings({"veth": cast(Host, host)}, TUNING_KNOBS, journal).to(changes, ["veth"]))
    return sum(entry.number not in known and entry.wanted != entry.before for entry in journal.read()[1])


def put_back(host: Namespace, journal: Journal) -> None:
    for entry in reversed(journal.read()[1]):
        assert asyncio.run(put_entries_back(cast(Host, host), TUNING_KNOBS, [entry], journal)) == [None]
    assert journal.read()[1] == ()


@pytest.mark.parametrize(
    ("factor", "level", "shows"),
    [
        ("mtu", "9000", "mtu 9000"),
        ("gro", "on", "generic-receive-offload: on"),
        ("tso", "off", "tx-tcp6-segmentation: off"),
        ("tx_checksum", "off", "tx-checksumming: off"),
        ("udp_gro", "on", "rx-udp-gro-forwarding: on"),
        ("offload.tx-tcp-mangleid-segmentation", "off", "tx-tcp-mangleid-segmentation: off"),
        ("channels", "2", "RX:\t\t2"),
        ("rps", "irq", "rx-3/rps_cpus:1"),
        ("xps", "0", "tx-3/xps_cpus:1"),
        ("sysctl.net.ipv4.tcp_wmem", "4096 16384 4000000", "4096\t16384\t4000000"),
    ],
)
def test_a_level_is_set_and_put_back_to_the_last_byte(
    host: Namespace, journal: Journal, factor: str, level: str, shows: str
) -> None:
    before = host.everything()
    assert shows not in before
    chosen = factor_named(factor)
    changes = chosen.changes(chosen.check(level), SPEC)
    assert changed(host, changes, journal) == len(changes)
    assert shows in host.everything()
    assert changed(host, changes, journal) == 0, "what is shown already is no change"
    put_back(host, journal)
    assert host.everything() == before


def test_flows_are_set_on_every_queue_and_put_back(host: Namespace, journal: Journal) -> None:
    before = host.everything()
    assert changed(host, [Change("veth", "rfs", "kn0", "4096", "a test")], journal) == 1
    assert "rx-2/rps_flow_cnt:1024" in host.everything()
    put_back(host, journal)
    assert host.everything() == before


@pytest.mark.parametrize(
    ("knob", "target", "value", "words"),
    [
        ("mtu", "kn9", "9000", 'Device "kn9" does not exist'),
        ("mtu", "kn0", "67", "from 68 to 65535"),
        ("channels", "kn0", "5", "rx=5 is out of range; the device takes 1 to 4"),
        (
            "rings",
            "kn0",
            "rx=512",
            "cannot read rings kn0: its driver has no such setting (netlink error: Operation",
        ),
        ("coalescing", "kn0", "rx-usecs=8", "leave coalescing out for veth, or use an interface"),
        ("pause", "kn0", "on", "cannot read pause kn0: "),
        ("ntuple", "kn0", "tcp4:5201=1", "cannot read ntuple kn0: "),
        ("offload", "kn0 lro", "on", "it is fixed: the driver has it off and lets nobody change"),
        ("offload", "kn0 grow", "on", "there is no feature 'grow'; did you mean gro"),
        ("irq_affinity", "kn0", "0", "kn0 has no interrupts of its own"),
        ("irq_affinity", "kn9", "0", "there is no interface kn9"),
        ("rps_cpus", "kn9", "0", "there is no interface kn9"),
        ("sysctl", "net.no.such", "1", "cannot read sysctl net.no.such: "),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_no_trace(
    host: Namespace, journal: Journal, knob: str, target: str, value: str, words: str
) -> None:
    before = host.everything()
    with pytest.raises(LinewattError) as caught:
        changed(host, [Change("veth", knob, target, value, "a test")], journal)
    assert str(caught.value).startswith("veth: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert journal.read()[1] == ()
    assert host.everything() == before


def test_an_interface_with_one_queue_has_no_transmit_steering(host: Namespace, journal: Journal) -> None:
    one = ["numtxqueues", "1", "numrxqueues", "1"]
    link = ["ip", "-n", host.name, "link", "add", "kn2", *one, "type", "veth", "peer", "name", "kn3", *one]
    subprocess.run(link, check=True, timeout=20)
    with pytest.raises(ChangeError, match="cannot read xps_cpus kn2: kn2 sends through a single queue"):
        changed(host, [Change("veth", "xps_cpus", "kn2", "0", "a test")], journal)
    assert journal.read()[1] == ()


def test_a_small_mtu_is_refused_where_it_would_cost_the_ipv6_addresses(
    host: Namespace, journal: Journal
) -> None:
    small = [Change("veth", "mtu", "kn0", "1000", "a test")]
    before = host.everything()
    assert changed(host, small, journal) == 1
    put_back(host, journal)
    assert host.everything() == before
    argv = ["ip", "-n", host.name, "address", "add", "2001:db8::1/64", "dev", "kn0", "nodad"]
    subprocess.run(argv, check=True, timeout=20)
    with pytest.raises(ChangeError, match="takes the IPv6 addresses off kn0"):
        changed(host, small, journal)
    assert host.everything() == before
    put_back(host, journal)


def test_an_mtu_that_would_lower_what_stands_on_the_interface_is_refused(
    host: Namespace, journal: Journal
) -> None:
    """The kernel lowers a MAC-VLAN with its interface, and does not raise it again."""
    upper = ["ip", "-n", host.name, "link", "add", "link", "kn0", "name", "mv0", "type", "macvlan"]
    subprocess.run(upper, check=True, timeout=20)
    subprocess.run(["ip", "-n", host.name, "link", "set", "mv0", "mtu", "1450"], check=True, timeout=20)
    before = host.everything()
    with pytest.raises(ChangeError, match="mv0 on kn0 has 1450 bytes: it would be lowered with kn0"):
        changed(host, [Change("veth", "mtu", "kn0", "1400", "a test")], journal)
    assert host.everything() == before
    put_back(host, journal)
    assert changed(host, [Change("veth", "mtu", "kn0", "1450", "a test")], journal) == 1
    put_back(host, journal)
    assert host.everything() == before


def test_reading_needs_no_root(host: Namespace) -> None:
    """As nobody, in the same namespace: what a login without rights sees."""

    class AsNobody(Namespace):
        async def run(
            self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 10.0, root: bool = False
        ) -> Completed:
            return await super().run(
                [
                    "setpriv",
                    "--reuid",
                    "65534",
                    "--clear-groups",
                    "env",
                    "PATH=/usr/local/bin:/usr/bin:/bin",
                    *argv,
                ],
                stdin=stdin,
                timeout_s=timeout_s,
            )

    nobody = AsNobody(host.name)
    targets = {"offload": "kn0 gro", "sysctl": "net.ipv4.tcp_rmem"}
    for knob in ("mtu", "offload", "channels", "rps_cpus", "xps_cpus", "rfs", "sysctl"):
        seen = read(nobody, knob, targets.get(knob, "kn0"))
        assert seen == read(host, knob, targets.get(knob, "kn0"))


def read(host: Namespace, knob: str, target: str) -> str:
    one: Callable[..., Coroutine[Any, Any, str]] = apply.read
    return asyncio.run(one(cast(Host, host), TUNING_KNOBS[knob], target))
