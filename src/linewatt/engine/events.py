# SPDX-License-Identifier: Apache-2.0
"""What the engine says while it works; how it is shown is the command's business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from linewatt.declare import SELDOM, Schema, keys_of, one_of, record, version
from linewatt.json_document import document_of, of_class
from linewatt.model import Case, Provenance, Role, Trial

SCHEMA_VERSION = 1


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
    users: int | None = field(metadata=SELDOM)
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

    @property
    def is_complete(self) -> bool:
        return not self.remaining_s


@dataclass(frozen=True, slots=True)
class Ended:
    """The campaign is over; ``pending`` trials were not run."""

    id: str
    path: str
    done: int
    failed: int
    pending: int

    @property
    def is_complete(self) -> bool:
        return not self.failed and not self.pending


RunEnded = Ended | SoakEnded
"""how any run ended: ``is_complete`` says whether nothing failed, and nothing is left for ``resume``"""

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


def as_document(event: Event) -> dict[str, Any]:
    """An event as a line of ``run --json``: its kind, and its fields."""
    return {"schema_version": SCHEMA_VERSION, "event": _kind(type(event)), **document_of(event)}


def _kind(event: type) -> str:
    """``TrialStored`` → ``trial_stored``."""
    name = event.__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def schema() -> Schema:
    """Of :func:`as_document`, each kind of event."""
    return one_of(*map(_schema_of_event, get_args(Event)))


def _schema_of_event(event: type) -> Schema:
    class_schema = of_class(event)
    head = {"schema_version": version(SCHEMA_VERSION), "event": {"const": _kind(event)}}
    return record({**head, **keys_of(class_schema)}, class_schema.get("description", ""))
