# SPDX-License-Identifier: Apache-2.0
"""Which interrupts of a device are of an interface's queues, by their names in /proc/interrupts. Pure.

mlx5 names them ``mlx5_comp0@pci:0000:3b:00.0``, ice ``ice-eth0-TxRx-0``, virtio ``virtio0-input.0``. Where
one of them names the interface, only those that do are its own. Those that carry no queue (``mlx5_async0``,
``…:misc``, ``…-config``, vmxnet3's ``…-event-2``) are none.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_QUEUE = re.compile(
    r"(?:tx-?rx|rx-?tx|rx|tx|comp|input|output|fp|queue|blk|ring|mlx4|[-_]q)[-_.]?(\d+)(?!\d)|(?<!-event)-(\d+)\Z",
    re.IGNORECASE,
)


@lru_cache(64)
def names_of_queues(names: Collection[str], net: str, bus: str) -> frozenset[str]:
    """Those of the interface's queues among the names of what may be its interrupts (by its device, or a name
    that has the interface or the bus address in it); all of the device's if none looks like a queue's."""
    named = re.compile(rf"(?<![A-Za-z0-9]){re.escape(net)}(?![A-Za-z0-9])")
    named_after = [name for name in names if named.search(name)] or names
    queues = [
        name for name in named_after if queue_number(named.sub("", name).replace(bus or "\n", "")) is not None
    ]
    return frozenset(queues or named_after)


def queue_number(name: str) -> int | None:
    """The number of the queue that an interrupt is named after."""
    match = _QUEUE.search(re.sub(r"#\d+\Z", "", name))
    return None if match is None else int(match[1] or match[2])
