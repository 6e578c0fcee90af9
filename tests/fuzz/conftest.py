# SPDX-License-Identifier: Apache-2.0
"""How much is tried: little beside the other tests, much and ever anew by ``make fuzz`` (LINEWATT_FUZZ)."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.amounts import inputs

from linewatt.errors import LinewattError

FUZZ = int(os.environ.get("LINEWATT_FUZZ", "0"))
"""inputs for each test; 0: a few, the same ones each time"""
FEW = inputs(60)
SLOWEST_S = 5.0
"""of CPU time for one input: a parser that takes longer holds up every host's heartbeats"""

RUN = settings(
    max_examples=FUZZ or FEW,
    deadline=None,
    derandomize=not FUZZ,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

tried: Counter[str] = Counter()
refused: Counter[str] = Counter()


def fuzz(
    *inputs: st.SearchStrategy[Any], share: float = 1.0
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The test, with as many inputs as are to be tried; ``share`` of them where one takes long."""
    run = settings(RUN, max_examples=max(8, round(share * RUN.max_examples)))
    return lambda test: run(given(*inputs)(test))


@contextmanager
def survived(what: str) -> Iterator[str]:
    """One input: it is a value or a reason of one line, in bounded time."""
    began_s = time.process_time()
    tried[what] += 1
    try:
        yield what
    except LinewattError as error:
        refused[what] += 1
        check_reason(str(error))
    took_s = time.process_time() - began_s
    assert took_s < SLOWEST_S, f"{what} took {took_s:.1f} s of CPU time"


def check_reason(text: str) -> None:
    """A reason is a line that is no book, and can be stored."""
    assert text.strip(), "a reason is empty"
    assert "\n" not in text.strip(), f"a reason of several lines: {text[:300]!r}"
    assert len(text) < 4000, f"a reason of {len(text)} characters: {text[:300]!r}"
    text.encode()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not tried:
        return
    write: Callable[[str], None] = terminalreporter.write_line
    write(f"fuzz: {sum(tried.values())} inputs, of which {sum(refused.values())} were refused")
    for name in sorted(tried):
        write(f"fuzz: {name}: {tried[name]} inputs, {refused[name]} refused")
