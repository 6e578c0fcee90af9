# SPDX-License-Identifier: Apache-2.0
"""The interface that carries the data: others there are, the loopback interface, and that of SSH."""

from __future__ import annotations

from dataclasses import dataclass

from linewatt.engine.live.shared_cpus import are_one_machine
from linewatt.errors import HostError, ParseError
from linewatt.foreign import contained, read_json
from linewatt.hosts import Host, HostSpec
from linewatt.hosts.facts import Facts, facts_at_interface
from linewatt.hosts.facts import read as facts
from linewatt.units import first_of

LOOPBACK = "lo"
LIMIT_S = 10.0
MOST_NAMED = 6
_COMMAND = ("env", "LC_ALL=C", "bash", "-c", "PATH=$PATH:/usr/sbin:/sbin; exec ip -j link show")
NAME_ANOTHER = "name one that `ip link` shows there"
"""where a host does not tell what it has"""
NO_JSON = "its ip prints no JSON, like that of BusyBox; install iproute2 there"
"""where that is why it does not tell"""


async def advise_interface(host: Host) -> str:
    """``name one of its interfaces: enp1s0f0, enp1s0f1, docker0 (no link)``; not the loopback interface."""
    try:
        done = await host.run(_COMMAND, timeout_s=LIMIT_S)
    except HostError:
        return NAME_ANOTHER
    if done.status != 0 and not done.stdout.strip():
        return NO_JSON
    try:
        names = interface_names(done.stdout)
    except ParseError:
        return NAME_ANOTHER
    return (
        f"name one of its interfaces: {first_of(names, MOST_NAMED, between=', ')}" if names else NAME_ANOTHER
    )


def interface_names(output: str) -> list[str]:
    """From ``ip -j link show``, those with a link first. Raises ParseError."""
    with contained("what ip says"):
        has_link_by_name = {
            str(link["ifname"]): "LOWER_UP" in link["flags"]
            for link in read_json(output, "ip")
            if link["ifname"] != LOOPBACK
        }
    names = sorted(has_link_by_name, key=lambda name: not has_link_by_name[name])
    return [name if has_link_by_name[name] else f"{name} (no link)" for name in names]


def why_no_loopback(spec: HostSpec, host_facts: Facts, peer: str, peer_facts: Facts) -> str | None:
    """What is wrong with the loopback interface as that of data to a peer; ``None``: nothing, or it is none.

    Within one machine it may carry data between addresses that are not those of every host.
    """
    if LOOPBACK not in spec.interfaces:
        return None
    problem = f"{LOOPBACK} is the loopback interface: its packets stay on the host"
    if not are_one_machine(host_facts, peer_facts):
        return f"{problem} and cannot reach {peer}"
    nic = facts_at_interface(host_facts, LOOPBACK).get("nic", {})
    named = (spec.data_ipv4, spec.data_ipv6, nic.get("ipv4_addresses"), nic.get("ipv6_addresses"))
    return None if any(named) else f"{problem}, and it has no address for data"


@dataclass(frozen=True, slots=True)
class SharedLine:
    """A data interface that also carries linewatt's SSH connection, which came to ``address``."""

    interface: str
    address: str

    @property
    def text(self) -> str:
        return (
            f"{self.interface} carries the load and also linewatt's SSH ({self.address}) and sensor readings"
        )

    @property
    def advice(self) -> str:
        return (
            f"they share the line, and what {self.interface} counts includes linewatt's own traffic; name an "
            "interface that only carries the load, if there is one"
        )


def shared_lines(spec: HostSpec, host_facts: Facts) -> list[SharedLine]:
    """Data interfaces of a host that have the address to which linewatt's connection came."""
    ssh_address = host_facts.get(facts.SSH, {}).get("address")
    if ssh_address is None or spec.address == "local":
        return []
    nics = {name: facts_at_interface(host_facts, name).get("nic", {}) for name in spec.interfaces}
    return [
        SharedLine(name, ssh_address)
        for name, nic in nics.items()
        if ssh_address in (*(nic.get("ipv4_addresses") or ()), *(nic.get("ipv6_addresses") or ()))
    ]
