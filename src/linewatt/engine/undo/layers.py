# SPDX-License-Identifier: Apache-2.0
"""Which settings stand on which: a queue count or a profile decides what there is above it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linewatt.hosts.journal import Entry

_LAYERS = (
    {"irqbalance", "tuned"},
    {"channels", "rings", "mtu", "governor", "offload"},
)
"""from the ground up; every other knob stands on these"""
TOP = len(_LAYERS)


def layer(knob: str) -> int:
    """From 0, the ground, to ``TOP``."""
    return next((i for i, own in enumerate(_LAYERS) if knob in own), TOP)


def apart(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Entries of one host in their order, those that can be put back together in one list.

    None of a list stands on another, and none is about the same setting as another.
    """
    together: list[Entry] = []
    for entry in entries:
        same = any((entry.knob, entry.target) == (one.knob, one.target) for one in together)
        if together and (same or layer(entry.knob) != layer(together[0].knob)):
            yield together
            together = []
        together.append(entry)
    if together:
        yield together
