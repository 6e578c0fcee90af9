# SPDX-License-Identifier: Apache-2.0
"""The campaign as the rest of the house sees it: checked, resolved, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from linewatt.hosts.base import HostSpec
from linewatt.model import Direction, Family, TestName
from linewatt.sensors.base import SensorConfig

Order = Literal["interleaved", "sequential", "random"]
Placement = Literal["pinned", "none"]


@dataclass(frozen=True, slots=True)
class TestSpec:
    """A test with its own or the campaign's settings; ``rate_bps`` is of one instance, None: unlimited."""

    test: TestName
    instances: tuple[int, ...]
    streams: tuple[int, ...]
    rate_bps: float | None
    zerocopy: bool


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign file, checked.

    ``hosts`` are those that take part in a pair; ``pairs`` are (sender, receiver). A trial's load runs
    ``omit_s + window_s + tail_s``. Ports ``first_port`` to ``last_port``, both included. ``sensors`` maps
    the name of each sensor that is on to its settings. ``text`` is the file as it was read, ``inventory``
    the Ansible inventory the hosts came from.
    """

    name: str
    description: str
    hosts: Mapping[str, HostSpec]
    pairs: tuple[tuple[str, str], ...]
    directions: tuple[Direction, ...]
    tests: tuple[TestSpec, ...]
    families: tuple[Family, ...]
    networks: tuple[str, ...]
    trials: int
    order: Order
    seed: int | None
    window_s: float
    omit_s: float
    tail_s: float
    idle_s: float
    first_port: int
    last_port: int
    placement: Placement
    concurrent_pairs: bool
    sysctl: Mapping[str, str]
    sensors: Mapping[str, SensorConfig]
    text: str
    path: Path
    inventory: Path | None = None
    unused_hosts: tuple[str, ...] = ()

    @property
    def load_s(self) -> float:
        """Seconds of load in one trial."""
        return self.omit_s + self.window_s + self.tail_s

    @property
    def ports(self) -> int:
        """How many ports there are."""
        return self.last_port - self.first_port + 1
