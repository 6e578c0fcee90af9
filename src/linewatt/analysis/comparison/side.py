# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison: cases with their runs, or a result that is one run of a task. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from linewatt.analysis.comparison.case_runs import CaseRuns
from linewatt.analysis.metrics.metric import Response
from linewatt.declare import Keys
from linewatt.hosts.facts import Facts
from linewatt.model import Case, Flag, Provenance
from linewatt.records import Campaign, Host


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What refuses a verdict: its name, and what stands on each side. ``responses``: on these only."""

    code: str
    words: str
    responses: tuple[str, ...] | None = None

    def bars(self, response: str) -> bool:
        """Whether it refuses a verdict on a response."""
        return self.responses is None or response in self.responses


class Task(Protocol):
    """What a result without cases was asked to do, apart from where.

    Results of one task are repetitions of each other.
    """

    @property
    def key(self) -> str:
        """A hash of it, the same on every host, kernel and year."""

    @property
    def test(self) -> str:
        """The name of its kind, which stands where a case has its test."""

    @property
    def title(self) -> str:
        """What it is in a few words, with the hosts that matter."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """All that take part, in an order in which those of two results stand for each other."""

    @property
    def hosts_under_test(self) -> tuple[str, ...]:
        """Hosts whose change makes another course of ``linewatt history``."""

    def pairs_with(self, other: Task) -> tuple[tuple[str, str], ...]:
        """Which host of this stands for which of another of the same kind."""

    def document(self) -> dict[str, Any]:
        """As JSON has it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of one run, SI. ``None`` has a reason; ``scope`` and ``provenance`` are of the watts in it."""

    value: float | None
    reason: str | None = None
    scope: str | None = None
    provenance: Provenance | None = None


class SingleRun(Protocol):
    """A result that is one run, however long it was: its parts share everything, so that they are no runs."""

    @property
    def kind(self) -> RunKind: ...

    @property
    def task(self) -> Task: ...

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """By the names of responses."""

    @property
    def flags(self) -> tuple[Flag, ...]: ...

    @property
    def headline(self) -> str:
        """What it is, how long it ran and how it ended, in a line."""

    def remarks(self, result: str) -> Iterator[str]:
        """What one should know beside its flags; ``result`` is what it is called."""

    def document(self) -> dict[str, Any]:
        """As JSON has it, without its task, quantities and flags."""


class RunKind(Protocol):
    """A kind of results that are one run each: what they have, and what bars a verdict on two."""

    @property
    def name(self) -> str:
        """A noun in the singular; its plural has an s."""

    @property
    def description(self) -> str:
        """What such a result is, with an article."""

    @property
    def codes(self) -> tuple[str, ...]:
        """What refuses verdicts, and ``--allow`` may name."""

    @property
    def responses(self) -> tuple[Response, ...]:
        """All that such results may have, each in a group that ``--metric`` names, with its units."""

    @property
    def followed(self) -> Mapping[str, Response]:
        """The response that ``linewatt history`` follows, by what its ``--metric`` names."""

    def task_of(self, campaign: Campaign) -> Task:
        """What a stored campaign asks."""

    def obstacles(self, sides: tuple[Side, Side]) -> list[Obstacle]:
        """What refuses verdicts on two; what is not on record on a side refuses nothing."""

    def asked_otherwise(self, sides: tuple[Side, Side]) -> Iterator[tuple[str, str, str]]:
        """What differs in what was asked and refuses nothing: its name, and its text on each side."""

    def run_keys(self) -> Keys:
        """Of :meth:`SingleRun.document`."""

    def task_keys(self) -> Keys:
        """Of :meth:`Task.document`."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: ``name`` is A or B, or a level; ``hosts`` are those of the manifest."""

    name: str
    id: str
    campaign: Campaign
    hosts: Mapping[str, Host]
    cases: Mapping[Case, CaseRuns]
    created_s: float | None = None
    single_run: SingleRun | None = None
    """of a result without cases"""
    repeats: tuple[Side, ...] = ()
    """of a result that is one run: further ones that are runs of the same"""
    searched: tuple[str, ...] = ()
    """the rates of its searches in words; their steps are no runs of a case"""
    knees: tuple[str, ...] = ()
    """the knees of its searches in words; their steps are cases like any"""
    environment: str = ""
    """a digest of what matters of its campaign and hosts; empty where nobody made one"""

    @property
    def runs(self) -> tuple[Side, ...]:
        """Each result of this side."""
        return (self, *self.repeats)

    @property
    def single_runs(self) -> tuple[SingleRun, ...]:
        """Each result of this side that is one run."""
        return tuple(side.single_run for side in self.runs if side.single_run is not None)

    def facts(self, host: str) -> Facts:
        """Section → fact → value of a host; empty where nothing is on record."""
        host_facts = self.hosts.get(host)
        return {} if host_facts is None else host_facts.facts

    def fact(self, host: str, section: str, name: str) -> Any:
        """One fact of a host, ``None`` where it is not known."""
        return self.facts(host).get(section, {}).get(name)
