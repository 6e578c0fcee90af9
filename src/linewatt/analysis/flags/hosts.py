# SPDX-License-Identifier: Apache-2.0
"""Hosts that were not ready when a run began, as findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linewatt.model import Flag
from linewatt.records import NotReady


def not_ready_flags(failures: Iterable[NotReady]) -> Iterator[Flag]:
    """Each check that failed, at its host."""
    for failure in failures:
        advice = failure.advice or "see linewatt check"
        yield Flag("not-ready", failure.host, f"{failure.check}: {failure.found}", advice)
