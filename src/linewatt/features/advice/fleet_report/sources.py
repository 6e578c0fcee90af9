# SPDX-License-Identifier: Apache-2.0
"""Where the operating points of a fleet come from: series of a table, or of a stored result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.analysis.cases.summary import CaseSummary, summarise
from linewatt.analysis.findings import Findings, gather
from linewatt.errors import InvalidInput
from linewatt.features.advice.fleet.points import OperatingPoint, operating_points, why_no_point
from linewatt.features.tables.analysed import case_words
from linewatt.model import Role, Trial
from linewatt.records import Supplies
from linewatt.report.series import plural, series_of
from linewatt.report.trials.digest import digest
from linewatt.report.trials.words import in_short
from linewatt.store.read import Result
from linewatt.units import first_of

_MOST_NAMED = 8
_BETWEEN = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A series that servers could be bought by: its name, its cases, and the host of the role."""

    title: str
    host: str
    summaries: tuple[CaseSummary, ...]


@dataclass(frozen=True, slots=True)
class FleetSource:
    """A table or a stored result: ``caveats`` come before all numbers, ``left`` says which cases are none."""

    name: str
    candidates: tuple[Candidate, ...]
    findings: Findings
    caveats: tuple[str, ...] = ()
    left: Mapping[str, int] = field(default_factory=dict)
    """why cases are no operating points → how many"""
    supplies: Mapping[str, Supplies] = field(default_factory=dict)
    """those that hosts declare"""
    is_of_lab: bool = False
    """whether one of its hosts is a lab's, so that nothing of it is of hardware"""

    def points(
        self, candidate: Candidate, role: Role, tolerance_ratio: float | None
    ) -> tuple[OperatingPoint, ...]:
        """Its operating points."""
        return operating_points(candidate.summaries, role, self.findings, tolerance_ratio)


def of_trials(name: str, trials: Sequence[Trial], role: Role, caveats: Sequence[str] = ()) -> FleetSource:
    """The series of a table's rows; ``caveats`` are what of it could not be read."""
    summaries = summarise(trials)
    named = [(case_words(one.summaries[0].case), one.summaries) for one in series_of(summaries)]
    return replace(_source(name, named, gather(trials, summaries), role), caveats=tuple(caveats))


def of_result(result: Result, role: Role) -> FleetSource:
    """The series of a stored result. Raises InvalidInput where it holds no cases."""
    if result.is_soak:
        raise InvalidInput(f"{result.id}: a soak is one load, no series of operating points")
    if result.imported_kind:
        kind = f"is a published table ({result.imported_kind}) without operating points"
        raise InvalidInput(f"{result.id}: {kind}; 'linewatt show' has its figures")
    view = digest(result)
    named = [(series.title, series.summaries) for group in view.groups for series in group.series]
    if not named:
        raise InvalidInput(
            f"{result.id}: no case at full rate is stored, and nothing else says what a server carries"
        )
    source = _source(result.id, named, view.findings, role)
    return replace(
        source,
        caveats=in_short(view),
        supplies=result.manifest.asked.psus,
        is_of_lab=any(host.lab for host in view.hosts.values()),
    )


def _source(
    name: str, named: Iterable[tuple[str, Sequence[CaseSummary]]], findings: Findings, role: Role
) -> FleetSource:
    candidates, left = [], dict[str, int]()
    for title, summaries in named:
        kept = []
        for one in summaries:
            why = why_no_point(one, role)
            if why is None:
                kept.append(one)
            else:
                left[why] = left.get(why, 0) + 1
        if kept:
            candidates.append(Candidate(title, kept[0].case.host(role), tuple(kept)))
    return FleetSource(name, tuple(candidates), findings, left=left)


def choose_series(source: FleetSource, wanted: str | None) -> Candidate:
    """The only series, or the only one whose name has all words of ``wanted``. Raises InvalidInput."""
    if not source.candidates:
        reasons = "; ".join(f"{plural(count, 'case')}: {why}" for why, count in source.left.items())
        raise InvalidInput(f"{source.name}: has no operating point of a server: {reasons}")
    words = _words(wanted or "")
    found = [one for one in source.candidates if set(words) <= set(_words(one.title))]
    exact = [one for one in found if _words(one.title) == words]
    if len(found) == 1 or exact:
        return (exact or found)[0]
    names = first_of([f"'{one.title}'" for one in found or source.candidates], _MOST_NAMED, between=", ")
    if wanted is None:
        raise InvalidInput(f"{source.name}: has {len(found)} series, name one with --series: {names}")
    many = f"is {len(found)} of them" if found else "is none of them"
    raise InvalidInput(f"--series {wanted!r}: {many}; {source.name} has {names}")


def _words(name: str) -> list[str]:
    return [one for one in _BETWEEN.split(name.replace("->", "→").replace("→", " → ").casefold()) if one]
