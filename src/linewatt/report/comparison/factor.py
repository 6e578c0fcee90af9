# SPDX-License-Identifier: Apache-2.0
"""From how large a change on it matters, as people write it."""

from __future__ import annotations

import re

from linewatt.errors import InvalidInput

_RATIO = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)")
_LARGEST_FACTOR = 1.0


def parse_factor(text: str) -> float:
    """A ratio of ``3%`` or ``0.03``. Raises InvalidInput."""
    matched = _RATIO.fullmatch(text.strip())
    value = float(matched[1]) / (100 if matched[2] else 1) if matched else -1.0
    if not 0 <= value < _LARGEST_FACTOR:
        raise InvalidInput(f"--factor {text}: write a part such as 3% or 0.03, from 0 to below 100%")
    return value
