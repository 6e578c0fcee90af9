# SPDX-License-Identifier: Apache-2.0
"""Every case of a campaign: what its file combines, and what of it cannot be. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from linewatt.campaign import factors
from linewatt.campaign.campaign import AUTO, Campaign, TestSpec
from linewatt.campaign.design import Setting, settings_of_design
from linewatt.campaign.feature_load import planning_of
from linewatt.campaign.port_choice import positions_of
from linewatt.campaign.reading.ways import Ways
from linewatt.errors import InvalidInput
from linewatt.loads import DEFAULT_LOAD, LOADS
from linewatt.missing import Missing
from linewatt.model import Case, Family, TestName, group_of, lowest_terms
from linewatt.sizes import datagram_bytes, frame_bytes, least_frame_bytes, too_small


@dataclass(frozen=True, slots=True)
class Skipped:
    """Cases that cannot be: what they have in common, how many, and why."""

    what: str
    cases: int
    reason: str


def impossible(test: TestName, family: Family, load: str) -> str | None:
    """Why there is no such test in a family with a load; ``None``: there is."""
    payload, min_bytes = datagram_bytes(test, family), LOADS[load].least_datagram_bytes
    if too_small(test, family):
        size = frame_bytes(test)
        return f"an IPv6 UDP frame cannot be {size} bytes: its headers alone are 14 + 40 + 8 = 62"
    if payload is not None and payload < min_bytes:
        smallest = least_frame_bytes(family, min_bytes)
        return (
            f"{load} sends {min_bytes} bytes or more in a datagram; over {family} take udp-{smallest} or more"
        )
    return None


def expand(campaign: Campaign) -> tuple[list[Case], list[Skipped]]:
    """Every combination of the file, in its order, and those that cannot be. Raises InvalidInput."""
    cases: list[Case] = []
    skipped: Counter[tuple[str, str]] = Counter()
    ways = Ways(campaign)
    throughout = tuple(item for item in campaign.settings.items() if factors.is_setting_of_hosts(item[0]))
    for setting in settings_of_design(campaign.factors, campaign.design):
        for plain in _combinations(campaign):
            outcome = _with_setting(plain, setting, throughout, ways)
            if isinstance(outcome, Case):
                cases.append(outcome)
            else:
                skipped[outcome] += 1
    levels = [replace(case, load_level=level) for case in cases for level in campaign.load_levels]
    return [*cases, *levels], [Skipped(what, count, reason) for (what, reason), count in skipped.items()]


def _with_setting(case: Case, setting: Setting, throughout: Setting, ways: Ways) -> Case | tuple[str, str]:
    """The case with the levels of its factors, or what is impossible about it and why; ``throughout`` is what
    its hosts keep."""
    if why := impossible(case.test, case.family, case.load or DEFAULT_LOAD):
        return f"{case.test} over {case.family}", why
    way = ways.of(case)
    if isinstance(way, Missing):
        return f"{case.way} on network {case.network}", way.reason
    if why := ways.no_room(case):
        return f"{case.test} on network {case.network}", why
    for name, level in (*throughout, *setting):
        reason = factors.impossible(case, name, level)
        if reason is not None:
            return f"{case.test} with {name}={level}", reason
    if together := factors.contradiction((*throughout, *setting)):
        return together
    return factors.applied(case, setting)


def _combinations(campaign: Campaign) -> Iterator[Case]:
    if load := campaign.feature_load:
        yield from planning_of(load).cases(campaign)
    for spec in campaign.tests:
        for family in campaign.families:
            yield from _of_test(campaign, spec, family)


def _of_test(campaign: Campaign, spec: TestSpec, family: Family) -> Iterator[Case]:
    for network in campaign.networks:
        for direction in campaign.directions:
            for streams in spec.streams:
                for instances in _numbers(campaign, spec):
                    for ends in _ends(campaign, forward=direction == "forward"):
                        yield Case(
                            test=spec.test,
                            instances=instances,
                            streams=streams,
                            direction=direction,
                            family=family,
                            network=network,
                            rate_bps=None if spec.rate_bps == AUTO else spec.rate_bps,
                            search=_searched(spec),
                            zerocopy=spec.zerocopy,
                            load=None if campaign.load == DEFAULT_LOAD else campaign.load,
                            **_data_ports(campaign, spec, ends["sender"], ends["receiver"]),
                            **ends,
                        )


def _data_ports(campaign: Campaign, spec: TestSpec, *ends: str) -> dict[str, Any]:
    """What a case says of the data ports of its pair; nothing where its hosts have one, as those of groups.

    The weights are those that either end names: where both do, they agree.
    """
    hosts = [campaign.hosts[name] for name in ends if name in campaign.hosts]
    many = len(hosts[0].interfaces) if hosts else 1
    if many == 1:
        return {}
    positions = tuple(range(many))
    if spec.data:
        chosen = positions_of(spec.data, {host.name: host.interfaces for host in hosts})
        if isinstance(chosen, Missing):
            raise InvalidInput(chosen.reason)
        positions = chosen
    named = next((host.data_weights for host in hosts if host.data_weights), (1,) * many)
    count = len(positions)
    return {
        "data_ports": count,
        "port_weights": lowest_terms([named[position] for position in positions]),
        "chosen_ports": () if positions == tuple(range(count)) else positions,
    }


def _numbers(campaign: Campaign, spec: TestSpec) -> tuple[int, ...]:
    """How many instances; of a search the most that there may be."""
    if spec.instances != AUTO:
        return spec.instances
    return () if campaign.instance_search is None else (campaign.instance_search.most,)


def _searched(spec: TestSpec) -> Literal["rate", "instances"] | None:
    if spec.instances == AUTO:
        return "instances"
    return "rate" if spec.rate_bps == AUTO else None


def _ends(campaign: Campaign, *, forward: bool) -> Iterator[dict[str, Any]]:
    """Who sends to whom: pair by pair, then what runs at once."""
    for pair in campaign.pairs:
        sender, receiver = pair if forward else pair[::-1]
        yield {"sender": sender, "receiver": receiver}
    for group in campaign.groups:
        yield group_of(group.shape, group.flows)
