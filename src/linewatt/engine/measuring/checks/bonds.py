# SPDX-License-Identifier: Apache-2.0
"""Ports of a bond that lost their link, while the bond carried on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.engine.measuring.cut import Seen
from linewatt.hosts.facts.read import BOND_PORTS
from linewatt.model import EndResult, Flag, Window
from linewatt.sensors.link import news

_SHOWN = re.compile(r"(.+) (\S+), (\d+) link failures")


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a bond: ``status`` is the MII status, ``failures`` how often it has lost its link ever."""

    bond: str
    name: str
    status: str
    state: str
    failures: int

    @property
    def is_up(self) -> bool:
        return self.status == "up"


def check(seen: Seen) -> Iterator[Flag]:
    """The bonds that carry the data of each end."""
    for end in seen.ends:
        readback = seen.readback(end)
        if readback is not None:
            bonds = _bonds(seen, end, readback)
            yield from lost(end.host, readback, bonds, seen.reading(end, "link"), seen.window)


def _bonds(seen: Seen, end: EndResult, readback: ReadBack) -> set[str]:
    """Those that its data interfaces are, or are ports of, and those of the network of the case."""
    own = set(seen.spec(end).interfaces)
    named = {
        word
        for one in readback.settings
        if one.knob in ("network", "nmstate")
        for word in re.split(r"[\s:/@,]", one.target)
    }
    found = ports(readback.facts) | ports(readback.before.facts if readback.before else {})
    return {one.bond for one in found.values() if {one.bond, one.name} & own or one.bond in named}


def ports(facts: Mapping[str, str]) -> dict[str, Port]:
    """Key ``bond0/eth1`` → what the host showed of that port."""
    found = {}
    for fact, text in facts.items():
        shown = _SHOWN.fullmatch(text)
        if fact.startswith(BOND_PORTS) and shown is not None:
            key = fact.removeprefix(BOND_PORTS)
            bond, _, name = key.partition("/")
            found[key] = Port(bond, name, shown[1], shown[2], int(shown[3]))
    return found


def lost(
    host: str, readback: ReadBack, bonds: set[str], notices: Reading | None, window: Window
) -> Iterator[Flag]:
    """Ports that were down at a read beside the window, lost their link between the reads, or of which the
    kernel gave notice in the window that they were down."""
    late = {key: one for key, one in ports(readback.facts).items() if one.bond in bonds}
    early = ports(readback.before.facts) if readback.before is not None else {}
    down_s = dict(_down(notices, window))
    told = {
        one.name: said
        for key, one in late.items()
        if (said := _said(early.get(key), one, readback, down_s.get(one.name)))
    }
    if not told:
        return
    rest = [
        f"{one.name} ({one.state})" if one.state == "backup" else one.name
        for one in late.values()
        if one.name not in told and one.is_up
    ]
    carried = f"{' and '.join(rest)} carried on" if rest else "no other port was up throughout"
    yield Flag(
        "bond-port-down",
        host,
        f"{'; '.join(told.values())}; {carried}",
        "the figures are of a bond with fewer ports, or of both states: look at the cable, the switch's port "
        "and dmesg, and measure again",
    )


def _said(early: Port | None, late: Port, readback: ReadBack, down_s: float | None) -> str | None:
    """Which port, how often, when, and how it is now; None: it was up throughout, as far as is known."""
    what, now = f"{late.name} of {late.bond}", "up again" if late.is_up else late.status
    failures = 0 if early is None else late.failures - early.failures
    times = "" if failures == 0 else " once" if failures == 1 else f" {failures} times"
    if down_s is not None:
        return f"{what} lost its link{times} at {_clock(down_s)} UTC and is {now}"
    if failures and readback.before is not None:
        between = f"between {_clock(readback.before.time_s)} and {_clock(readback.time_s)} UTC"
        return f"{what} lost its link{times} {between} and is {now}"
    if early is not None and early.status != late.status:
        return f"{what} was {early.status} before the window and {late.status} after it"
    return None if late.is_up else f"{what} was {late.status}"


def _down(notices: Reading | None, window: Window) -> Iterator[tuple[str, float]]:
    """Ports of bonds that the kernel said to be down in the window, each with when first, to the sensor's
    interval: the last one given of a port is its first."""
    for record in reversed(notices.records if notices is not None else ()):
        if record.time_s > window.start_s and record.time_s - record.span_s < window.end_s:
            for line in news(record.text):
                port, _, rest = line.partition(" of ")
                if rest and "state DOWN" in rest:
                    yield port, record.time_s


def _clock(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%H:%M:%S}"
