# SPDX-License-Identifier: Apache-2.0
"""Hosts that were not ready when a run began, as findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linewatt.model import Flag
from linewatt.records import NotReady


def not_ready_flags(found: Iterable[NotReady]) -> Iterator[Flag]:
    """Each check that failed, at its host."""
    for one in found:
        yield Flag("not-ready", one.host, f"{one.check}: {one.found}", one.advice or "see linewatt check")
