# SPDX-License-Identifier: Apache-2.0
"""The witness of planted truths: CPU time of processes that are neither a lab's nor these tests' own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import accumulate, chain, pairwise

import pytest
from tests.truth.others import TRIES, Look, Others, is_other, undisturbed

PARENTS = {1: 0, 2: 0, 30: 2, 100: 1, 101: 100, 102: 101, 200: 1, 201: 200}
LIMIT_S = 30
BUSY = f"import os, time; print(os.getpid(), flush=True)\nend = time.monotonic() + {LIMIT_S}\n"
BUSY += "while time.monotonic() < end: pass"


@pytest.mark.parametrize(("pid", "other"), [(201, True), (200, True), (1, True), (102, False), (30, False)])
def test_others_come_neither_from_these_tests_nor_from_the_kernel(pid: int, other: bool) -> None:
    assert is_other(pid, PARENTS, 100) is other


def test_who_has_ended_takes_nothing_away_and_counts_once() -> None:
    before = Look({1: 0, 7: 1, 8: 1, 9: 8}, {1: 5.0, 7: 4.0, 8: 1.0, 9: 2.0})
    forgotten = Look({1: 0, 8: 1, 9: 8}, {1: 9.5, 8: 1.0, 9: 2.0})
    assert forgotten.since(before) == 0.5  # 7 had 4.0, and 4.5 when 1 waited for it
    assert Look({1: 0}, {1: 5.0}).since(Look({1: 0, 8: 3, 3: 1}, {1: 5.0, 8: 9.0})) == 0.0
    assert Look({1: 0, 9: 1}, {1: 5.0, 9: 3.0}).since(Look({1: 0}, {1: 5.0})) == 3.0


def test_cpu_time_of_a_process_that_is_nobodys_is_counted() -> None:
    """An orphan, as what somebody else started is to these tests."""
    others = Others()
    words = ["setsid", "-f", sys.executable, "-c", BUSY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        try:
            end_s = time.monotonic() + LIMIT_S
            while others.seconds() < 0.3:
                assert time.monotonic() < end_s, f"waited {LIMIT_S} s for 0.3 s of CPU time of {pid}"
                time.sleep(0.05)
        finally:
            os.kill(pid, signal.SIGKILL)


def stolen(*seconds: float) -> Iterator[float]:
    """What a kernel has counted, before and after each try."""
    return chain.from_iterable(pairwise(accumulate(seconds, initial=100.0)))


def test_what_a_hypervisor_disturbed_is_measured_again() -> None:
    counted = stolen(1e6, 1e6, 0.0)
    assert undisturbed(lambda attempt: attempt, lambda: next(counted)) == 2


def test_where_a_hypervisor_disturbs_every_try_nothing_is_told_and_its_share_is_said() -> None:
    counted = stolen(*[1e6] * TRIES)
    with pytest.raises(pytest.skip.Exception, match=rf"a hypervisor took .* in each of {TRIES} tries"):
        undisturbed(lambda attempt: attempt, lambda: next(counted))
    with pytest.raises(StopIteration):
        next(counted)
