# SPDX-License-Identifier: Apache-2.0
"""Ports of a bond that lost their link, while the bond carried on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linewatt.engine.live.readback import ReadBack
from linewatt.engine.measuring.bond_ports import at_reads, lost
from linewatt.engine.measuring.cut import Seen
from linewatt.model import EndResult, Flag


def check(seen: Seen) -> Iterator[Flag]:
    """The bonds that carry the data of each end."""
    for end in seen.ends:
        readback = seen.readback(end)
        if readback is None:
            continue
        lost_ports = lost(readback, _bonds(seen, end, readback), seen.reading(end, "link"), seen.window)
        if lost_ports is not None:
            yield Flag(
                "bond-port-down",
                end.host,
                lost_ports.words,
                "the figures belong to a bond with fewer ports, or mix both states: check the cable, the "
                "switch port and dmesg, and measure again",
            )


def _bonds(seen: Seen, end: EndResult, readback: ReadBack) -> set[str]:
    """Those that its data interfaces are, or are ports of, and those of the network of the case."""
    interfaces = set(seen.spec(end).interfaces)
    named = {
        word
        for setting in readback.settings
        if setting.knob in ("network", "nmstate")
        for word in re.split(r"[\s:/@,]", setting.target)
    }
    bond_ports = at_reads(readback).values()
    return {port.bond for port in bond_ports if {port.bond, port.name} & interfaces or port.bond in named}
