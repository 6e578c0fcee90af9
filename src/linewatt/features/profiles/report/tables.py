# SPDX-License-Identifier: Apache-2.0
"""Profiles as tables: the hottest functions of each role, and what kind of work it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from linewatt.features.profiles.analysis.counters import (
    Figure,
    PlaceCounters,
    bits_per_cycle,
    cycles_per_packet,
    place_counters,
)
from linewatt.features.profiles.analysis.groups import GROUPS
from linewatt.features.profiles.analysis.shares import (
    PlaceProfile,
    Share,
    half_width,
    hottest,
    place_profiles,
    work_shares,
)
from linewatt.features.profiles.perf.model import Profile
from linewatt.features.profiles.report.sentences import about, host_notes, place_notes, place_words
from linewatt.model import Case
from linewatt.report import Cell, Head, Note, Row, RowGroup, Table
from linewatt.units import MISSING, format_significant, percent_from_ratio

MOST_FUNCTIONS = 12
LEAST_SHOWN = 0.005
"""of busy samples, below which a function is not listed"""
INTERVALS = (
    "± is the 95 % CI of a share over slices of the window: of this one trial, not from trial to trial"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A profile with what every view of it needs, computed once."""

    profile: Profile
    title: str
    places: tuple[PlaceProfile, ...]


def shown(profiles: Sequence[Profile], title: Callable[[Case], str]) -> list[Shown]:
    """Profiles by what their cases are called."""
    return [
        Shown(profile, title(profile.case), tuple(chain.from_iterable(map(place_profiles, profile.hosts))))
        for profile in profiles
    ]


def tables_of(shown_profile: Shown) -> list[Table]:
    """The hottest functions and kinds of work; what is missing is said where they would be."""
    tables = [
        hot_table(shown_profile),
        *([work_table(shown_profile)] if any(map(work_shares, shown_profile.places)) else []),
    ]
    counted = any(host.counted for host in shown_profile.profile.hosts)
    return [*tables, counter_table(shown_profile)] if counted else tables


def hot_table(shown_profile: Shown) -> Table:
    """The functions in which most samples were taken, by role."""
    notes = [note for host in shown_profile.profile.hosts for note in host_notes(host)]
    notes += [note for place in shown_profile.places for note in place_notes(place)]
    groups = tuple(
        RowGroup(_label(place), tuple(_hot_row(place, share) for share in listed))
        for place in shown_profile.places
        if (listed := [share for share in hottest(place, MOST_FUNCTIONS) if share.ratio >= LEAST_SHOWN])
    )
    remark = [Note("remark", INTERVALS)] if groups else []
    return Table(
        title=f"{shown_profile.title}: hottest functions, {about(shown_profile.profile)}",
        keys=(Head("Function", kind="text"),),
        heads=(
            Head("Own", "%", key="ratio"),
            Head("±", "points"),
            Head("With what it calls", "%", lines="With what\nit calls"),
            Head("Work", kind="text"),
            Head("In", kind="text"),
        ),
        groups=groups,
        notes=(*remark, *notes),
        group_title="Role",
    )


def _label(place: PlaceProfile) -> str:
    return f"{place_words(place)}: {place.busy:,} busy samples"


def _hot_row(place: PlaceProfile, share: Share) -> Row:
    return Row(
        (Cell(share.function.symbol),),
        (
            Cell(_percent(share.ratio), bar=share.ratio, si=share.ratio),
            Cell(_percent(half_width(place, share.error))),
            Cell(_percent(share.total_ratio), si=share.total_ratio),
            Cell(share.group),
            Cell(share.function.binary),
        ),
    )


def work_table(shown_profile: Shown) -> Table:
    """What kind of work each role did, in percent of its busy samples."""
    place_shares = [
        (place, {name: (ratio, error) for name, ratio, error in work_shares(place)})
        for place in shown_profile.places
    ]
    names = [
        name
        for name in GROUPS
        if any(shares.get(name, (0.0, 0.0))[0] >= LEAST_SHOWN for _, shares in place_shares)
    ]
    rows = tuple(
        Row((Cell(place_words(place)),), tuple(_work_cell(place, shares.get(name)) for name in names))
        for place, shares in place_shares
        if shares
    )
    return Table(
        title=f"{shown_profile.title}: kinds of work, % of busy samples",
        keys=(Head("Role", kind="text"),),
        heads=tuple(Head(name, show_sd=True) for name in names),
        groups=(RowGroup("", rows),),
        notes=(
            Note(
                "remark",
                "a sample is of the kind that its innermost function is known for, else of what the kernel "
                "does there: softirq, interrupts, system calls; ± as above",
            ),
        ),
    )


def _work_cell(place: PlaceProfile, share: tuple[float, float] | None) -> Cell:
    if share is None:
        return Cell("0.0", si=0.0)
    return Cell(f"{_percent(share[0])} ± {_percent(half_width(place, share[1]))}", si=share[0])


def _percent(ratio: float) -> str:
    return f"{percent_from_ratio(ratio):.1f}" if ratio < float("inf") else MISSING


def counter_table(shown_profile: Shown) -> Table:
    """What counters of the CPUs said in the same window; a row a place, and what both together cost."""
    groups = []
    for host in shown_profile.profile.hosts:
        counted = {place_counter.place: place_counter for place_counter in place_counters(host)}
        rows = [
            _counter_row(place, counted[place.place]) for place in shown_profile.places if place.host is host
        ]
        if rows:
            host_figures = cycles_per_packet(host), bits_per_cycle(host, shown_profile.profile.throughput_bps)
            rows.append(
                Row((Cell("together"),), (*(Cell("") for _ in range(4)), *map(_figure, host_figures)))
            )
            groups.append(RowGroup(f"{host.role} {host.host}", tuple(rows)))
    return Table(
        title=f"{shown_profile.title}: counters",
        keys=(Head("CPUs", kind="text"),),
        heads=(
            Head("Cycles", "G/s"),
            Head("Instructions per cycle", lines="Instructions\nper cycle"),
            Head("Clock really run", "GHz", lines="Clock\nreally run"),
            Head("LLC load misses", "per 1,000 instructions", lines="LLC load\nmisses"),
            Head("Cycles per packet", lines="Cycles\nper packet"),
            Head("Bits per cycle", lines="Bits\nper cycle"),
        ),
        groups=tuple(groups),
        notes=(
            Note("remark", "clock: cycles over reference cycles, by the base clock; packets: of the data "
                 "interface, both ways"),
        ),
        group_title="Host",
    )  # fmt: skip


def _counter_row(place: PlaceProfile, counters: PlaceCounters) -> Row:
    figures = (
        _figure(counters.cycles_hz, 1e-9),
        _figure(counters.ipc),
        _figure(counters.frequency_hz, 1e-9),
        _figure(counters.misses_per_kilo),
    )
    return Row((Cell(place_words(place)),), (*figures, Cell(""), Cell("")))


def _figure(figure: Figure, scale: float = 1.0) -> Cell:
    if figure.value is None:
        return Cell(MISSING, reason=figure.reason)
    return Cell(format_significant(figure.value * scale), si=figure.value)
