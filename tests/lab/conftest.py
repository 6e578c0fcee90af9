# SPDX-License-Identifier: Apache-2.0
"""Labs for tests: real namespaces, real sshd; named after this process, and always taken down."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from linewatt import lab

NEEDED = ("ip", "tc", "iperf3", "mpstat", "taskset", "unshare", "ss")


def _reason() -> str | None:
    if os.geteuid() != 0:
        return "a lab needs root"
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    return f"a lab needs {', '.join(missing)}" if missing else None


class Labs:
    """Builds labs under names of their own and takes every one down."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._names: list[str] = []

    def make(self, hosts: int = 2, rate: str = "10gbit") -> lab.Lab:
        name = f"{self._prefix}-{len(self._names)}"
        self._names.append(name)
        return lab.up(lab.LabRequest(name=name, hosts=hosts, rate=rate))

    def close(self) -> None:
        for name in self._names:
            lab.down(name)


@pytest.fixture(scope="session")
def lab2() -> Iterator[lab.Lab]:
    """Two hosts, 10 Gbit/s between them, for all tests that leave them as they were."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-s")
    try:
        yield labs.make()
    finally:
        labs.close()


@pytest.fixture
def make_lab(request: pytest.FixtureRequest) -> Iterator[Callable[..., lab.Lab]]:
    """``make_lab(hosts=…, rate=…)``: a lab for this test alone."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-{abs(hash(request.node.name)) % 1000}")
    try:
        yield labs.make
    finally:
        labs.close()
