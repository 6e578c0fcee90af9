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
        found = lost(readback, _bonds(seen, end, readback), seen.reading(end, "link"), seen.window)
        if found is not None:
            yield Flag(
                "bond-port-down",
                end.host,
                found.words,
                "the figures are of a bond with fewer ports, or of both states: look at the cable, the "
                "switch's port and dmesg, and measure again",
            )


def _bonds(seen: Seen, end: EndResult, readback: ReadBack) -> set[str]:
    """Those that its data interfaces are, or are ports of, and those of the network of the case."""
    own = set(seen.spec(end).interfaces)
    named = {
        word
        for one in readback.settings
        if one.knob in ("network", "nmstate")
        for word in re.split(r"[\s:/@,]", one.target)
    }
    found = at_reads(readback).values()
    return {one.bond for one in found if {one.bond, one.name} & own or one.bond in named}
