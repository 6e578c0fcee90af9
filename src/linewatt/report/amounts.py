# SPDX-License-Identifier: Apache-2.0
"""Amounts of data, and counts, in words."""

from __future__ import annotations

from linewatt.units import MISSING, format_significant

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def bytes_text(value: float | None, digits: int = 4) -> str:
    """``1.058 TB``; decimal prefixes."""
    if value is None:
        return MISSING
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale:
            return f"{format_significant(value / scale, digits)} {prefix}B"
    return f"{value:,.0f} B"


def bits_text(value: float) -> str:
    """``1.058 Pbit``."""
    return bytes_text(value)[:-1] + "bit"


def number_text(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.0f}"
