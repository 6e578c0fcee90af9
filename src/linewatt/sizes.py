# SPDX-License-Identifier: Apache-2.0
"""What the name of a UDP test says of its datagrams: ``udp-<bytes>``, the bytes those of the frame. Pure.

A frame is counted without FCS, preamble and gap, as hardware counts are but for the FCS: Ethernet header 14
(IEEE 802.3), IPv4 20 (RFC 791) or IPv6 40 (RFC 8200), UDP 8 (RFC 768) and the payload, as the interface sends
it that the load uses; what tunnels put around it comes on top. ``udp-1500`` alone is named after its packet,
as the field has it: it fills what a path of MTU 1500 carries, and its frame has 1514 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from linewatt.errors import ParseError
from linewatt.model import Family, TestName
from linewatt.units import did_you_mean

ETHERNET_BYTES = 14
MINIMUM_FRAME_BYTES = 60
"""what is shorter is padded"""
LARGEST_FRAME_BYTES = ETHERNET_BYTES + 65_535
"""of an IPv4 packet, whose length has 16 bits"""
LARGEST_ETHERNET_BYTES = ETHERNET_BYTES + 9216
"""what interfaces with jumbo frames take at most, as a rule"""
KIB = 1024
LARGEST_PAYLOAD = 65_507
"""of a datagram of IPv4, which loads keep to with IPv6, too"""
IP_BYTES: dict[Family, int] = {"ipv4": 20, "ipv6": 40}
UDP_BYTES = 8
FULL_PACKET_BYTES = 1500
"""what a packet of the test ``udp-1500`` has on the base interface"""
FULL = f"udp-{FULL_PACKET_BYTES}"
FULL_FRAME_BYTES = ETHERNET_BYTES + FULL_PACKET_BYTES
ANY_SIZE = "udp-<bytes>"
"""what stands for every UDP test of a size, where tests are listed"""
OTHER_TESTS = ("tcp", "tcp-rr", "udp-rr")
SIZED = r"udp-([6-9][0-9]|[1-9][0-9]{2,4})"
"""the name of a test of a size; the largest is not for a pattern"""
RULE_OF_THREE = 3.0
"""with no loss in N datagrams the loss ratio is below so much ÷ N at 95 %, if losses are independent"""


def frame_bytes(test: TestName) -> int | None:
    """The frame of one datagram of a UDP test; ``None`` for tests that are of no one size."""
    match = re.fullmatch(SIZED, test, re.ASCII)
    if match is None or int(match[1]) > LARGEST_FRAME_BYTES:
        return None
    return FULL_FRAME_BYTES if test == FULL else int(match[1])


def udp_test(payload: int, family: Family) -> TestName:
    """The test of UDP whose datagrams have so much payload. Raises ParseError for what no datagram has."""
    frame = max(MINIMUM_FRAME_BYTES, ETHERNET_BYTES + IP_BYTES[family] + UDP_BYTES + payload)
    if not 0 < payload <= LARGEST_PAYLOAD:
        raise ParseError(f"a datagram of {payload} bytes is not possible")
    return FULL if frame == FULL_FRAME_BYTES else f"udp-{frame}"


def of_small_packets(test: TestName) -> bool:
    """Whether its frames are smaller than full ones, so that packets are what it is counted in."""
    frame = frame_bytes(test)
    return frame is not None and frame < FULL_FRAME_BYTES


def datagram_bytes(test: TestName, family: Family) -> int | None:
    """Payload that makes a frame of the test on an interface with room for it; below 0: headers alone are
    more. ``None`` for tests that are of no one size."""
    frame = frame_bytes(test)
    return None if frame is None else frame - ETHERNET_BYTES - IP_BYTES[family] - UDP_BYTES


def unframed_datagram_bytes(test: TestName) -> int | None:
    """Payload of a UDP test whose datagrams no Ethernet frame holds, so that IP cuts them; ``None``: one may.

    The family is not in the name: where both may be, a payload of whole KiB counts, else IPv4. Below the
    largest frame there is, a payload of whole KiB is one too (8 KiB are what old versions of iperf send): it
    is how datagrams are asked for, and not how frames are.
    """
    match = re.fullmatch(SIZED, test, re.ASCII)
    if match is None or test == FULL or int(match[1]) <= FULL_FRAME_BYTES:
        return None
    size = int(match[1])
    families = [family for family in IP_BYTES if size - _headers(family) <= LARGEST_PAYLOAD]
    payloads = [size - _headers(family) for family in families]
    kib_payload = next((payload for payload in payloads if payload % KIB == 0), None)
    return kib_payload or (payloads[0] if payloads and size > LARGEST_ETHERNET_BYTES else None)


def too_small(test: TestName, family: Family) -> str | None:
    """Why there is no such frame in a family; ``None``: there is."""
    payload = datagram_bytes(test, family)
    if payload is None or payload >= 0:
        return None
    return f"{test} needs ipv4: the headers of an IPv6 datagram alone fill {_headers(family)} bytes"


def least_frame_bytes(family: Family, least_payload: int) -> int:
    """The smallest frame of a family for datagrams of so many bytes or more."""
    return max(MINIMUM_FRAME_BYTES, _headers(family) + least_payload)


def _headers(family: Family) -> int:
    return ETHERNET_BYTES + IP_BYTES[family] + UDP_BYTES


def checked_test(value: object) -> TestName:
    """The name of a test. Raises ValueError with what would be right."""
    if isinstance(value, str) and among(value, (*OTHER_TESTS, ANY_SIZE)):
        return value
    if isinstance(value, str) and not value.startswith("udp"):  # of a size, the range is what helps
        hint = did_you_mean(value.lower(), (*OTHER_TESTS, FULL))
        if hint:
            raise ValueError(f"unknown test {value!r}; {hint}")
    sized = f"{ANY_SIZE} with a frame of {MINIMUM_FRAME_BYTES} to {LARGEST_FRAME_BYTES} bytes"
    raise ValueError(f"must be {', '.join(OTHER_TESTS)}, {FULL} or {sized}")


def among(test: TestName, tests: Iterable[str]) -> bool:
    """Whether a list of tests, where ANY_SIZE stands for each of a size and is itself none, has this one."""
    return test != ANY_SIZE and (test in tests or (frame_bytes(test) is not None and ANY_SIZE in tests))


def rank(test: TestName) -> tuple[int, int]:
    """The order of tests in tables: TCP, UDP with the largest frames first, request/response, others."""
    frame = frame_bytes(test)
    if frame is not None:
        return 1, -frame
    return {"tcp": 0, "tcp-rr": 2, "udp-rr": 3}.get(test, 4), 0
