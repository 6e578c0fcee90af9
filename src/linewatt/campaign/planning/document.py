# SPDX-License-Identifier: Apache-2.0
"""What ``plan --json`` prints: the plan of a campaign behind its hosts and the programs that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from linewatt.campaign.campaign import Campaign, Order
from linewatt.campaign.planning import plain, plan
from linewatt.campaign.planning.cases import Skipped
from linewatt.campaign.planning.idle import IdleTime
from linewatt.campaign.planning.programs import Program, programs
from linewatt.core.feature import further_trials
from linewatt.declare import (
    BOOLEAN,
    COUNT,
    INTEGER,
    NUMBER,
    TEXT,
    Keys,
    Schema,
    choice,
    keys_of,
    listing,
    maybe,
    of_class,
    one_of,
    record,
    said,
    table,
    version,
)
from linewatt.hosts.base import HostSpec
from linewatt.model import Case
from linewatt.tuning.base import Change


def document(campaign: Campaign, plan_document: Mapping[str, Any]) -> dict[str, Any]:
    """The whole; ``plan_document`` is what is stored of the plan."""
    return {
        "campaign": campaign.name,
        "hosts": {
            name: {"more_ports": [], "data_weights": [], **host.as_document()}
            for name, host in campaign.hosts.items()
        },
        "programs": [asdict(program) for program in programs(campaign)],
        **plan_document,
    }


def schema(keys_by_noun: Mapping[str, Keys]) -> Schema:
    """Of :func:`document`; ``keys_by_noun`` are of plans that are none of trials."""
    head = {
        "campaign": TEXT,
        "hosts": table(of_class(HostSpec)),
        "programs": listing(of_class(Program), "That the campaign names, to be run as they are."),
    }
    of_kinds = (record({**head, **keys}, f"Of {noun}.") for noun, keys in keys_by_noun.items())
    return one_of(record({**head, **plan_keys()}, "Of trials."), *of_kinds)


def plan_keys() -> Keys:
    """Of a plan of trials."""
    changes, index = listing(of_class(Change)), said(COUNT, "By its place in the list, from 0.")
    trial = {
        "number": COUNT,
        "round": COUNT,
        "repetition": COUNT,
        "case": index,
        "placement": index,
        "changes?": said(COUNT, "By its place in `round_changes`."),
    }
    instance = of_class(plan.PlannedInstance)
    return {
        "schema_version": version(plain.SCHEMA_VERSION),
        "order": choice(*get_args(Order)),
        "seed": said(maybe(INTEGER), "Of a random order."),
        "duration_s": said(NUMBER, "An estimate; of the longest where cases may stop early."),
        "idle": of_class(IdleTime),
        "least_duration_s?": NUMBER,
        "ports_alternate": BOOLEAN,
        "cases": listing(_case_schema()),
        "placements": listing(listing(instance)),
        "trials": listing(record(trial)),
        "changes": said(changes, "What hosts show throughout."),
        "round_changes?": listing(changes, "What they show beyond that in some rounds."),
        "skipped": listing(of_class(Skipped)),
        "notes": listing(TEXT),
        "places?": listing(TEXT, "What a policy chose on each host, and why."),
        **{
            f"{trials.name}?": listing(record({"number": COUNT, "case": index}))
            for trials in further_trials()
        },
    }


def _case_schema() -> Schema:
    case_keys = dict(keys_of(of_class(Case)))
    load = maybe(case_keys.pop("load?"))
    del case_keys["factors"]
    case_keys |= {"load": load, "factors?": table(TEXT, "Factor → its level."), "users?": table(TEXT)}
    return record({"key": TEXT, **case_keys, "client": TEXT, "server": TEXT})
