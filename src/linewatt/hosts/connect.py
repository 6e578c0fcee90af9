# SPDX-License-Identifier: Apache-2.0
"""From a host's specification to a connection, whatever kind it is."""

from __future__ import annotations

import asyncio

from linewatt.hosts.base import Host, HostSpec
from linewatt.hosts.limits import Pace


async def connect_to_host(
    spec: HostSpec, openings: asyncio.Semaphore | None = None, pace: Pace | None = None
) -> Host:
    """Connect by SSH, or to this machine for the address ``local``. Raises HostError.

    ``openings``, shared by hosts, bounds how many connections and channels are opened at once: opening is
    what costs the controller most, and heartbeats must come through meanwhile. ``pace`` is what a connection
    before this one has learned of how slowly the host answers.
    """
    if spec.address == "local":
        from linewatt.hosts.local import LocalHost

        return LocalHost(spec, pace)
    from linewatt.hosts.ssh import connection as ssh

    return await ssh.connect(spec, openings or asyncio.Semaphore(1), pace)
