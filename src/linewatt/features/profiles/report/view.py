# SPDX-License-Identifier: Apache-2.0
"""Profiles of a result for a page, a terminal, programs, and tools that draw flame graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.declare import FLAT, Schema, listing
from linewatt.features.profiles import store
from linewatt.features.profiles.analysis.counters import (
    PlaceCounters,
    bits_per_cycle,
    cycles_per_packet,
    place_counters,
)
from linewatt.features.profiles.analysis.shares import PlaceProfile, Share, half_width, hottest, work_shares
from linewatt.features.profiles.analysis.tree import call_graph, call_tree, folded
from linewatt.features.profiles.perf.model import HostProfile, MemoryTraffic, Place, Profile
from linewatt.features.profiles.report.flame import flame_figure
from linewatt.features.profiles.report.sentences import TITLE, place_words
from linewatt.features.profiles.report.tables import Shown, shown, tables_of
from linewatt.foreign import one_line
from linewatt.json_document import document_of, fill, of_class
from linewatt.model import Role
from linewatt.records import Count
from linewatt.report import Lines, Section, text_lines
from linewatt.report.printing import KeyedCase, keyed_case_of, render_table
from linewatt.report.trials import Digest

MOST_SHOWN = 24
"""profiles that a page has; --profile has them all"""
_MOST_FUNCTIONS = 100
SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"


def profiles_of(view: Digest) -> list[Shown]:
    """The profiles that are stored, by what their cases are called. Raises StoreError."""
    profiles = list(store.profiles(view.result.path))
    known_cases = {summary.case for summary in view.summaries}
    return shown(profiles, lambda case: view.describe(case) if case in known_cases else case.test)


def page_sections(view: Digest) -> Iterator[Section]:
    """What a page has of them; empty where there are none."""
    profiles = profiles_of(view)
    figures = [
        figure
        for number, shown_profile in enumerate(profiles[:MOST_SHOWN], start=1)
        for at, place in enumerate(shown_profile.places, start=1)
        if (figure := flame_figure(place, shown_profile.title, f"flame-{number}-{at}")) is not None
    ]
    more = len(profiles) - MOST_SHOWN
    yield Section(
        TITLE,
        "profiles",
        tuple(table for shown_profile in profiles[:MOST_SHOWN] for table in tables_of(shown_profile)),
        tuple(figures),
        notes=tuple(_graphs(profiles[:MOST_SHOWN])),
        intro=(
            "What perf recorded on the CPUs of load processes (app) and of interrupts (IRQ) at both ends, in "
            "one more trial a case that is part of no other figure. Shares are of busy samples: of those in "
            "which the CPU was not idle.",
            *((f"{more} more are in linewatt show --profile.",) if more > 0 else ()),
        ),
        nav="Profiles",
    )


def _graphs(host_profiles: Sequence[Shown]) -> Iterator[Lines]:
    for shown_profile in host_profiles:
        for place in shown_profile.places:
            lines = call_graph(call_tree(place.host, place.place))
            graph = text_lines(
                f"{shown_profile.title}: {place_words(place)}, call graph", lines, preformatted=True
            )
            yield replace(graph, folded=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountersDocument:
    place: Place
    cycles_hz: float | None
    ipc: float | None
    frequency_hz: float | None
    misses_per_kilo: float | None
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDocument:
    symbol: str
    binary: str
    work: str
    """The kind of work."""
    ratio: float
    """Of busy samples."""
    standard_error: float | None
    with_callees_ratio: float
    half_width_95_ratio: float | None
    """Half of its 95 % CI."""


@dataclass(frozen=True, slots=True)
class WorkDocument:
    work: str
    ratio: float
    half_width_95_ratio: float | None
    """Half of its 95 % CI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceDocument:
    place: Place
    cpus: tuple[Count, ...]
    busy_samples: Count
    idle_samples: Count
    unresolved_samples: Count
    not_ranked: str | None
    functions: list[FunctionDocument]
    work: list[WorkDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDocument:
    host: str
    role: Role
    reason: str | None
    event: str
    frequency_hz: float
    samples: Count
    lost_samples: Count
    cut_samples: Count
    notes: tuple[str, ...]
    build_ids: Mapping[str, str]
    """Binary → build id."""
    no_counters: str | None
    """Why the hardware counts nothing."""
    cycles_per_packet: float | None
    bits_per_cycle: float | None
    memory: MemoryTraffic | None
    counters: list[CountersDocument]
    places: list[PlaceDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDocument:
    number: Count
    measured: Literal[False] = False
    """No figure is made of it."""
    case: KeyedCase = field(metadata=FLAT)
    started_s: float
    throughput_bps: float | None
    """While it was recorded."""
    reason: str | None
    """Why the load came to nothing."""
    hosts: list[HostDocument]


def _document(shown_profile: Shown) -> ProfileDocument:
    profile = shown_profile.profile
    return fill(
        ProfileDocument,
        profile,
        measured=False,
        case=keyed_case_of(profile.case, profile.case_key),
        hosts=[_host(profile, shown_profile, host) for host in profile.hosts],
    )


def _host(profile: Profile, shown_profile: Shown, host: HostProfile) -> HostDocument:
    return fill(
        HostDocument,
        host,
        cycles_per_packet=cycles_per_packet(host).value,
        bits_per_cycle=bits_per_cycle(host, profile.throughput_bps).value,
        counters=[_counters(place_counter) for place_counter in place_counters(host)],
        places=[_place(place) for place in shown_profile.places if place.host is host],
    )


def _place(place: PlaceProfile) -> PlaceDocument:
    return PlaceDocument(
        place=place.place,
        cpus=place.host.cpus[place.place],
        busy_samples=place.busy,
        idle_samples=place.idle,
        unresolved_samples=place.unresolved,
        not_ranked=place.why_not_ranked,
        functions=[_function(share, place) for share in hottest(place, _MOST_FUNCTIONS)],
        work=[
            WorkDocument(name, ratio, half_width(place, error)) for name, ratio, error in work_shares(place)
        ],
    )


def _function(share: Share, place: PlaceProfile) -> FunctionDocument:
    return FunctionDocument(
        symbol=share.function.symbol,
        binary=share.function.binary,
        work=share.group,
        ratio=share.ratio,
        standard_error=share.error,
        with_callees_ratio=share.total_ratio,
        half_width_95_ratio=half_width(place, share.error),
    )


def _counters(counters: PlaceCounters) -> CountersDocument:
    names = ("cycles_hz", "ipc", "frequency_hz", "misses_per_kilo")
    figures = {name: getattr(counters, name) for name in names}
    reasons = {name: figure.reason for name, figure in figures.items() if figure.reason is not None}
    values = {name: figure.value for name, figure in figures.items()}
    return CountersDocument(place=counters.place, **values, reasons=reasons)


class ProfileView:
    """Profiles as ``show --profile`` prints them: a :class:`linewatt.report.views.ResultView`."""

    key = "profiles"

    def value(self, view: Digest) -> list[dict[str, Any]]:
        """A mark says that no figure is made of them. Raises StoreError."""
        return [document_of(_document(shown_profile)) for shown_profile in profiles_of(view)]

    def schema(self) -> Schema:
        meaning = "What perf recorded, in trials beside those that are measured."
        return listing(of_class(ProfileDocument), meaning)

    def terminal(self, view: Digest, width: int | None) -> RenderableType:
        parts: list[RenderableType] = []
        for profile in profiles_of(view):
            parts += [render_table(table, width) for table in tables_of(profile)]
            for place in profile.places:
                lines = call_graph(call_tree(place.host, place.place))
                title = Text(one_line(f"{profile.title}: {place_words(place)}, call graph"), style="bold")
                parts.append(Group(title, *(Text(one_line(line)) for line in lines)))
        if not parts:
            parts.append(Text("No profile is stored; profile: true in the campaign file adds one a case."))
        return Group(*(part for block in parts for part in (block, Text())))


VIEW = ProfileView()


def folded_text(host_profiles: Sequence[Shown]) -> str:
    """As flamegraph.pl and speedscope read it: each stack below its case, host and role."""
    return "".join(
        f"{shown_profile.title.replace(';', ',')};{place_words(place)};{line}\n"
        for shown_profile in host_profiles
        for place in shown_profile.places
        for line in folded(place.host, place.place)
    )


def speedscope(host_profiles: Sequence[Shown], name: str) -> dict[str, Any]:
    """As https://www.speedscope.app and Firefox's profiler import it: a profile a role."""
    frames: dict[tuple[str, str], int] = {}
    profiles = []
    for shown_profile in host_profiles:
        for place in shown_profile.places:
            samples, weights = [], []
            for line in folded(place.host, place.place):
                stack, _, count = line.rpartition(" ")
                samples.append([frames.setdefault((part, ""), len(frames)) for part in stack.split(";")])
                weights.append(int(count))
            profiles.append(
                {
                    "type": "sampled",
                    "name": f"{shown_profile.title}: {place_words(place)}",
                    "unit": "none",
                    "startValue": 0,
                    "endValue": sum(weights),
                    "samples": samples,
                    "weights": weights,
                }
            )
    return {
        "$schema": SPEEDSCOPE,
        "name": name,
        "exporter": "linewatt",
        "shared": {"frames": [{"name": symbol} for symbol, _ in frames]},
        "profiles": profiles,
    }
