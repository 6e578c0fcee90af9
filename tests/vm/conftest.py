# SPDX-License-Identifier: Apache-2.0
"""Guests for tests: one lab for all, because without KVM a boot takes a minute."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.conftest import _reason

from linewatt.features.lab import api as lab
from linewatt.features.lab.api import Guest, Nic
from linewatt.features.lab.guests import start
from linewatt.features.lab.guests.tools import kernels, why_no_guests
from linewatt.features.lab.recipe import log_file
from linewatt.features.lab.state import ROOT, Registry

SMALL = Guest(nics=(Nic(), Nic("virtio-net-pci")))
"""h1: two NICs, as a bond needs them"""
LARGE = Guest(
    nics=(Nic("e1000e", node=1), Nic("virtio-net-pci", queues=2, node=0)), cpus=4, threads=2, nodes=2
)
"""h2: two NUMA nodes of one core with two threads, a NIC on each"""


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "write docs/knobs-tested.md from what tests see of knobs, in place of holding it to the page"
    parser.addoption("--write-knobs", action="store_true", help=what)
    parser.addoption("--killed-seed", metavar="N", help="draw the moments of tests/vm/test_killed.py again")


@pytest.fixture(scope="session")
def write_knobs(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-knobs", default=False))


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := _reason() or why_no_guests():
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure says whether a guest stood still meanwhile."""
    report = yield
    for one in _labs_of(item) if report.failed else ():
        if host := stuck(one):
            why = f"guest {host} does not answer: its kernel reports a soft lockup"
            report.sections.append(("guests", why))
            if crash := getattr(report.longrepr, "reprcrash", None):  # for the summary of all tests
                crash.message = f"{why}; {crash.message}"
    return report


def _labs_of(item: pytest.Item) -> list[lab.Lab]:
    """Those of the fixtures that a test uses; none when a run is interrupted."""
    found = (getattr(item, "funcargs", None) or {}).values()
    return list({one.name: one for one in found if isinstance(one, lab.Lab)}.values())


def stuck(one: lab.Lab) -> str | None:
    """A guest that does not answer and whose kernel says that one of its CPUs stands still."""
    for host in one.hosts:
        if "soft lockup" in start._end_of(log_file(host, ROOT / one.name)):
            (answers,) = start.answering([host.address])
            if not answers:
                return host.name
    return None


@pytest.fixture(autouse=True)
def _renewed(request: pytest.FixtureRequest) -> Iterator[None]:
    """The next test has guests that go on."""
    yield
    for one in _labs_of(request.node):
        if stuck(one):
            renew(one)


def renew(one: lab.Lab) -> None:
    """Its guests once more, by the same names and addresses."""
    state = Registry(ROOT).read(one.name)
    assert state is not None
    _show_logs(ROOT / one.name)
    lab.down(one.name)
    assert lab.up(state.request).hosts == one.hosts


@pytest.fixture
def none_left() -> Iterator[None]:
    """What a command that a test had to kill left of a lab of its own does not stay."""
    before = lab.names()
    yield
    for name in lab.names():
        owner = name.rpartition("-")[2]
        if name not in before and owner.isdigit() and not Path("/proc", owner).exists():
            lab.down(name)


@pytest.fixture(scope="session")
def guests() -> Iterator[lab.Lab]:
    """h1 as :data:`SMALL`, h2 as :data:`LARGE`, for all tests that leave them as they were.

    Where there are two kernels, h1 has the older one.
    """
    if reason := _reason() or why_no_guests():
        pytest.skip(reason)
    name = f"t{os.getpid()}-vm"
    try:
        older = replace(SMALL, kernel=str(kernels()[:2][-1]))
        yield lab.up(lab.LabRequest(name=name, rate="1gbit", guests=(older, LARGE)))
    finally:
        _show_logs(ROOT / name)
        lab.down(name)


def _show_logs(directory: Path) -> None:
    """For whoever reads why a test failed."""
    for log in sorted(directory.glob("h*.log")):
        print(log.name, log.read_text(errors="replace")[-2000:])  # noqa: T201
