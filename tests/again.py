# SPDX-License-Identifier: Apache-2.0
"""Tests that failed while others had the CPUs are met again: once, alone, and then they decide.

A run side by side is its own noise: nine workers share two CPUs. A test that waits for processes cannot
tell a product that is late from a machine that is. The kernel counts for how long something that could run
waited for a CPU; where that was long while a test failed, it is said, and the test is run again with nothing
beside it. What fails there has failed. More than a few are no noise, nor is one that only computes, one of
seconds (``timed``), or a host that was left changed.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

PRESSURE = Path("/proc/pressure/cpu")
WAITED_RATIO = "waited_ratio"
BESIDE = "LINEWATT_TESTS_BESIDE"
"""names the process of other tests that run beside these; its end is waited for"""
BESIDE_LIMIT_S = 900
MOST = 8
"""tests that are met again: of 1,500 that wait for processes, a few are late where a machine is long busy"""
BUSY = 0.25
"""of the time something waited for a CPU; a campaign on a machine that is quiet otherwise comes to 0.05"""


def waited_s() -> float | None:
    """How long something that could run waited for a CPU since this machine started; None if nobody counts.

    Source: Documentation/accounting/psi.rst, the total of ``some``, in µs.
    """
    try:
        some = PRESSURE.read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def chosen(failed: Mapping[str, float | None], waits: Callable[[str], bool]) -> list[str]:
    """Which failed tests are met again, of the share of the time that others were waited for: all or none."""
    starved = [test for test, share in failed.items() if waits(test) and share is not None and share > BUSY]
    return starved if len(starved) == len(failed) <= MOST else []


def watch(config: pytest.Config, waits: Callable[[str], bool]) -> None:
    """Where tests run side by side; ``waits``: whether a test waits for processes, by its name."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        config.pluginmanager.register(Witness())
    elif config.getoption("numprocesses", None):
        config.pluginmanager.register(Again(waits))


class Witness:
    """In a worker: notes with a failure how busy the machine was."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, float | None]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What tests of a file look at together was made when the first of them began."""
        self._began.setdefault(item.nodeid.partition("::")[0], (time.monotonic(), waited_s()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        began_s, before_s = self._began[item.nodeid.partition("::")[0]]
        ended_s, now_s = time.monotonic(), waited_s()
        decides = report.when == "teardown" or item.get_closest_marker("timed") is not None
        if report.failed and not decides and before_s is not None and now_s is not None:
            ratio = (now_s - before_s) / (ended_s - began_s)
            report.user_properties.append((WAITED_RATIO, ratio))
        return report


class Again:
    """In the controller of workers: gathers what failed, and meets it again."""

    def __init__(self, waits: Callable[[str], bool]) -> None:
        self._waits = waits
        self._failed: dict[str, float | None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One without a share has decided: what a host is left with, and what is timed, is met once."""
        if report.failed and self._failed.get(report.nodeid, 0.0) is not None:
            ratio = dict(report.user_properties).get(WAITED_RATIO)
            self._failed[report.nodeid] = ratio if isinstance(ratio, float) else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        yield
        again = chosen(self._failed, self._waits)
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or not again:
            return
        for test in again:
            print(f"\n{test} failed while processes waited for a CPU {self._failed[test]:.0%} of the time")  # noqa: T201
        _alone()
        print("met again, with nothing beside it:", flush=True)  # noqa: T201
        argv = [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "0", *again]
        session.exitstatus = subprocess.run(argv, check=False).returncode


def _alone() -> None:
    """Once the tests beside these have ended."""
    beside = os.environ.get(BESIDE)
    if beside:
        with suppress(ProcessLookupError):
            process = os.pidfd_open(int(beside))
            select.select([process], [], [], BESIDE_LIMIT_S)
            os.close(process)
