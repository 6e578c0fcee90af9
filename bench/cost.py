# SPDX-License-Identifier: Apache-2.0
"""What reading a meter costs the process that reads it, and what doing the same by hand costs."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.rows import MeasurementFailed, Peer, Row

BY_HAND_LIMIT_S = 30.0


@dataclass
class Cost:
    """Wall and CPU time of something, in seconds, filled in at its end."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ByHand:
    """The same readings without linewatt: a command, and what it costs each time."""

    name: str
    taken: tuple[Cost, ...]


@contextmanager
def cost(who: int = resource.RUSAGE_SELF) -> Iterator[Cost]:
    """What the body takes: this process's CPU time, or with RUSAGE_CHILDREN that of children it waits for."""
    found = Cost()
    began_s, before = time.monotonic(), resource.getrusage(who)
    yield found
    after = resource.getrusage(who)
    found.wall_s = time.monotonic() - began_s
    found.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sweep_rows(
    name: str, meter: Callable[[], Any], password: str | None, sweeps: int, other: ByHand | None
) -> list[Row]:
    """Read all channels of a meter again and again in one session. ``meter()`` is one that knows nothing yet.

    Raises LinewattError, MeasurementFailed.
    """
    meter().open(password).close()  # a library is imported once in a campaign, and no part of opening
    with cost() as login:
        session = meter().open(password)
    try:
        _whole(name, session)
        taken = [_sweep(session) for _ in range(sweeps)]
        _whole(name, session)
        channels = len(session.channels)
    finally:
        session.close()
    note = f"{channels} channels, {sweeps} sweeps; opening it: {login.wall_s:.3f} s"
    wall = None if other is None else Peer(other.name, tuple(one.wall_s for one in other.taken))
    cpu = None if other is None else Peer(other.name, tuple(one.cpu_s for one in other.taken))
    return [
        Row(f"{name}, a sweep, wall", "s", tuple(one.wall_s for one in taken), None, wall, note),
        Row(f"{name}, a sweep, CPU of the controller", "s", tuple(one.cpu_s for one in taken), None, cpu),
    ]


def _sweep(session: Any) -> Cost:
    with cost() as found:
        session.read()
    return found


def _whole(name: str, session: Any) -> None:
    """A sweep, so that what is timed is reading and no refusal. Raises MeasurementFailed."""
    values = session.read()
    missing = [channel for channel, value in values.items() if value is None]
    if missing or not values:
        raise MeasurementFailed(
            f"{name}: no reading of {', '.join(missing) or 'anything'}: {session.reasons}"
        )


def by_hand(name: str, argv: Sequence[str], times: int, environment: Mapping[str, str]) -> ByHand:
    """Run a command; what it says is thrown away. Raises MeasurementFailed."""
    taken = []
    for _ in range(times):
        with cost(resource.RUSAGE_CHILDREN) as one:
            _run(name, argv, environment)
        taken.append(one)
    return ByHand(name, tuple(taken))


def _run(name: str, argv: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=BY_HAND_LIMIT_S,
            env=dict(environment),
        )
    except subprocess.TimeoutExpired as error:
        raise MeasurementFailed(f"{name} by hand: no answer within {BY_HAND_LIMIT_S:g} s") from error
    if done.returncode != 0 or not done.stdout.strip():
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise MeasurementFailed(f"{name} by hand: status {done.returncode}: {said}")
