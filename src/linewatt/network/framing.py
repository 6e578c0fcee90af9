# SPDX-License-Identifier: Apache-2.0
"""Bytes of a packet on the wire: what encapsulation takes from the payload, and what a line can carry. Pure.

Sizes: Ethernet IEEE 802.3 (preamble 8 with its delimiter, header 14, FCS 4, gap 12, no frame below 60 without
FCS), VLAN tag IEEE 802.1Q 4, IPv4 RFC 791 20, IPv6 RFC 8200 40, UDP RFC 768 8, TCP RFC 9293 20 and its
timestamps RFC 7323 12, VXLAN RFC 7348 8, Geneve RFC 8926 8 (the Linux interface sends no options).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linewatt.errors import InvalidInput
from linewatt.model import Family, TestName
from linewatt.sizes import (
    ETHERNET_BYTES,
    FULL,
    FULL_PACKET_BYTES,
    IP_BYTES,
    MINIMUM_FRAME_BYTES,
    UDP_BYTES,
    datagram_bytes,
    too_small,
)

PREAMBLE_BYTES = 8
FCS_BYTES = 4
GAP_BYTES = 12
VLAN_BYTES = 4
TCP_BYTES = 20
TIMESTAMPS_BYTES = 12
VXLAN_BYTES = 8
GENEVE_BYTES = 8

EncapsulationKind = Literal["vxlan", "geneve", "vlan"]


@dataclass(frozen=True, slots=True)
class Encapsulation:
    """A header around packets. ``family`` is that of the packets which carry it (VXLAN, Geneve)."""

    kind: EncapsulationKind
    family: Family = "ipv4"

    @property
    def header_bytes(self) -> int:
        """What it adds to a packet: in a packet of its own, or (VLAN) in the frame around it."""
        if self.kind == "vlan":
            return VLAN_BYTES
        tunnel_bytes = VXLAN_BYTES if self.kind == "vxlan" else GENEVE_BYTES
        return IP_BYTES[self.family] + UDP_BYTES + tunnel_bytes + ETHERNET_BYTES


@dataclass(frozen=True, slots=True)
class Framing:
    """How packets of an interface come to the wire: its MTU, and what is put around them, innermost first."""

    mtu: int = FULL_PACKET_BYTES
    encapsulations: tuple[Encapsulation, ...] = ()

    def outer_bytes(self, packet_bytes: int) -> tuple[int, int]:
        """Size of the packet on the base interface for one of ``packet_bytes``, and of the tags beside it."""
        tags = 0
        for encapsulation in self.encapsulations:
            if encapsulation.kind == "vlan":
                tags += encapsulation.header_bytes
            else:
                packet_bytes += tags + encapsulation.header_bytes
                tags = 0
        return packet_bytes, tags

    def frame_bytes(self, packet_bytes: int) -> int:
        """The frame of a packet without FCS and padding: what a shaper counts (tc-tbf(8))."""
        outer, tags = self.outer_bytes(packet_bytes)
        return ETHERNET_BYTES + tags + outer

    def wire_bytes(self, packet_bytes: int) -> int:
        """What a packet takes of the line, with everything between two frames."""
        frame = max(MINIMUM_FRAME_BYTES, self.frame_bytes(packet_bytes))
        return PREAMBLE_BYTES + frame + FCS_BYTES + GAP_BYTES


BARE = Framing()


def payload_bytes(test: TestName, family: Family, framing: Framing = BARE) -> int | None:
    """Datagram payload of a UDP test; None for TCP, whose segments the kernel cuts, and for messages of any
    size.

    ``udp-1500`` fills a packet of 1500 bytes on the base interface (1472 bare over IPv4, 1422 through VXLAN
    over IPv4), and never exceeds the interface's MTU. Of any other size the (inner) frame is what is asked
    for: ``udp-60`` has 18 bytes, which fill a frame of 60. Raises InvalidInput where that cannot be: UDP 60
    over IPv6, whose headers alone exceed the frame, a frame above the interface's MTU, and an MTU or a stack
    that has no room.
    """
    payload = datagram_bytes(test, family)
    if payload is None:
        return None
    headers = IP_BYTES[family] + UDP_BYTES
    if test != FULL:
        if why := too_small(test, family):
            raise InvalidInput(why)
        if payload + headers > framing.mtu:
            frame_bytes = framing.mtu + ETHERNET_BYTES
            raise InvalidInput(
                f"{test} needs an MTU of {payload + headers}, not {framing.mtu}: "
                f"frames of {frame_bytes} bytes fit"
            )
        return payload
    room = FULL_PACKET_BYTES - (framing.outer_bytes(0)[0])
    payload = min(framing.mtu, room) - headers
    if payload < 1:
        raise InvalidInput(f"an MTU of {framing.mtu} bytes leaves no room for a {family} datagram")
    return payload


def frame_sizes(test: TestName, family: Family, framing: Framing = BARE) -> tuple[int, int]:
    """Payload of a full packet, and its frame on the base interface. Raises InvalidInput as
    :func:`payload_bytes` does."""
    payload = payload_bytes(test, family, framing)
    headers = IP_BYTES[family] + UDP_BYTES
    if payload is None:
        headers = IP_BYTES[family] + TCP_BYTES + TIMESTAMPS_BYTES
        payload = max(1, framing.mtu - headers)
    return payload, max(MINIMUM_FRAME_BYTES, framing.frame_bytes(payload + headers))


def goodput_bps(
    line_rate_bps: float,
    test: TestName,
    family: Family,
    framing: Framing = BARE,
    *,
    tcp_timestamps: bool = True,
    between_frames: bool = True,
) -> float:
    """The most payload that a line can carry, bit/s: line rate × payload / bytes on the wire.

    TCP sends full segments (1448 of 1538 bytes at MTU 1500: 94.15 of 100 Gbps); what acknowledgements take
    is of the other direction. Without ``between_frames`` the rate is that of a shaper, which counts
    frames and not what the wire puts around them. Raises InvalidInput as :func:`payload_bytes` does.
    """
    payload = payload_bytes(test, family, framing)
    headers = IP_BYTES[family] + UDP_BYTES
    if payload is None:
        headers = IP_BYTES[family] + TCP_BYTES + (TIMESTAMPS_BYTES if tcp_timestamps else 0)
        payload = framing.mtu - headers
        if payload < 1:
            raise InvalidInput(f"an MTU of {framing.mtu} bytes leaves no room for a {family} segment")
    packet = payload + headers
    taken = framing.wire_bytes(packet) if between_frames else framing.frame_bytes(packet)
    return line_rate_bps * payload / taken
