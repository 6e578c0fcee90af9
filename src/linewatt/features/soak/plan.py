# SPDX-License-Identifier: Apache-2.0
"""What a soak will do: pure, from the campaign alone; and once more when its hosts are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from linewatt.campaign import Campaign
from linewatt.campaign.planning import Layout, Places, Plan, Round, Site, plan_campaign, plan_keys
from linewatt.campaign.planning import plan_as_dict as plan_dict
from linewatt.declare import Keys, listing, maybe, record, version
from linewatt.errors import InvalidInput
from linewatt.features.soak.model import BestOf, Soak, best_of_in, soak_in
from linewatt.features.users.model import Users, users_in
from linewatt.json_document import document_of, of_class
from linewatt.tuning import Change

SCHEMA_VERSION = 1
SEED = 0
"""a soak has no random order"""


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """``segments`` are tests of ``load``, one round after the other, again and again; none for users alone.

    ``changes`` are what hosts show throughout that take part in no segment.
    """

    soak: Soak
    users: Users | None
    segments: Plan | None
    changes: tuple[Change, ...]
    load: str
    best_of: BestOf | None = None

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self.segments.rounds if self.segments is not None else ()

    def changes_in(self, round_: Round | None) -> tuple[Change, ...]:
        """All that hosts show while a round runs, or none does."""
        if round_ is None or self.segments is None:
            return self.changes
        round_hosts = round_.hosts
        others = (change for change in self.changes if change.host not in round_hosts)
        return (*self.segments.changes_in(round_), *others)


def plan_soak(campaign: Campaign, sites: Mapping[str, Site] | None = None) -> SoakPlan:
    """The plan of a campaign with ``soak``.

    ``sites`` as for :func:`~linewatt.campaign.planning.plan.plan_campaign`. Raises InvalidInput for a
    campaign without, and as that does.
    """
    soak = soak_in(campaign)
    if soak is None:
        raise InvalidInput(f"{campaign.name}: has no soak")
    segments = plan_campaign(_segments(campaign, soak), SEED, sites) if campaign.tests else None
    layout = Layout(campaign, Places(campaign, sites or {}), (campaign.first_port, campaign.first_port))
    network = campaign.networks[0]
    changes = tuple(change for name in campaign.hosts for change in layout.throughout(name, network))
    return SoakPlan(soak, users_in(campaign), segments, changes, campaign.load, best_of_in(campaign))


def _segments(campaign: Campaign, soak: Soak) -> Campaign:
    """What is no work of users as cases of one trial each, all of whose load counts."""
    paired = {name for pair in campaign.pairs for name in pair}
    return replace(
        campaign,
        hosts={name: spec for name, spec in campaign.hosts.items() if name in paired},
        trials=1,
        omit_s=0.0,
        window_s=segment_s(soak),
        tail_s=0.0,
        idle_s=0.0,
    )


def segment_s(soak: Soak) -> float:
    """Length of one segment: a soak may be shorter than what its file, or nobody, says."""
    return min(soak.segment_s, soak.duration_s)


def as_dict(planned: SoakPlan) -> dict[str, Any]:
    """The plan as plain values for JSON; units are in the keys."""
    return {
        "schema_version": SCHEMA_VERSION,
        "soak": asdict(planned.soak),
        "users": None if planned.users is None else document_of(planned.users),
        "segments": None if planned.segments is None else plan_dict(planned.segments),
        "changes": [asdict(change) for change in planned.changes],
        **({} if planned.best_of is None else {"best_of": asdict(planned.best_of)}),
    }


def keys() -> Keys:
    """Of :func:`as_dict`."""
    return {
        "schema_version": version(SCHEMA_VERSION),
        "soak": of_class(Soak),
        "users": maybe(of_class(Users)),
        "segments": maybe(record(plan_keys())),
        "changes": listing(of_class(Change)),
        "best_of?": of_class(BestOf),
    }


def said(planned: SoakPlan) -> Iterator[str]:
    """The users and the segments in words, a line each."""
    users = planned.users
    if planned.best_of is not None:
        yield from planned.best_of.said()
    if users is not None:
        yield from users.described()
        if users.server_host is not None:
            yield "that server and its folder are there for the time of the soak only"
    if planned.rounds:
        yield f"{planned.load} in segments of {segment_s(planned.soak):g} s, these in turn:"
