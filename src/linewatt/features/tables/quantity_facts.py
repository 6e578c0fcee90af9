# SPDX-License-Identifier: Apache-2.0
"""The summary of a published soak as lines of text."""

from __future__ import annotations

from linewatt.features.tables.quantities import Published
from linewatt.report.amounts import bits_text, bytes_text, number_text
from linewatt.units import MISSING, format_rate, format_seconds


def quantity_facts(found: Published) -> tuple[tuple[str, str], ...]:
    """The summary of a published soak: what, and its value."""
    ratio = f" ({found.dropped_ratio:.2g} of the packets)" if found.dropped_ratio is not None else ""
    return (
        ("Duration", format_seconds(found.duration_s)),
        ("Rate, as stated", format_rate(found.rate_bps)),
        ("Rate, mean", format_rate(found.mean_bps)),
        ("File transfers", number_text(found.transfers)),
        ("Packets", number_text(found.packets)),
        ("Dropped or overrun", number_text(found.dropped) + ratio),
        ("Total data", MISSING if found.total_bits is None else bits_text(found.total_bits)),
        ("Mean transfer", bytes_text(found.bytes_per_transfer, 3)),
        ("Mean packet", bytes_text(found.bytes_per_packet, 3)),
    )
