# SPDX-License-Identifier: Apache-2.0
"""Kernel parameters, through ``sysctl``. The target is a key, for example ``net.ipv4.tcp_rmem``."""

from __future__ import annotations

import re

from linewatt.errors import ChangeError, InvalidInput
from linewatt.tuning.base import Command
from linewatt.tuning.commands import tool_command

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@-]*")
"""Dots or slashes (``net/ipv4/conf/eth0.100/…`` where a name holds a dot); never an option."""

_NOTHING = "\n"
"""Before procps-ng 4 sysctl takes no setting without a value; the kernel reads an empty line as nothing."""

KEEP = "*"
"""stands for a number of several that stays as the host has it"""


class Sysctl:
    """One kernel parameter; its canonical text has single spaces where the kernel prints tabs."""

    name = "sysctl"
    about = "a kernel parameter"
    targets = "key such as `net.ipv4.tcp_rmem`"
    values = "as `sysctl -w` takes it, several numbers apart by blanks; `*` keeps one of them"
    tool = "sysctl"
    order = 180

    def check(self, value: str) -> str:
        text = self.parse(value)
        if not text:
            raise InvalidInput("a kernel parameter cannot be set to nothing; write its value")
        return text

    def read(self, target: str) -> Command:
        """Raises ChangeError if ``target`` is not a key."""
        return tool_command("sysctl", "-n", _checked(target))

    def parse(self, output: str) -> str:
        """The value, runs of white space made one blank."""
        return " ".join(output.split())

    def wanted(self, before: str, value: str) -> str:
        """The value in canonical text, with what it keeps of ``before``."""
        text = self.check(value)
        words, old = text.split(" "), before.split(" ")
        if KEEP not in words:
            return text
        if len(words) != len(old):
            raise ChangeError(f"{text!r} keeps some of {len(words)} numbers, but the host shows {before!r}")
        return " ".join(was if word == KEEP else word for word, was in zip(words, old, strict=True))

    def write(self, target: str, setting: str) -> Command:
        """Key and value travel as one argument. Raises ChangeError if ``target`` is not a key."""
        return tool_command("sysctl", "-q", "-w", f"{_checked(target)}={setting or _NOTHING}")


def key_named(text: str) -> str:
    """A key as a target names it. Raises InvalidInput if it can be none."""
    if not _KEY.fullmatch(text):
        raise InvalidInput(f"{text!r} is not a kernel parameter; write a key like net.ipv4.tcp_rmem")
    return text


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ChangeError(f"{key!r} is not a key; write it like net.ipv4.tcp_rmem")
    return key


LISTED_KNOB = Sysctl()
