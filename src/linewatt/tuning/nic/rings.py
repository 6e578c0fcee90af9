# SPDX-License-Identifier: Apache-2.0
"""Descriptors in the receive and transmit rings of an interface, through ``ethtool -g`` and ``-G``.

Drivers round what is asked for to what they can have (a power of two, a multiple of 32): a value that does
not read back as asked is an error that shows what it became. Formats checked from ethtool 4.8 to 6.7.
"""

from __future__ import annotations

from linewatt.errors import InvalidInput
from linewatt.tuning.base import Command
from linewatt.tuning.commands import interface, tool
from linewatt.tuning.nic.ethtool_table import arguments, change_table, format_table, parse_table, read_table
from linewatt.tuning.words import asked, choices, format_words, whole

_OPTIONS = {"RX": "rx", "RX Mini": "rx-mini", "RX Jumbo": "rx-jumbo", "TX": "tx"}


class Rings:
    """Descriptors a queue; the canonical text is ``rx=1024/8192 tx=1024/8192``."""

    name = "rings"
    about = "descriptors in the rings of each queue"
    targets = "interface"
    values = "`rx=1024 tx=1024`, also `rx-mini`, `rx-jumbo`; up to the pre-set maximum"
    tool = "ethtool -G"
    order = 90

    def check(self, value: str) -> str:
        return format_words(_numbers(value))

    def read(self, target: str) -> Command:
        return tool("ethtool", "-g", interface(target))

    def parse(self, output: str) -> str:
        return format_table(parse_table(output, _OPTIONS))

    def wanted(self, before: str, value: str) -> str:
        return format_table(change_table(read_table(before), _numbers(value), 1))

    def write(self, target: str, setting: str) -> Command:
        return tool("ethtool", "-G", interface(target), *arguments(setting))


def _numbers(value: str) -> dict[str, int]:
    numbers = {}
    for option, text in asked(value, "rx=1024 tx=1024").items():
        if option not in _OPTIONS.values():
            raise InvalidInput(f"{option!r} is no ring; {choices(_OPTIONS.values(), option)}")
        numbers[option] = whole(text, 1)
    return numbers


LISTED_KNOB = Rings()
