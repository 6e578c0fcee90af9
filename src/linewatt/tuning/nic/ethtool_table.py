# SPDX-License-Identifier: Apache-2.0
"""What ``ethtool -g`` and ``ethtool -l`` print: numbers with the largest each may be.

Both print "Pre-set maximums" and "Current hardware settings". What a device does not have is ``n/a`` (5.8 and
later, over netlink) or 0 of at most 0. The canonical text is ``rx=1024/8192 tx=1024/8192``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, tool_command
from linewatt.tuning.setting_text import asked, choices, format_words, parse_words, whole

_LINE = re.compile(r"([A-Za-z][A-Za-z ]*):\s*(\d+)", re.ASCII)
_NUMBERS = re.compile(r"(\d+)/(\d+)", re.ASCII)
_LARGEST = "Pre-set maximums:"
_CURRENT = "Current hardware settings:"

Table = dict[str, tuple[int, int]]
"""option of ethtool → what it is, and the largest it may be"""


def parse_table(output: str, labels: Mapping[str, str]) -> Table:
    """The numbers of ``labels`` (label → option) that the device has. Raises ParseError."""
    head, mark, current = output.partition(_CURRENT)
    if not mark or _LARGEST not in head:
        raise ParseError(f"ethtool shows no {_LARGEST} and {_CURRENT} in {output[:80]!r}")
    largest, now = _section(head.partition(_LARGEST)[2]), _section(current)
    table = {
        option: (now[label], largest[label])
        for label, option in labels.items()
        if label in now and largest.get(label)
    }
    if not table:
        raise ParseError("the device states no number that could be set; leave it out for this host")
    return table


def _section(text: str) -> dict[str, int]:
    matches = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: int(match[2]) for match in matches if match}


def format_table(table: Table) -> str:
    return format_words({option: f"{now}/{largest}" for option, (now, largest) in table.items()})


def read_table(setting: str) -> Table:
    """Canonical text as numbers. Raises ParseError."""
    table: Table = {}
    for option, text in parse_words(setting).items():
        match = _NUMBERS.fullmatch(text)
        if match is None:
            raise ParseError(
                f"{option}={text} is not a number of at most another, such as {option}=1024/8192"
            )
        table[option] = (int(match[1]), int(match[2]))
    return table


def change_table(table: Table, numbers: Mapping[str, int], lowest: int) -> Table:
    """``table`` with these numbers. Raises ChangeError naming the range, or what the device has."""
    changed = dict(table)
    for option, number in numbers.items():
        if option not in table:
            raise ChangeError(f"the device has no {option}; {choices(table, option)}")
        largest = table[option][1]
        if not lowest <= number <= largest:
            raise ChangeError(f"{option}={number} is out of range; the device takes {lowest} to {largest}")
        changed[option] = (number, largest)
    return changed


class TableKnob:
    """A knob that turns numbers of such a table: ``options`` are labels that ethtool prints → its options."""

    letter: str
    """of the option that shows the table; the capital one changes it"""
    options: Mapping[str, str]
    example: str
    thing: str
    """what an option is, for who names one that is none"""
    lowest: int
    targets = "interface"

    @property
    def tool(self) -> str:
        return f"ethtool -{self.letter.upper()}"

    def check(self, value: str) -> str:
        return format_words(self.numbers(value))

    def numbers(self, value: str) -> dict[str, int]:
        """Option → number, as a user writes them. Raises InvalidInput."""
        numbers = {}
        for option, text in asked(value, self.example).items():
            if option not in self.options.values():
                raise InvalidInput(
                    f"unknown {self.thing} {option!r}; {choices(self.options.values(), option)}"
                )
            numbers[option] = whole(text, self.lowest)
        return numbers

    def read(self, target: str) -> Command:
        return tool_command("ethtool", f"-{self.letter}", checked_interface(target))

    def parse(self, output: str) -> str:
        return format_table(parse_table(output, self.options))

    def wanted(self, before: str, value: str) -> str:
        return format_table(change_table(read_table(before), self.numbers(value), self.lowest))

    def write(self, target: str, setting: str) -> Command:
        words = (word for option, (now, _) in read_table(setting).items() for word in (option, str(now)))
        return tool_command("ethtool", f"-{self.letter.upper()}", checked_interface(target), *words)
