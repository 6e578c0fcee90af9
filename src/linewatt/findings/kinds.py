# SPDX-License-Identifier: Apache-2.0
"""What a kind of finding is: declared once, and every table, document and check follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Rank = Literal["withheld", "doubtful", "note"]
"""``withheld``: its figures are not shown, a reason stands in their place. ``doubtful``: they are shown with a
mark. ``note``: no figure is wrong because of it, but a reader should know."""
RANKS: tuple[Rank, ...] = ("withheld", "doubtful", "note")

Scope = Literal["campaign", "host", "case", "trial"]
"""What a finding is told once for, however often it was seen."""

Figure = Literal["throughput", "cpu", "power", "above_idle", "comparison"]
"""Groups of figures that a finding can make doubtful. ``cpu``: everything that CPU use is a part of;
``power``: everything in watts; ``above_idle``: what idle is subtracted in."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding. ``code`` is a stable kebab-case word that results carry.

    ``means``, ``seen`` and ``do`` are whole sentences for docs/findings.md: what it says of the figures, by what
    evidence and threshold it is seen, and what its reader should do. ``figures`` are what it is marked on.
    """

    code: str
    rank: Rank
    scope: Scope
    figures: tuple[Figure, ...]
    means: str
    seen: str
    do: str
    name: str = ""
    """its title, where the code's own words do not make one"""
    weighed: Figure | None = None
    """the figure whose mean it must change by more than that is known by; below it is a note"""

    def as_note(self) -> Kind:
        """The same where it weighs too little to make its figures doubtful."""
        return replace(self, rank="note", figures=())

    @property
    def title(self) -> str:
        """In words: ``cpu-accounting-disagrees`` → ``CPU accounting disagrees``."""
        if self.name:
            return self.name
        words = [_ACRONYMS.get(word, word) for word in self.code.split("-")]
        return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


_WRITTEN = (
    *("CPU", "CPUs", "UDP", "TCP", "IRQ", "IRQs", "RSS", "GSO", "GRO", "RPS"),
    *("NIC", "PSU", "NUMA", "RAPL", "MTU", "PCIe", "SMT", "BMC"),
)
_ACRONYMS = {name.lower(): name for name in _WRITTEN}


def percent(ratio: float) -> str:
    """``0.02`` → ``2 %``, for the text of declarations."""
    return f"{100 * ratio:g} %"
