# SPDX-License-Identifier: Apache-2.0
"""How many queues an interface works with, through ``ethtool -l`` and ``-L``.

A number alone is the queues of both directions: ``combined`` where the device has it, else ``rx`` and ``tx``.
Queues that go take their steering with them (RPS, XPS, RFS, interrupts): set those after this. Formats
checked from ethtool 4.8 to 6.7.
"""

from __future__ import annotations

from collections.abc import Mapping

from linewatt.tuning.nic.ethtool_table import TableKnob, change_table, format_table, read_table
from linewatt.tuning.setting_text import whole


class Channels(TableKnob):
    """Queues; the canonical text is ``combined=8/63`` or ``rx=4/4 tx=4/4``."""

    name = "channels"
    about = "queues that an interface works with"
    values = "`8`, or `combined=8`, `rx=4 tx=4`; up to the pre-set maximum"
    order = 80
    letter, thing, lowest, example = "l", "kind of queue", 0, "8, combined=8 or rx=4 tx=4"
    options: Mapping[str, str] = {"RX": "rx", "TX": "tx", "Combined": "combined"}

    def check(self, value: str) -> str:
        return str(whole(value.strip(), 1)) if _alone(value) else super().check(value)

    def wanted(self, before: str, value: str) -> str:
        if not _alone(value):
            return super().wanted(before, value)
        table = read_table(before)
        options = ["combined"] if "combined" in table else list(table)
        return format_table(change_table(table, dict.fromkeys(options, whole(value.strip(), 1)), 1))


def _alone(value: str) -> bool:
    """Whether it is a number without what it is of."""
    return value.strip().isdecimal()


LISTED_KNOB = Channels()
