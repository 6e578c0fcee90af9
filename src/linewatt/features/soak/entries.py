# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``soak`` and ``best_of``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from linewatt.campaign.entries import Duration, fields
from linewatt.document import Part

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


SOAK_FIELD = (
    SoakField | None,
    Field(
        default=None,
        examples=["48h"],
        description="One long load in place of cases and trials: how long, or a mapping; see docs/soak.md.",
    ),
)
BEST_OF_FIELD = (
    fields.ResultId | None,
    Field(
        default=None,
        examples=["20261122-215421-preliminary"],
        description="Stored experiment, or `last`: the soak has its best setting; see docs/soak.md.",
    ),
)
