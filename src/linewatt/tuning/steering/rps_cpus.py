# SPDX-License-Identifier: Apache-2.0
"""Receive packet steering: which CPUs do the receive work of an interface.

On a veth, which has no interrupts, this is what stands for the IRQ CPU (docs/lab.md). A CPU list goes to
every receive queue. Source: kernel, Documentation/networking/scaling.rst.
"""

from __future__ import annotations

from linewatt.hosts.cpulist import format_cpulist, parse_cpulist
from linewatt.tuning.base import Command
from linewatt.tuning.steering.queues import format_queues, grouped, parse_queues, read_queues, write_queues

_FILE = "rps_cpus"


class RpsCpus:
    """CPU masks of all receive queues; the canonical text is ``rx-0=3 rx-1=3`` (hexadecimal)."""

    name = "rps_cpus"
    about = "CPUs that do the receive work of an interface (receive packet steering)"
    targets = "interface"
    values = "CPU list such as `0-3`, for every receive queue; `off`"
    tool = "/sys/class/net/…/queues/rx-*/rps_cpus"
    order = 140

    def check(self, value: str) -> str:
        return format_cpulist(_cpus(value)) or "off"

    def read(self, target: str) -> Command:
        return read_queues(target, "rx", _FILE)

    def parse(self, output: str) -> str:
        """Queues in order, masks without leading zeros and commas."""
        return format_queues(parse_queues(output, "rx"))

    def wanted(self, before: str, value: str) -> str:
        """Every queue of ``before`` with the CPUs of ``value``; none turns steering off."""
        mask = sum(1 << cpu for cpu in _cpus(value))
        return format_queues(dict.fromkeys(parse_queues(before, "rx"), mask))

    def write(self, target: str, setting: str) -> Command:
        masks = parse_queues(setting, "rx")
        return write_queues(target, _FILE, {queue: grouped(mask) for queue, mask in masks.items()})


def _cpus(value: str) -> tuple[int, ...]:
    return () if value.strip() == "off" else parse_cpulist(value)


LISTED_KNOB = RpsCpus()
