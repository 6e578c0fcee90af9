# SPDX-License-Identifier: Apache-2.0
"""Ways that were not proven, and flows that did not go where they were to go. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.engine.live.readback import ReadBack
from linewatt.engine.measuring.seen import Seen
from linewatt.model import Case, Flag, InstanceResult


def check(seen: Seen) -> Iterator[Flag]:
    """The way of the trial's data, instance by instance."""
    where = f"{seen.case.sender} → {seen.case.receiver}"
    problem = seen.cut.run.path_problem
    if problem is not None and seen.instances:
        yield Flag(
            "path-not-proven", where, problem, "mend the path, or let pings through, and measure again"
        )
    yield from silent(where, seen.instances)
    if seen.setup.steer and seen.instances:
        yield from steering(seen.case, seen.readback(seen.receiver))


def silent(where: str, instances: Sequence[InstanceResult]) -> Iterator[Flag]:
    """Instances of which nothing arrived, beside others."""
    numbers = [str(one.instance) for one in instances if one.throughput_bps <= 0]
    if numbers:
        yield Flag(
            "instance-got-nothing",
            where,
            f"nothing arrived of instance {', '.join(numbers)} in the window",
            "look at its output in raw.tar.gz, at its port, and for a firewall",
        )


def steering(case: Case, readback: ReadBack | None) -> Iterator[Flag]:
    """``steer: true`` without a rule in force."""
    if readback is None or any(one.knob == "ntuple" for one in readback.settings):
        return
    why = "the receiver opens the connections, so that its port does not tell instances apart"
    if case.direction != "reverse":
        why = f"its interface has no interrupts of its own, fewer queues than {case.instances}, or needs root"
    yield Flag(
        "steering-not-possible",
        case.receiver,
        f"no rule steers an instance to a queue: {why}",
        "leave steer out, or see docs/placement.md for what it takes",
    )
