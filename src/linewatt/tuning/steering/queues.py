# SPDX-License-Identifier: Apache-2.0
"""One file in each queue of an interface, below ``/sys/class/net/<interface>/queues``.

Source: kernel, Documentation/networking/scaling.rst and Documentation/ABI/testing/sysfs-class-net-queues.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from linewatt.errors import ParseError
from linewatt.hosts.facts import cpu_mask, format_cpulist, parse_cpulist
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command

# $1: interface, $2: rx or tx, $3: file. One line a queue
_READ = """cd "/sys/class/net/$1/queues" 2>/dev/null || { echo "there is no interface $1" >&2; exit 1; }
for queue in "$2"-*; do
  read -r setting 2>/dev/null <"$queue/$3" || {
    if [ "$3" = xps_cpus ] && [ ! -e tx-1 ]; then
      echo "$1 sends through a single queue, over which nothing can be dealt; leave xps_cpus out for it" >&2
    else echo "$queue/$3 cannot be read" >&2; fi
    exit 1
  }
  echo "$queue=$setting"
done"""

# $1: interface, $2: file; then queue=setting
_WRITE = """cd "/sys/class/net/$1/queues" 2>/dev/null || { echo "there is no interface $1" >&2; exit 1; }
file=$2; shift 2
for setting; do
  why=$( { echo "${setting#*=}" >"${setting%%=*}/$file"; } 2>&1) ||
    { echo "${setting%%=*}/$file takes no ${setting#*=}: ${why##*: }" >&2; exit 1; }
done"""

_QUEUE = re.compile(r"(rx|tx)-(\d+)=([0-9a-fA-F][0-9a-fA-F,]*)", re.ASCII)

Settings = dict[tuple[str, int], int]
"""queue, as direction and number → its mask or count"""


def read_queues(target: str, direction: str, file: str) -> Command:
    return script_command(_READ, checked_interface(target), direction, file)


def write_queues(target: str, file: str, texts: Mapping[tuple[str, int], str]) -> Command:
    pairs = (f"{direction}-{number}={text}" for (direction, number), text in sorted(texts.items()))
    return script_command(_WRITE, checked_interface(target), file, *pairs)


def parse_queues(text: str, direction: str, base: int = 16) -> Settings:
    """Queue → value of lines or words like ``rx-0=00000000,00000003``. Raises ParseError."""
    masks: Settings = {}
    for word in text.split():
        match = _QUEUE.fullmatch(word)
        if match is None or match[1] != direction:
            raise ParseError(f"{word!r} is not a queue with its setting, such as {direction}-0=3")
        try:
            masks[match[1], int(match[2])] = int(match[3].replace(",", ""), base)
        except ValueError as error:
            raise ParseError(f"{word!r}: {match[3]!r} is not a number") from error
    if not masks:
        raise ParseError(f"the interface shows no {direction} queue")
    return masks


def format_queues(settings: Settings, base: int = 16) -> str:
    digits = "x" if base == 16 else "d"
    return " ".join(
        f"{direction}-{number}={settings[direction, number]:{digits}}"
        for direction, number in sorted(settings)
    )


class CpuMasks(ABC):
    """A knob that turns a mask of CPUs which every queue of a direction has; a user writes a list of CPUs."""

    direction: str
    file: str

    @property
    def tool(self) -> str:
        return f"/sys/class/net/…/queues/{self.direction}-*/{self.file}"

    def check(self, value: str) -> str:
        return format_cpulist(_cpus(value)) or "off"

    def read(self, target: str) -> Command:
        return read_queues(target, self.direction, self.file)

    def parse(self, output: str) -> str:
        """Queues in order, masks without leading zeros and commas."""
        return format_queues(parse_queues(output, self.direction))

    def wanted(self, before: str, value: str) -> str:
        queues = sorted(parse_queues(before, self.direction))
        return format_queues(dict(zip(queues, self.masks(_cpus(value), len(queues)), strict=True)))

    @abstractmethod
    def masks(self, cpus: Sequence[int], queues: int) -> list[int]:
        """What each queue gets of the CPUs that are asked for, of which there are none for ``off``."""

    def write(self, target: str, setting: str) -> Command:
        masks = parse_queues(setting, self.direction)
        return write_queues(target, self.file, {queue: _grouped(mask) for queue, mask in masks.items()})


def _cpus(value: str) -> tuple[int, ...]:
    return () if value.strip() == "off" else parse_cpulist(value)


def _grouped(mask: int) -> str:
    """A mask as the kernel takes it, in groups of 32 bits."""
    return cpu_mask(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)
