# SPDX-License-Identifier: Apache-2.0
"""Tests that failed while others had the CPUs are met again: once, alone, and then they decide.

A run side by side is its own noise: workers share two CPUs. A test that waits for processes cannot tell a
product that is late from a machine that is. The kernel counts for how long something that could run waited
for a CPU, and what a hypervisor gave to other machines. Where one was much while a test failed, it is said,
and the test is run again with nothing beside it; what fails there has failed. More than a few are no noise,
nor is one that only computes, one of seconds (``timed``) whose like it waited for, or a host that was left
changed. A guest one of whose CPUs stands still, as its own kernel says, excuses the tests on it likewise.

Beside processes of others on this machine no second try helps: a CPU that others keep busy looks busy. A test
that says by its mark that it measures, and failed meanwhile, is skipped, and what others used is its reason.
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
from tests.truth.others import Others, stolen_s

PRESSURE = Path("/proc/pressure/cpu")
WHILE = "while"
RUN = "LINEWATT_TESTS_RUN"
"""names the process that all tests of a whole run come from; they are met again though they run one after the
other"""
BESIDE = "LINEWATT_TESTS_BESIDE"
"""names the process of other tests that run beside these; its end is waited for"""
BESIDE_LIMIT_S = 900
MOST = 8
"""tests that are met again: of 1,500 that wait for processes, a few are late where a machine is long busy"""
BUSY = 0.25
"""of the time something waited for a CPU; a campaign on a machine that is quiet otherwise comes to 0.05"""
TAKEN_CORES = 0.1
"""by a hypervisor; on a machine of two CPUs that nobody else needs it is 0.03 and less"""
OTHERS_CORES = 0.2
"""that processes of neither a lab nor the tests used; where nobody else works the timed tests count 0.001"""
OTHERS_LEAST_S = 1.0
"""of CPU time, below which they disturbed nothing: a test that fails at once has failed"""
HUNG = pytest.StashKey[str]()
"""of a test on a machine that itself stood still meanwhile: in words, how it is known"""
MEASURING = ("measures", "timed", "idle_machine")
"""marks of tests that say what a machine shows on which nobody else works"""


def waited_s() -> float | None:
    """How long something that could run waited for a CPU since this machine started; None if nobody counts.

    Source: Documentation/accounting/psi.rst, the total of ``some``, in µs.
    """
    try:
        some = PRESSURE.read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def disturbance(waited_ratio: float, taken_cores: float) -> str | None:
    """What others had of the CPUs while a test failed, in words; None if it is no excuse."""
    if taken_cores > TAKEN_CORES:
        return f"a hypervisor took {taken_cores:.2f} cores"
    if waited_ratio > BUSY:
        return f"processes waited for a CPU {waited_ratio:.0%} of the time"
    return None


def chosen(failed: Mapping[str, str | None], waits: Callable[[str], bool]) -> list[str]:
    """Which failed tests are met again, of what disturbed each: all or none."""
    disturbed = [test for test, by in failed.items() if waits(test) and by is not None]
    return disturbed if len(disturbed) == len(failed) <= MOST else []


def noise(others_cores: float) -> str | None:
    """Why a test that measures says nothing by failing beside others; None where it does."""
    if others_cores < OTHERS_CORES:
        return None
    return f"too noisy to measure: others used {others_cores:.2f} cores of this machine, and it failed"


def watch(config: pytest.Config, waits: Callable[[str], bool]) -> None:
    """Where tests run side by side, or all do; ``waits``: whether a test waits for processes, by its name."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        config.pluginmanager.register(Witness())
    elif config.getoption("numprocesses", None):
        config.pluginmanager.register(Again(waits))
    elif RUN in os.environ:
        config.pluginmanager.register(Witness())
        config.pluginmanager.register(Again(waits))


class Look:
    """What was counted when something began."""

    def __init__(self) -> None:
        self._began_s, self._waited_s, self._stolen_s = time.monotonic(), waited_s(), stolen_s()
        run = os.environ.get(RUN)
        self._others = Others(int(run)) if run else None

    def others_cores(self) -> float:
        """Used since then by who is no part of a whole run; 0 where this is none, or it was little."""
        if self._others is None or self._others.seconds() < OTHERS_LEAST_S:
            return 0.0
        return self._others.cores()

    def disturbance(self, *, beside: bool) -> str | None:
        """Since then; ``beside``: tests that wait for each other count too."""
        now = Look()
        lasted_s = now._began_s - self._began_s
        waited_ratio = 0.0
        if beside and now._waited_s is not None and self._waited_s is not None:
            waited_ratio = (now._waited_s - self._waited_s) / lasted_s
        return disturbance(waited_ratio, (now._stolen_s - self._stolen_s) / lasted_s)


class Witness:
    """Where a test runs: notes with a failure what others had of the machine."""

    def __init__(self) -> None:
        self._began: dict[str, Look] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What tests of a file look at together was made when the first of them began."""
        self._began.setdefault(item.nodeid.partition("::")[0], Look())
        if _measures(item):
            self._began[item.nodeid] = Look()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        began = self._began[item.nodeid.partition("::")[0]]
        measured = report.failed and report.when != "teardown" and _measures(item)
        since = (began, self._began[item.nodeid]) if measured else ()
        if since and (why := noise(max(one.others_cores() for one in since))):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"{why}: {_said(report)}")
        if report.failed:
            beside = item.get_closest_marker("timed") is None
            disturbed = None if report.when == "teardown" else began.disturbance(beside=beside)
            report.user_properties.append((WHILE, item.stash.get(HUNG, disturbed)))
        return report


def _measures(item: pytest.Item) -> bool:
    return any(map(item.get_closest_marker, MEASURING))


def _said(report: pytest.TestReport) -> str:
    """How a test failed, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else report.longreprtext).strip().partition("\n")[0]


class Again:
    """Where reports come together: gathers what failed, and meets it again."""

    def __init__(self, waits: Callable[[str], bool]) -> None:
        self._waits = waits
        self._failed: dict[str, str | None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What nothing disturbed has decided, and what a host is left with is met once."""
        if report.failed and self._failed.get(report.nodeid, "") is not None:
            disturbed = dict(report.user_properties).get(WHILE)
            self._failed[report.nodeid] = disturbed if isinstance(disturbed, str) else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        yield
        again = chosen(self._failed, self._waits)
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or not again:
            return
        for test in again:
            print(f"\n{test} failed while {self._failed[test]}")  # noqa: T201
        _alone()
        print("met again, with nothing beside it:", flush=True)  # noqa: T201
        argv = [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "0", *again]
        alone = {name: value for name, value in os.environ.items() if name != RUN}
        session.exitstatus = subprocess.run(argv, check=False, env=alone).returncode


def _alone() -> None:
    """Once the tests beside these have ended."""
    beside = os.environ.get(BESIDE)
    if beside:
        with suppress(ProcessLookupError):
            process = os.pidfd_open(int(beside))
            select.select([process], [], [], BESIDE_LIMIT_S)
            os.close(process)
