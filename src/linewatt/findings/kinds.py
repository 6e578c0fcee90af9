# SPDX-License-Identifier: Apache-2.0
"""A kind of finding: declared once; every table, document and check is made from the declaration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Rank = Literal["withheld", "doubtful", "note"]
"""``withheld``: the reason is shown instead of the figures. ``doubtful``: the figures are shown with a mark.
``note``: no figure is wrong, but a reader should know."""
RANKS: tuple[Rank, ...] = ("withheld", "doubtful", "note")

Scope = Literal["campaign", "host", "case", "trial"]
"""A finding is reported once per scope, however often it was seen."""

Figure = Literal["throughput", "cpu", "power", "above_idle", "comparison"]
"""Groups of figures that a finding can make doubtful. ``cpu``: all figures that contain CPU use; ``power``:
all that contain watts; ``above_idle``: all from which idle power is subtracted."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding. ``code`` is a stable kebab-case word, stored in results.

    ``means``, ``seen`` and ``do`` are whole sentences for docs/findings.md: the effect on the figures, the
    evidence and threshold, and what the reader should do. ``figures`` are marked with the finding.
    """

    code: str
    rank: Rank
    scope: Scope
    figures: tuple[Figure, ...]
    means: str
    seen: str
    do: str
    name: str = ""
    """its title, if the words of the code are not enough"""
    weighed: Figure | None = None
    """the figure whose mean it must change by more than the uncertainty; otherwise it is a note"""
    is_course: bool = False
    """whether it says how throughput ran in the window: findings that name a cause are said before it"""
    untested: str = ""
    """what could not be checked, if the finding says that: first screens name it beside the verdicts"""

    def as_note(self) -> Kind:
        """The same kind with an effect too small to make figures doubtful."""
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
