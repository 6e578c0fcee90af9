# SPDX-License-Identifier: Apache-2.0
"""A plan as plain values, as it is printed and stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from linewatt.campaign.campaign import Order
from linewatt.campaign.planning.cases import Skipped
from linewatt.campaign.planning.idle import IdleTime
from linewatt.campaign.planning.plan import Plan, PlannedInstance, Round
from linewatt.declare import SELDOM
from linewatt.json_document import document_of, fill
from linewatt.model import Case
from linewatt.records import Count
from linewatt.tuning import Change

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDocument:
    number: Count
    round: Count
    repetition: Count
    case: Count
    """By its place in the list, from 0."""
    placement: Count
    """By its place in the list, from 0."""
    changes: Count | None = field(default=None, metadata=SELDOM)
    """By its place in `round_changes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """A plan of trials; ``placements[i]`` are instance, port and CPUs of a trial's processes.

    All of it is lists, as JSON is read back: ``resume`` compares the two.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    """Counts up when a key is removed, renamed, or means another thing."""
    order: Order
    seed: int | None
    """Of a random order."""
    duration_s: float
    """An estimate; of the longest where cases may stop early."""
    idle: IdleTime
    least_duration_s: float | None = field(default=None, metadata=SELDOM)
    ports_alternate: bool
    cases: list[dict[str, Any]]
    placements: list[list[PlannedInstance]]
    trials: list[TrialDocument]
    changes: list[Change]
    """What hosts show throughout."""
    round_changes: list[list[Change]] = field(default_factory=list, metadata=SELDOM)
    """What they show beyond that in some rounds."""
    skipped: list[Skipped]
    notes: list[str]
    places: list[str] = field(default_factory=list, metadata=SELDOM)
    """What a policy chose on each host, and why."""


def plan_as_dict(planned: Plan) -> dict[str, Any]:
    """The plan as plain values for JSON: :class:`PlanDocument`, and further trials by their name."""
    case_index = {case: i for i, case in enumerate(planned.cases)}
    placements: dict[tuple[PlannedInstance, ...], int] = {}
    changes: dict[tuple[Change, ...], int] = {}
    trials = [
        TrialDocument(
            number=trial.number,
            round=round_number,
            repetition=trial.repetition,
            case=case_index[trial.case],
            placement=placements.setdefault(trial.instances, len(placements)),
            changes=changes.setdefault(round_.changes, len(changes)) if round_.changes else None,
        )
        for round_number, round_ in enumerate(planned.rounds, start=1)
        for trial in round_.trials
    ]
    plan_document = fill(
        PlanDocument,
        planned,
        schema_version=SCHEMA_VERSION,
        duration_s=round(planned.duration_s, 3),
        idle=_rounded(planned.idle),
        least_duration_s=None if planned.least_s is None else round(planned.least_s, 3),
        cases=[_case_dict(case) for case in planned.cases],
        placements=[list(instances) for instances in placements],
        trials=trials,
        changes=list(planned.changes),
        round_changes=[list(round_changes) for round_changes in changes],
        skipped=list(planned.skipped),
        notes=list(planned.notes),
        places=[str(line) for line in planned.places],
    )
    further = {name: _further_dicts(rounds, case_index) for name, rounds in planned.further.items()}
    return {**document_of(plan_document), **further}


def _rounded(idle: IdleTime) -> IdleTime:
    times_s = {name: round(getattr(idle, name), 3) for name in ("window_s", "least_s", "most_s")}
    return replace(idle, **times_s)


def _further_dicts(rounds: Iterable[Round], case_index: Mapping[Case, int]) -> list[dict[str, Any]]:
    return [
        {"number": trial.number, "case": case_index[trial.case]}
        for round_ in rounds
        for trial in round_.trials
    ]


def _case_dict(case: Case) -> dict[str, Any]:
    document = {"load": None, **document_of(case)}
    case_values = {name: document[name] for name in case.__slots__ if name in document}
    values = {"key": case.key, **case_values, "client": case.client, "server": case.server}
    if case.users:
        values["users"] = dict(case.users)
    factors = values.pop("factors")
    if case.flows:
        values["flows"] = [list(flow) for flow in case.flows]
    if case.port_weights:
        values["port_weights"] = list(case.port_weights)
    if case.chosen_ports:
        values["chosen_ports"] = list(case.chosen_ports)
    return {**values, "factors": dict(factors)} if factors else values
