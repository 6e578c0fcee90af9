# SPDX-License-Identifier: Apache-2.0
"""Whether hosts have the congestion controls that are asked of them, before anything is changed there.

A kernel has those it lists and those it would load as modules (``tcp_<name>``) when they are set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from linewatt.errors import HostRefused
from linewatt.hosts import Host
from linewatt.tuning import Change

KEY = "net.ipv4.tcp_congestion_control"
LIMIT_S = 10.0

_ASK = """PATH=$PATH:/usr/sbin:/sbin
read -r there </proc/sys/net/ipv4/tcp_available_congestion_control || exit 0
echo "$there"
for name; do case " $there " in *" $name "*) ;; *)
  modprobe -n -q "tcp_$name" 2>/dev/null || echo "$name";; esac; done"""


async def check_congestion(changes: Iterable[Change], hosts: Mapping[str, Host]) -> None:
    """Raises HostRefused naming host, control and those there are; HostError."""
    controls_by_host: dict[str, dict[str, None]] = {}
    for change in changes:
        if change.target.replace("/", ".") == KEY and change.host in hosts:
            controls_by_host.setdefault(change.host, {})[change.value] = None
    await asyncio.gather(
        *(_check(hosts[name], list(names)) for name, names in sorted(controls_by_host.items()))
    )


async def _check(host: Host, names: list[str]) -> None:
    done = await host.run(["bash", "-c", _ASK, "linewatt", *names], timeout_s=LIMIT_S)
    available, *missing = done.stdout.splitlines() or [""]
    if missing:
        raise HostRefused(
            f"there is no congestion control {missing[0]!r}; its kernel has {', '.join(available.split())}, "
            f"and no module tcp_{missing[0]}",
            where=host.spec.name,
        )
