# SPDX-License-Identifier: Apache-2.0
"""What hosts showed a moment ago, so that nobody is asked once more for what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linewatt.hosts import now_s
from linewatt.tuning import ChangeOutcome

HOLDS_S = 1.0
"""that what a host showed is taken for what it shows: others, as irqbalance and tuned, change it, too, and
what is put back at the end is what was seen here"""

Key = tuple[str, str, str]
"""host, knob, target"""


class Shown:
    """Texts of settings that were read, and when; none from before anything was last written."""

    def __init__(self) -> None:
        self._texts: dict[Key, tuple[float, str]] = {}
        self.untouched = True
        """whether nothing was ever written"""

    def read(self, outcomes: Mapping[Key, ChangeOutcome]) -> None:
        """Remember what was read; what could not be is to be asked for again."""
        at_s = now_s()
        self._texts |= {
            key: (at_s, outcome.text) for key, outcome in outcomes.items() if outcome.text is not None
        }

    def still(self, keys: Iterable[Key]) -> dict[Key, str]:
        """What of these is known to be shown now."""
        since_s = now_s() - HOLDS_S
        remembered = {key: self._texts[key] for key in keys if key in self._texts}
        return {key: text for key, (at_s, text) in remembered.items() if at_s >= since_s}

    def forget(self) -> None:
        """Hosts may have been rebooted."""
        self._texts.clear()

    def writes(self) -> None:
        """Something is written: whatever was read until now may be another thing behind it."""
        self._texts.clear()
        self.untouched = False
