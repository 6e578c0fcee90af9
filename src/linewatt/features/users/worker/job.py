# SPDX-License-Identifier: Apache-2.0
"""What users are to do: a plain value that travels to where they run, as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from statistics import NormalDist
from typing import Any, Literal

from linewatt.errors import InvalidInput
from linewatt.features.users.worker.base import RemoteFile
from linewatt.model import Family

Start = Literal["independent", "ramped", "synchronised"]
ThinkKind = Literal["fixed", "exponential"]
LoginPer = Literal["session", "cycle"]
Discard = Literal["kernel", "copy"]


@dataclass(frozen=True, slots=True)
class Target:
    """A server and how to log in. The password is part of no text that is shown or stored."""

    host: str
    port: int
    user: str
    password: str
    family: Family = "ipv4"

    def __repr__(self) -> str:
        return f"Target({self.user}@{self.host}:{self.port}, {self.family})"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a user waits: for a connection, for a reply, for the next byte; and for the last transfers."""

    connect_s: float = 10.0
    reply_s: float = 30.0
    stall_s: float = 30.0
    grace_s: float = 10.0

    @property
    def last_s(self) -> float:
        """How long after its time a user may take to end: the last transfer, the reply after it, and
        logging in again to take back what was put."""
        return self.grace_s + self.stall_s + self.connect_s + 3 * self.reply_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What each user does, wherever it runs: as a campaign asks for it, and as a job has it.

    ``get_share`` of the transfers are gets, evenly spread: 0.5 alternates. Closed loop: a user thinks for
    ``think_s`` between transfers. Open loop (``arrival_rate_hz``): transfers arrive as a Poisson process,
    whoever is free takes the next, and its time runs from when it was due. ``login_per`` cycle logs out after
    every ``cycle_transfers``. Of ``checked_share`` of the transfers the content is compared: a put by
    reading it back with the next get.
    """

    get_share: float
    think_s: float
    think: ThinkKind
    login_per: LoginPer
    cycle_transfers: int
    checked_share: float
    start: Start
    spread_s: float
    """independent: everybody begins at random within it; ramped: one after the other"""
    arrival_rate_hz: float | None
    seed: int
    discard: Discard
    """what becomes of bytes that are not checked: dropped in the kernel, or copied to the user first"""

    @property
    def behaviour(self) -> dict[str, Any]:
        """This alone, by name."""
        return {
            behaviour_field.name: getattr(self, behaviour_field.name) for behaviour_field in fields(Behaviour)
        }


@dataclass(frozen=True, slots=True)
class UsersJob(Behaviour):
    """What ``users`` users do for ``duration_s``."""

    target: Target
    users: int
    duration_s: float
    files: tuple[RemoteFile, ...] = ()
    put_sizes: tuple[int, ...] = ()
    put_folder: str = "put"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for wrong, text in _checks(self):
            if wrong:
                raise InvalidInput(f"users: {text}")


def _checks(job: UsersJob) -> tuple[tuple[bool, str], ...]:
    rate = job.arrival_rate_hz
    return (
        (job.users < 1, f"users must be at least 1, got {job.users}"),
        (job.duration_s <= 0, f"duration_s must be > 0, got {job.duration_s:g}"),
        (not 0 <= job.get_share <= 1, f"get_share must be 0 to 1, got {job.get_share:g}"),
        (not 0 <= job.checked_share <= 1, f"checked_share must be 0 to 1, got {job.checked_share:g}"),
        (job.get_share > 0 and not job.files, "get_share > 0 needs files to get: name some"),
        (job.get_share < 1 and not job.put_sizes, "get_share < 1 needs sizes to put: name some"),
        (any(size < 0 for size in job.put_sizes), "put_sizes must be ≥ 0 bytes"),
        (job.think_s < 0 or job.spread_s < 0, "think_s and spread_s must be ≥ 0"),
        (job.cycle_transfers < 1, f"cycle_transfers must be at least 1, got {job.cycle_transfers}"),
        (rate is not None and rate <= 0, f"arrival_rate_hz must be > 0, got {rate}"),
        (min(asdict(job.limits).values()) <= 0, "limits must be > 0 s"),
        (_unsafe(job), "names of files must be printable and without line ends, for they become commands"),
    )


def _unsafe(job: UsersJob) -> bool:
    """Whether a text could end an FTP command early and begin one of its own."""
    paths = (file.path for file in job.files)
    texts = (job.put_folder, job.target.user, job.target.password, *paths)
    return not all(text.isprintable() for text in texts)


def lognormal_sizes(median_bytes: int, sigma: float, count: int) -> tuple[int, ...]:
    """``count`` sizes at the middles of equal shares of a lognormal distribution, smallest first.

    A server holds finitely many files, so a distribution is a list. Sizes of files are near to lognormal:
    Downey, The structural cause of file size distributions, MASCOTS 2001.
    """
    normal = NormalDist()
    shares = ((at + 0.5) / count for at in range(count))
    return tuple(max(1, round(median_bytes * math.exp(sigma * normal.inv_cdf(p)))) for p in shares)


def as_dict(job: UsersJob) -> dict[str, Any]:
    """Plain values, **with the password**: for the way to a worker, never for a result."""
    return asdict(job)


def from_dict(values: Mapping[str, Any]) -> UsersJob:
    """The same job. Raises InvalidInput for what is none."""
    try:
        return UsersJob(
            **{
                **values,
                "target": Target(**values["target"]),
                "files": tuple(RemoteFile(**file) for file in values.get("files", ())),
                "put_sizes": tuple(values.get("put_sizes", ())),
                "limits": Limits(**values.get("limits", {})),
            }
        )
    except (TypeError, KeyError) as error:
        raise InvalidInput(f"users: the job cannot be read: {error}") from error
