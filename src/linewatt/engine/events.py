# SPDX-License-Identifier: Apache-2.0
"""What the engine says while it works; how it is shown is the command's business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linewatt.model import Case, Provenance, Role, Trial


@dataclass(frozen=True, slots=True)
class Watts:
    """The system's power of a host now, of one scope."""

    host: str
    power_w: float
    provenance: Provenance
    scope: str


@dataclass(frozen=True, slots=True)
class Placed:
    """One end of a load that runs: which CPUs its processes are put on, and which take its receive work.

    None named: the system decides, or the host's own ``irq_cpus`` do.
    """

    host: str
    role: Role
    app_cpus: tuple[int, ...] = ()
    irq_cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The result directory is there."""

    id: str
    path: str
    trials: int
    trials_stored: int
    duration_s: float
    at_most: bool = False
    """whether cases may stop before all their trials, so that all of it may be less"""


@dataclass(frozen=True, slots=True)
class Phase:
    """What happens now, in words."""

    text: str


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """The barrier of a trial has opened."""

    number: int
    trials: int
    case: Case
    repetition: int
    load_s: float
    remaining_s: float
    ends: tuple[Placed, ...] = ()


@dataclass(frozen=True, slots=True)
class Throughput:
    """What receivers' interfaces take in now, all running trials together; ``None`` while not known.

    ``watts`` are those of their hosts whose meters tell it now.
    """

    throughput_bps: float | None
    remaining_s: float
    watts: tuple[Watts, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialStored:
    """A trial is on disk."""

    trial: Trial
    trials: int


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went wrong that does not end the campaign."""

    text: str


@dataclass(frozen=True, slots=True)
class LeftChanged:
    """Hosts are not as they were found: what could not be put back, and why."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Soaking:
    """A soak goes on: what its server's (or receivers') interfaces carry both ways now, and users at work.

    ``None``: not known yet, or no such thing. ``watts`` are those of its hosts whose meters tell it now.
    """

    throughput_bps: float | None
    users: int | None
    elapsed_s: float
    remaining_s: float
    watts: tuple[Watts, ...] = ()


@dataclass(frozen=True, slots=True)
class SoakEnded:
    """A soak is over; ``remaining_s`` of it were not run."""

    id: str
    path: str
    elapsed_s: float
    remaining_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The campaign is over; ``pending`` trials were not run."""

    id: str
    path: str
    done: int
    failed: int
    pending: int


Event = (
    Started
    | Phase
    | TrialStarted
    | Throughput
    | TrialStored
    | Soaking
    | SoakEnded
    | Warned
    | LeftChanged
    | Ended
)
OnEvent = Callable[[Event], None]
