# SPDX-License-Identifier: Apache-2.0
"""What load instances did together: those of a trial, or those of one pair of a group. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from linewatt.findings import kind_of
from linewatt.model import Flag, InstanceResult

N = TypeVar("N", int, float)


def whole_sum(values: Iterable[N | None]) -> N | None:
    """Of values that are all known; ``None`` where one is missing, or there is none."""
    all_values = list(values)
    numbers = [value for value in all_values if value is not None]
    return sum(numbers[1:], numbers[0]) if numbers and len(numbers) == len(all_values) else None


def withholds_throughput(flag: Flag) -> bool:
    """Whether what was counted as throughput cannot be, so that no figure of it is shown."""
    kind = kind_of(flag.code)
    return kind.rank == "withheld" and "throughput" in kind.figures


def totals_of_instances(instances: Sequence[InstanceResult]) -> dict[str, Any]:
    """The fields of a ``Trial`` that are sums over its instances, and the part of their datagrams lost."""
    packets = whole_sum(instance.packets for instance in instances)
    lost = whole_sum(instance.lost_packets for instance in instances)
    return {
        "throughput_bps": sum(instance.throughput_bps for instance in instances),
        "offered_bps": sum(instance.offered_bps for instance in instances),
        "retransmits": whole_sum(instance.retransmits for instance in instances),
        "packets": packets,
        "lost_packets": lost,
        "lost_ratio": lost / packets if lost is not None and packets else None,
        "out_of_order_packets": whole_sum(instance.out_of_order_packets for instance in instances),
        "duplicate_packets": whole_sum(instance.duplicate_packets for instance in instances),
    }
