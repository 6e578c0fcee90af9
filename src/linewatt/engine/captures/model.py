# SPDX-License-Identifier: Apache-2.0
"""What files of others hold, as values: ends of loads, and readings of hosts over time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from linewatt.engine.captures.folder import CaptureFile
from linewatt.engine.live.feed import Record
from linewatt.loads.base import LoadEnd
from linewatt.model import Channel, Family, TestName

NOT_SAID = "not in the imported files"
"""the reason of whatever files of others do not say"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one process of a load was asked to do, as its own file says it.

    ``rate_bps`` is of all its streams. ``options`` are those that are not as they are by default, by the name
    that campaigns have for them. ``seconds`` is the time asked for; None: it was to end by itself.
    """

    load: str
    test: TestName
    family: Family
    streams: int
    is_reverse: bool
    rate_bps: float | None
    omit_s: float
    seconds: float | None
    options: tuple[tuple[str, str], ...] = ()
    factors: tuple[tuple[str, str], ...] = ()
    """what else is no test of a campaign, so that it is compared with nothing but itself"""


@dataclass(frozen=True, slots=True)
class ToldEnd:
    """One end of one test, from a file of its own host.

    ``key`` is the same at both ends of one test, and of no other. ``begun_s`` is when the test began on the
    clock of its host, at the earliest; it was at most ``late_s`` later. ``other`` is what the file says of
    the other end, or why it says nothing.
    """

    file: CaptureFile
    node: str | None
    is_client: bool
    peer: str
    port: int
    key: str
    begun_s: float
    late_s: float
    asked: Asked
    own: LoadEnd
    other: LoadEnd | str
    text: str
    kernel: str | None = None
    failure: str | None = None


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
    node: str | None
    source: str
    records: tuple[Record, ...]
    channels: Mapping[str, Channel]
    clock: Clock
    resolution_s: float
    days: tuple[date, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_power: bool = False
    is_dated: bool = False
    """whether each time has its own date"""


@dataclass(frozen=True, slots=True)
class Found:
    """What one file holds, and which format it is."""

    file: CaptureFile
    format: str
    ends: tuple[ToldEnd, ...] = ()
    tracks: tuple[Track, ...] = ()

    @property
    def nodes(self) -> frozenset[str]:
        """The hosts that it names itself."""
        named = (*(one.node for one in self.ends), *(one.node for one in self.tracks))
        return frozenset(name for name in named if name)
