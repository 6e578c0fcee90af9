# SPDX-License-Identifier: Apache-2.0
"""What stands in the place of a value that is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that is not known, and the reason: a clause for the user, without a full stop.

    ``where`` is the host or the part of it that the reason is about. A function that may have no answer
    returns ``Value | Missing``: its reason is never taken for a value.
    """

    reason: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" if self.where else self.reason


@dataclass(frozen=True, slots=True)
class NotRecorded(Missing):
    """A value of which nothing is on record, not even why."""

    reason: str = "not recorded"

    __str__ = Missing.__str__


def value_or_none(value: T | Missing) -> T | None:
    return None if isinstance(value, Missing) else value
