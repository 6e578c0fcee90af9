# SPDX-License-Identifier: Apache-2.0
"""Waiting for what may take days."""

from __future__ import annotations

from linewatt.errors import WaitTimeout
from linewatt.hosts.base import Ended, Process

_LOOK_S = 3600.0


async def end_of(process: Process, awaited: str) -> Ended:
    """A process's end, however late: to be cancelled by who knows when it is due. Raises HostLost."""
    while True:
        try:
            return await process.wait(_LOOK_S, awaited)
        except WaitTimeout:
            continue
