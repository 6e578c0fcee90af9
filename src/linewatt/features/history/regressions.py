# SPDX-License-Identifier: Apache-2.0
"""Regressions: courses that are worse than before, for ``--fail-on regression``. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.features.history.courses import Course


@dataclass(frozen=True, slots=True)
class Regressions:
    """Number of courses ``followed``; courses that are ``worse``; ``open`` ones, which need more results."""

    followed: int
    worse: tuple[Course, ...]
    open: tuple[Course, ...]

    @property
    def exit_code(self) -> Literal[0, 3, 4]:
        """3: at least one course is worse. 4: none is worse, but some are open, or there are no courses."""
        return 3 if self.worse else 4 if self.open or not self.followed else 0


def regressions(courses: Sequence[Course]) -> Regressions:
    """Regressions of all courses with at least two results."""
    followed = [course for course in courses if len(course.points) > 1]
    return Regressions(
        len(followed),
        tuple(course for course in followed if course.is_worse),
        tuple(course for course in followed if not course.is_worse and course.is_open),
    )
