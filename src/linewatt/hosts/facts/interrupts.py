# SPDX-License-Identifier: Apache-2.0
"""Which interrupts of a device are of an interface's queues, by their names in /proc/interrupts. Pure.

mlx5 names them ``mlx5_comp0@pci:0000:3b:00.0``, ice ``ice-eth0-TxRx-0``, virtio ``virtio0-input.0``, gve
``gve-ntfy-blk0@pci:0000:00:04.0`` (before 1.4.0 ``eth%d-ntfy-block.0``). Where one of them names the
interface, only those that do are its own. Those that carry no queue (``mlx5_async0``, ``…:misc``,
``…-config``, ``…-mgmnt``, vmxnet3's ``…-event-2``) are none. A number at the end alone (``eth0-0``, and
``idpf-Mailbox-0``) is a queue's where no name says a queue: tg3's ``eth0-0`` beside ``eth0-txrx-1`` is its
link.

Numbers may begin anywhere, since some drivers count interrupts and not queues: vmxnet3 has ``eth0-tx-0``,
``eth0-tx-1``, ``eth0-rx-2``, ``eth0-rx-3``, tg3 ``eth0-tx-0``, ``eth0-rx-1``, mlx4 ``mlx4-1@…``.
Source of the names: the kernel's drivers (drivers/net/ethernet), where they request their interrupts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

_QUEUE = re.compile(
    r"(?:tx-?rx|rx-?tx|rxq|txq|rx|tx|comp|input|output|fp|queue|blk|block|ring|slice|mlx4|qp|[-_]q)"
    r"[-_.]?(\d+)(?!\d)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"-(\d+)\Z|\[(\d+)\]\Z")
_OTHER = re.compile(
    r"(?<![a-z])(?:event|err|error|mailbox|mbx|mbox|misc|async|mgmt|mgmnt|admin|adminq|notify|ctrl|ceq|aeq|aeqceq"
    r"|fdir)(?![a-z])",
    re.IGNORECASE,
)
_RECEIVES = re.compile(r"rx|input", re.IGNORECASE)
_SENDS = re.compile(r"tx|output", re.IGNORECASE)


@lru_cache(64)
def names_of_queues(names: Collection[str], net: str, bus: str) -> frozenset[str]:
    """Those of the interface's queues among the names of what may be its interrupts (by its device, or a name
    that has the interface or the bus address in it); all of the device's if none looks like a queue's."""
    named = re.compile(rf"(?<![A-Za-z0-9]){re.escape(net)}(?![A-Za-z0-9])")
    named_after = [name for name in names if named.search(name)] or names
    bare = {name: named.sub("", name).replace(bus or "\n", "") for name in named_after}
    queues = [name for name in named_after if _says_queue(bare[name])] or [
        name for name in named_after if queue_number(bare[name]) is not None
    ]
    return frozenset(queues or named_after)


def queue_number(name: str) -> int | None:
    """The number of the queue that an interrupt is named after."""
    name = _unmarked(name)
    if _OTHER.search(name):
        return None
    match = _QUEUE.search(name) or _NUMBERED.search(name)
    return None if match is None else int(next(filter(None, match.groups())))


def queue_numbers(names: Iterable[str]) -> dict[str, int]:
    """Interrupt of a queue → which queue of its direction it serves, from 0, by the order of their numbers.

    Both interrupts of a pair of queues have the same; a name without a number is left out.
    """
    numbers = {name: number for name in names if (number := queue_number(name)) is not None}
    turn_by_name: dict[str, int] = {}
    for sending in (False, True):
        opposite = _RECEIVES if sending else _SENDS
        direction = _SENDS if sending else _RECEIVES
        part = {name: n for name, n in numbers.items() if direction.search(name) or not opposite.search(name)}
        place = {number: turn for turn, number in enumerate(sorted(set(part.values())))}
        turn_by_name |= {name: place[n] for name, n in part.items() if name not in turn_by_name}
    return {name: turn_by_name[name] for name in numbers}


def _says_queue(name: str) -> bool:
    return not _OTHER.search(name) and _QUEUE.search(_unmarked(name)) is not None


def _unmarked(name: str) -> str:
    """Without ``#45``, by which irq_affinity tells interrupts of one name apart."""
    return re.sub(r"#\d+\Z", "", name)
