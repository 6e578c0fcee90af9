# SPDX-License-Identifier: Apache-2.0
"""The summary of a published soak as lines of text."""

from __future__ import annotations

from linewatt.features.tables.quantities import Published
from linewatt.report import bits_text, bytes_text, number_text
from linewatt.units import MISSING, format_rate, format_seconds


def quantity_facts(published: Published) -> tuple[tuple[str, str], ...]:
    """The summary of a published soak: what, and its value."""
    ratio = f" ({published.dropped_ratio:.2g} of the packets)" if published.dropped_ratio is not None else ""
    return (
        ("Duration", format_seconds(published.duration_s)),
        ("Rate, as stated", format_rate(published.rate_bps)),
        ("Rate, mean", format_rate(published.mean_bps)),
        ("File transfers", number_text(published.transfers)),
        ("Packets", number_text(published.packets)),
        ("Dropped or overrun", number_text(published.dropped) + ratio),
        ("Total data", MISSING if published.total_bits is None else bits_text(published.total_bits)),
        ("Mean transfer", bytes_text(published.bytes_per_transfer, 3)),
        ("Mean packet", bytes_text(published.bytes_per_packet, 3)),
    )
