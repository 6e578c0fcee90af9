# SPDX-License-Identifier: Apache-2.0
"""One process that sends and receives at once: two trials, a way each, and what of their figures is of both.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linewatt.engine.captures.pairing import OneTest
from linewatt.engine.measuring.cut import Seen
from linewatt.loads.base import BOTH_WAYS
from linewatt.model import Flag


def doubts(seen: Seen, tests: Sequence[OneTest]) -> Iterator[Flag]:
    """That CPU and watts of a trial contain those of the other way."""
    if BOTH_WAYS in tests[0].asked.factors:
        yield Flag(
            "other-way-at-once",
            ", ".join(seen.case.hosts),
            f"{tests[0].files[0]}: the same process sent from {seen.case.receiver} to {seen.case.sender} at "
            "the same time, which is a trial of its own",
            "measure each way alone for what it costs",
        )
