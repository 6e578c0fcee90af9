# SPDX-License-Identifier: Apache-2.0
"""``linewatt derive`` of a table of quantities: the summary of a soak, and whether its figures agree."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linewatt.cli.output import put
from linewatt.units import MISSING, format_rate, format_seconds

if TYPE_CHECKING:
    from linewatt.analysis.tables.quantities import Published

SCHEMA_VERSION = 1


def document(found: Published) -> dict[str, Any]:
    """``--json``: units in keys, missing as null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "summary": {
            "duration_s": found.duration_s,
            "rate_stated_bps": found.rate_bps,
            "rate_mean_bps": found.mean_bps,
            "transfers_count": found.transfers,
            "packets_count": found.packets,
            "dropped_count": found.dropped,
            "dropped_ratio": found.dropped_ratio,
            "total_bits": found.total_bits,
            "transfer_mean_bytes": found.bytes_per_transfer,
            "packet_mean_bytes": found.bytes_per_packet,
        },
        "flags": [asdict(flag) for flag in found.flags],
        "warnings": [
            {"row": one.row, "line": one.line, "column": one.column, "message": str(one)}
            for one in found.warnings
        ],
    }


def rows(found: Published) -> list[dict[str, Any]]:
    """``--csv``: a row a figure."""
    return [{"quantity": name, "value": value} for name, value in document(found)["summary"].items()]


def show(found: Published) -> None:
    """The summary as studies print it, and the flags."""
    from linewatt.report.soak.summary import bits_text, bytes_text, count_text

    ratio = f" ({found.dropped_ratio:.2g} of the packets)" if found.dropped_ratio is not None else ""
    facts = (
        ("Duration", format_seconds(found.duration_s)),
        ("Rate, as stated", format_rate(found.rate_bps)),
        ("Rate, mean", format_rate(found.mean_bps)),
        ("File transfers", count_text(found.transfers)),
        ("Packets", count_text(found.packets)),
        ("Dropped or overrun", count_text(found.dropped) + ratio),
        ("Total data", MISSING if found.total_bits is None else bits_text(found.total_bits)),
        ("Mean transfer", bytes_text(found.bytes_per_transfer, 3)),
        ("Mean packet", bytes_text(found.bytes_per_packet, 3)),
    )
    for title, value in facts:
        put(f"{title:<20}{value}")
    for flag in found.flags:
        put(f"\n{flag.code} ({flag.where}): {flag.evidence}\n  {flag.advice}")
