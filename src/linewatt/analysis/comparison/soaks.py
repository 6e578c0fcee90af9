# SPDX-License-Identifier: Apache-2.0
"""Two soaks side by side: their quantities, what refuses a ratio, and why none of them is a verdict. Pure.

The run is the unit (:mod:`linewatt.analysis.comparison.compare`), and a soak is one run however long it was:
its slices are no runs, as neighbours share everything. So one soak against one has ratios and no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linewatt.analysis.cases.responses import THROUGHPUT
from linewatt.analysis.comparison.comparable import (
    LOAD_CODES,
    OFFLOADS,
    Obstacle,
    load_options,
    offloads_found,
    threaded,
)
from linewatt.analysis.comparison.differences import Difference, differences_of_hosts, rank_of
from linewatt.analysis.comparison.finding import Finding
from linewatt.analysis.comparison.matching import Side
from linewatt.analysis.comparison.verdicts import COMPARISON, verdicts
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.power.totals import SCOPE_WORDS
from linewatt.analysis.soak.job import ASKED, DRIFT, SUSTAINED, Job, host_pairs
from linewatt.analysis.statistics.contrasts import welch
from linewatt.loads.registry import DEFAULT, LOADS
from linewatt.model import Flag, Provenance
from linewatt.tuning.nic.offload import ABBREVIATIONS
from linewatt.units import format_seconds

CODES = (*("job", "server", "network", "window", "offloads", *LOAD_CODES, "accounting"),)
"""what refuses a ratio, and ``--allow`` may name"""


def _less(name: str, title: str, *, relative: bool = True) -> Response:
    """A quantity of which less is better."""
    return Response(name, title, "more", "less", higher_is_better=False, relative=relative)


CLIENT_CPU = Response(
    "client_cpu_s_per_gbit",
    "Client CPU per Gbit",
    "more CPU per Gbit",
    "less CPU per Gbit",
    higher_is_better=False,
)
SERVER_CORES = _less("server_cores", "CPU used by the server")
RATE = replace(THROUGHPUT, title="Mean rate")
FAILED = _less("failed_ratio", "Transfers that failed", relative=False)
UNEXPLAINED = _less("unexplained_drops_count", "Unexplained drops", relative=False)
ENERGY = tuple(
    _less(f"{side}_energy_j_per_gb", f"Energy per GB, {words}")
    for side, words in (("server", "server"), ("clients", "all clients"))
)
QUANTITIES: dict[str, tuple[Response, ...]] = {
    "throughput": (
        RATE,
        Response(SUSTAINED, "Users sustained", "more", "less"),
        Response("transfers_hz", "Transfers", "more", "less"),
        *(
            _less(f"{way}_{what}_{point}_s", f"{way.capitalize()}, {words}, {point}")
            for way in ("get", "put")
            for what, words in (("first_byte", "first byte"), ("total", "whole"))
            for point in ("p50", "p99")
        ),
        Response(DRIFT, "Slow drift a day", "more", "less", relative=False),
    ),
    "efficiency": (CLIENT_CPU, SERVER_CORES),
    "loss": (FAILED, UNEXPLAINED),
    "power": ENERGY,
}
"""what ``--metric`` may name, and the quantities of it"""
FAIL_ON: Mapping[str, tuple[Response, ...]] = {
    "slower": (RATE,),
    "less-efficient": (CLIENT_CPU, SERVER_CORES),
    "more-loss": (FAILED, UNEXPLAINED),
    "less-per-watt": ENERGY,
    "more-latency": (),
}
"""of soaks nobody takes the latency of messages"""
ADVICE = (
    "One soak is one measurement, however long it was: one against one decides nothing. Run each at least "
    "twice, before and after what you changed: linewatt history then says "
    "whether the change shows over all of them."
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure of a soak, in the unit that its name ends with. ``None`` has a reason; ``scope`` and
    ``provenance`` are of the watts in it."""

    value: float | None
    reason: str | None = None
    scope: str | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class SoakSide:
    """One of the two: quantities by name, what of it is doubtful, and how its ledger came out."""

    side: Side
    job: Job
    ran_s: float
    complete: bool
    quantities: Mapping[str, Quantity]
    balance: str
    balance_words: str
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class SoakRow:
    """A quantity on both sides. ``ratio`` is B ÷ A; ``None`` where refused, missing, or of 0.

    ``own_words`` are what of ``words`` is of this row alone: the rest is the same for all.
    """

    response: Response
    base: Quantity
    other: Quantity
    ratio: float | None
    outcome: Literal["undecided", "refused"]
    words: str
    own_words: str


@dataclass(frozen=True, slots=True)
class SoakComparison:
    """All of it. ``obstacles`` refuse ratios, those ``allowed`` do not; ``words`` say which host stands for
    which."""

    base: SoakSide
    other: SoakSide
    rows: tuple[SoakRow, ...]
    obstacles: tuple[Obstacle, ...]
    allowed: tuple[Obstacle, ...]
    differences: tuple[Difference, ...]
    words: tuple[str, ...] = ()


def compare_soaks(
    base: SoakSide, other: SoakSide, metrics: Collection[str], allowed: Collection[str] = ()
) -> SoakComparison:
    """Everything that can be said of two soaks."""
    every = obstacles(base, other)
    barred = tuple(one for one in every if one.code not in allowed)
    passed = tuple(one for one in every if one.code in allowed)
    pairs = host_pairs(base.job, other.job)
    rows = []
    for response in (one for name in QUANTITIES if name in metrics for one in QUANTITIES[name]):
        own, theirs = (each.quantities.get(response.name) for each in (base, other))
        if own is not None or theirs is not None:
            nothing = Quantity(None, "not asked for")
            rows.append(_row(response, own or nothing, theirs or nothing, (base, other), barred))
    listed = differences_of_hosts(base.side, other.side, pairs)
    told = sorted((*listed, *_also(base, other)), key=_rank)
    words = _words(base, other, pairs)
    return SoakComparison(base, other, tuple(rows), barred, passed, tuple(told), words)


def finding(found: SoakComparison, fail_on: Sequence[str]) -> Finding:
    """4 where ``fail_on`` asks for a verdict, because two single runs give none; else 0."""
    if not fail_on:
        return Finding(0, "")
    names = {response.name for name in fail_on for response in FAIL_ON[name]}
    asked = sum(row.response.name in names for row in found.rows)
    listed = " or ".join(fail_on)
    if not asked:
        return Finding(4, f"nothing could be compared for {listed}")
    return Finding(4, f"{asked} of {asked} comparisons have no verdict on {listed}")


def obstacles(base: SoakSide, other: SoakSide) -> list[Obstacle]:
    """What refuses ratios; what is not on record on a side refuses nothing."""
    pairs = host_pairs(base.job, other.job)
    return [
        *_asked(base, other),
        *_ran(base, other),
        *_offloads(base, other, pairs),
        *_load(base, other),
        *_accounting(base, other, pairs),
    ]


def _row(
    response: Response,
    own: Quantity,
    theirs: Quantity,
    sides: tuple[SoakSide, SoakSide],
    barred: Sequence[Obstacle],
) -> SoakRow:
    alone = [one.words for one in barred if one.responses is not None and one.bars(response.name)]
    if own.scope is not None and theirs.scope is not None:
        alone += _watts_differ(own, theirs, (sides[0].side.name, sides[1].side.name))
    reasons = [*(one.words for one in barred if one.responses is None), *alone]
    if reasons:
        said = (f"not comparable: {'; '.join(each or ['see above'])}" for each in (reasons, alone))
        return SoakRow(response, own, theirs, None, "refused", *said)
    for each, one in zip(sides, (own, theirs), strict=True):
        if one.value is None:
            words = f"no value in {each.side.name}: {one.reason or 'not read'}"
            return SoakRow(response, own, theirs, None, "undecided", words, words)
    (verdict,) = verdicts(response, [welch(*_as_runs(response, own, theirs))], None, COMPARISON)
    ratio, words = _ratio(response, own, theirs), verdict.words
    return SoakRow(response, own, theirs, ratio, "undecided", words, words)


def _as_runs(response: Response, *sides: Quantity) -> list[list[float]]:
    """Each soak is one run."""
    return [[_scaled(response, one.value or 0.0)] for one in sides]


def _scaled(response: Response, value: float) -> float:
    return math.log(value) if response.relative and value > 0 else value


def _ratio(response: Response, own: Quantity, theirs: Quantity) -> float | None:
    """None of 0 and of what may be negative."""
    if response.name == DRIFT or not own.value or theirs.value is None:
        return None
    return theirs.value / own.value


def _watts_differ(own: Quantity, theirs: Quantity, names: tuple[str, str]) -> list[str]:
    """Watts of two scopes, or of which one was made up, are not compared, whatever is allowed."""
    said = []
    if own.scope != theirs.scope:
        one, two = (SCOPE_WORDS.get(each.scope or "", each.scope) for each in (own, theirs))
        said.append(f"watts of {one} in {names[0]}, of {two} in {names[1]}")
    if own.provenance != theirs.provenance:
        said.append(f"watts {own.provenance} in {names[0]}, {theirs.provenance} in {names[1]}")
    return said


def _between(base: SoakSide, other: SoakSide, one: object, two: object) -> str:
    return f"{one} in {base.side.name}, {two} in {other.side.name}"


def _asked(base: SoakSide, other: SoakSide) -> Iterator[Obstacle]:
    for item in ASKED:
        one, two = (item.read(each.side.campaign) for each in (base, other))
        if item.code is None or one is None or two is None or one == two:
            continue
        words = f"{item.title}: {_between(base, other, item.show(one), item.show(two))}"
        yield Obstacle(item.code, words, item.responses)


_RAN_TOLERANCE = 0.05


def _ran(base: SoakSide, other: SoakSide) -> Iterator[Obstacle]:
    """One that was cut off is another soak: what warms up, fills or leaks has had less time."""
    own, theirs = (one.side.campaign.get("soak", {}).get("duration_s") for one in (base, other))
    if own != theirs or not base.ran_s or not other.ran_s:
        return
    if abs(other.ran_s / base.ran_s - 1) > _RAN_TOLERANCE:
        ran = (format_seconds(one.ran_s) for one in (base, other))
        yield Obstacle("window", f"ran {_between(base, other, *ran)}")


def _offloads(base: SoakSide, other: SoakSide, pairs: Sequence[tuple[str, str]]) -> Iterator[Obstacle]:
    found: dict[str, list[str]] = {}
    for own, theirs in pairs:
        one, two = _features(base.side, own), _features(other.side, theirs)
        for name in OFFLOADS:
            if name in one and name in two and one[name] != two[name]:
                short = _SHORT.get(name, name)
                found.setdefault(f"{short} {_between(base, other, one[name], two[name])}", []).append(own)
    for words, hosts in found.items():
        yield Obstacle("offloads", f"offloads of {_listed(hosts)}: {words}")


_SHORT = {name: short for short, name in ABBREVIATIONS.items()}


def _features(side: Side, host: str) -> dict[str, str]:
    """As the campaign set them, or as facts have them."""
    found = offloads_found(side, host)
    for name, level in (side.campaign.get("settings") or {}).items():
        short = _OF_SETTING.get(name, name.removeprefix("offload."))
        feature = ABBREVIATIONS.get(short, short)
        if feature in OFFLOADS:
            found[feature] = str(level)
    return found


_OF_SETTING = {"udp_gro_list": "rx-gro-list"}
"""factors that are called otherwise than ethtool's feature"""


def _load(base: SoakSide, other: SoakSide) -> Iterator[Obstacle]:
    load = LOADS[base.side.campaign.get("load", DEFAULT)]
    options = [load_options(one.side, load) for one in (base, other)]
    if None not in options and options[0] != options[1]:
        said = [" ".join(f"{name}={value}" for name, value in (one or ())) or "none" for one in options]
        yield Obstacle(f"{load.name}-options", f"options of {load.name}: {_between(base, other, *said)}")
    if max(_streams(base.side), _streams(other.side)) < 2:
        return
    versions = [threaded(one.side, _of_pairs(one.side), load) for one in (base, other)]
    if None not in versions and versions[0] != versions[1]:
        said = ["one thread a stream" if each else "one thread for all" for each in versions]
        yield Obstacle(f"{load.name}-threads", f"streams of {load.name}: {_between(base, other, *said)}")


def _streams(side: Side) -> int:
    return max((each for test in side.campaign.get("tests") or () for each in test["streams"]), default=0)


def _of_pairs(side: Side) -> list[str]:
    return [str(host) for pair in side.campaign.get("pairs") or () for host in pair]


def _accounting(base: SoakSide, other: SoakSide, pairs: Sequence[tuple[str, str]]) -> Iterator[Obstacle]:
    """CPU time charged by the tick and exact CPU time are two quantities."""
    for response, is_server in ((SERVER_CORES, True), (CLIENT_CPU, False)):
        found: dict[str, list[str]] = {}
        for own, theirs in pairs:
            one = base.side.fact(own, "kernel", "tick_accounting")
            two = other.side.fact(theirs, "kernel", "tick_accounting")
            if (own == base.job.server) == is_server and {one, two} == {True, False}:
                said = ("by the tick" if each else "exact" for each in (one, two))
                found.setdefault(_between(base, other, *said), []).append(own)
        for words, hosts in found.items():
            yield Obstacle("accounting", f"CPU accounting of {_listed(hosts)} {words}", (response.name,))


def _also(base: SoakSide, other: SoakSide) -> Iterator[Difference]:
    """What was asked otherwise and refuses nothing."""
    for item in ASKED:
        one, two = (item.read(each.side.campaign) for each in (base, other))
        if item.code is None and one is not None and two is not None and one != two:
            fact = f"campaign.users.{item.name}"
            yield Difference("campaign", fact, item.show(one), item.show(two), rank_of(fact))


def _rank(one: Difference) -> tuple[bool, int]:
    return one.rank is None, one.rank or 0


def _words(base: SoakSide, other: SoakSide, pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    renamed = [(own, theirs) for own, theirs in pairs if own != theirs]
    said = [
        f"{own} in {base.side.name} is compared with {theirs} in {other.side.name}"
        for own, theirs in renamed[:_MOST_NAMED]
    ]
    if len(renamed) > _MOST_NAMED:
        said.append(f"and so on for {len(renamed) - _MOST_NAMED} more, in their order")
    return tuple(said)


_MOST_NAMED = 4


def _listed(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = len(shown) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
