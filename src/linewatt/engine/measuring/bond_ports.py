# SPDX-License-Identifier: Apache-2.0
"""Ports of bonds as a host showed them around a trial: which lost their link, and which carried on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import ReadBack
from linewatt.hosts.facts import BOND_PORTS
from linewatt.model import Window
from linewatt.sensors import link_news

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


@dataclass(frozen=True, slots=True)
class Lost:
    """What is said of each port that lost its link, by its name; and of those that were up throughout, which
    is None where it is not known."""

    told: Mapping[str, str]
    carried: tuple[str, ...] | None

    @property
    def words(self) -> str:
        if self.carried is None:
            return "; ".join(self.told.values())
        carrying = (
            f"{' and '.join(self.carried)} carried on" if self.carried else "no other port was up throughout"
        )
        return f"{'; '.join(self.told.values())}; {carrying}"


def ports(facts: Mapping[str, str]) -> dict[str, Port]:
    """Key ``bond0/eth1`` → what the host showed of that port."""
    ports_by_key = {}
    for fact, text in facts.items():
        shown = _SHOWN.fullmatch(text)
        if fact.startswith(BOND_PORTS) and shown is not None:
            key = fact.removeprefix(BOND_PORTS)
            bond, _, name = key.partition("/")
            ports_by_key[key] = Port(bond, name, shown[1], shown[2], int(shown[3]))
    return ports_by_key


def at_reads(readback: ReadBack) -> dict[str, Port]:
    """The ports that a host showed at either read, as it did last."""
    return (ports(readback.before.facts) if readback.before else {}) | ports(readback.facts)


def lost(readback: ReadBack, bonds: set[str], notices: Reading | None, window: Window) -> Lost | None:
    """Ports that were down at a read beside the window, lost their link between the reads, or of which the
    kernel gave notice in the window that they were down."""
    late = {key: port for key, port in ports(readback.facts).items() if port.bond in bonds}
    early = ports(readback.before.facts) if readback.before is not None else {}
    down_s = {port: time_s for port, _, time_s in _down(notices, window)}
    lost_ports = {
        port.name: sentence
        for key, port in late.items()
        if (sentence := _said(early.get(key), port, readback, down_s.get(port.name)))
    }
    if not lost_ports:
        return None
    carrying = [
        f"{port.name} ({port.state})" if port.state == "backup" else port.name
        for port in late.values()
        if port.name not in lost_ports and port.is_up
    ]
    return Lost(lost_ports, tuple(carrying))


def noticed(notices: Reading | None, window: Window) -> dict[str, Lost]:
    """Bond → its ports of which the kernel gave notice in the window that they were down.

    For a host that did not answer at the reads: of the ports that were up throughout nothing is known.
    """
    lost_by_bond: dict[str, dict[str, str]] = {}
    for port, bond, time_s in _down(notices, window):
        lost_by_bond.setdefault(bond, {})[port] = f"{port} of {bond} lost its link at {_clock(time_s)} UTC"
    return {bond: Lost(lost_ports, None) for bond, lost_ports in lost_by_bond.items()}


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


def _down(notices: Reading | None, window: Window) -> Iterator[tuple[str, str, float]]:
    """Ports of bonds that the kernel said to be down in the window, each with its bond and when first, to the
    sensor's interval: the last one given of a port is its first."""
    for record in reversed(notices.records if notices is not None else ()):
        if record.time_s > window.start_s and record.time_s - record.span_s < window.end_s:
            for line in link_news(record.text):
                port, _, notice = line.partition(" of ")
                if notice and "state DOWN" in notice:
                    yield port, notice.partition(":")[0], record.time_s


def _clock(time_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):%H:%M:%S}"
