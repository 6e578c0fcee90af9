# SPDX-License-Identifier: Apache-2.0
"""From a host's specification to a connection, whatever kind it is."""

from __future__ import annotations

from linewatt.hosts.base import Host, HostSpec


async def connect(spec: HostSpec) -> Host:
    """Connect by SSH, or to this machine for the address ``local``. Raises HostError."""
    if spec.address == "local":
        from linewatt.hosts.local import LocalHost

        return LocalHost(spec)
    from linewatt.hosts import ssh

    return await ssh.connect(spec)
