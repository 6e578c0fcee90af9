# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``trials``: a number, or bounds and how sure a mean must be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from linewatt.campaign.entries.quantities import PERCENTAGE_EXPECTED, text_schema
from linewatt.document import KeyPath, Part

MAX_TRIALS_OF_A_CASE = 1000
FEWEST_RUNS = 3
"""the spread of two runs is hardly known, so no interval of theirs may end a case"""
_PERCENT = r"([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%"


def ratio_of(what: str, *, zero: bool = False) -> BeforeValidator:
    """A percentage of something becomes a ratio."""

    def ratio(value: object) -> float:
        match = re.fullmatch(_PERCENT, value, re.ASCII) if isinstance(value, str) else None
        if match is None:
            raise ValueError(f'must be a percentage of {what} with its sign, such as "1%"')
        percent = float(match[1])
        if percent >= 100 or (percent == 0 and not zero):
            raise ValueError(f"must be {'from' if zero else 'more than'} 0 % and less than 100 %")
        return percent / 100

    return BeforeValidator(ratio)


PERCENTAGE = WithJsonSchema(text_schema(_PERCENT, PERCENTAGE_EXPECTED))
Percentage = Annotated[float, ratio_of("the mean"), PERCENTAGE]


class TrialsEntry(Part):
    """Trials of a case until its mean is known well enough, within bounds."""

    min: int = Field(
        default=10, ge=FEWEST_RUNS, le=MAX_TRIALS_OF_A_CASE, description="Runs that every case has at least."
    )
    max: int = Field(
        default=30, ge=FEWEST_RUNS, le=MAX_TRIALS_OF_A_CASE, description="Trials of a case at most."
    )
    until: Percentage = Field(
        examples=["1%"],
        description="How far the 95 % CI of the mean throughput may reach, in percent of the mean.",
    )


Trials = Annotated[
    Annotated[int, Field(ge=1, le=MAX_TRIALS_OF_A_CASE), Tag("number")]
    | Annotated[TrialsEntry, Tag("TrialsEntry")],
    Discriminator(lambda value: "TrialsEntry" if isinstance(value, (dict, TrialsEntry)) else "number"),
]


def most_trials(entry: int | TrialsEntry) -> int:
    """How often a case runs at most."""
    return entry.max if isinstance(entry, TrialsEntry) else entry


def check_trials(entry: int | TrialsEntry, *, levels: bool) -> Iterator[tuple[KeyPath, str]]:
    """Bounds that contradict each other or the campaign's load ``levels``."""
    if not isinstance(entry, TrialsEntry):
        return
    if entry.max <= entry.min:
        yield ("trials", "max"), f"must be more than min, which is {entry.min}, got {entry.max}"
    if levels:
        text = "contradicts load_levels, which all trials at full rate calibrate; write a number of trials"
        yield ("trials",), text
