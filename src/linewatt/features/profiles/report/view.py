# SPDX-License-Identifier: Apache-2.0
"""Profiles of a result for a page, a terminal, programs, and tools that draw flame graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from rich.console import Group, RenderableType
from rich.text import Text

from linewatt.declare import (
    COUNT,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    choice,
    listing,
    maybe,
    of_class,
    record,
    said,
    table,
)
from linewatt.features.profiles import store
from linewatt.features.profiles.analysis.counters import (
    PlaceCounters,
    bits_per_cycle,
    cycles_per_packet,
    place_counters,
)
from linewatt.features.profiles.analysis.shares import as_document as share_document
from linewatt.features.profiles.analysis.shares import half_width, hottest, work_shares
from linewatt.features.profiles.analysis.tree import call_graph, call_tree, folded
from linewatt.features.profiles.perf.model import MemoryTraffic, Place, Profile
from linewatt.features.profiles.report.flame import flame_figure
from linewatt.features.profiles.report.sentences import TITLE, place_words
from linewatt.features.profiles.report.tables import Shown, shown, tables_of
from linewatt.foreign import one_line
from linewatt.model import ENDS
from linewatt.report.printing.export import case_key_schema, case_keys, case_schema
from linewatt.report.printing.text_table import render
from linewatt.report.section import Lines, Section, listed
from linewatt.report.trials.digest import Digest

MOST_SHOWN = 24
"""profiles that a page has; --profile has them all"""
_MOST_FUNCTIONS = 100
SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"


def profiles_of(view: Digest) -> list[Shown]:
    """The profiles that are stored, by what their cases are called. Raises StoreError."""
    profiles = list(store.profiles(view.result.path))
    return shown(profiles, lambda case: view.describe(case) if case in _known(view) else case.test)


def _known(view: Digest) -> set[object]:
    return {summary.case for summary in view.summaries}


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
            graph = listed(
                f"{shown_profile.title}: {place_words(place)}, call graph", lines, preformatted=True
            )
            yield replace(graph, folded=True)


def show(view: Digest, width: int | None) -> RenderableType:
    """All profiles for a terminal."""
    parts: list[RenderableType] = []
    for profile in profiles_of(view):
        parts += [render(table, width) for table in tables_of(profile)]
        for place in profile.places:
            lines = call_graph(call_tree(place.host, place.place))
            title = Text(one_line(f"{profile.title}: {place_words(place)}, call graph"), style="bold")
            parts.append(Group(title, *(Text(one_line(line)) for line in lines)))
    if not parts:
        parts.append(Text("No profile is stored; profile: true in the campaign file adds one a case."))
    return Group(*(part for block in parts for part in (block, Text())))


def documents(host_profiles: Sequence[Shown]) -> list[dict[str, Any]]:
    """The profiles of ``show --json``: a mark says that no figure is made of them."""
    return [_document(shown_profile) for shown_profile in host_profiles]


def _document(shown_profile: Shown) -> dict[str, Any]:
    profile = shown_profile.profile
    return {
        "number": profile.number,
        "measured": False,
        **case_keys(profile.case),
        "case_key": profile.case_key,
        "started_s": profile.started_s,
        "throughput_bps": profile.throughput_bps,
        "reason": profile.reason,
        "hosts": [_host(profile, shown_profile, at) for at in range(len(profile.hosts))],
    }


def _host(profile: Profile, shown_profile: Shown, at: int) -> dict[str, Any]:
    host = profile.hosts[at]
    return {
        "host": host.host,
        "role": host.role,
        "reason": host.reason,
        "event": host.event,
        "frequency_hz": host.frequency_hz,
        "samples": host.samples,
        "lost_samples": host.lost_samples,
        "cut_samples": host.cut_samples,
        "notes": list(host.notes),
        "build_ids": dict(host.build_ids),
        "no_counters": host.no_counters,
        "cycles_per_packet": cycles_per_packet(host).value,
        "bits_per_cycle": bits_per_cycle(host, profile.throughput_bps).value,
        "memory": asdict(host.memory) if host.memory is not None else None,
        "counters": [_counters(place_counter) for place_counter in place_counters(host)],
        "places": [
            {
                "place": place.place,
                "cpus": list(host.cpus[place.place]),
                "busy_samples": place.busy,
                "idle_samples": place.idle,
                "unresolved_samples": place.unresolved,
                "not_ranked": place.why_not_ranked,
                "functions": [
                    share_document(share) | {"half_width_95_ratio": half_width(place, share.error)}
                    for share in hottest(place, _MOST_FUNCTIONS)
                ],
                "work": [
                    {"work": name, "ratio": ratio, "half_width_95_ratio": half_width(place, error)}
                    for name, ratio, error in work_shares(place)
                ],
            }
            for place in shown_profile.places
            if place.host is host
        ],
    }


_COUNTED = ("cycles_hz", "ipc", "frequency_hz", "misses_per_kilo")


def _counters(counters: PlaceCounters) -> dict[str, Any]:
    figures = {name: getattr(counters, name) for name in _COUNTED}
    return {
        "place": counters.place,
        **{name: figure.value for name, figure in figures.items()},
        "reasons": {name: figure.reason for name, figure in figures.items() if figure.reason is not None},
    }


class ProfileView:
    """Profiles as ``show --profile`` prints them: a :class:`linewatt.report.views.ResultView`."""

    key = "profiles"

    def value(self, view: Digest) -> list[dict[str, Any]]:
        """Raises StoreError."""
        return documents(profiles_of(view))

    def schema(self) -> Schema:
        return schema()

    def terminal(self, view: Digest, width: int | None) -> RenderableType:
        return show(view, width)


VIEW = ProfileView()


def schema() -> Schema:
    """Of :func:`documents`."""
    keys = {
        "number": COUNT,
        "measured": {"const": False, "description": "No figure is made of it."},
        **case_schema(),
        **case_key_schema(),
        "started_s": NUMBER,
        "throughput_bps": said(maybe(NUMBER), "While it was recorded."),
        "reason": said(maybe(TEXT), "Why the load came to nothing."),
        "hosts": listing(record(_host_schema())),
    }
    return listing(record(keys), "What perf recorded, in trials beside those that are measured.")


def _host_schema() -> Keys:
    counters = {name: maybe(NUMBER) for name in _COUNTED}
    place = {"place": choice(*get_args(Place))}
    return {
        "host": TEXT,
        "role": choice(*ENDS),
        "reason": maybe(TEXT),
        "event": TEXT,
        "frequency_hz": NUMBER,
        "samples": COUNT,
        "lost_samples": COUNT,
        "cut_samples": COUNT,
        "notes": listing(TEXT),
        "build_ids": table(TEXT, "Binary → build id."),
        "no_counters": said(maybe(TEXT), "Why the hardware counts nothing."),
        "cycles_per_packet": maybe(NUMBER),
        "bits_per_cycle": maybe(NUMBER),
        "memory": maybe(of_class(MemoryTraffic)),
        "counters": listing(record({**place, **counters, "reasons": table(TEXT)})),
        "places": listing(record({**place, **_place_schema()})),
    }


def _place_schema() -> Keys:
    width = {"half_width_95_ratio": said(maybe(NUMBER), "Half of its 95 % CI.")}
    function = {
        "symbol": TEXT,
        "binary": TEXT,
        "work": said(TEXT, "The kind of work."),
        "ratio": said(NUMBER, "Of busy samples."),
        "standard_error": maybe(NUMBER),
        "with_callees_ratio": NUMBER,
        **width,
    }
    return {
        "cpus": listing(COUNT),
        "busy_samples": COUNT,
        "idle_samples": COUNT,
        "unresolved_samples": COUNT,
        "not_ranked": maybe(TEXT),
        "functions": listing(record(function)),
        "work": listing(record({"work": TEXT, "ratio": NUMBER, **width})),
    }


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
