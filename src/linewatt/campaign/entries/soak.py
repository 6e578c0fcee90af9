# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``soak`` and ``best_of``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from linewatt.campaign.entries import fields as f
from linewatt.campaign.entries.quantities import Duration
from linewatt.campaign.reading.checks import check_one_port
from linewatt.campaign.users.soak import BestOf, Soak
from linewatt.document import KeyPath, Part

MAX_SOAK_S = 366 * 86_400.0


class SoakEntry(Part):
    """One long load in place of cases and trials."""

    duration: Duration = Field(examples=["48h"], description="How long the load runs.")
    interval: Duration = Field(
        default="10s",
        validate_default=True,
        description="How often what users did is added up; sensors have their own intervals.",
    )
    segment: Duration = Field(
        default="1h",
        validate_default=True,
        description="Length of one test of the load; the next begins at once after it.",
    )


def _soak(value: object) -> object:
    if isinstance(value, (dict, SoakEntry)):
        return value
    if not isinstance(value, str):
        raise ValueError('must be a time with its unit, such as "48h", or a mapping')
    return {"duration": value}


SoakField = Annotated[SoakEntry, BeforeValidator(_soak, json_schema_input_type=Duration | SoakEntry)]


def soak_of(entry: SoakEntry | None) -> Soak | None:
    """The soak as the rest of the house sees it."""
    return None if entry is None else Soak(entry.duration, entry.interval, entry.segment)


SOAK_FIELD = (
    SoakField | None,
    Field(
        default=None,
        examples=["48h"],
        description="One long load in place of cases and trials: how long, or a mapping; see docs/soak.md.",
    ),
)
BEST_OF_FIELD = (
    f.ResultId | None,
    Field(
        default=None,
        examples=["20261122-215421-preliminary"],
        description="Stored experiment, or `last`: the soak has its best setting; see docs/soak.md.",
    ),
)


def read_soak(entry: Any, base: Path) -> Soak | None:
    """The soak of a campaign; ``entry`` is the whole file."""
    return soak_of(entry.soak)


def read_best_of(entry: Any, base: Path) -> BestOf | None:
    """The experiment that a campaign names, not looked up yet; ``entry`` is the whole file."""
    return None if entry.best_of is None else BestOf(entry.best_of)


_OF_TRIALS = ("trials", "order", "load_levels", "factors", "design", "window", "idle")


def check_best_of(
    entry: Any, names: Collection[str], hosts: Mapping[str, Any]
) -> Iterator[tuple[KeyPath, str]]:
    """A best setting that nothing has; ``entry`` is the whole file."""
    if entry.best_of is not None and entry.soak is None:
        yield ("best_of",), "is of a soak, which runs with the best setting; add soak, or take it out"


def check_soak(entry: Any, names: Collection[str], hosts: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """What contradicts itself in a soak; ``entry`` is the whole file, ``hosts`` those that take part."""
    if entry.soak is None:
        return
    if entry.load_keys == ["soak"] and not entry.tests:
        yield ("soak",), "has nothing to run; name users, or tests and pairs"
    for name in _OF_TRIALS:
        if name in entry.model_fields_set:
            yield (name,), "is of cases and trials, and a soak is one long load; take it out"
    if len(entry.networks) > 1:
        yield ("networks",), f"a soak runs on one network, got {len(entry.networks)}"
    yield from check_one_port(hosts, "a soak has")
    yield from _check_times(entry.soak)


def _check_times(soak: SoakEntry) -> Iterator[tuple[KeyPath, str]]:
    if not 0 < soak.duration <= MAX_SOAK_S:
        yield ("soak",), "duration must be more than 0 and at most 366 days"
    if not 1 <= soak.interval <= max(1.0, soak.duration):
        yield ("soak", "interval"), "must be at least 1 s and at most the duration"
    if not 1 <= soak.segment <= 86_400:
        yield ("soak", "segment"), "must be from 1 s to 24 h: a load ends a test after a day"
