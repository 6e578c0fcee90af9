# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says under ``factors``: levels, and labels for what linewatt cannot set itself."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from linewatt.campaign.entries import fields as f
from linewatt.campaign.entries.fields import AsTuple, Unique
from linewatt.document import Part, WrittenFloat

MAX_LEVELS = 100
MAX_WAIT_S = 86_400

Word = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""a word of a command on this machine"""


_LEVEL = r"[A-Za-z0-9][A-Za-z0-9 ._+=/,:%@()-]{0,255}"


def _level(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value.text if isinstance(value, WrittenFloat) else repr(value)
    if not isinstance(value, str):
        raise ValueError("must be a number, on, off, or a text")
    if not re.fullmatch(_LEVEL, value, re.ASCII):
        raise ValueError(
            "must be a number, on, off, or a text of letters, digits, blanks and . _ + = / , : % @ ( ) -"
        )
    return value


_LEVEL_SCHEMA = {"type": ["string", "number", "boolean"]}
FactorLevel = Annotated[str, BeforeValidator(_level), WithJsonSchema(_LEVEL_SCHEMA)]


def _several(levels: tuple[str, ...]) -> tuple[str, ...]:
    if not 2 <= len(levels) <= MAX_LEVELS:
        raise ValueError(
            f"must have 2 to {MAX_LEVELS} levels; a setting that hosts keep throughout belongs under settings"
        )
    return levels


FactorLevels = Annotated[
    tuple[FactorLevel, ...],
    AsTuple,
    Unique,
    AfterValidator(_several),
    WithJsonSchema({"type": "array", "items": _LEVEL_SCHEMA, "minItems": 2, "maxItems": MAX_LEVELS}),
]
"""the levels of a factor, as text"""


class LabelEntry(Part):
    """A factor that linewatt cannot set: it asks, or runs a program of yours, before each level."""

    label: FactorLevels = Field(
        examples=["[6.1, 6.12]"], description="Its levels, in your words; the first is the base."
    )
    hook: Annotated[tuple[Word, ...], Field(min_length=1), AsTuple] | None = Field(
        default=None,
        description="Program on this machine that sets a level, with its arguments; it gets "
        "`LINEWATT_FACTOR`, `LINEWATT_LEVEL` and `LINEWATT_HOSTS`, and may reboot the hosts. "
        "Left out: `run` pauses and asks.",
    )
    fact: f.FactName | None = Field(
        default=None,
        description="Fact that must differ between levels, such as `kernel.release`; it proves the change.",
    )
    timeout: float = Field(
        default=900.0,
        gt=0,
        le=MAX_WAIT_S,
        description="Seconds for the hook, and then for the hosts to be there again.",
    )


Factor = Annotated[
    Annotated[FactorLevels, Tag("list")] | Annotated[LabelEntry, Tag("LabelEntry")],
    Discriminator(lambda value: "LabelEntry" if isinstance(value, dict) else "list"),
]
