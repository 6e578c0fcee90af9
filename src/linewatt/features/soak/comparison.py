# SPDX-License-Identifier: Apache-2.0
"""A soak as the one run of its job: what refuses verdicts on two, and what else differs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from linewatt.analysis.comparison import (
    LOAD_CODES,
    OFFLOADS,
    Obstacle,
    Quantity,
    Side,
    Sides,
    accounting_differs,
    first_names,
    offloads_differ,
    offloads_found,
    options_differ,
    text_of_sides,
    threaded,
    threads_text,
)
from linewatt.declare import BOOLEAN, NUMBER, TEXT, Keys, said
from linewatt.features.soak.job import ASKED, DOCUMENT_KEYS, Job, job_of
from linewatt.features.soak.metrics import CLIENT_CPU, FOLLOWED, RESPONSES
from linewatt.loads import DEFAULT_LOAD, LOADS
from linewatt.model import Flag
from linewatt.records import Campaign
from linewatt.tuning import OFFLOAD_ABBREVIATIONS
from linewatt.units import format_seconds

CODES = ("job", "server", "network", "window", "offloads", *LOAD_CODES, "accounting")
"""what refuses a verdict on soaks, and ``--allow`` may name"""
_RAN_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class SoakRun:
    """A :class:`linewatt.analysis.comparison.side.SingleRun`; ``balance`` is how its ledger came out."""

    task: Job
    quantities: Mapping[str, Quantity]
    ran_s: float = 0.0
    complete: bool = True
    balance: str = "not known"
    balance_words: str = ""
    flags: tuple[Flag, ...] = ()

    @property
    def kind(self) -> SoakRuns:
        return SOAK_RUNS

    @property
    def headline(self) -> str:
        cut_off = "" if self.complete else ", not complete"
        return f"a soak, ran {format_seconds(self.ran_s)}{cut_off}, ledger {self.balance}"

    def remarks(self, result: str) -> Iterator[str]:
        if not self.complete:
            yield f"{result} is not complete: it ran {format_seconds(self.ran_s)}"
        if self.balance in ("off", "not known"):
            what = "the ledger" if self.balance == "off" else "whether the ledger balances"
            yield f"{what} {self.balance_words}"

    def document(self) -> dict[str, Any]:
        return {
            "duration_s": self.ran_s,
            "complete": self.complete,
            "balance": self.balance,
            "balance_words": self.balance_words,
        }


class SoakRuns:
    """A :class:`linewatt.analysis.comparison.side.RunKind`."""

    name = "soak"
    description = "a soak, one long load"
    codes = CODES
    responses = RESPONSES
    followed = FOLLOWED

    def task_of(self, campaign: Campaign) -> Job:
        return job_of(campaign)

    def obstacles(self, sides: Sides) -> list[Obstacle]:
        return [*_asked(sides), *_ran(sides), *_offloads(sides), *_load(sides), *_accounting(sides)]

    def asked_otherwise(self, sides: Sides) -> Iterator[tuple[str, str, str]]:
        for item in ASKED:
            base_value, two = (item.read(side.campaign) for side in sides)
            if item.code is None and base_value is not None and two is not None and base_value != two:
                yield f"campaign.users.{item.name}", item.show(base_value), item.show(two)

    def run_keys(self) -> Keys:
        return {
            "duration_s": NUMBER,
            "complete": BOOLEAN,
            "balance": said(TEXT, "How its ledger came out."),
            "balance_words": TEXT,
        }

    def task_keys(self) -> Keys:
        return DOCUMENT_KEYS


SOAK_RUNS = SoakRuns()


def _soak(side: Side) -> SoakRun:
    """The first run of a side of soaks."""
    if not isinstance(side.single_run, SoakRun):
        raise TypeError(f"{side.id} is not a soak")
    return side.single_run


def _asked(sides: Sides) -> Iterator[Obstacle]:
    for item in ASKED:
        base_value, two = (item.read(side.campaign) for side in sides)
        if item.code is not None and base_value is not None and two is not None and base_value != two:
            yield Obstacle(
                item.code, f"{item.title}: {text_of_sides(sides, base_value, two, item.show)}", item.responses
            )


def _ran(sides: Sides) -> Iterator[Obstacle]:
    """One that was cut off is another soak: what warms up, fills or leaks has had less time."""
    base_s, theirs = (side.campaign.soak and side.campaign.soak.duration_s for side in sides)
    base_ran_s, two = (_soak(side).ran_s for side in sides)
    if base_s == theirs and base_ran_s and two and abs(two / base_ran_s - 1) > _RAN_TOLERANCE:
        yield Obstacle("window", f"ran {text_of_sides(sides, base_ran_s, two, format_seconds)}")


def _pairs(sides: Sides) -> tuple[tuple[str, str], ...]:
    base_job, two = (_soak(side).task for side in sides)
    return base_job.pairs_with(two)


def _offloads(sides: Sides) -> Iterator[Obstacle]:
    hosts_by_words: dict[str, list[str]] = {}
    for base, theirs in _pairs(sides):
        for words in offloads_differ(sides, _features(sides[0], base), _features(sides[1], theirs)):
            hosts_by_words.setdefault(words, []).append(base)
    for words, hosts in hosts_by_words.items():
        yield Obstacle("offloads", f"offloads of {first_names(hosts)}: {words}")


def _features(side: Side, host: str) -> dict[str, str]:
    """As the campaign set them, or as facts have them."""
    state_by_feature = offloads_found(side, host)
    for name, level in side.campaign.settings.items():
        short = _OF_SETTING.get(name, name.removeprefix("offload."))
        feature = OFFLOAD_ABBREVIATIONS.get(short, short)
        if feature in OFFLOADS:
            state_by_feature[feature] = str(level)
    return state_by_feature


_OF_SETTING = {"udp_gro_list": "rx-gro-list"}
"""factors that are called otherwise than ethtool's feature"""


def _load(sides: Sides) -> Iterator[Obstacle]:
    load = LOADS[sides[0].campaign.load or DEFAULT_LOAD]
    yield from options_differ(sides, load)
    tests = [test for side in sides for test in side.campaign.tests]
    if max((streams for test in tests for streams in test.streams), default=0) < 2:
        return
    base_threaded, two = (threaded(side, side.campaign.paired, load) for side in sides)
    if base_threaded is not None and two is not None and base_threaded != two:
        yield Obstacle(
            f"{load.name}-threads",
            f"streams of {load.name}: {text_of_sides(sides, base_threaded, two, threads_text)}",
        )


def _accounting(sides: Sides) -> Iterator[Obstacle]:
    """CPU time charged by the tick and exact CPU time are two quantities."""
    server = _soak(sides[0]).task.server
    for name, is_server in (("server_cores", True), (CLIENT_CPU.name, False)):
        hosts_by_words: dict[str, list[str]] = {}
        for base, theirs in _pairs(sides):
            words = accounting_differs(sides, (base, theirs))
            if words and (base == server) == is_server:
                hosts_by_words.setdefault(words, []).append(base)
        for words, hosts in hosts_by_words.items():
            yield Obstacle("accounting", f"CPU accounting of {first_names(hosts)} {words}", (name,))
