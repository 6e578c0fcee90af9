# SPDX-License-Identifier: Apache-2.0
"""The witness of planted truths: CPU time of processes that are neither a lab's nor these tests' own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.truth.others import TAKEN_CORES, TRIES, Disturbance, Look, Others, holds, is_other, undisturbed

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


@contextmanager
def until_busy(used: Callable[[], float], least: float) -> Iterator[None]:
    """With an orphan that keeps a CPU busy, as somebody else's process is to these tests, until so much is
    counted of it."""
    words = ["setsid", "-f", sys.executable, "-c", BUSY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        try:
            end_s = time.monotonic() + LIMIT_S
            while used() < least:
                assert time.monotonic() < end_s, f"waited {LIMIT_S} s for {least} of CPU time of {pid}"
                time.sleep(0.05)
            yield
        finally:
            os.kill(pid, signal.SIGKILL)


def test_cpu_time_of_a_process_that_is_nobodys_is_counted() -> None:
    others = Others()
    with until_busy(others.seconds, 0.3):
        assert others.cores() > 0


def taking(*tries: tuple[float, float]) -> Callable[[], Callable[[], tuple[float, float]]]:
    """What a hypervisor and others take in each try."""
    left = iter(tries)
    return lambda: lambda: next(left)


@pytest.mark.parametrize("taken", [(1.0, 0.0), (0.0, 1.0)], ids=["hypervisor", "others"])
def test_what_was_disturbed_is_measured_again(taken: tuple[float, float]) -> None:
    assert undisturbed(lambda attempt: attempt, taking(taken, taken, (0.01, 0.01))) == 2


def test_a_burst_within_a_window_disturbs_though_it_is_little_of_the_whole() -> None:
    quiet = taking(*[(0.01, 0.01)] * 2)
    assert undisturbed(lambda attempt: attempt, quiet, lambda attempt: 0.0 if attempt else 0.3) == 1


def test_where_every_try_is_disturbed_nothing_is_told_and_what_was_taken_is_said() -> None:
    begin = taking(*[(0.25, 0.5)] * TRIES)
    with pytest.raises(pytest.skip.Exception, match=rf"of {TRIES} tries: a hypervisor 0.25, others 0.50"):
        undisturbed(lambda attempt: attempt, begin)
    with pytest.raises(StopIteration):
        begin()()


def wrong_until(right: int, judged: list[int]) -> Callable[[int], None]:
    """A judgement that fails before this try."""

    def judge(attempt: int) -> None:
        judged.append(attempt)
        assert attempt >= right

    return judge


def test_what_is_right_though_disturbed_stands() -> None:
    judged: list[int] = []
    holds(wrong_until(0, judged), taking())
    assert judged == [0]


def test_what_is_wrong_while_disturbed_is_judged_again_and_decides() -> None:
    judged: list[int] = []
    holds(wrong_until(2, judged), taking((0.2, 0.0), (0.0, 0.2)))
    assert judged == [0, 1, 2]
    with pytest.raises(AssertionError):
        holds(wrong_until(2, judged), taking((0.2, 0.0), (0.01, 0.01)))
    with pytest.raises(pytest.skip.Exception, match=rf"of {TRIES} tries: a hypervisor 0.20, others 0.00"):
        holds(wrong_until(TRIES, judged), taking(*[(0.2, 0.0)] * TRIES))


def test_what_others_use_disturbs() -> None:
    disturbance = Disturbance()
    words = ["setsid", "-f", sys.executable, "-c", BUSY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        try:
            end_s = time.monotonic() + LIMIT_S
            while disturbance.cores()[1] < TAKEN_CORES:
                assert time.monotonic() < end_s, f"waited {LIMIT_S} s for {TAKEN_CORES} cores of {pid}"
                time.sleep(0.05)
        finally:
            os.kill(pid, signal.SIGKILL)
