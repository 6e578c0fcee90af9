# SPDX-License-Identifier: Apache-2.0
"""One lab for all planted truths."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.lab.conftest import Labs, _reason
from tests.truth.hosts import Ground


@pytest.fixture(scope="session")
def ground() -> Iterator[Ground]:
    """Two hosts, 10 Gbit/s between them, without BMCs; whoever plants on it takes it back."""
    if reason := _reason():
        pytest.skip(reason)
    labs = Labs(f"t{os.getpid()}-p")
    try:
        yield Ground(labs.make(bmc=False))
    finally:
        labs.close()
