# SPDX-License-Identifier: Apache-2.0
"""Times, sizes and shares as people write them in a campaign file: ``48h``, ``16M``, ``1%``."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(ms|s|min|m|h|d)"
_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SIZE = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(k|M|G|Ki|Mi|Gi)?B?"
_PERCENT = r"([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%"


_DURATION_EXPECTED = 'must be a time with its unit, such as "90s", "10m", "48h" or "2d"'
_SIZE_EXPECTED = 'must be a number of bytes, such as 4096, "16M" (10⁶) or "16Mi" (2²⁰)'
PERCENTAGE_EXPECTED = 'must be a percentage from 0 to 100 with its sign, such as "1%"'


def text_schema(pattern: str, message: str) -> dict[str, Any]:
    """JSON Schema of a text; ``message`` is what editors print where it does not match."""
    return {"type": "string", "pattern": f"^{pattern}$", "patternErrorMessage": message}


def _duration(value: object) -> float:
    match = re.fullmatch(_DURATION, value, re.ASCII) if isinstance(value, str) else None
    if match is None:
        raise ValueError(_DURATION_EXPECTED)
    return float(match[1]) * _SECONDS[match[2]]


def _seconds(value: object) -> object:
    """Of a text its seconds; what is no text stays what it is."""
    if isinstance(value, str) and not re.fullmatch(_DURATION, value, re.ASCII):
        raise ValueError('must be a number of seconds, or a time with its unit, such as "90s" or "10m"')
    return _duration(value) if isinstance(value, str) else value


def _size(value: object) -> int:
    match = re.fullmatch(_SIZE, value, re.ASCII) if isinstance(value, str) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if match is None:
        raise ValueError(_SIZE_EXPECTED)
    return round(float(match[1]) * _BYTES[match[2] or ""])


def _share(value: object) -> float:
    match = re.fullmatch(_PERCENT, value, re.ASCII) if isinstance(value, str) else None
    if match is None or not 0 <= float(match[1]) <= 100:
        raise ValueError(PERCENTAGE_EXPECTED)
    return float(match[1]) / 100


Duration = Annotated[
    float, BeforeValidator(_duration), WithJsonSchema(text_schema(_DURATION, _DURATION_EXPECTED))
]
MAX_LOAD_S = 86_400
"""a load ends after a day"""
_OR_WITH_UNIT = text_schema(_DURATION, _DURATION_EXPECTED)
Seconds = Annotated[
    float,
    Field(ge=0, le=MAX_LOAD_S),
    BeforeValidator(_seconds),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": MAX_LOAD_S}, _OR_WITH_UNIT]}),
]
SomeSeconds = Annotated[
    float,
    Field(gt=0, le=MAX_LOAD_S),
    BeforeValidator(_seconds),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": MAX_LOAD_S}, _OR_WITH_UNIT]}
    ),
]
"""more than none"""
Size = Annotated[
    int,
    BeforeValidator(_size),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, text_schema(_SIZE, _SIZE_EXPECTED)]}),
]
Share = Annotated[float, BeforeValidator(_share), WithJsonSchema(text_schema(_PERCENT, PERCENTAGE_EXPECTED))]
