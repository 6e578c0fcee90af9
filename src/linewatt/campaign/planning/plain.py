# SPDX-License-Identifier: Apache-2.0
"""A plan as plain values, as it is printed and stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linewatt.campaign.planning.plan import Plan, PlannedInstance, Round
from linewatt.json_document import document_of
from linewatt.model import Case
from linewatt.tuning.base import Change

SCHEMA_VERSION = 1


def as_dict(planned: Plan) -> dict[str, Any]:
    """The plan as plain values for JSON; units are in the keys.

    Trials name their case, their placement and their changes by index: ``placements[i]`` lists instance,
    port and CPUs, ``round_changes[i]`` what the hosts show beyond ``changes`` (the key is left out where no
    round has any).
    """
    case_index = {case: i for i, case in enumerate(planned.cases)}
    placements: dict[tuple[PlannedInstance, ...], int] = {}
    changes: dict[tuple[Change, ...], int] = {}
    trials = [
        {
            "number": trial.number,
            "round": round_number,
            "repetition": trial.repetition,
            "case": case_index[trial.case],
            "placement": placements.setdefault(trial.instances, len(placements)),
            **({"changes": changes.setdefault(round_.changes, len(changes))} if round_.changes else {}),
        }
        for round_number, round_ in enumerate(planned.rounds, start=1)
        for trial in round_.trials
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "order": planned.order,
        "seed": planned.seed,
        "duration_s": round(planned.duration_s, 3),
        "idle": {name: round(value, 3) for name, value in document_of(planned.idle).items()},
        **({} if planned.least_s is None else {"least_duration_s": round(planned.least_s, 3)}),
        "ports_alternate": planned.ports_alternate,
        "cases": [_case_dict(case) for case in planned.cases],
        "placements": [[document_of(instance) for instance in instances] for instances in placements],
        "trials": trials,
        "changes": [_slots(change) for change in planned.changes],
        **(
            {"round_changes": [[_slots(change) for change in round_changes] for round_changes in changes]}
            if changes
            else {}
        ),
        "skipped": [_slots(skip) for skip in planned.skipped],
        "notes": list(planned.notes),
        **({"places": list(planned.places)} if planned.places else {}),
        **{name: _further_dicts(rounds, case_index) for name, rounds in planned.further.items()},
    }


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
    return {**values, "factors": dict(factors)} if factors else values


def _slots(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
