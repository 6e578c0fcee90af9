# SPDX-License-Identifier: Apache-2.0
"""Settings of networks as text: compact JSON, item by item, equal where the settings are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import STORED, read_json


def canonical(values: Mapping[str, Any]) -> str:
    """The one text of these values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def mapping(text: str, error: type[InvalidInput] | type[ParseError]) -> dict[str, Any]:
    """The values of such a text. Raises ``error``."""
    try:
        value = read_json(text, "a setting", STORED)
    except ParseError:
        value = None
    if not isinstance(value, dict):
        raise error(f"{text[:60]!r} is not what a host shows of a network: JSON, item by item")
    return value
