# SPDX-License-Identifier: Apache-2.0
"""Softirqs that go from CPU to CPU within the window, and niced work that is served all the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.wiring import APP, IRQ, START_S, Change, both, counters, cpu, early, rates, readback, told

from linewatt.analysis.limits.verdict import Limit, verdict
from linewatt.engine.live.readback import Thread
from linewatt.model import CgroupThrottling, OutsideLimits, Trial


def served(first: Sequence[float], second: Sequence[float]) -> tuple[Trial, Limit]:
    """What CPUs 1 and 3 of the receiver spent in softirqs, second by second of the load."""
    trial = told(
        both(
            rates(6e9),
            cpu("h2", IRQ, soft=first),
            cpu("h2", 3, soft=second),
            counters("h2", "softnet.cpu3.processed", 2e7),
        )
    ).trial()
    return trial, verdict([trial])


def test_softirqs_that_fill_one_cpu_after_the_other_limit() -> None:
    trial, limit = served([0.97] * 12 + [0.01] * 12, [0.0] * 12 + [0.97] * 12)
    assert limit.kinds == ("receiver-cpu",)
    assert limit.words == (
        "a CPU of the receiver (97.0 % busy, 97.0 % soft; softirqs filled CPUs 1 and 3 in turn, one at a "
        "time)"
    )
    assert trial.receiver is not None
    assert trial.receiver.softirq_in_turn is not None
    assert trial.receiver.softirq_in_turn.cpus == (1, 3)


def test_a_little_work_on_the_other_cpu_does_not_hide_that_one_is_full() -> None:
    trial, limit = served([0.97] * 12 + [0.3] * 12, [0.3] * 12 + [0.97] * 12)
    assert trial.receiver is not None
    assert trial.receiver.softirq_in_turn is not None
    assert limit.kinds == ("receiver-cpu",)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0.97] * 12 + [0.0] * 12, [0.0] * 12 + [0.85] * 12),
        ([0.97] * 12 + [0.6] * 12, [0.6] * 12 + [0.97] * 12),
        ([0.97] * 12 + [0.0] * 12, [0.0] * 16 + [0.97] * 8),
        ([0.6] * 24, [0.0] * 24),
    ],
    ids=["the second has room", "spread over two", "for a while on neither", "on one with room"],
)
def test_work_that_is_spread_or_has_room_is_not_called_moved(
    first: Sequence[float], second: Sequence[float]
) -> None:
    trial, limit = served(first, second)
    assert trial.receiver is not None
    assert trial.receiver.softirq_in_turn is None
    assert limit.kinds == ("not-found",)


def test_one_cpu_that_is_full_all_the_time_is_the_irq_cpu() -> None:
    trial, limit = served([0.97] * 24, [0.0] * 24)
    assert trial.receiver is not None
    assert trial.receiver.softirq_in_turn is None
    assert limit.kinds == ("receiver-irq-cpu",)


def beside_niced(wait_ratio: float, *more: Change, nice: float = 0.48) -> Limit:
    """A load that waited for its CPU so long, beside what runs niced there."""
    late_s = START_S + 23.0
    waits_s = {START_S + 0.7: 0.0, late_s: wait_ratio * 22.3}
    reads = {
        at_s: Thread(2000, 2000, APP, 100, (APP,), at_s, 0.4 + (at_s - START_S) / 2, 3, 1, 1, wait_s, 0)
        for at_s, wait_s in waits_s.items()
    }
    change = both(
        rates(5e9),
        cpu("h2", APP, usr=0.05, sys=0.45, nice=nice),
        early("h2", threads=(reads[START_S + 0.7],)),
        readback("h2", threads=(reads[late_s],)),
        *more,
    )
    return verdict([told(change).trial()])


def test_niced_work_counts_from_a_tenth_of_waiting_on() -> None:
    assert beside_niced(0.11).kinds == ("receiver-app-cpu",)
    assert "48.0 % of its time taken by what runs niced in another session or cgroup" in (
        beside_niced(0.11).words
    )
    assert beside_niced(0.09).kinds == ("not-found",)
    assert "niced" not in beside_niced(0.3, nice=0.05).words


def test_a_load_that_waited_for_its_quota_did_not_wait_for_niced_work() -> None:
    held = OutsideLimits(22.0, (CgroupThrottling("/load", 220, 220, 10.0, 0.5, 0.1),))
    assert beside_niced(0.5, readback("h2", outside_limits=held)).kinds == ("receiver-cpu-quota",)
