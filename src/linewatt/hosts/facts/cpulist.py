# SPDX-License-Identifier: Apache-2.0
"""CPU sets in the forms Linux writes them: lists (``0-3,8``) and hexadecimal masks (``10f``).

Source: "Cpusets" and "SMP IRQ affinity" in the kernel's admin guide, and ``bitmap_parselist``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from linewatt.errors import InvalidInput
from linewatt.units import number_ranges

MAX_CPUS = 8192
"""the largest ``NR_CPUS`` of any kernel (x86 MAXSMP); a CPU number is below it"""

_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


def parse_cpulist(text: str) -> tuple[int, ...]:
    """CPU numbers of a Linux list, sorted and unique; an empty text is no CPU, as the kernel writes it.

    Raises InvalidInput saying which part is not a CPU, a range, or below 8192.
    """
    cpus: set[int] = set()
    stripped = text.strip()
    for part in stripped.split(",") if stripped else ():
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise InvalidInput(f"{part!r} is not a CPU or a range of CPUs; write a list like 0-3,8")
        first = int(match[1])
        last = int(match[2] or first)
        if last < first:
            raise InvalidInput(f"the CPU range {part.strip()} runs backwards; write {last}-{first}")
        if last >= MAX_CPUS:
            raise InvalidInput(f"CPU {last} is impossible; a CPU number is 0 to {MAX_CPUS - 1}")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def format_cpulist(cpus: Iterable[int]) -> str:
    """The shortest Linux list of ``cpus``: ``0-3,8``; no CPU gives an empty text."""
    return number_ranges(cpus, "-", ",")


def cpu_mask(cpus: Iterable[int]) -> str:
    """The kernel's hexadecimal mask: 32 bits a group, commas between, e.g. ``1,0000000f`` for 0-3,32.

    The first group has no leading zeros; no CPU is ``0``.
    """
    bits = 0
    for cpu in cpus:
        bits |= 1 << cpu
    digits = f"{bits:x}"
    head = len(digits) % 8
    groups = [digits[:head]] if head else []
    groups += [digits[at : at + 8] for at in range(head, len(digits), 8)]
    return ",".join(groups)
