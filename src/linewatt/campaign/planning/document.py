# SPDX-License-Identifier: Apache-2.0
"""What ``plan --json`` prints: the plan of a campaign behind its hosts and the programs that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from linewatt.campaign.campaign import Campaign
from linewatt.campaign.planning import plain
from linewatt.campaign.planning.programs import Program, programs_of_campaign
from linewatt.core.feature import further_trials
from linewatt.declare import COUNT, TEXT, Keys, Schema, keys_of, listing, maybe, one_of, record, said, table
from linewatt.hosts import HostSpec
from linewatt.json_document import of_class
from linewatt.model import Case


def plan_document_of(campaign: Campaign, plan_document: Mapping[str, Any]) -> dict[str, Any]:
    """The whole; ``plan_document`` is what is stored of the plan."""
    return {
        "campaign": campaign.name,
        "hosts": {
            name: {"more_ports": [], "data_weights": [], **host.as_document()}
            for name, host in campaign.hosts.items()
        },
        "programs": [asdict(program) for program in programs_of_campaign(campaign)],
        **plan_document,
    }


def plan_document_schema(keys_by_noun: Mapping[str, Keys]) -> Schema:
    """Of :func:`plan_document_of`; ``keys_by_noun`` are of plans that are none of trials."""
    head = {
        "campaign": TEXT,
        "hosts": table(of_class(HostSpec)),
        "programs": listing(of_class(Program), "That the campaign names, to be run as they are."),
    }
    of_kinds = (record({**head, **keys}, f"Of {noun}.") for noun, keys in keys_by_noun.items())
    return one_of(record({**head, **plan_keys()}, "Of trials."), *of_kinds)


def plan_keys() -> Keys:
    """Of a plan of trials, with what features run beside."""
    index = said(COUNT, "By its place in the list, from 0.")
    further = {
        f"{trials.name}?": listing(record({"number": COUNT, "case": index})) for trials in further_trials()
    }
    keys = keys_of(of_class(plain.PlanDocument))
    return {**keys, "cases": listing(record(_keys_of_case())), **further}


def _keys_of_case() -> Keys:
    case_keys = dict(keys_of(of_class(Case)))
    load = maybe(case_keys.pop("load?"))
    del case_keys["factors"]
    case_keys |= {"load": load, "factors?": table(TEXT, "Factor → its level."), "users?": table(TEXT)}
    return {"key": TEXT, **case_keys, "client": TEXT, "server": TEXT}
