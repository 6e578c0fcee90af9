# SPDX-License-Identifier: Apache-2.0
"""A stored result as a side of a comparison; what was made of its trials is kept for the next time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.comparison.runs import CaseRuns, by_case
from linewatt.errors import StoreError
from linewatt.records import Campaign
from linewatt.store.read import load, load_manifest
from linewatt.store.remembered import remembered


@dataclass(frozen=True, slots=True)
class Kept:
    """What comparing reads of the trials of a result, and when it began."""

    created_s: int | float | None
    is_soak: bool
    cases: tuple[CaseRuns, ...]

    def side(self, name: str) -> Side:
        """The result called ``name``, without what is on record of its campaign and hosts."""
        return Side(
            name, name, Campaign(written={}), {}, {one.case: one for one in self.cases}, self.created_s
        )


@cache
def _shape() -> TypeAdapter[Kept]:
    return TypeAdapter(Kept)


def kept(path: Path) -> Kept:
    """Of a stored result. Raises StoreError naming the damaged file."""

    def made() -> Kept:
        if not (path / "trials").is_dir():
            raise StoreError(f"{path / 'trials'}: No such file or directory")
        result = load(path)
        return Kept(result.created_s, result.is_soak, tuple(by_case(result.trials).values()))

    return remembered(path, "cases", _shape(), made)


def side_of(path: Path, found: Kept) -> Side:
    """A result with what is on record of its campaign and hosts, and a soak's figures. Raises StoreError."""
    side = with_surroundings(found.side(path.name), path)
    if not found.is_soak:
        return side
    from linewatt.report.soak.runs import with_soak

    return with_soak(load(path), side)


def with_surroundings(side: Side, path: Path) -> Side:
    """A side with what is on record of its campaign and its hosts. Raises StoreError."""
    manifest = load_manifest(path)
    return replace(side, campaign=manifest.asked, hosts=manifest.hosts)
