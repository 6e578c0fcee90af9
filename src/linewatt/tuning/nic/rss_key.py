# SPDX-License-Identifier: Apache-2.0
"""The secret with which a device hashes flows, through ``ethtool -x`` and ``-X … hkey``.

Another key spreads the same flows otherwise: two runs that hash four connections onto three queues, and onto
four, differ by that alone. ``symmetric`` is the key that gives both directions of a connection one queue
(S. Woo, K. Park, "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", KAIST 2012). Formats
checked from ethtool 4.8 to 6.7.
"""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput, ParseError
from linewatt.tuning.base import Command
from linewatt.tuning.commands import checked_interface, tool_command

SYMMETRIC = "symmetric"
_PAIR = "6d:5a"
_KEY = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){7,255}")
_HEAD = "RSS hash key:\n"


class RssKey:
    """The canonical text is the key as ``ethtool -x`` shows it, ``6d:5a:…``."""

    name = "rss_key"
    about = "key with which a device hashes flows to receive queues"
    targets = "interface"
    values = (
        f"`{SYMMETRIC}`: both directions of a connection alike; or the bytes, `6d:5a:…`, as many as it has"
    )
    tool = "ethtool -X"
    order = 126

    def check(self, value: str) -> str:
        key = value.strip().lower()
        if key != SYMMETRIC and not _KEY.fullmatch(key):
            raise InvalidInput(
                f"{value!r} is not a key; write {SYMMETRIC}, or bytes as ethtool -x shows them"
            )
        return key

    def read(self, target: str) -> Command:
        return tool_command("ethtool", "-x", checked_interface(target))

    def parse(self, output: str) -> str:
        key = output.partition(_HEAD)[2].partition("\n")[0].strip()
        if not _KEY.fullmatch(key):
            raise ParseError(f"ethtool shows no key to hash with ({key[:60] or 'none'})")
        return key

    def wanted(self, before: str, value: str) -> str:
        bytes_there, key = before.count(":") + 1, self.check(value)
        if key == SYMMETRIC:
            return ":".join([_PAIR] * (bytes_there // 2) + ["6d"] * (bytes_there % 2))
        if key.count(":") != before.count(":"):
            raise ChangeError(f"its key has {bytes_there} bytes, not {key.count(':') + 1}")
        return key

    def write(self, target: str, setting: str) -> Command:
        return tool_command("ethtool", "-X", checked_interface(target), "hkey", setting)


LISTED_KNOB = RssKey()
