# SPDX-License-Identifier: Apache-2.0
"""Whether an interface pauses its link partner, and lets itself be paused (IEEE 802.3x), with ``ethtool -a``.

With autonegotiation ``rx`` and ``tx`` are what is advertised; what was agreed is not a setting. ``on`` and
``off`` alone set both ways without autonegotiation, so that they hold.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, tool_command
from linewatt.tuning.setting_text import asked, choices, format_words, parse_words, switch

_OPTIONS = {"Autonegotiate": "autoneg", "RX": "rx", "TX": "tx"}
_LINE = re.compile(r"(Autonegotiate|RX|TX):\s+(on|off)")


class Pause:
    """Three switches; the canonical text is ``autoneg=off rx=on tx=on``."""

    name = "pause"
    about = "flow control of the link"
    targets = "interface"
    values = "`on`, `off`, or `autoneg=off rx=on tx=off`"
    tool = "ethtool -A"
    order = 120

    def check(self, value: str) -> str:
        return format_words(_switches(value))

    def read(self, target: str) -> Command:
        return tool_command("ethtool", "-a", checked_interface(target))

    def parse(self, output: str) -> str:
        matches = (_LINE.fullmatch(line.strip()) for line in output.splitlines())
        settings = {_OPTIONS[match[1]]: match[2] for match in matches if match}
        if not {"rx", "tx"} <= settings.keys():
            raise ParseError(f"ethtool shows no RX and TX pause in {output[:80]!r}")
        return format_words({option: settings[option] for option in _OPTIONS.values() if option in settings})

    def wanted(self, before: str, value: str) -> str:
        setting = parse_words(before)
        for option, state in _switches(value).items():
            if option not in setting:
                if state == "off":
                    continue
                raise ChangeError(f"the device has no {option}; {choices(setting, option)}")
            setting[option] = state
        return format_words(setting)

    def write(self, target: str, setting: str) -> Command:
        words = (word for pair in parse_words(setting).items() for word in pair)
        return tool_command("ethtool", "-A", checked_interface(target), *words)


def _switches(value: str) -> dict[str, str]:
    if "=" not in value:
        state = switch(value)
        return {"autoneg": "off", "rx": state, "tx": state}
    switches = {}
    for option, text in asked(value, "rx=on tx=on").items():
        if option not in _OPTIONS.values():
            raise InvalidInput(
                f"{option!r} is not an option of ethtool -A; {choices(_OPTIONS.values(), option)}"
            )
        switches[option] = switch(text)
    return switches


LISTED_KNOB = Pause()
