# SPDX-License-Identifier: Apache-2.0
"""The most that the line between two hosts can carry of a case's payload. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linewatt.errors import InvalidInput
from linewatt.model import Case
from linewatt.network.framing import Framing, goodput_bps
from linewatt.units import parse_rate

_SHAPER = re.compile(r"tbf\b.*?\brate (\d+(?:\.\d+)?)([KMGT]?)bit")


@dataclass(frozen=True, slots=True)
class Line:
    """What a host's data interface can send. ``is_shaped``: as its queueing discipline lets it, which counts
    frames without what the wire puts between them (tc-tbf(8))."""

    rate_bps: float
    is_shaped: bool


def line(nic: Mapping[str, Any]) -> Line | None:
    """From a host's facts of its interface; ``None``: not known. What a virtual one names is no speed."""
    shaper = _SHAPER.search(str(nic.get("qdisc") or ""))
    speed_bps = nic.get("speed_bps") if nic.get("kind") == "physical" else None
    shaped_bps = parse_rate(f"{shaper[1]}{shaper[2]}") if shaper else None
    if shaped_bps is not None and (speed_bps is None or shaped_bps < speed_bps):
        return Line(shaped_bps, is_shaped=True)
    return None if speed_bps is None else Line(float(speed_bps), is_shaped=False)


def line_goodput_bps(
    case: Case, ends: Mapping[str, Framing], facts: Mapping[str, Mapping[str, Any]]
) -> float | None:
    """The smaller of what both ends' lines can carry of a case, bit/s; ``None`` where either is not known."""
    found = []
    for host, framing in ends.items():
        own = line(facts[host]["nic"])
        if own is None:
            return None
        stamps = facts[host]["sysctl"].get("net.ipv4.tcp_timestamps") != "0"
        try:
            found.append(
                goodput_bps(
                    own.rate_bps,
                    case.test,
                    case.family,
                    framing,
                    tcp_timestamps=stamps,
                    between_frames=not own.is_shaped,
                )
            )
        except InvalidInput:
            return None
    return min(found)
