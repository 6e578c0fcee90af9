# SPDX-License-Identifier: Apache-2.0
"""How many queues an interface works with, through ``ethtool -l`` and ``-L``.

A number alone is the queues of both directions: ``combined`` where the device has it, else ``rx`` and ``tx``.
Queues that go take their steering with them (RPS, XPS, RFS, interrupts): set those after this. Formats
checked from ethtool 4.8 to 6.7.
"""

from __future__ import annotations

from linewatt.errors import InvalidInput
from linewatt.tuning.base import Command
from linewatt.tuning.commands import interface, tool
from linewatt.tuning.nic.ethtool_table import arguments, change_table, format_table, parse_table, read_table
from linewatt.tuning.words import asked, choices, format_words, whole

_OPTIONS = {"RX": "rx", "TX": "tx", "Combined": "combined"}


class Channels:
    """Queues; the canonical text is ``combined=8/63`` or ``rx=4/4 tx=4/4``."""

    name = "channels"
    about = "queues that an interface works with"
    targets = "interface"
    values = "`8`, or `combined=8`, `rx=4 tx=4`; up to the pre-set maximum"
    tool = "ethtool -L"
    order = 80

    def check(self, value: str) -> str:
        numbers = _numbers(value)
        return str(numbers[""]) if "" in numbers else format_words(numbers)

    def read(self, target: str) -> Command:
        return tool("ethtool", "-l", interface(target))

    def parse(self, output: str) -> str:
        return format_table(parse_table(output, _OPTIONS))

    def wanted(self, before: str, value: str) -> str:
        table, numbers = read_table(before), _numbers(value)
        if "" not in numbers:
            return format_table(change_table(table, numbers, 0))
        options = ["combined"] if "combined" in table else list(table)
        return format_table(change_table(table, dict.fromkeys(options, numbers[""]), 1))

    def write(self, target: str, setting: str) -> Command:
        return tool("ethtool", "-L", interface(target), *arguments(setting))


def _numbers(value: str) -> dict[str, int]:
    """Option → queues; a number alone stands under an empty option."""
    if value.strip().isdecimal():
        return {"": whole(value.strip(), 1)}
    numbers = {}
    for option, text in asked(value, "8, combined=8 or rx=4 tx=4").items():
        if option not in _OPTIONS.values():
            raise InvalidInput(f"{option!r} is no kind of queue; {choices(_OPTIONS.values(), option)}")
        numbers[option] = whole(text)
    return numbers


LISTED_KNOB = Channels()
