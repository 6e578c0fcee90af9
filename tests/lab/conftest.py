# SPDX-License-Identifier: Apache-2.0
"""Labs for tests: real namespaces, real sshd; named after this process, and always taken down."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from linewatt.features.lab import api as lab
from linewatt.features.lab.system import search_path

NEEDED = ("ip", "tc", "sshd", "ssh", "ping", "iperf3", "mpstat", "taskset", "unshare", "ss")


def _reason() -> str | None:
    if os.geteuid() != 0:
        return "a lab needs root"
    missing = [tool for tool in NEEDED if shutil.which(tool, path=search_path()) is None]
    return f"a lab needs {', '.join(missing)}" if missing else None


PATIENT = "linewatt_limits: {silence: 6 s, answer: 10 s}"
"""limits of lab hosts that a busy machine does not reach; the defaults suit hosts with CPUs of their own"""


def patient(built: lab.Lab) -> lab.Lab:
    """The lab, with :data:`PATIENT` for each host in its inventory; tests of the defaults remove it again."""
    lines = built.inventory.read_text().splitlines()
    named = [
        f"{line[: line.index('linewatt_data:')]}{PATIENT}" if "linewatt_data:" in line else None
        for line in lines
    ]
    both = [
        text for line, limits in zip(lines, named, strict=True) for text in (line, limits) if text is not None
    ]
    built.inventory.write_text("\n".join(both) + "\n")
    return built


def rate_for(tests: Iterable[pytest.Item]) -> str:
    """How fast a lab is for these tests. Loads of 10 Gbit/s fill the CPUs that other tests need beside: only
    tests that `make test` leaves out have them."""
    measured = any(test.get_closest_marker(name) for test in tests for name in ("full", "measures"))
    return "10gbit" if measured else "1gbit"


class Labs:
    """Builds labs under names of their own and takes every one down."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._names: list[str] = []

    def make(self, hosts: int = 2, rate: str = "10gbit", *, bmc: bool = True, **more: Any) -> lab.Lab:
        name = f"{self._prefix}-{len(self._names)}"
        self._names.append(name)
        return patient(lab.up(lab.LabRequest(name=name, hosts=hosts, rate=rate, bmc=bmc, **more)))

    def close(self) -> None:
        with ExitStack() as stack:  # one that fails does not keep the others up
            for name in self._names:
                stack.callback(lab.down, name)


@pytest.fixture(autouse=True)
def _possible(request: pytest.FixtureRequest) -> None:
    """Tests that build labs of their own are skipped where there can be none."""
    if request.node.get_closest_marker("lab") and (reason := _reason()):
        pytest.skip(reason)


@pytest.fixture(scope="session")
def lab2(request: pytest.FixtureRequest) -> Iterator[lab.Lab]:
    """Two hosts for all tests that leave them as they were."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-s")
    try:
        yield labs.make(rate=rate_for(request.session.items))
    finally:
        labs.close()


@pytest.fixture(scope="session")
def plain_lab2(request: pytest.FixtureRequest) -> Iterator[lab.Lab]:
    """Like ``lab2``, without BMCs: reading watts takes a third of the CPU time of a short campaign."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-q")
    try:
        yield labs.make(rate=rate_for(request.session.items), bmc=False)
    finally:
        labs.close()


@pytest.fixture(scope="module")
def lab3() -> Iterator[lab.Lab]:
    """Three hosts without BMCs, 1 Gbit/s between them, for tests of a file that leave them as they were."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-n")
    try:
        yield labs.make(hosts=3, rate="1gbit", bmc=False)
    finally:
        labs.close()


@pytest.fixture(scope="module")
def plain_lab3() -> Iterator[lab.Lab]:
    """Like ``lab3``, without BMCs."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-r")
    try:
        yield labs.make(hosts=3, rate="1gbit", bmc=False)
    finally:
        labs.close()


@pytest.fixture
def make_lab(request: pytest.FixtureRequest) -> Iterator[Callable[..., lab.Lab]]:
    """``make_lab(hosts=…, rate=…, bmc=…)``: a lab for this test alone, with what else a LabRequest has."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-{abs(hash(request.node.name)) % 1000}")
    try:
        yield partial(labs.make, rate=rate_for([request.node]))
    finally:
        labs.close()
