# SPDX-License-Identifier: Apache-2.0
"""Transmit packet steering: which CPUs send through which queue of an interface.

The CPUs of a list are dealt out over the transmit queues, so that each sends through one queue; with fewer
CPUs than queues they are dealt out again from the first. An interface with one queue has no such setting.
Source: kernel, Documentation/networking/scaling.rst.
"""

from __future__ import annotations

from linewatt.hosts.cpulist import format_cpulist, parse_cpulist
from linewatt.tuning.base import Command
from linewatt.tuning.steering.queues import format_queues, grouped, parse_queues, read_queues, write_queues

_FILE = "xps_cpus"


class XpsCpus:
    """CPU masks of all transmit queues; the canonical text is ``tx-0=1 tx-1=2`` (hexadecimal)."""

    name = "xps_cpus"
    about = "CPUs that send through each transmit queue (transmit packet steering)"
    targets = "interface with several transmit queues"
    values = "CPU list such as `0-3`, dealt out over the transmit queues; `off`"
    tool = "/sys/class/net/…/queues/tx-*/xps_cpus"
    order = 150

    def check(self, value: str) -> str:
        return format_cpulist(_cpus(value)) or "off"

    def read(self, target: str) -> Command:
        return read_queues(target, "tx", _FILE)

    def parse(self, output: str) -> str:
        """Queues in order, masks without leading zeros and commas."""
        return format_queues(parse_queues(output, "tx"))

    def wanted(self, before: str, value: str) -> str:
        queues = sorted(parse_queues(before, "tx"))
        masks = dict.fromkeys(queues, 0)
        cpus = _cpus(value)
        for turn in range(max(len(cpus), len(queues)) if cpus else 0):
            masks[queues[turn % len(queues)]] |= 1 << cpus[turn % len(cpus)]
        return format_queues(masks)

    def write(self, target: str, setting: str) -> Command:
        masks = parse_queues(setting, "tx")
        return write_queues(target, _FILE, {queue: grouped(mask) for queue, mask in masks.items()})


def _cpus(value: str) -> tuple[int, ...]:
    return () if value.strip() == "off" else parse_cpulist(value)


LISTED_KNOB = XpsCpus()
