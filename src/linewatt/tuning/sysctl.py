# SPDX-License-Identifier: Apache-2.0
"""Kernel parameters, through ``sysctl``. The target is a key, for example ``net.ipv4.tcp_rmem``."""

from __future__ import annotations

import re

from linewatt.errors import ChangeError
from linewatt.tuning.base import Command

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@-]*")
"""Dots or slashes (``net/ipv4/conf/eth0.100/…`` where a name holds a dot); never an option."""


class Sysctl:
    """One kernel parameter; its canonical text has single spaces where the kernel prints tabs."""

    name = "sysctl"

    def read(self, target: str) -> Command:
        """Raises ChangeError if ``target`` is no key."""
        return Command(("sysctl", "-n", _checked(target)))

    def parse(self, output: str) -> str:
        """The value, runs of white space made one blank."""
        return " ".join(output.split())

    def wanted(self, before: str, value: str) -> str:
        """The value itself in canonical text; what the host shows now does not matter."""
        return self.parse(value)

    def write(self, target: str, setting: str) -> Command:
        """Key and value travel as one argument. Raises ChangeError if ``target`` is no key."""
        return Command(("sysctl", "-q", "-w", f"{_checked(target)}={setting}"))


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ChangeError(f"sysctl: {key!r} is no key; write it like net.ipv4.tcp_rmem")
    return key
