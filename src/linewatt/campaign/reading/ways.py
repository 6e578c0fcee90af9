# SPDX-License-Identifier: Apache-2.0
"""Which way the data of a case takes: the ends of its network, as the documents describe it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.entries.networks import BARE_NETWORK
from linewatt.document import KeyPath
from linewatt.errors import InvalidInput
from linewatt.missing import Missing
from linewatt.model import Case, Family
from linewatt.network import Framing, NetworkPath, path_between, payload_bytes
from linewatt.sizes import LARGEST_FRAME_BYTES


class Ways:
    """The ways between the hosts of a campaign."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._between = cache(self._find)

    def of(self, case: Case) -> NetworkPath | Missing | None:
        """From sender to receiver; ``None`` for bare interfaces, or why there is no way."""
        return self._between(case.network, case.sender, case.receiver, case.family)

    def _find(self, network: str, sender: str, receiver: str, family: Family) -> NetworkPath | Missing | None:
        if network == BARE_NETWORK:
            return None
        described = self._campaign.described[network]
        return path_between(described[sender], described[receiver], family)

    def framing(self, network: str, host: str, interface: str, base_mtu: int) -> Framing:
        """How packets of an interface come to the wire; ``base_mtu`` is that of the host's data interface."""
        described = self._campaign.described[network][host]
        around = described.encapsulations(interface, self._campaign.hosts[host].data)
        return Framing(described.mtu(interface, base_mtu), around)

    def no_room(self, case: Case) -> str | None:
        """Why frames of a case do not fit a network whose document says its MTU; ``None``: as far as it says,
        they do."""
        way = self.of(case)
        if way is None or isinstance(way, Missing):
            return None
        for host, end in ((case.sender, way.sender), (case.receiver, way.receiver)):
            try:
                framing = self.framing(case.network, host, end.interface, LARGEST_FRAME_BYTES)
                payload_bytes(case.test, case.family, framing)
            except InvalidInput as error:
                return f"{end.interface} of {host}: {error}"
        return None


def check_used(campaign: Campaign) -> Iterator[tuple[KeyPath, str]]:
    """Networks on which no pair of hosts has a way, and why the first has none."""
    for index, network in enumerate(campaign.networks):
        if network == BARE_NETWORK:
            continue
        described = campaign.described[network]
        ways = [
            path_between(described[sender], described[receiver], family)
            for sender, receiver in campaign.ways
            for family in campaign.families
        ]
        if all(isinstance(way, Missing) for way in ways):
            yield ("networks", index), f"carries nothing that is to be sent: {ways[0]}"
