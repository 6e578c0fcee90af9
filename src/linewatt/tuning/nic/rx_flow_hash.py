# SPDX-License-Identifier: Apache-2.0
"""Which fields of a packet are hashed to choose its receive queue, through ``ethtool -n`` and ``-N``.

The target is an interface and a kind of flow, ``eth0 udp4``. Many drivers hash UDP by its addresses alone, so
that all datagrams between two hosts come in through one queue. Formats checked from ethtool 4.8 to 6.15.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, tool_command
from linewatt.tuning.setting_text import choices

FLOWS = ("tcp4", "udp4", "tcp6", "udp6")
FIELDS = {
    "m": "L2DA",
    "v": "VLAN tag",
    "t": "L3 proto",
    "s": "IP SA",
    "d": "IP DA",
    "f": "L4 bytes 0 & 1 [TCP/UDP src port]",
    "n": "L4 bytes 2 & 3 [TCP/UDP dst port]",
}
"""letters of ethtool(8), in their order → as it shows them"""
_LETTERS = {words: letter for letter, words in FIELDS.items()}
NONE = "none"
_NAMED = {"addresses": "sd", "ports": "sdfn"}
_HEAD = re.compile(r"^.* use these fields for computing Hash flow key:$", re.MULTILINE)


class RxFlowHash:
    """The canonical text has the letters of ethtool(8), ``sdfn``."""

    name = "rx_flow_hash"
    about = "fields of a packet that choose its receive queue"
    targets = "interface and flow, such as `eth0 udp4` (`tcp4`, `udp4`, `tcp6`, `udp6`)"
    values = (
        "letters of `ethtool -N … rx-flow-hash`: `sdfn` (`ports`: addresses and ports), `sd` (`addresses`)"
    )
    tool = "ethtool -N"
    order = 127

    def check(self, value: str) -> str:
        text = value.strip().lower()
        letters = _NAMED.get(text, text)
        if not letters or set(letters) - FIELDS.keys() or len(set(letters)) < len(letters):
            raise InvalidInput(f"{value!r} names no fields; write letters of {''.join(FIELDS)}, such as sdfn")
        return "".join(letter for letter in FIELDS if letter in letters)

    def read(self, target: str) -> Command:
        device, flow = _parts(target)
        return tool_command("ethtool", "-n", device, "rx-flow-hash", flow)

    def parse(self, output: str) -> str:
        head = _HEAD.search(output)
        if head is None:
            raise ParseError(f"ethtool shows no fields that are hashed in {output[:80]!r}")
        shown = [line.strip() for line in output[head.end() :].splitlines() if line.strip()]
        if not shown or shown == ["None"]:
            return NONE
        strange = [line for line in shown if line not in _LETTERS]
        if strange:
            raise ParseError(f"{strange[0][:60]!r} is hashed, too, which linewatt cannot put back")
        return "".join(letter for letter in FIELDS if FIELDS[letter] in shown)

    def wanted(self, before: str, value: str) -> str:
        if before == NONE:
            raise ChangeError("nothing is hashed of these flows, which ethtool cannot put back")
        return self.check(value)

    def write(self, target: str, setting: str) -> Command:
        device, flow = _parts(target)
        return tool_command("ethtool", "-N", device, "rx-flow-hash", flow, setting)


def _parts(target: str) -> tuple[str, str]:
    """Interface and flow. Raises ChangeError."""
    device, _, flow = target.partition(" ")
    if flow not in FLOWS:
        raise ChangeError(f"{target!r} is not an interface with a kind of flow; {choices(FLOWS, flow)}")
    return checked_interface(device), flow


LISTED_KNOB = RxFlowHash()
