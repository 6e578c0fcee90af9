# SPDX-License-Identifier: Apache-2.0
"""The documents of a result as values: what readers take for granted is checked when a document is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from linewatt.errors import StoreError

SCHEMA_VERSION = 1
_Count = Annotated[int, Field(ge=0)]
_Time = Annotated[float, Field(ge=0, le=1e11)]
"""Unix seconds that a calendar has"""


class Document(BaseModel):
    """What is not named here may be anything; what is named and not there, too, has its default."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, defer_build=True)


class _Campaign(Document):
    soak: dict[str, Any] | None = None
    users: dict[str, Any] | None = None
    factors: dict[str, Any] = {}
    psus: dict[str, Any] = {}


class _Host(Document):
    facts: dict[str, Any] | None = None


class Manifest(Document):
    schema_version: int
    name: str = ""
    linewatt_version: str | None = None
    created_s: _Time | None = None
    campaign_text: str | None = None
    campaign: _Campaign | None = None
    places: list[str] = []
    seed: int | None = None
    order: str | None = None
    trials_planned: _Count
    hosts: dict[str, _Host] | None = None
    imported_from: str | None = None
    checksums: str | None = None


class _IdlePower(Document):
    source: str
    channel: str
    power_w: float | None = None
    energy_j: float | None = None
    energy_uncertainty_j: float | None = None
    idle_uncertainty_w: float | None = None


class _IdleHost(Document):
    moving: str | None = None
    cpu_cores: float | None = None
    power: list[_IdlePower] | None = None


class _Times(Document):
    start_s: _Time = 0.0
    end_s: _Time = 0.0


class Idle(Document):
    setting: dict[str, str] | None = None
    window: _Times | None = None
    hosts: dict[str, _IdleHost] | None = None


class _Meter(Document):
    host: str
    source: str
    channel: str
    refresh_s: float | None = None
    averaging_s: float | None = None
    delay_s: float | None = None
    settle_s: float | None = None
    read_every_s: float | None = None


class Meters(Document):
    meters: list[_Meter]


class _StoppedCase(Document):
    case_key: str
    sender: str
    receiver: str
    runs: _Count
    until_met: bool
    why: str


class Repeats(Document):
    trials_left_out: _Count
    until_ratio: float
    min: _Count
    max: _Count
    cases: list[_StoppedCase] = []


class Part(Document):
    number: _Count
    started_s: _Time


class PartEnd(Document):
    ended_s: _Time
    why: str


class _UserCounts(Document):
    received_bytes: _Count
    sent_bytes: _Count


class Users(Document):
    users: dict[str, _UserCounts]
    times: dict[str, str]
    said: list[list[str]]


class Event(Document):
    time_s: _Time
    kind: str
    host: str | None = None
    text: str


def check(path: Path, document: object, shape: type[Document]) -> None:
    """Raise StoreError for a document that is of another version, or has a value that cannot be."""
    if not isinstance(document, Mapping):
        raise StoreError(f"{path}: damaged: not a JSON object")
    version = document.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path}: schema_version {version!r:.40}, this linewatt reads {SCHEMA_VERSION}")
    try:
        shape.model_validate(document)
    except ValidationError as error:
        raise StoreError(f"{path}: damaged: {told(error)}") from error


def told(error: ValidationError) -> str:
    """Where in a document the first thing is wrong, and what."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(one) for one in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
