# SPDX-License-Identifier: Apache-2.0
"""The stopwatch of tests: what it counts, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.clock import Stopwatch


def test_time_asleep_counts() -> None:
    """It has slept before: newer kernels keep one that ran for longer than its share in the queue for a while
    when it goes to sleep, and count that as waiting (EEVDF's delayed dequeue)."""
    time.sleep(0.1)  # the subject of the test: nothing to wait for
    watch = Stopwatch()
    time.sleep(0.1)
    assert watch.took_s > 0.09


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="a kernel without schedstat")
def test_time_in_which_another_process_has_the_cpu_does_not_count() -> None:
    """Two that never sleep share one CPU: half of the time it is the other's."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    other = subprocess.Popen(
        [sys.executable, "-S", "-c", "print(1, flush=True)\nwhile True: pass"], stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None
        other.stdout.readline()
        watch, began_s, began_cpu_s = Stopwatch(), time.monotonic(), time.thread_time()
        while time.monotonic() - began_s < 0.5 or time.thread_time() - began_cpu_s < 0.1:
            pass
        own_s, all_s = watch.took_s, time.monotonic() - began_s
    finally:
        other.kill()
        other.communicate()
        os.sched_setaffinity(0, before)
    assert own_s < all_s - 0.1
