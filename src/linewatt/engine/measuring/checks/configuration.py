# SPDX-License-Identifier: Apache-2.0
"""Hosts that were changed while a campaign ran, by something else than linewatt. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from linewatt.engine.measuring.seen import Seen
from linewatt.engine.readback import Difference, ReadBack
from linewatt.model import Flag

CARRIER = "nic.carrier_changes"


def check(seen: Seen) -> Iterator[Flag]:
    """Facts read in the trial against those before, at both ends."""
    for end in seen.ends:
        readback = seen.readback(end)
        if readback is not None:
            yield from changed(end.host, readback)
            yield from link(end.host, readback)


def changed(host: str, readback: ReadBack) -> Iterator[Flag]:
    """Facts that are not what they were before this trial, or changed in it."""
    told = {one.fact: _since(one) for one in readback.differences}
    early = readback.before.facts if readback.before is not None else {}
    for fact, text in readback.facts.items():
        before = early.get(fact, text)
        if before != text and fact != CARRIER:
            told[fact] = f"{_name(fact)} was {before} before the window and {text} after it"
    if told:
        yield Flag(
            "configuration-changed",
            host,
            "; ".join(told.values()),
            "find out what changed it (tuned, a network manager, somebody), undo it, and measure again",
        )


def _since(one: Difference) -> str:
    text = f"{_name(one.fact)} is {one.found}, was {one.before}"
    if one.as_before_s is None:
        return f"{text} when the campaign began"
    at = datetime.fromtimestamp(one.as_before_s, UTC)
    return f"{text} until at least {at:%H:%M:%S} UTC"


def _name(fact: str) -> str:
    """As the tools call it: a feature of ethtool, a key of sysctl."""
    for beginning in ("nic.offloads.", "sysctl.", "nic.", "cpu."):
        if fact.startswith(beginning):
            return fact.removeprefix(beginning)
    return fact


def link(host: str, readback: ReadBack) -> Iterator[Flag]:
    """A link that went away between the two reads."""
    early = readback.before.facts.get(CARRIER) if readback.before is not None else None
    late = readback.facts.get(CARRIER)
    if early is None or late is None or early == late:
        return
    yield Flag(
        "link-changed",
        host,
        f"the carrier of its data interface changed {int(late) - int(early)} times between the reads before "
        "and after the window",
        "look at the cable, the switch's port and dmesg, and measure again",
    )
