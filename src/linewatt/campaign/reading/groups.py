# SPDX-License-Identifier: Apache-2.0
"""Pairs that run at once: those of a campaign file, and what they cannot be combined with. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from linewatt.campaign.campaign import AUTO, Group, TestSpec
from linewatt.campaign.entries.networks import BARE_NETWORK, network_name
from linewatt.campaign.entries.schema import CampaignFile, HostEntry
from linewatt.document import KeyPath
from linewatt.loads import DEFAULT_LOAD

Entry = tuple[str, str] | Group
"""what an entry of ``pairs`` says"""


def hosts_of(entry: Entry) -> tuple[str, ...]:
    """Those that it names, each once."""
    ways = entry.flows if isinstance(entry, Group) else (entry,)
    return tuple(dict.fromkeys(host for way in ways for host in way))


def check_groups(
    entry: CampaignFile,
    listed: Sequence[Entry],
    hosts: Mapping[str, HostEntry],
    tests: Sequence[TestSpec],
) -> Iterator[tuple[KeyPath, str]]:
    """Whether groups are combined with what only pairs of two hosts have; told once."""
    groups = {at: pair_entry for at, pair_entry in enumerate(listed) if isinstance(pair_entry, Group)}
    if not groups:
        return
    seen: dict[frozenset[tuple[str, str]], int] = {}
    for at, group in groups.items():
        if (first := seen.setdefault(frozenset(group.flows), at)) != at:
            yield ("pairs", at), f"is pairs[{first}] in another order; name it once"
            return
    shared = next(_shared_pairs(groups), None)
    if shared is not None:
        yield shared
        return
    several = [name for group in groups.values() for name in hosts_of(group)]
    for wrong, what in (
        (bool(entry.load_keys), " and ".join(entry.load_keys)),
        (entry.load != DEFAULT_LOAD, f"load: {entry.load}"),
        (any(test.rate_bps == AUTO for test in tests), "rate: auto"),
        (any(test.instances == AUTO for test in tests), "instances: auto"),
        (bool(entry.load_levels), "load_levels"),
        (entry.directions != ("forward",), "directions: reverse (write the hosts the other way round)"),
        (entry.concurrent_pairs, "concurrent_pairs"),
        (entry.steer, "steer"),
        (tuple(map(network_name, entry.networks)) != (BARE_NETWORK,), "networks"),
        (any(len(hosts[name].data) > 1 for name in several if name in hosts), "several data ports"),
    ):
        if wrong:
            yield (
                ("pairs", next(iter(groups))),
                f"runs several pairs at once, which there is not with {what}; take one out",
            )
            return


def _shared_pairs(groups: Mapping[int, Group]) -> Iterator[tuple[KeyPath, str]]:
    """Pairs of two groups of one shape, of as many at once: their keys would be equal."""
    seen: dict[tuple[object, ...], int] = {}
    for at, group in groups.items():
        for flow in group.flows:
            if (first := seen.setdefault((group.shape, len(group.flows), flow), at)) != at:
                yield (
                    ("pairs", at),
                    f"has {flow[0]} -> {flow[1]} of {len(group.flows)} at once, as pairs[{first}] has; "
                    "take one of the two to a campaign of its own",
                )
