# SPDX-License-Identifier: Apache-2.0
"""Receive packet steering: which CPUs do the receive work of an interface.

On a veth, which has no interrupts, this is what stands for the IRQ CPU (docs/lab.md). The target is an
interface; a value is a CPU list (``0-1``) and goes to every receive queue. Source: kernel,
Documentation/networking/scaling.rst.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, ParseError
from linewatt.hosts.cpulist import cpu_mask, parse_cpulist
from linewatt.tuning.base import Command

_READ = """cd "/sys/class/net/$1/queues" || exit 1
for queue in rx-*; do read -r mask <"$queue/rps_cpus" || exit 1; echo "$queue=$mask"; done"""

_WRITE = """cd "/sys/class/net/$1/queues" || exit 1
shift
for setting; do echo "${setting#*=}" >"${setting%%=*}/rps_cpus" || exit 1; done"""

_INTERFACE = re.compile(r"(?!\.\.?\Z)[^\s/]{1,15}")
_QUEUE = re.compile(r"rx-(\d+)=([0-9a-fA-F][0-9a-fA-F,]*)")


class RpsCpus:
    """CPU masks of all receive queues; the canonical text is ``rx-0=3 rx-1=3`` (hexadecimal)."""

    name = "rps_cpus"

    def read(self, target: str) -> Command:
        """Prints one line a queue. Raises ChangeError if ``target`` can be no interface."""
        return Command(("sh", "-c", _READ, "sh", _checked(target)))

    def parse(self, output: str) -> str:
        """Queues in order, masks without leading zeros and commas. Raises ParseError."""
        masks = _masks(output)
        if not masks:
            raise ParseError("rps_cpus: the interface shows no receive queue")
        return _text(masks)

    def wanted(self, before: str, value: str) -> str:
        """Every queue of ``before`` with the CPUs of ``value``; an empty list turns steering off.

        Raises InvalidInput if ``value`` is no CPU list.
        """
        mask = sum(1 << cpu for cpu in parse_cpulist(value))
        return _text(dict.fromkeys(_masks(before), mask))

    def write(self, target: str, setting: str) -> Command:
        """Writes each queue its mask, in the kernel's groups of 32 bits. Raises ChangeError."""
        pairs = tuple(f"rx-{queue}={_grouped(mask)}" for queue, mask in sorted(_masks(setting).items()))
        return Command(("sh", "-c", _WRITE, "sh", _checked(target), *pairs))


def _masks(text: str) -> dict[int, int]:
    """Queue → mask of lines or words like ``rx-0=00000000,00000003``. Raises ParseError."""
    masks: dict[int, int] = {}
    for word in text.split():
        match = _QUEUE.fullmatch(word)
        if match is None:
            raise ParseError(f"rps_cpus: {word!r} is not a queue with its mask, such as rx-0=3")
        masks[int(match[1])] = int(match[2].replace(",", ""), 16)
    return masks


def _text(masks: dict[int, int]) -> str:
    return " ".join(f"rx-{queue}={masks[queue]:x}" for queue in sorted(masks))


def _grouped(mask: int) -> str:
    return cpu_mask(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def _checked(interface: str) -> str:
    if not _INTERFACE.fullmatch(interface):
        raise ChangeError(f"rps_cpus: {interface!r} is no interface name")
    return interface
