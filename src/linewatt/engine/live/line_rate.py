# SPDX-License-Identifier: Apache-2.0
"""The most that the line between two hosts, and the slot of each NIC, can carry of a case's payload. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from linewatt.errors import InvalidInput
from linewatt.hosts.facts import Facts
from linewatt.model import Case, is_request_response
from linewatt.network import Framing, goodput_bps, payload_bytes
from linewatt.sizes import IP_BYTES, UDP_BYTES
from linewatt.units import parse_rate

ENCODING: Mapping[float, float] = {
    2.5: 8 / 10,
    5.0: 8 / 10,
    8.0: 128 / 130,
    16.0: 128 / 130,
    32.0: 128 / 130,
    64.0: 236 / 256,
}
"""GT/s of a lane → the part that can be packets: 8b/10b, 128b/130b, and flits of 256 bytes from 64 GT/s"""

PCIE_PAYLOAD_BYTES = 256
"""of a packet on PCI Express, as servers set it (lspci -vv: MaxPayload); some set 128 or 512"""
PCIE_HEADER_BYTES = 26
"""around it: 24 to 28, by address width and check sums"""
NOMINAL = frozenset({"hv_netvsc", "virtio_net", "vmxnet3"})
"""drivers of NICs that a hypervisor makes: what they show as a speed is one word whatever is behind them
(vmxnet3: 10 Gbps), or what somebody wrote there; between guests of one machine there is no wire at all"""
_GT = re.compile(r"(\d+(?:\.\d+)?)\s*GT/s")
_SHAPER = re.compile(r"(?:qdisc )?tbf\b.*?\brate (\d+(?:\.\d+)?)([KMGT]?)bit")


@dataclass(frozen=True, slots=True)
class Line:
    """What a host's data interface can carry one way. ``is_shaped``: as its queueing discipline lets it send,
    which counts frames without what the wire puts between them (tc-tbf(8))."""

    rate_bps: float
    is_shaped: bool


def line(nic: Mapping[str, Any], *, sends: bool) -> Line | None:
    """From a host's facts of its interface; ``None``: not known. What a virtual one names is no speed.

    A shaper holds back what is sent and nothing that is received: a virtual interface that has one, as hosts
    of a lab do, takes whatever comes.
    """
    shaper = _SHAPER.match(str(nic.get("qdisc") or ""))  # of the root: one of a queue is not the line's
    is_wire = nic.get("kind") == "physical" and nic.get("driver") not in NOMINAL
    speed_bps = nic.get("speed_bps") if is_wire else None
    shaped_bps = parse_rate(f"{shaper[1]}{shaper[2]}") if shaper else None
    if shaped_bps is not None and (speed_bps is None or (sends and shaped_bps < speed_bps)):
        return Line(shaped_bps if sends else math.inf, is_shaped=True)
    return None if speed_bps is None else Line(float(speed_bps), is_shaped=False)


@dataclass(frozen=True, slots=True)
class LineLimit:
    """The most payload that the line between two hosts carries, and at which of them it is the narrowest."""

    goodput_bps: float
    kind: Literal["link", "shaper"]
    host: str


@dataclass(frozen=True, slots=True)
class PortLine:
    """One of the data ports of a case: host → its interface, and what its line carries, where it is known."""

    interfaces: Mapping[str, str]
    line: LineLimit | None


def line_of_group(
    case: Case, lines: Sequence[LineLimit | None], shared: LineLimit | None
) -> LineLimit | None:
    """The most that all pairs of a group carry together: what the line of the host that is in all of them
    does, or those of the others. Both ways, and in a ring, each pair has a line of its own. ``None``: one is
    not known."""
    limits = [limit for limit in lines if limit is not None]
    if len(limits) < len(lines) or (shared is None and case.shape not in ("both-ways", "ring")):
        return None
    others = sum(limit.goodput_bps for limit in limits)
    if shared is not None and shared.goodput_bps <= others:
        return shared
    kind: Literal["link", "shaper"] = "shaper" if all(limit.kind == "shaper" for limit in limits) else "link"
    return LineLimit(others, kind, ", ".join(dict.fromkeys(limit.host for limit in limits)))


def line_limit(case: Case, ends: Mapping[str, Framing], facts: Mapping[str, Facts]) -> LineLimit | None:
    """The smaller of what both ends' lines can carry of a case; ``None`` where either is not known."""
    if is_request_response(case.test):  # one message is under way at a time: no line limits it
        return None
    limits = []
    for host, framing in ends.items():
        host_line = line(facts[host]["nic"], sends=host == case.sender)
        if host_line is None:
            return None
        try:
            goodput = _goodput_bps(
                host_line.rate_bps, case, framing, facts[host], between=not host_line.is_shaped
            )
        except InvalidInput:
            return None
        limits.append(LineLimit(goodput, "shaper" if host_line.is_shaped else "link", host))
    return min(limits, key=lambda limit: limit.goodput_bps)


def all_lines(lines: Sequence[LineLimit | None]) -> LineLimit | None:
    """What the lines of several data ports carry together; where the narrowest is, and what that is."""
    limits = [limit for limit in lines if limit is not None]
    if not limits or len(limits) < len(lines):
        return None
    narrowest = min(limits, key=lambda limit: limit.goodput_bps)
    return replace(narrowest, goodput_bps=sum(limit.goodput_bps for limit in limits))


def _goodput_bps(rate_bps: float, case: Case, framing: Framing, facts: Facts, *, between: bool) -> float:
    stamps = facts["sysctl"].get("net.ipv4.tcp_timestamps") != "0"
    return goodput_bps(
        rate_bps, case.test, case.family, framing, tcp_timestamps=stamps, between_frames=between
    )


def lanes_bps(speed: str | None, width: int | None) -> float | None:
    """What lanes carry in one direction, bit/s, without packet headers; ``None``: unknown rate or width."""
    match = _GT.search(speed or "")
    encoding = ENCODING.get(float(match[1])) if match else None
    return (
        None if match is None or encoding is None or not width else float(match[1]) * 1e9 * width * encoding
    )


def pcie_goodput_bps(case: Case, framing: Framing, facts: Facts) -> float | None:
    """The most payload of a case that the slot of a host's data interface carries; ``None``: not known.

    Each packet crosses as a frame, cut into parts of PCIE_PAYLOAD_BYTES with PCIE_HEADER_BYTES around each.
    """
    if is_request_response(case.test):
        return None
    nic = facts["nic"]
    lanes = lanes_bps(nic.get("pci_speed"), nic.get("pci_width"))
    try:
        payload = payload_bytes(case.test, case.family, framing)
        packet = framing.mtu if payload is None else payload + IP_BYTES[case.family] + UDP_BYTES
        of_frame = _goodput_bps(1.0, case, framing, facts, between=False)
    except InvalidInput:
        return None
    if lanes is None:
        return None
    frame = framing.frame_bytes(packet)
    crossing = frame + math.ceil(frame / PCIE_PAYLOAD_BYTES) * PCIE_HEADER_BYTES
    return lanes * of_frame * frame / crossing
