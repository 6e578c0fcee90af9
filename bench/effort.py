# SPDX-License-Identifier: Apache-2.0
"""How much of a measurement is made. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

Amount = TypeVar("Amount")


class Effort(Enum):
    """All of it, which is evidence; some of it, for a look; or just enough to see that it still runs."""

    WHOLE = "whole"
    QUICK = "quick"
    SMOKE = "smoke"

    def of(self, whole: Amount, quick: Amount, smoke: Amount) -> Amount:
        """The amount that goes with this effort."""
        return {Effort.WHOLE: whole, Effort.QUICK: quick, Effort.SMOKE: smoke}[self]
