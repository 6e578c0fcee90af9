# SPDX-License-Identifier: Apache-2.0
"""Soaks as cases with a run each: what are runs of one job, what refuses verdicts on two. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from linewatt.analysis.comparison.case_runs import Measured
from linewatt.analysis.comparison.comparable import (
    LOAD_CODES,
    OFFLOADS,
    Obstacle,
    Sides,
    accounting_differs,
    between,
    offloads_differ,
    offloads_found,
    options_differ,
    threaded,
    threads_text,
)
from linewatt.analysis.comparison.differences import Difference, differences, rank_of
from linewatt.analysis.comparison.matching import Match, Matching, Side
from linewatt.analysis.metrics.metric import Response
from linewatt.analysis.metrics.of_soak import CLIENT_CPU, RESPONSES, Quantity, SoakRun
from linewatt.analysis.power.totals import SCOPE_WORDS, WEIGHT
from linewatt.analysis.soak.job import ASKED
from linewatt.errors import InvalidInput
from linewatt.loads.registry import DEFAULT, LOADS
from linewatt.model import Provenance
from linewatt.tuning.nic.offload import ABBREVIATIONS
from linewatt.units import format_seconds

CODES = ("job", "server", "network", "window", "offloads", *LOAD_CODES, "accounting")
"""what refuses a verdict on soaks, and ``--allow`` may name"""
ADVICE = (
    "One soak is one measurement, however long it was: one against one gives no verdict. Run each four "
    "times before and after what you changed, and name all of a side (compare A1,A2,A3,A4 B1,B2,B3,B4); or "
    "run each at least three times and follow them with linewatt history."
)
_RAN_TOLERANCE = 0.05
_MOST_NAMED = 4


def soaks(side: Side) -> tuple[SoakRun, ...]:
    """The runs of a side."""
    return tuple(one.soak for one in side.runs if one.soak is not None)


def match_jobs(base: Side, other: Side, allowed: Collection[str]) -> Matching:
    """The job of one side with that of the other. Raises InvalidInput where runs of a side are not alike."""
    for side in (base, other):
        for one in side.repeats:
            both = replace(side, name=side.id), one
            barred = [each for each in job_obstacles(both) if each.code not in allowed]
            if barred:
                why, code = barred[0].words, barred[0].code
                raise InvalidInput(f"{side.id} and {one.id} are not runs of the same: {why} (--allow {code})")
    match = Match(soaks(base)[0].job, soaks(other)[0].job)
    renamed = [(own, theirs) for own, theirs in match.hosts if own != theirs]
    words = [
        f"{own} in {base.name} is compared with {theirs} in {other.name}"
        for own, theirs in renamed[:_MOST_NAMED]
    ]
    if len(renamed) > _MOST_NAMED:
        words.append(f"and so on for {len(renamed) - _MOST_NAMED} more, in their order")
    return Matching((match,), (), (), tuple(words))


def job_responses(side: Side) -> dict[Response, Measured]:
    """The figures that any soak of a side has, or says why it has not."""
    runs = soaks(side)
    every = {
        one: [run.quantities[one.name] for run in runs if one.name in run.quantities] for one in RESPONSES
    }
    return {response: _measured(response, own) for response, own in every.items() if own}


def _measured(response: Response, own: Sequence[Quantity]) -> Measured:
    kinds: list[Provenance] = [one.provenance for one in own if one.provenance is not None]
    scopes = dict.fromkeys(one.scope for one in own if one.scope is not None)
    if len(scopes) > 1:
        return Measured((), reason=f"watts of {' and '.join(SCOPE_WORDS.get(one, one) for one in scopes)}")
    least = max(kinds, key=WEIGHT.__getitem__, default=None)
    known = [one.value for one in own if one.value is not None and (one.value > 0 or not response.relative)]
    return Measured(
        tuple(math.log(value) if response.relative else value for value in known),
        next(iter(scopes), None),
        least,
        next((one.reason or "0, of which nothing is a part" for one in own), None),
    )


def job_obstacles(sides: Sides) -> list[Obstacle]:
    """What refuses verdicts on two soaks; what is not on record on a side refuses nothing."""
    return [*_asked(sides), *_ran(sides), *_offloads(sides), *_load(sides), *_accounting(sides)]


def _asked(sides: Sides) -> Iterator[Obstacle]:
    for item in ASKED:
        one, two = (item.read(side.campaign) for side in sides)
        if item.code is not None and one is not None and two is not None and one != two:
            yield Obstacle(item.code, f"{item.title}: {between(sides, one, two, item.show)}", item.responses)


def _ran(sides: Sides) -> Iterator[Obstacle]:
    """One that was cut off is another soak: what warms up, fills or leaks has had less time."""
    own, theirs = (side.campaign.soak and side.campaign.soak.duration_s for side in sides)
    one, two = (soaks(side)[0].ran_s for side in sides)
    if own == theirs and one and two and abs(two / one - 1) > _RAN_TOLERANCE:
        yield Obstacle("window", f"ran {between(sides, one, two, format_seconds)}")


def _pairs(sides: Sides) -> tuple[tuple[str, str], ...]:
    one, two = (soaks(side)[0].job for side in sides)
    return Match(one, two).hosts


def _offloads(sides: Sides) -> Iterator[Obstacle]:
    hosts_by_words: dict[str, list[str]] = {}
    for own, theirs in _pairs(sides):
        for words in offloads_differ(sides, _features(sides[0], own), _features(sides[1], theirs)):
            hosts_by_words.setdefault(words, []).append(own)
    for words, hosts in hosts_by_words.items():
        yield Obstacle("offloads", f"offloads of {_listed(hosts)}: {words}")


def _features(side: Side, host: str) -> dict[str, str]:
    """As the campaign set them, or as facts have them."""
    state_by_feature = offloads_found(side, host)
    for name, level in side.campaign.settings.items():
        short = _OF_SETTING.get(name, name.removeprefix("offload."))
        feature = ABBREVIATIONS.get(short, short)
        if feature in OFFLOADS:
            state_by_feature[feature] = str(level)
    return state_by_feature


_OF_SETTING = {"udp_gro_list": "rx-gro-list"}
"""factors that are called otherwise than ethtool's feature"""


def _load(sides: Sides) -> Iterator[Obstacle]:
    load = LOADS[sides[0].campaign.load or DEFAULT]
    yield from options_differ(sides, load)
    tests = [test for side in sides for test in side.campaign.tests]
    if max((each for test in tests for each in test.streams), default=0) < 2:
        return
    one, two = (threaded(side, side.campaign.paired, load) for side in sides)
    if one is not None and two is not None and one != two:
        yield Obstacle(
            f"{load.name}-threads", f"streams of {load.name}: {between(sides, one, two, threads_text)}"
        )


def _accounting(sides: Sides) -> Iterator[Obstacle]:
    """CPU time charged by the tick and exact CPU time are two quantities."""
    server = soaks(sides[0])[0].job.server
    for name, is_server in (("server_cores", True), (CLIENT_CPU.name, False)):
        hosts_by_words: dict[str, list[str]] = {}
        for own, theirs in _pairs(sides):
            words = accounting_differs(sides, (own, theirs))
            if words and (own == server) == is_server:
                hosts_by_words.setdefault(words, []).append(own)
        for words, hosts in hosts_by_words.items():
            yield Obstacle("accounting", f"CPU accounting of {_listed(hosts)} {words}", (name,))


def job_differences(base: Side, other: Side, matches: Sequence[Match]) -> tuple[Difference, ...]:
    """Those of hosts and of what was asked otherwise and refuses nothing; what matters first."""
    asked = []
    for item in ASKED:
        one, two = (item.read(side.campaign) for side in (base, other))
        if item.code is None and one is not None and two is not None and one != two:
            fact = f"campaign.users.{item.name}"
            asked.append(Difference("campaign", fact, item.show(one), item.show(two), rank_of(fact)))
    facts_and_job = [*differences(base, other, matches, None), *asked]
    return tuple(sorted(facts_and_job, key=lambda one: (one.rank is None, one.rank or 0)))


def job_remarks(sides: Sides, allowed: Sequence[Obstacle]) -> tuple[str, ...]:
    """What is to be known of soaks: what was cut off, flagged, does not balance, or was allowed to differ."""
    remarks = [f"differs, and was allowed: {one.words} [{one.code}]" for one in allowed]
    values = [job_responses(side) for side in sides]
    for response in dict.fromkeys(response for own in values for response in own):
        reasons = [own[response].reason for own in values if response in own and not own[response].values]
        if len(reasons) == len(values):
            remarks.append(f"{response.title}: no value on either side: {reasons[0] or 'not read'}")
    for side in sides:
        for one in side.runs:
            name = f"{side.name}, {one.id}" if side.repeats else side.name
            remarks += [f"{name}: {words}" for words in _of_run(one)]
        apart = [each for one in side.repeats for each in differences(side, one, [_with_itself(side)], None)]
        facts = dict.fromkeys(f"{each.where}: {each.fact}" for each in apart if each.rank is not None)
        if facts:
            remarks.append(f"{side.name}: its soaks differ in {_listed(list(facts))}")
    return tuple(remarks)


def _with_itself(side: Side) -> Match:
    job = soaks(side)[0].job
    return Match(job, job)


def _of_run(side: Side) -> Iterator[str]:
    run = side.soak
    if run is None:
        return
    if not run.complete:
        yield f"{side.id} is not complete: it ran {format_seconds(run.ran_s)}"
    if run.balance in ("off", "not known"):
        what = "the ledger" if run.balance == "off" else "whether the ledger balances"
        yield f"{what} {run.balance_words}"
    codes = Counter(flag.code for flag in run.flags)
    if codes:
        named = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in codes.items())
        yield f"flags: {named} (linewatt show {side.id} says why)"


def _listed(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = len(shown) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
