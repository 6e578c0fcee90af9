# SPDX-License-Identifier: Apache-2.0
"""What stands in the place of a value that is not known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that is not known, and the reason: a clause for the user, without a full stop.

    A function that may have no answer returns ``Value | Missing``: its reason is never taken for a value.
    """

    reason: str

    def __str__(self) -> str:
        return self.reason
