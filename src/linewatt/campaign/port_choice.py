# SPDX-License-Identifier: Apache-2.0
"""Which data ports of the hosts of a pair carry a test that names some of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linewatt.missing import Missing

PortName = str | int
"""a data port of a pair of hosts: its interface at either end, or its position from 1"""


def positions_of(
    choice: Sequence[PortName], interfaces_by_host: Mapping[str, Sequence[str]]
) -> tuple[int, ...] | Missing:
    """The positions of the chosen ports, from 0 and ascending, or why a pair has no such ports.

    ``interfaces_by_host`` has those of the two hosts of a pair, in the order in which they reach each other.
    """
    positions: list[int] = []
    for port in choice:
        position = _position_of(port, interfaces_by_host)
        if isinstance(position, Missing):
            return position
        if position in positions:
            return Missing(f"names data port {position + 1} twice; name it once")
        positions.append(position)
    return tuple(sorted(positions))


def _position_of(port: PortName, interfaces_by_host: Mapping[str, Sequence[str]]) -> int | Missing:
    (sender, sender_ports), (receiver, receiver_ports) = interfaces_by_host.items()
    if isinstance(port, int):
        count = min(len(sender_ports), len(receiver_ports))
        if port <= count:
            return port - 1
        many = "1 data port" if count == 1 else f"{count} data ports"
        return Missing(f"names data port {port}, and {sender} and {receiver} have {many}; name one of those")
    ends = list(zip(sender_ports, receiver_ports, strict=False))
    positions = [at for at, interfaces in enumerate(ends) if port in interfaces]
    if len(positions) == 1:
        return positions[0]
    if positions:
        where = " and ".join(
            f"data port {list(interfaces).index(port) + 1} of {host}"
            for host, interfaces in interfaces_by_host.items()
        )
        return Missing(f"names {port}, which is {where}; name a position, from 1")
    names = " and ".join(f"{', '.join(ports)} of {host}" for host, ports in interfaces_by_host.items())
    return Missing(f"names {port}, which is not among {names}; name one of those, or a position, from 1")
