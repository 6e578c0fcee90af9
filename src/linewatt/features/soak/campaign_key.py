# SPDX-License-Identifier: Apache-2.0
"""What a campaign has of the keys ``soak`` and ``best_of`` of its file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from linewatt.campaign.entries import CampaignFile, HostEntry
from linewatt.campaign.reading import Finding, check_one_port
from linewatt.features.soak.entries import MAX_SOAK_S, SoakEntry
from linewatt.features.soak.model import BestOf, Soak


def read_soak(entry: CampaignFile, base: Path) -> Soak | None:
    """The soak of a campaign."""
    soak: SoakEntry | None = entry.value_of("soak")
    return None if soak is None else Soak(soak.duration, soak.interval, soak.segment)


def read_best_of(entry: CampaignFile, base: Path) -> BestOf | None:
    """The experiment that a campaign names, not looked up yet."""
    result = entry.value_of("best_of")
    return None if result is None else BestOf(result)


_OF_TRIALS = ("trials", "order", "load_levels", "factors", "design", "window", "idle")


def check_best_of(
    entry: CampaignFile, names: Collection[str], hosts: Mapping[str, HostEntry]
) -> Iterator[Finding]:
    """A best setting that nothing has."""
    if entry.value_of("soak") is None:
        yield ("best_of",), "is of a soak, which runs with the best setting; add soak, or take it out"


def check_soak(
    entry: CampaignFile, names: Collection[str], hosts: Mapping[str, HostEntry]
) -> Iterator[Finding]:
    """What contradicts itself in a soak; ``hosts`` are those that take part."""
    soak: SoakEntry | None = entry.value_of("soak")
    if soak is None:
        return
    if entry.load_keys == ["soak"] and not entry.tests:
        yield ("soak",), "has nothing to run; name users, or tests and pairs"
    for name in _OF_TRIALS:
        if name in entry.model_fields_set:
            yield (name,), "is of cases and trials, and a soak is one long load; take it out"
    if len(entry.networks) > 1:
        yield ("networks",), f"a soak runs on one network, got {len(entry.networks)}"
    yield from check_one_port(hosts, "a soak has")
    yield from _check_times(soak)


def _check_times(soak: SoakEntry) -> Iterator[Finding]:
    if not 0 < soak.duration <= MAX_SOAK_S:
        yield ("soak",), "duration must be more than 0 and at most 366 days"
    if not 1 <= soak.interval <= max(1.0, soak.duration):
        yield ("soak", "interval"), "must be at least 1 s and at most the duration"
    if not 1 <= soak.segment <= 86_400:
        yield ("soak", "segment"), "must be from 1 s to 24 h: a load ends a test after a day"
