# SPDX-License-Identifier: Apache-2.0
"""What refuses a verdict on two sides. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What refuses a verdict: its name, and what stands on each side. ``responses``: on these only."""

    code: str
    words: str
    responses: tuple[str, ...] | None = None

    def bars(self, response: str) -> bool:
        """Whether it refuses a verdict on a response."""
        return self.responses is None or response in self.responses
