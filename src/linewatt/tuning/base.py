# SPDX-License-Identifier: Apache-2.0
"""What a knob is: commands and parsers, all pure. Writing back what was read is the undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from linewatt.hosts import ShortCommand

Command = ShortCommand
"""what reads a setting, or writes it"""


class Knob(Protocol):
    """One kind of setting. A *target* names which one (an interface, a sysctl key).

    Reading takes one round trip and no rights; writing is done by root. What a method raises does not name
    the host nor the knob: ``apply`` says them.
    """

    name: str

    def read(self, target: str) -> Command:
        """Raises ChangeError if ``target`` is none of this knob's."""

    def parse(self, output: str) -> str:
        """The setting in its canonical text, so that equal settings compare equal. Raises ParseError."""

    def wanted(self, before: str, value: str) -> str:
        """Canonical text of the setting once ``value`` is applied to a host that shows ``before``.

        Raises InvalidInput as ``check`` does, ChangeError if the host cannot: out of its range, not there.
        """

    def write(self, target: str, setting: str) -> Command:
        """Command that makes the host show ``setting`` (canonical text), whatever it shows now."""


class ListedKnob(Knob, Protocol):
    """A knob that users can turn; the texts are its row in ``docs/knobs.md``."""

    about: str
    targets: str
    values: str
    tool: str
    order: int
    """from the ground up: a profile sets much of the rest, queues decide which steering there is, and a
    governor which preferences a CPU takes"""

    def check(self, value: str) -> str:
        """``value`` in its one spelling, as far as it can be judged without a host. Raises InvalidInput."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a host that a plan asks for."""

    host: str
    knob: str
    target: str
    value: str
    why: str
