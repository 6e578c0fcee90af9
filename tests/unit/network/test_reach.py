# SPDX-License-Identifier: Apache-2.0
"""No network takes away the interface by which a host is reached."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from linewatt.engine.networks.reach import check_reach, reached_by
from linewatt.errors import ChangeError
from linewatt.hosts.base import Completed, Host
from linewatt.network.build import describe_network
from linewatt.network.description import HostNetwork
from linewatt.network.schema import NetworkState

LINKS: list[dict[str, Any]] = [
    {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
    {"ifname": "eth0", "addr_info": [], "master": "bond7"},
    {"ifname": "eth1", "addr_info": [{"local": "198.51.100.1"}]},
    {"ifname": "bond7", "addr_info": [], "linkinfo": {"info_kind": "bond"}},
    {
        "ifname": "bond7.5",
        "link": "bond7",
        "addr_info": [{"local": "192.0.2.7"}, {"local": "fe80::7"}],
        "linkinfo": {"info_kind": "vlan"},
    },
]
CAME = "203.0.113.9 50000 192.0.2.7 22"


class Reached:
    """A host that says what it shows."""

    def __init__(self, connection: str) -> None:
        self._said = f"{connection}\n{json.dumps(LINKS)}"

    async def run(self, argv: Sequence[str], *, timeout_s: float) -> Completed:
        return Completed(tuple(argv), 0, self._said, "")


def network(*interfaces: dict[str, Any]) -> dict[str, dict[str, HostNetwork]]:
    return {"net": {"a": describe_network(NetworkState.model_validate({"interfaces": interfaces}), "a")}}


def bridge(port: str) -> dict[str, Any]:
    return {"name": "br0", "type": "linux-bridge", "bridge": {"port": [{"name": port}]}}


@pytest.mark.parametrize(
    ("interface", "words"),
    [
        (
            bridge("bond7"),
            "network net makes bond7 a port of br0, but linewatt reaches the host at 192.0.2.7",
        ),
        (bridge("eth0"), "through eth0 and would cut itself off"),
        ({"name": "bond7", "type": "ethernet", "state": "down"}, "takes bond7 down"),
        ({"name": "bond7.5", "type": "vlan", "state": "absent"}, "takes bond7.5 away"),
    ],
)
def test_what_carries_the_connection_is_not_taken_away(interface: dict[str, Any], words: str) -> None:
    with pytest.raises(ChangeError) as caught:
        asyncio.run(check_reach(network(interface), {"a": cast(Host, Reached(CAME))}))
    assert words in str(caught.value)
    assert str(caught.value).startswith("a: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("connection", [CAME, ""])
def test_other_interfaces_are_free_and_so_are_all_without_a_connection(connection: str) -> None:
    asyncio.run(check_reach(network(bridge("eth1")), {"a": cast(Host, Reached(connection))}))


def test_a_link_local_address_is_told_by_its_interface_and_noise_by_nothing() -> None:
    assert "bond7" in reached_by(f"fe80::1%eth9 50000 fe80::7%bond7.5 22\n{json.dumps(LINKS)}")[1]
    for noise in ("", "\n", f"{CAME}\n", f"{CAME}\n[1]", f"{CAME}\n{{}}", "a b c d\n[{}]"):
        assert reached_by(noise)[1] == frozenset()
