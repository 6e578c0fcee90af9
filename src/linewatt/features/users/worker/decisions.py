# SPDX-License-Identifier: Apache-2.0
"""What a user does next, and when. Pure: randomness is passed in, time is never looked at."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Literal, TypeVar

from linewatt.features.users.worker.job import UsersJob

_RETRY_FIRST_S = 0.1
RETRY_LAST_S = 2.0
T = TypeVar("T")


def action(turn: int, get_share: float) -> Literal["get", "put"]:
    """The action of a user's ``turn``-th transfer, from 0.

    After any number of turns the gets are within one of their share, so 0.5 alternates, beginning with a get.
    """
    share = Fraction(get_share).limit_denominator(1000)
    return "get" if ceil((turn + 1) * share) > ceil(turn * share) else "put"


def chosen(among: Sequence[T], randomness: random.Random) -> T:
    """A random choice, each as likely as the others."""
    return randomness.choices(among)[0]


def first_turn(job: UsersJob, index: int) -> int:
    """Users in step all begin with the same action; others with one and the other in turn."""
    return 0 if job.start == "synchronised" else index


def start_delay_s(job: UsersJob, index: int, randomness: random.Random) -> float:
    """How long after the start of the load user ``index`` logs in."""
    if job.start == "independent":
        return randomness.uniform(0, job.spread_s)
    return job.spread_s * index / job.users if job.start == "ramped" else 0.0


def think_s(job: UsersJob, randomness: random.Random) -> float:
    if job.think == "exponential" and job.think_s:
        return randomness.expovariate(1 / job.think_s)
    return job.think_s


def retry_s(failed_in_a_row: int) -> float:
    """How long to wait before the next login, after that many failures: doubled each time, up to 2 s."""
    return min(RETRY_LAST_S, _RETRY_FIRST_S * 2.0 ** min(failed_in_a_row - 1, 16))


def arrivals(rate_hz: float, randomness: random.Random) -> Iterator[float]:
    """Seconds from the start at which transfers of an open loop are due: a Poisson process, without end."""
    due_s = 0.0
    while True:
        due_s += randomness.expovariate(rate_hz)
        yield due_s


def own_randomness(job: UsersJob, index: int) -> random.Random:
    """Each user's own, the same in every run of a job and wherever the user runs."""
    return random.Random(f"{job.seed}/{index}")  # noqa: S311 (choices of a load, no secret)


def seed_of_repetition(seed: int, repetition: int) -> int:
    """The seed of a trial: each repetition draws anew, and all settings in one repetition draw alike."""
    return random.Random(f"{seed}/repetition {repetition}").getrandbits(53)  # noqa: S311 (no secret)
