# SPDX-License-Identifier: Apache-2.0
"""Where the operating points of a fleet come from: series of a table, or of a stored result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.analysis import Findings, gather_findings
from linewatt.analysis.cases import CaseSummary, summarise
from linewatt.errors import InvalidInput
from linewatt.features.advice.fleet.points import why_no_point
from linewatt.model import Role, Trial
from linewatt.records import Supplies
from linewatt.report import plural, series_of, test_and_factors
from linewatt.report.trials import digest_of, short_caveats
from linewatt.store import Result
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


def of_trials(name: str, trials: Sequence[Trial], role: Role, caveats: Sequence[str] = ()) -> FleetSource:
    """The series of a table's rows; ``caveats`` are what of it could not be read."""
    summaries = summarise(trials)
    named = [
        (test_and_factors(series.summaries[0].case), series.summaries) for series in series_of(summaries)
    ]
    return replace(_source(name, named, gather_findings(trials, summaries), role), caveats=tuple(caveats))


def of_result(result: Result, role: Role) -> FleetSource:
    """The series of a stored result. Raises InvalidInput where it holds no cases."""
    if result.is_soak:
        raise InvalidInput(f"{result.id}: a soak is a single load, not a series of operating points")
    if result.imported_kind:
        kind = f"is a published table ({result.imported_kind}) without operating points"
        raise InvalidInput(f"{result.id}: {kind}; 'linewatt show' has its figures")
    view = digest_of(result)
    named = [(series.title, series.summaries) for group in view.groups for series in group.series]
    if not named:
        raise InvalidInput(
            f"{result.id}: no case at full rate is stored, and nothing else says what a server carries"
        )
    source = _source(result.id, named, view.findings, role)
    return replace(
        source,
        caveats=short_caveats(view),
        supplies=result.manifest.asked.psus,
        is_of_lab=any(host.lab for host in view.hosts.values()),
    )


def _source(
    name: str, named: Iterable[tuple[str, Sequence[CaseSummary]]], findings: Findings, role: Role
) -> FleetSource:
    candidates, left_out = [], dict[str, int]()
    for title, summaries in named:
        usable = []
        for summary in summaries:
            why = why_no_point(summary, role)
            if why is None:
                usable.append(summary)
            else:
                left_out[why] = left_out.get(why, 0) + 1
        if usable:
            candidates.append(Candidate(title, usable[0].case.host(role), tuple(usable)))
    return FleetSource(name, tuple(candidates), findings, left=left_out)


def choose_series(source: FleetSource, series_name: str | None) -> Candidate:
    """The only series, or the only one whose name has all words of ``series_name``. Raises InvalidInput."""
    if not source.candidates:
        reasons = "; ".join(f"{plural(count, 'case')}: {why}" for why, count in source.left.items())
        raise InvalidInput(f"{source.name}: has no operating point of a server: {reasons}")
    words = _words(series_name or "")
    matches = [candidate for candidate in source.candidates if set(words) <= set(_words(candidate.title))]
    exact = [candidate for candidate in matches if _words(candidate.title) == words]
    if len(matches) == 1 or exact:
        return (exact or matches)[0]
    names = first_of(
        [f"'{candidate.title}'" for candidate in matches or source.candidates], _MOST_NAMED, between=", "
    )
    if series_name is None:
        raise InvalidInput(f"{source.name}: has {len(matches)} series, name one with --series: {names}")
    many = f"matches {len(matches)} series" if matches else "matches no series"
    raise InvalidInput(f"--series {series_name!r}: {many}; {source.name} has {names}")


def _words(name: str) -> list[str]:
    return [word for word in _BETWEEN.split(name.replace("->", "→").replace("→", " → ").casefold()) if word]
