# SPDX-License-Identifier: Apache-2.0
"""Hosts that were changed while a campaign ran, by something else than linewatt. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from linewatt.engine.live.feed import Reading
from linewatt.engine.live.readback import Difference, ReadBack
from linewatt.engine.measuring.cut import Seen
from linewatt.engine.measuring.link import CARRIER, counted_between
from linewatt.hosts.facts import BOND_PORTS, PAUSE_FRAMES, fact_of_port
from linewatt.model import Flag, Window
from linewatt.sensors import link_news

PAUSED, PAUSES = (f"nic.{name}" for name in PAUSE_FRAMES)
COUNTS = (CARRIER, PAUSED, PAUSES)


def check(seen: Seen) -> Iterator[Flag]:
    """Facts read in the trial against those before, at both ends."""
    for end in seen.ends:
        readback = seen.readback(end)
        if readback is not None:
            yield from changed(end.host, readback)
            yield from paused(end.host, readback)
        yield from notices(end.host, seen.reading(end, "link"), seen.window)


def changed(host: str, readback: ReadBack) -> Iterator[Flag]:
    """Facts that are not what they were before this trial, or changed in it."""
    changes = {difference.fact: _since(difference) for difference in readback.differences}
    early = readback.before.facts if readback.before is not None else {}
    for fact, text in readback.facts.items():
        before = early.get(fact, text)
        if before != text and fact_of_port(fact)[0] not in COUNTS and not fact.startswith(BOND_PORTS):
            changes[fact] = f"{_name(fact)} was {before} before the window and {text} after it"
    if changes:
        yield Flag(
            "configuration-changed",
            host,
            "; ".join(changes.values()),
            "find what changed it (tuned, a network manager, a person), undo the change, and measure again",
        )


def _since(difference: Difference) -> str:
    text = f"{_name(difference.fact)} is {difference.found}, was {difference.before}"
    if difference.as_before_s is None:
        return f"{text} at the start of the campaign"
    at = datetime.fromtimestamp(difference.as_before_s, UTC)
    return f"{text} until at least {at:%H:%M:%S} UTC"


def _name(fact: str) -> str:
    """As the tools call it: a feature of ethtool, a key of sysctl."""
    name, port = fact_of_port(fact)
    if port is not None:
        return f"{_name(name)} of {port}"
    for beginning in ("nic.offloads.", "sysctl.", "nic.", "cpu."):
        if fact.startswith(beginning):
            return fact.removeprefix(beginning)
    return fact


def paused(host: str, readback: ReadBack) -> Iterator[Flag]:
    """Pause frames of Ethernet: each has whoever got it stop sending for 65,535 × 512 bit times at most (IEEE
    802.3, annex 31B), so that a few say nothing of what limits.
    """
    received, sent = counted_between(readback, PAUSED), counted_between(readback, PAUSES)
    counts = [f"received {received}"] if received else []
    counts += [f"sent {sent}"] if sent else []
    if counts:
        yield Flag(
            "pause-frames",
            host,
            f"its data interface {' and '.join(counts)} pause frames between the reads around the window",
            "a pause frame stops a sender for at most 3.4 ms at 10 Gbps, 0.34 ms at 100 Gbps; if there are "
            "many, the device that sends them is the limit: check the receiver's rings and PCIe, and the "
            "switch; to see the loss without them, turn pause off at both ends (settings: pause)",
        )


def notices(host: str, reading: Reading | None, window: Window) -> Iterator[Flag]:
    """What the kernel said that changed at the data interface while the window ran."""
    lines = [
        line
        for record in (reading.records if reading is not None else ())
        if record.time_s > window.start_s and record.time_s - record.span_s < window.end_s
        for line in link_news(record.text)
    ]
    if lines:
        shown = "; ".join(dict.fromkeys(lines))
        yield Flag(
            "interface-changed",
            host,
            f"{len(lines)} kernel notifications about its data interface: {shown[:300]}",
            "find what changes it (a network manager, tuned, a script), and measure again",
        )
