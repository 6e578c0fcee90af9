# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of a host's power that nobody measures: its supplies and declared components.

Field names are those of :class:`linewatt.records.Component` and :class:`linewatt.records.Supplies`, which
entries become as they are.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from linewatt.campaign.entries import fields as f
from linewatt.document import Part

MAX_COMPONENTS = 100
MAX_COUNT = 1024
MAX_NAME = 60
MAX_POWER_W = 100_000
MAX_UNITS = 16
MAX_RATING_W = 20_000


_NAME = rf"(?![-\s])[^\x00-\x1f\x7f-\x9f\u2028\u2029\x22'`$;&|<>*?\\]{{1,{MAX_NAME}}}"


def _label(text: str) -> str:
    if not re.fullmatch(_NAME, text) or not text.isprintable():
        raise ValueError(f"must be 1 to {MAX_NAME} characters without quotes, $ and other shell characters")
    return text


class ComponentEntry(Part):
    """A component whose power comes from a datasheet or an estimate."""

    name: Annotated[str, AfterValidator(_label)] = Field(
        examples=["DDR5 module"],
        description="What it is, for the report.",
        json_schema_extra={"pattern": f"^(?:{_NAME})$"},
    )
    power_w: float = Field(
        gt=0, le=MAX_POWER_W, examples=[4], description="Watts of one of them, at the load of the campaign."
    )
    provenance: Literal["datasheet", "estimate"] = Field(
        description="Where the watts are from: `datasheet` or `estimate`."
    )
    count: int = Field(default=1, ge=1, le=MAX_COUNT, description="How many of them there are.")
    kind: Literal["cpu", "memory", "fan", "gpu", "nic", "storage", "board", "other"] = Field(
        default="other",
        description="What it is a part of; where a source measures that, the reading is taken instead.",
    )


def _distinct(entries: tuple[ComponentEntry, ...]) -> tuple[ComponentEntry, ...]:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise ValueError(f"names {entry.name!r} twice; use count, or two names")
        seen.add(entry.name)
    return entries


Components = Annotated[
    tuple[ComponentEntry, ...],
    Field(max_length=MAX_COMPONENTS),
    f.AsTuple,
    AfterValidator(_distinct),
]
"""A host's ``components:``: a YAML list whose names differ."""


class PsuEntry(Part):
    """The power supplies of a host: alike units that carry it together."""

    count: int = Field(default=2, ge=1, le=MAX_UNITS, description="How many alike units there are.")
    rating_w: float = Field(
        gt=0, le=MAX_RATING_W, examples=[800], description="Rating of one unit, W of DC output."
    )
    level: Literal["bronze", "silver", "gold", "platinum", "titanium"] | None = Field(
        default=None, description="80 PLUS level of the units; left out: not known."
    )
    mode: Literal["shared", "standby"] = Field(
        default="shared", description="`shared`: all carry the load. `standby`: one is on hot standby."
    )

    @model_validator(mode="after")
    def _spare(self) -> PsuEntry:
        if self.mode == "standby" and self.count == 1:
            raise ValueError("mode standby needs two or more units, got count 1")
        return self
