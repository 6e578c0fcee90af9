# SPDX-License-Identifier: Apache-2.0
"""What files of others hold, as values: ends of loads, and readings of hosts over time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from linewatt.engine.live import Record
from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.loads import ToldEnd
from linewatt.model import Channel

NOT_SAID = "not read from the imported files"
"""the reason of whatever files of others do not say"""


Clock = Literal["unix", "local"]


@dataclass(frozen=True, slots=True)
class Track:
    """What one source of a host said over time, on that host's clock.

    The time of a record (``received_s``) is Unix seconds where ``clock`` is ``unix``; else the clock on the
    wall as if that were UTC. Each is the middle of what a stamp can mean: it may be off by ``resolution_s``
    / 2. ``days`` are the dates that the first record may be of (``11/12/26`` is one of two), none: not said;
    its times then begin on 1970-01-01.
    """

    file: CaptureFile
    source: str
    records: tuple[Record, ...]
    channels: Mapping[str, Channel]
    clock: Clock
    resolution_s: float
    node: str | None = None
    days: tuple[date, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_power: bool = False
    is_dated: bool = False
    """whether each time has its own date"""
    assumed_cpus: int | None = None
    """CPUs that shares of the whole host are taken of, where nothing shows that all of them are online"""
    power_state: str | None = None
    """what a BMC says of its own power reading, where that is not that it is activated"""
    of_peer: bool = False
    """whether it is of the other host of the test that is in the same file"""
    test: str | None = None
    """the key of the one test that it is a mean of, whenever that ran; its times are seconds of it"""


@dataclass(frozen=True, slots=True)
class Found:
    """What one file holds, and which format it is."""

    file: CaptureFile
    format: str
    ends: tuple[ToldEnd, ...] = ()
    tracks: tuple[Track, ...] = ()
    note: str | None = None
    """what is odd about the file, and was read nevertheless"""

    @property
    def nodes(self) -> frozenset[str]:
        """The hosts that it names itself."""
        named = (*(end.node for end in self.ends), *(end.node for end in self.tracks))
        return frozenset(name for name in named if name)
