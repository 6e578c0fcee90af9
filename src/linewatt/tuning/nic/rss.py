# SPDX-License-Identifier: Apache-2.0
"""Over which receive queues a device spreads flows (receive-side scaling), through ``ethtool -x`` and ``-X``.

A device looks a packet's hash up in its indirection table, which names a queue. ``ethtool`` writes tables
that go round over queues (``equal``) or have a block for each (``weight``), and no others: one that somebody
made by other means cannot be put back, so it is not changed either. Formats checked from ethtool 4.8 to 6.7;
tables are filled as ethtool.c does it (``fill_indir_table``).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, script_command, tool_command
from linewatt.tuning.setting_text import whole

MOST_QUEUES = 4096
"""of a device; the most of any driver of Linux 6.12 is below"""
_EXAMPLE = "4, 4 from 2, or weight 3 1"

# $1: interface, then words of ethtool -X. What goes round over all queues there are is the driver's to make,
# where the driver's own is the same; a table that was set stays as it is when queues are added
_WRITE = """PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL=C
device=$1; shift
goes_round() { local at=0 index rest one
  while read -r index rest; do
    [[ $index =~ ^[0-9]+:$ ]] || continue
    for one in $rest; do (( one == at++ % $1 )) || return 1; done
  done < <(ethtool -x "$device"); (( at )); }
if [[ "$1 $#" == "equal 2" && $(ethtool -x "$device") == *" with $2 RX ring(s):"* ]]; then
  ethtool -X "$device" default 2>/dev/null && goes_round "$2" && exit
fi
exec ethtool -X "$device" "$@" """

_HEAD = re.compile(r"^RX flow hash indirection table for \S+ with \d+ RX ring\(s\):$", re.MULTILINE)
_ROW = re.compile(r"\s*(\d+):((?:\s+\d+)+)\s*", re.ASCII)
_SETTING = re.compile(
    r"(?:equal (?P<queues>\d+)(?: from (?P<first>\d+))?|weight (?P<weights>\d+(?: \d+)*)|other \w+)"
    r" size (?P<size>\d+)",
    re.ASCII,
)
_ASKED = re.compile(
    r"(?:equal )?(?P<queues>\d+)(?: from (?P<first>\d+))?|weight (?P<weights>\d+(?: \d+)*)", re.ASCII
)

Table = tuple[int, ...]
"""the queue of each entry"""


class Rss:
    """The canonical text is ``equal 4 size 128``, ``equal 4 from 2 size 128``, ``weight 96 32 size 128`` with
    the entries of each queue, or ``other 1f2e3d4c size 128`` for a table that ethtool cannot write."""

    name = "rss"
    about = "receive queues over which a device spreads flows (receive-side scaling)"
    targets = "interface"
    values = "`4`: the first four queues alike; `4 from 2`: four from queue 2 on; `weight 3 1`: three to one"
    tool = "ethtool -X"
    order = 125

    def check(self, value: str) -> str:
        queues, first, weights = _parse_request(value)
        if weights:
            return f"weight {' '.join(map(str, weights))}"
        return f"{queues} from {first}" if first else str(queues)

    def read(self, target: str) -> Command:
        return tool_command("ethtool", "-x", checked_interface(target))

    def parse(self, output: str) -> str:
        head = _HEAD.search(output)
        if head is None:
            raise ParseError(f"ethtool shows no indirection table in {output[:80]!r}")
        table: list[int] = []
        for line in output[head.end() :].lstrip("\n").splitlines():
            row = _ROW.fullmatch(line)
            if row is None:
                break
            if int(row[1]) != len(table):
                raise ParseError(f"entry {len(table)} of the indirection table is missing before {line!r}")
            table += map(int, row[2].split())
        if not table:
            raise ParseError("ethtool shows an indirection table without entries")
        return _text(tuple(table))

    def wanted(self, before: str, value: str) -> str:
        queues, first, weights = _parse_request(value)
        now = _SETTING.fullmatch(before)
        if now is None:
            raise ParseError(f"{before!r} is not an indirection table")
        if before.startswith("other"):
            raise ChangeError(
                "somebody gave it an indirection table that ethtool shows and cannot write, so that it could "
                "not be put back; give it another first (ethtool -X … default)"
            )
        size = int(now["size"])
        if weights:
            return _text(_blocks(weights, size))
        return _text(_round(queues, first, size))

    def write(self, target: str, setting: str) -> Command:
        match = _SETTING.fullmatch(setting)
        if match is None or setting.startswith("other"):
            raise ChangeError(f"{setting!r} is not an indirection table that ethtool can write")
        if match["weights"]:
            return script_command(_WRITE, checked_interface(target), "weight", *match["weights"].split())
        start = ("start", match["first"]) if match["first"] else ()
        return script_command(_WRITE, checked_interface(target), "equal", match["queues"], *start)


def _parse_request(value: str) -> tuple[int, int, Table]:
    """How many queues from which on, or the weights. Raises InvalidInput."""
    match = _ASKED.fullmatch(" ".join(value.split()))
    if match is None:
        raise InvalidInput(f"{value!r} is not understood; write it like {_EXAMPLE}")
    if match["weights"]:
        weights = tuple(whole(word, 0, MOST_QUEUES) for word in match["weights"].split())
        if not any(weights) or len(weights) > MOST_QUEUES:
            raise InvalidInput(f"{value!r} gives no queue anything; write it like {_EXAMPLE}")
        shared = math.gcd(*weights)
        return 0, 0, tuple(weight // shared for weight in weights)
    return whole(match["queues"], 1, MOST_QUEUES), whole(match["first"] or "0", 0, MOST_QUEUES), ()


def _round(queues: int, first: int, size: int) -> Table:
    return tuple(first + at % queues for at in range(size))


def _blocks(weights: Sequence[int], size: int) -> Table:
    """Block by block: queue q has the entries from size × (weights before it) ÷ (all weights) on. Raises
    ChangeError: ethtool wants an entry for each part of the weights."""
    total_weight = sum(weights)
    if total_weight > size:
        raise ChangeError(
            f"the weights add up to {total_weight}, and its table has {size} entries; take smaller ones"
        )
    ends = [size * partial // total_weight for partial in accumulate(weights, initial=0)]
    return tuple(queue for queue, (start, end) in enumerate(pairwise(ends)) for _ in range(start, end))


def _text(table: Table) -> str:
    size, first = len(table), table[0]
    queues = next((at for at in range(1, size) if table[at] == first), size)
    if table == _round(queues, first, size):
        return f"equal {queues}{f' from {first}' if first else ''} size {size}"
    if all(before <= after for before, after in pairwise(table)):
        weights = [table.count(queue) for queue in range(table[-1] + 1)]
        return f"weight {' '.join(map(str, weights))} size {size}"
    digest = hashlib.sha256(" ".join(map(str, table)).encode()).hexdigest()
    return f"other {digest[:8]} size {size}"


LISTED_KNOB = Rss()
