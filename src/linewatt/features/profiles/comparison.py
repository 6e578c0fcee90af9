# SPDX-License-Identifier: Apache-2.0
"""Profiles of two sides beside each other: which functions, and kinds of work, gained and lost CPU time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.analysis.comparison.matching import Matching, Side
from linewatt.declare import COUNT, NUMBER, TEXT, Schema, choice, listing, maybe, record, said, version
from linewatt.errors import InvalidInput
from linewatt.features.profiles import store
from linewatt.features.profiles.analysis.difference import Change, Difference, difference
from linewatt.features.profiles.analysis.shares import place_profile
from linewatt.features.profiles.perf.model import PLACES, HostProfile, Place, Profile
from linewatt.features.profiles.report.words import host_notes, place_words
from linewatt.foreign import one_line
from linewatt.model import ENDS, Case
from linewatt.report.printing.export import case_keys, case_schema
from linewatt.report.printing.text_table import render
from linewatt.report.section import Lines, Section
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table
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
    of_a = {one.case: one for one in store.profiles(a)}
    of_b = of_a if a == b else {one.case: one for one in store.profiles(b)}
    found: list[Compared] = []
    for match in matching.matches:
        if isinstance(match.base, Case) and isinstance(match.other, Case):
            own, other = of_a.get(match.base), of_b.get(match.other)
            if own is not None and other is not None:
                found += _of_cases(match.base, match.other, dict(match.hosts), own, other)
    return found


def _of_cases(
    base: Case, against: Case, hosts: Mapping[str, str], a: Profile, b: Profile
) -> Iterator[Compared]:
    there: Mapping[str, HostProfile] = {host.host: host for host in b.hosts}
    for own in a.hosts:
        stands_for = hosts.get(own.host, own.host)
        other = there.get(stands_for)
        if other is None:
            continue
        whys = [f"{side}: {one.reason}" for side, one in (("A", own), ("B", other)) if one.reason is not None]
        if whys:
            yield Compared(base, against, "host", own.role, None, "; ".join(whys))
            continue
        notes = (*_named(own, "A"), *_named(other, "B"))
        for place in PLACES:
            if own.cpus.get(place) and other.cpus.get(place):
                made = difference(place_profile(own, place), place_profile(other, place))
                yield Compared(base, against, place, own.role, made, made.reason or "", notes)
            elif own.cpus.get(place) or other.cpus.get(place):
                reason = f"its CPUs are there for other things: {_places(own)} in A, {_places(other)} in B"
                yield Compared(base, against, place, own.role, None, reason)


def _named(host: HostProfile, side: str) -> Iterator[Note]:
    for note in host_notes(host):
        yield Note(note.kind, note.text, f"{side}, {note.lead}")


def _places(host: HostProfile) -> str:
    return ", ".join(host.cpus)


def tables_of(one: Compared) -> list[Table]:
    """The functions that gained and lost most, and kinds of work."""
    if one.difference is None or one.difference.reason is not None:
        return []
    a, b = one.difference.a, one.difference.b
    same = place_words(a) == place_words(b)
    title = f"{_title(one)}: {place_words(b)}{'' if same else f' against {place_words(a)}'}"
    changes = _most(one.difference.functions)
    return [
        _table(f"{title}: functions", "Function", changes, one.difference, named=True),
        _table(f"{title}: kinds of work", "Work", one.difference.work, one.difference, named=False),
    ]


def _title(one: Compared) -> str:
    return f"{one.base.test}, {one.base.instances} inst."


def _most(changes: Sequence[Change]) -> list[Change]:
    """Those that gained most and those that lost most, in their order."""
    if len(changes) <= 2 * MOST_ROWS:
        return list(changes)
    return [*changes[:MOST_ROWS], *changes[-MOST_ROWS:]]


def _table(title: str, what: str, changes: Sequence[Change], found: Difference, *, named: bool) -> Table:
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
        groups=(RowGroup("", tuple(_row(one, named=named) for one in changes)),),
        notes=(
            Note("remark", f"of {found.a.busy:,} busy samples in A and {found.b.busy:,} in B; {ONE_TRIAL}"),
        ),
    )


def _row(one: Change, *, named: bool) -> Row:
    more = (Cell(one.work), Cell(one.binary)) if named else ()
    return Row(
        (Cell(one.name),),
        (
            Cell(_percent(one.a_ratio)),
            Cell(_percent(one.b_ratio)),
            Cell(_points(one.gain), si=one.gain),
            Cell(f"{_points(one.gain - one.half_width)} to {_points(one.gain + one.half_width)}"),
            Cell(verdict(one), strong=one.certain),
            *more,
        ),
    )


def verdict(one: Change) -> str:
    """``gained``, ``lost``, or that it may be chance."""
    if not one.certain:
        return "may be chance"
    return "gained" if one.gain > 0 else "lost"


def _percent(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):.1f}"


def _points(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):+.1f}".replace("-", "−")


def show(found: Sequence[Compared], a: str, b: str, width: int | None) -> RenderableType:
    """All of it for a terminal."""
    parts: list[RenderableType] = [Text(one_line(f"A and B: {a}"))]
    if a != b:
        parts = [Text(one_line(f"A: {a}")), Text(one_line(f"B: {b}"))]
    for one in found:
        if one.difference is None or one.difference.reason is not None:
            parts.append(Text(one_line(f"{MISSING} {_title(one)}, {one.role}, {one.place}: {one.reason}")))
            continue
        parts.append(Text(one_line(sentence(one.difference)), style="bold"))
        parts += [render(table, width) for table in tables_of(one)]
    notes = dict.fromkeys(note.sentence for one in found for note in one.notes)
    parts.append(Group(*(Text(one_line(note)) for note in notes)))
    return Group(*(part for each in parts for part in (each, Text())))


def section(found: Sequence[Compared]) -> Section:
    """What a page has of them."""
    there = [one for one in found[:MOST_SHOWN] if one.difference is not None and not one.difference.reason]
    absent = tuple(
        Note("absence", one.reason, f"{_title(one)}, {one.role}, {one.place}")
        for one in found[:MOST_SHOWN]
        if one not in there
    )
    notes = tuple(dict.fromkeys(note for one in there for note in one.notes))
    more = len(found) - MOST_SHOWN
    return Section(
        "Profiles",
        "profiles",
        tuple(table for one in there for table in tables_of(one)),
        notes=(Lines("Compared", absent),) * bool(absent)
        + (Lines("How each was taken", notes),) * bool(notes),
        intro=(
            "Which functions gained and lost CPU time: shares of busy samples that perf took in one more "
            "trial a case, which is part of no figure above.",
            *(f"{_title(one)}: {sentence(one.difference)}." for one in there if one.difference),
            *((f"{more} more are in linewatt compare --profile.",) if more > 0 else ()),
        ),
    )


def sentence(found: Difference) -> str:
    """What gained most, and whether that is sure."""
    where = place_words(found.b)
    most = found.most_gained
    if most is None:
        return f"{where}: no function surely gained"
    span = f"{_points(most.gain - most.half_width)} to {_points(most.gain + most.half_width)}"
    return (
        f"{where}: {most.name} gained most, {_percent(most.a_ratio)} % in A, {_percent(most.b_ratio)} % in B "
        f"({_points(most.gain)} points, 95 % CI {span})"
    )


def document(found: Sequence[Compared], a: str, b: str) -> dict[str, Any]:
    """``compare --profile --json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "a": a,
        "b": b,
        "compared": [_document(one) for one in found],
    }


def _document(one: Compared) -> dict[str, Any]:
    made = one.difference
    return {
        **case_keys(one.base),
        "role": one.role,
        "place": one.place,
        "reason": one.reason or None,
        "a_busy_samples": made.a.busy if made else None,
        "b_busy_samples": made.b.busy if made else None,
        "most_gained": made.most_gained.name if made and made.most_gained else None,
        "functions": [_change(change) for change in made.functions] if made else [],
        "work": [_change(change) for change in made.work] if made else [],
    }


def _change(one: Change) -> dict[str, Any]:
    return {
        "name": one.name,
        "binary": one.binary,
        "work": one.work,
        "a_ratio": one.a_ratio,
        "b_ratio": one.b_ratio,
        "gain_ratio": one.gain,
        "half_width_95_ratio": one.half_width,
        "verdict": verdict(one),
    }


@dataclass(frozen=True, slots=True)
class ComparedProfiles:
    """Profiles of two results, or of levels of one: a :class:`linewatt.report.views.ComparedView`."""

    differences: Sequence[Compared]
    a: str
    b: str

    def document(self) -> dict[str, Any]:
        return document(self.differences, self.a, self.b)

    def terminal(self, width: int | None) -> RenderableType:
        return show(self.differences, self.a, self.b, width)

    def section(self) -> Section:
        return section(self.differences)


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
        return schema()


COMPARISON = ProfileComparison()


def schema() -> Schema:
    """Of :func:`document`."""
    change = {
        "name": TEXT,
        "binary": TEXT,
        "work": TEXT,
        "a_ratio": NUMBER,
        "b_ratio": NUMBER,
        "gain_ratio": NUMBER,
        "half_width_95_ratio": said(NUMBER, "Half of the CI of the gain, 95 % for all of a role together."),
        "verdict": choice("gained", "lost", "may be chance"),
    }
    compared = {
        **case_schema(),
        "role": choice(*ENDS),
        "place": choice(*get_args(Place)),
        "reason": said(maybe(TEXT), "Why nothing can be told."),
        "a_busy_samples": maybe(COUNT),
        "b_busy_samples": maybe(COUNT),
        "most_gained": maybe(TEXT),
        "functions": listing(record(change)),
        "work": listing(record(change)),
    }
    keys = {
        "schema_version": version(SCHEMA_VERSION),
        "a": TEXT,
        "b": TEXT,
        "compared": listing(record(compared)),
    }
    return record(keys, "With `--profile`: which functions gained and lost CPU time.")
