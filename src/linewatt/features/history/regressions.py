# SPDX-License-Identifier: Apache-2.0
"""Whether any course stands worse than it did: what a history means for whoever asked for a check. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.features.history.courses import Course


@dataclass(frozen=True, slots=True)
class Regressions:
    """Of ``asked`` courses, those that stand ``worse``, and those of which that cannot be told yet."""

    asked: int
    worse: tuple[Course, ...]
    open: tuple[Course, ...]

    @property
    def exit_code(self) -> Literal[0, 3, 4]:
        """3: at least one is worse. 4: none is, but not all can be told, or there are none."""
        return 3 if self.worse else 4 if self.open or not self.asked else 0


def regressions(courses: Sequence[Course]) -> Regressions:
    """A case or a job in one result only is nothing to follow, and is not asked about."""
    asked = [one for one in courses if len(one.points) > 1]
    return Regressions(
        len(asked),
        tuple(one for one in asked if one.is_worse),
        tuple(one for one in asked if not one.is_worse and one.is_open),
    )
