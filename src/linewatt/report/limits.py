# SPDX-License-Identifier: Apache-2.0
"""What limits the cases of a test, in words: cases with the same limit share a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linewatt.analysis.limits import Limit, limit
from linewatt.analysis.summary import CaseSummary
from linewatt.report.series import Series, TestGroup, plural

MOST_NAMED = 6
"""cases that a line names; JSON has all"""
MOST_WITH_EVIDENCE = 2
"""cases that a line gives the evidence of, each"""


@dataclass(frozen=True, slots=True)
class LimitNote:
    """One limit and the cases that have it: each by its name among those of its test, with the evidence."""

    what: str
    cases: tuple[tuple[str, str], ...]

    @property
    def more(self) -> int:
        """How many cases :attr:`named` leaves out."""
        return max(0, len(self.cases) - MOST_NAMED)

    @property
    def named(self) -> str:
        """The first cases as one line of text; of more than two, the first one has its evidence."""
        several = len(self.cases) > MOST_WITH_EVIDENCE
        shown = [
            f"{name}{f' ({evidence})' if evidence and (at == 0 or not several) else ''}"
            for at, (name, evidence) in enumerate(self.cases[:MOST_NAMED])
        ]
        return "; ".join(shown) + (f"; and {plural(self.more, 'more case')}" if self.more else "")

    @property
    def lead(self) -> str:
        """``Limited by the line rate``, ``Limit not found``."""
        return f"Limited by {self.what}" if self.found else f"Limit {self.what}"

    @property
    def found(self) -> bool:
        """Whether anything was found that limits them."""
        return not self.what.startswith("not ")

    @property
    def sentence(self) -> str:
        """The whole as one line of text."""
        return f"{self.lead}: {self.named}"


def limit_of(summary: CaseSummary) -> Limit:
    """What limits a case, its part of the line rate taken into account where that is known."""
    found = summary.line_rate_ratio
    return limit(summary, None if found is None else found.mean)


def limit_notes(group: TestGroup) -> tuple[LimitNote, ...]:
    """The limits of a test's cases, those most cases have first; those not found last."""
    found: dict[str, list[tuple[str, str]]] = {}
    for series in group.series:
        for summary in series.summaries:
            one = limit_of(summary)
            found.setdefault(one.what, []).append((_name(group, series, summary), one.evidence))
    notes = [LimitNote(what, tuple(cases)) for what, cases in found.items()]
    return tuple(sorted(notes, key=lambda note: (not note.found, -len(note.cases))))


def _name(group: TestGroup, series: Series, summary: CaseSummary) -> str:
    """``h1 → h2``, ``4 instances`` or both: what tells the case apart in its test."""
    count = plural(summary.case.instances, "instance")
    if len(group.series) == 1:
        return count
    return f"{series.label}, {count}" if len(series.summaries) > 1 else series.label


def export_limit(summary: CaseSummary) -> dict[str, Any]:
    """Keys of JSON and CSV: words, and their kinds, which are stable."""
    found = limit_of(summary)
    return {"limited_by": found.words, "limited_by_kinds": " ".join(found.kinds)}
