# SPDX-License-Identifier: Apache-2.0
"""What a knob is: commands and parsers, all pure. Writing back what was read is the undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Command:
    """An argument list with what goes to its standard input."""

    argv: tuple[str, ...]
    stdin: str = ""


class Knob(Protocol):
    """One kind of setting. A *target* names which one (an interface, a sysctl key)."""

    name: str

    def read(self, target: str) -> Command: ...

    def parse(self, output: str) -> str:
        """The setting in its canonical text, so that equal settings compare equal."""

    def wanted(self, before: str, value: str) -> str:
        """Canonical text of the setting once ``value`` is applied to a host that shows ``before``."""

    def write(self, target: str, setting: str) -> Command:
        """Command that makes the host show ``setting`` (canonical text)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a host that a plan asks for."""

    host: str
    knob: str
    target: str
    value: str
    why: str
