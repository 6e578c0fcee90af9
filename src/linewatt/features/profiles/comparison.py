# SPDX-License-Identifier: Apache-2.0
"""Profiles of two sides beside each other: which functions, and kinds of work, gained and lost CPU time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.comparison import Matching, Side
from linewatt.declare import FLAT, Schema
from linewatt.errors import InvalidInput
from linewatt.features.profiles import store
from linewatt.features.profiles.analysis.difference import Change, Difference, difference
from linewatt.features.profiles.analysis.shares import place_profile
from linewatt.features.profiles.perf.model import PLACES, HostProfile, Place, Profile
from linewatt.features.profiles.report.sentences import host_notes, place_words
from linewatt.foreign import one_line
from linewatt.json_document import document_of, fill, of_class
from linewatt.model import Case, Role
from linewatt.records import Count
from linewatt.report import Cell, Head, Lines, Note, Row, RowGroup, Section, Table
from linewatt.report.printing import CaseKeys, Versioned, case_of, render_table
from linewatt.units import MISSING, percent_from_ratio

MOST_ROWS = 12
MOST_SHOWN = 24
"""roles of cases that a page has; a terminal and JSON have them all"""
SCHEMA_VERSION = 1
ONE_TRIAL = (
    "each side is one trial: the intervals hold what varies within its window, not what varies from trial to "
    "trial; 95 % for all functions of a role together"
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A role of a case on both sides; without a ``difference`` where ``reason`` says why."""

    base: Case
    other: Case
    place: Place
    role: str
    difference: Difference | None
    reason: str = ""
    notes: tuple[Note, ...] = ()


def differences(a: Path, b: Path, matching: Matching) -> list[Compared]:
    """What the profiles of two results (or of one) say of cases that match. Raises StoreError."""
    of_a = {profile.case: profile for profile in store.profiles(a)}
    of_b = of_a if a == b else {profile.case: profile for profile in store.profiles(b)}
    comparisons: list[Compared] = []
    for match in matching.matches:
        if isinstance(match.base, Case) and isinstance(match.other, Case):
            a_profile, b_profile = of_a.get(match.base), of_b.get(match.other)
            if a_profile is not None and b_profile is not None:
                comparisons += _of_cases(match.base, match.other, dict(match.hosts), a_profile, b_profile)
    return comparisons


def _of_cases(
    base: Case, against: Case, hosts: Mapping[str, str], a: Profile, b: Profile
) -> Iterator[Compared]:
    b_hosts: Mapping[str, HostProfile] = {host.host: host for host in b.hosts}
    for host in a.hosts:
        stands_for = hosts.get(host.host, host.host)
        b_host = b_hosts.get(stands_for)
        if b_host is None:
            continue
        whys = [
            f"{side}: {profile.reason}"
            for side, profile in (("A", host), ("B", b_host))
            if profile.reason is not None
        ]
        if whys:
            yield Compared(base, against, "host", host.role, None, "; ".join(whys))
            continue
        notes = (*_named(host, "A"), *_named(b_host, "B"))
        for place in PLACES:
            if host.cpus.get(place) and b_host.cpus.get(place):
                place_difference = difference(place_profile(host, place), place_profile(b_host, place))
                yield Compared(
                    base, against, place, host.role, place_difference, place_difference.reason or "", notes
                )
            elif host.cpus.get(place) or b_host.cpus.get(place):
                reason = f"its CPUs are there for other things: {_places(host)} in A, {_places(b_host)} in B"
                yield Compared(base, against, place, host.role, None, reason)


def _named(host: HostProfile, side: str) -> Iterator[Note]:
    for note in host_notes(host):
        yield Note(note.kind, note.text, f"{side}, {note.lead}")


def _places(host: HostProfile) -> str:
    return ", ".join(host.cpus)


def tables_of(comparison: Compared) -> list[Table]:
    """The functions that gained and lost most, and kinds of work."""
    if comparison.difference is None or comparison.difference.reason is not None:
        return []
    a, b = comparison.difference.a, comparison.difference.b
    same = place_words(a) == place_words(b)
    title = f"{_title(comparison)}: {place_words(b)}{'' if same else f' against {place_words(a)}'}"
    changes = _most(comparison.difference.functions)
    return [
        _table(f"{title}: functions", "Function", changes, comparison.difference, named=True),
        _table(
            f"{title}: kinds of work", "Work", comparison.difference.work, comparison.difference, named=False
        ),
    ]


def _title(comparison: Compared) -> str:
    return f"{comparison.base.test}, {comparison.base.instances} inst."


def _most(changes: Sequence[Change]) -> list[Change]:
    """Those that gained most and those that lost most, in their order."""
    if len(changes) <= 2 * MOST_ROWS:
        return list(changes)
    return [*changes[:MOST_ROWS], *changes[-MOST_ROWS:]]


def _table(
    title: str, what: str, changes: Sequence[Change], profile_difference: Difference, *, named: bool
) -> Table:
    more = (Head("Work", kind="text"), Head("In", kind="text")) if named else ()
    return Table(
        title=title,
        keys=(Head(what, kind="text"),),
        heads=(
            Head("A", "%"),
            Head("B", "%"),
            Head("B − A", "points"),
            Head("95 % CI", kind="text"),
            Head("Verdict", kind="text"),
            *more,
        ),
        groups=(RowGroup("", tuple(_row(change, named=named) for change in changes)),),
        notes=(
            Note(
                "remark",
                f"of {profile_difference.a.busy:,} busy samples in A and "
                f"{profile_difference.b.busy:,} in B; {ONE_TRIAL}",
            ),
        ),
    )


def _row(change: Change, *, named: bool) -> Row:
    more = (Cell(change.work), Cell(change.binary)) if named else ()
    return Row(
        (Cell(change.name),),
        (
            Cell(_percent(change.a_ratio)),
            Cell(_percent(change.b_ratio)),
            Cell(_points(change.gain), si=change.gain),
            Cell(f"{_points(change.gain - change.half_width)} to {_points(change.gain + change.half_width)}"),
            Cell(verdict(change), strong=change.certain),
            *more,
        ),
    )


def verdict(change: Change) -> Literal["gained", "lost", "may be chance"]:
    """``gained``, ``lost``, or that it may be chance."""
    if not change.certain:
        return "may be chance"
    return "gained" if change.gain > 0 else "lost"


def _percent(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):.1f}"


def _points(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):+.1f}".replace("-", "−")


def sentence(profile_difference: Difference) -> str:
    """What gained most, and whether that is sure."""
    where = place_words(profile_difference.b)
    most_gained = profile_difference.most_gained
    if most_gained is None:
        return f"{where}: no function surely gained"
    span = (
        f"{_points(most_gained.gain - most_gained.half_width)} to "
        f"{_points(most_gained.gain + most_gained.half_width)}"
    )
    return (
        f"{where}: {most_gained.name} gained most, {_percent(most_gained.a_ratio)} % in A, "
        f"{_percent(most_gained.b_ratio)} % in B "
        f"({_points(most_gained.gain)} points, 95 % CI {span})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDocument:
    name: str
    binary: str
    work: str
    a_ratio: float
    b_ratio: float
    gain_ratio: float
    half_width_95_ratio: float
    """Half of the CI of the gain, 95 % for all of a role together."""
    verdict: Literal["gained", "lost", "may be chance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedDocument:
    case: CaseKeys = field(metadata=FLAT)
    role: Role
    place: Place
    reason: str | None
    """Why nothing can be told."""
    a_busy_samples: Count | None
    b_busy_samples: Count | None
    most_gained: str | None
    functions: list[ChangeDocument]
    work: list[ChangeDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilesDocument(Versioned):
    """With `--profile`: which functions gained and lost CPU time."""

    a: str
    b: str
    compared: list[ComparedDocument]


def _document(comparison: Compared) -> ComparedDocument:
    sides = comparison.difference
    most_gained = sides.most_gained if sides else None
    return fill(
        ComparedDocument,
        comparison,
        case=case_of(comparison.base),
        reason=comparison.reason or None,
        a_busy_samples=sides.a.busy if sides else None,
        b_busy_samples=sides.b.busy if sides else None,
        most_gained=most_gained.name if most_gained else None,
        functions=[_change(change) for change in sides.functions] if sides else [],
        work=[_change(change) for change in sides.work] if sides else [],
    )


def _change(change: Change) -> ChangeDocument:
    gain = {"gain_ratio": change.gain, "half_width_95_ratio": change.half_width}
    return fill(ChangeDocument, change, **gain, verdict=verdict(change))


@dataclass(frozen=True, slots=True)
class ComparedProfiles:
    """Profiles of two results, or of levels of one: a :class:`linewatt.report.views.ComparedView`."""

    differences: Sequence[Compared]
    a: str
    b: str

    def document(self) -> dict[str, Any]:
        compared = [_document(comparison) for comparison in self.differences]
        return document_of(ProfilesDocument(a=self.a, b=self.b, compared=compared))

    def terminal(self, width: int | None) -> RenderableType:
        parts: list[RenderableType] = [Text(one_line(f"A and B: {self.a}"))]
        if self.a != self.b:
            parts = [Text(one_line(f"A: {self.a}")), Text(one_line(f"B: {self.b}"))]
        for compared in self.differences:
            if compared.difference is None or compared.difference.reason is not None:
                where = f"{_title(compared)}, {compared.role}, {compared.place}"
                parts.append(Text(one_line(f"{MISSING} {where}: {compared.reason}")))
                continue
            parts.append(Text(one_line(sentence(compared.difference)), style="bold"))
            parts += [render_table(table, width) for table in tables_of(compared)]
        notes = dict.fromkeys(note.sentence for compared in self.differences for note in compared.notes)
        parts.append(Group(*(Text(one_line(note)) for note in notes)))
        return Group(*(part for block in parts for part in (block, Text())))

    def section(self) -> Section:
        with_difference = [
            compared
            for compared in self.differences[:MOST_SHOWN]
            if compared.difference is not None and not compared.difference.reason
        ]
        absent = tuple(
            Note("absence", compared.reason, f"{_title(compared)}, {compared.role}, {compared.place}")
            for compared in self.differences[:MOST_SHOWN]
            if compared not in with_difference
        )
        notes = tuple(dict.fromkeys(note for compared in with_difference for note in compared.notes))
        more = len(self.differences) - MOST_SHOWN
        return Section(
            "Profiles",
            "profiles",
            tuple(table for compared in with_difference for table in tables_of(compared)),
            notes=(Lines("Compared", absent),) * bool(absent)
            + (Lines("How each was taken", notes),) * bool(notes),
            intro=(
                "Which functions gained and lost CPU time: shares of busy samples that perf took in one more "
                "trial a case, which is part of no figure above.",
                *(
                    f"{_title(compared)}: {sentence(compared.difference)}."
                    for compared in with_difference
                    if compared.difference
                ),
                *((f"{more} more are in linewatt compare --profile.",) if more > 0 else ()),
            ),
        )


class ProfileComparison:
    """What ``compare --profile`` asks for: a :class:`linewatt.report.views.ComparisonView`."""

    def compare(
        self, sides: tuple[Path, Path], ends: tuple[Side, Side], matching: Matching
    ) -> ComparedProfiles:
        """Raises InvalidInput where there are no profiles, and StoreError."""
        of_cases = differences(*sides, matching)
        if not of_cases:
            raise InvalidInput(
                "--profile: no case that is compared has a profile on both sides; profile: true adds one a "
                "case"
            )
        return ComparedProfiles(of_cases, *(end.id for end in ends))

    def schema(self) -> Schema:
        return of_class(ProfilesDocument)


COMPARISON = ProfileComparison()
