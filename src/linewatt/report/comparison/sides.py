# SPDX-License-Identifier: Apache-2.0
"""A stored result as a side of a comparison; what was made of its trials is kept for the next time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linewatt.analysis.comparison import CaseRuns, Side, digest_of_side, runs_by_case
from linewatt.errors import StoreError
from linewatt.records import Campaign
from linewatt.report.kinds import result_kind
from linewatt.store import Result, cached_of_result, load_manifest, load_result


@dataclass(frozen=True, slots=True)
class Kept:
    """What comparing reads of the trials of a result, and when it began."""

    created_s: int | float | None
    kind: str
    """the name of the result's kind; empty: it holds trials"""
    cases: tuple[CaseRuns, ...]
    searched: tuple[str, ...] = ()
    knees: tuple[str, ...] = ()
    environment: str = ""

    def side(self, name: str) -> Side:
        """The result called ``name``, without what is on record of its campaign and hosts."""
        cases = {case.case: case for case in self.cases}
        return Side(
            name,
            name,
            Campaign(written={}),
            {},
            cases,
            self.created_s,
            searched=self.searched,
            knees=self.knees,
            environment=self.environment,
        )


def kept_side(path: Path) -> Kept:
    """Of a stored result. Raises StoreError naming the damaged file."""

    def made() -> Kept:
        if not (path / "trials").is_dir():
            raise StoreError(f"{path / 'trials'}: No such file or directory")
        result = load_result(path)
        cases = tuple(runs_by_case(result.trials).values())
        searches_and_knees = _searches_and_knees(result)
        kind = result_kind(result.manifest)
        campaign, hosts = result.manifest.asked, result.manifest.hosts
        environment = digest_of_side(Side(path.name, path.name, campaign, hosts, {}))
        return Kept(
            result.created_s, "" if kind is None else kind.name, cases, *searches_and_knees, environment
        )

    return cached_of_result(path, "cases", Kept, made)


def _searches_and_knees(result: Result) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """``UDP 1500 NDR 1.230 Gbps, PDR 0.5 % 1.236 Gbps`` of each search of a rate, ``TCP knee at 5.3 instances
    (95 % CI 5.2 to 5.5)`` of each of a number of instances."""
    from linewatt.report.trials.searches.knees import instance_searches_of, short_words
    from linewatt.report.trials.searches.searches import goal_name, named, rate_words, searches_of

    rates = (
        f"{name} {', '.join(f'{goal_name(goal)} {rate_words(goal)}' for goal in search.goals)}"
        for search, name in named(searches_of(result))
    )
    knees = (f"{name} {short_words(search)}" for search, name in named(instance_searches_of(result)))
    return tuple(rates), tuple(knees)


def side_of(path: Path, stored_result: Kept) -> Side:
    """A result with what is on record of its campaign and hosts, and its figures where it is one run.

    Raises StoreError.
    """
    side = with_surroundings(stored_result.side(path.name), path)
    kind = result_kind(load_manifest(path)) if stored_result.kind else None
    if kind is None:
        return side
    return replace(side, single_run=kind.single_run(load_result(path)))


def with_surroundings(side: Side, path: Path) -> Side:
    """A side with what is on record of its campaign and its hosts. Raises StoreError."""
    manifest = load_manifest(path)
    return replace(side, campaign=manifest.asked, hosts=manifest.hosts)
