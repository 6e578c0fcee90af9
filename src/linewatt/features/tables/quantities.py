# SPDX-License-Identifier: Apache-2.0
"""The summary of a soak from a table of quantities, a row each: ``quantity,value,unit``. Pure.

Known quantities: duration, transfer_rate, file_transfers, packets, dropped_or_overrun_packets and
data_transferred; others pass through. The same check as for soaks of linewatt's own says whether the total
can have been made at the rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linewatt import units
from linewatt.analysis.statistics import Disagreement, rate_disagrees
from linewatt.delimited import Row, Table, TableWarning, parse_number, quoted, why_no_number
from linewatt.model import Flag

COLUMNS = frozenset({"quantity", "value", "unit"})
_SECONDS = {
    **dict.fromkeys(("s", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BITS = {
    **{f"{prefix}{name}": scale for prefix, scale in _PREFIXES.items() for name in ("bit", "bits", "b")},
    **{
        f"{prefix}{name}": 8 * scale for prefix, scale in _PREFIXES.items() for name in ("B", "byte", "bytes")
    },
}


@dataclass(frozen=True, slots=True)
class Published:
    """What the table says and what follows, SI; None where the table does not say enough."""

    duration_s: float | None
    rate_bps: float | None
    transfers: float | None
    packets: float | None
    dropped: float | None
    total_bits: float | None
    disagreement: Disagreement | None
    warnings: tuple[TableWarning, ...]
    clients: float | None = None
    groups: float | None = None
    ports: float | None = None
    port_words: str = ""
    """what its ports are, as the table has it"""
    switches: float | None = None

    @property
    def mean_bps(self) -> float | None:
        """The total over the time."""
        if self.total_bits is None or not self.duration_s:
            return None
        return self.total_bits / self.duration_s

    @property
    def dropped_ratio(self) -> float | None:
        return self.dropped / self.packets if self.dropped is not None and self.packets else None

    @property
    def bytes_per_transfer(self) -> float | None:
        return (
            self.total_bits / 8 / self.transfers if self.total_bits is not None and self.transfers else None
        )

    @property
    def bytes_per_packet(self) -> float | None:
        return self.total_bits / 8 / self.packets if self.total_bits is not None and self.packets else None

    @property
    def figures(self) -> dict[str, float | None]:
        """All of it, each with its unit in its name."""
        return {
            "duration_s": self.duration_s,
            "rate_stated_bps": self.rate_bps,
            "rate_mean_bps": self.mean_bps,
            "transfers_count": self.transfers,
            "packets_count": self.packets,
            "dropped_count": self.dropped,
            "dropped_ratio": self.dropped_ratio,
            "total_bits": self.total_bits,
            "transfer_mean_bytes": self.bytes_per_transfer,
            "packet_mean_bytes": self.bytes_per_packet,
        }

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A total that disagrees with the rate."""
        disagreement = self.disagreement
        if disagreement is None:
            return ()
        would = disagreement.stated_bps * (self.duration_s or 0.0)
        is_peak = disagreement.stated_bps > disagreement.mean_bps
        taken = "take the rate for a peak" if is_peak else "the rate is not a peak: take it as stated"
        return (
            Flag(
                "total-disagrees-with-rate",
                "transfer_rate",
                f"{units.format_rate(disagreement.stated_bps)} for "
                f"{units.format_seconds(self.duration_s)} would be "
                f"{would / 1e15:.3f} Pbit, the total is {(self.total_bits or 0.0) / 1e15:.3f} Pbit: "
                f"the mean was {units.format_rate(disagreement.mean_bps)} "
                f"({100 * (disagreement.ratio - 1):+.1f} % apart)",
                f"{taken}, and the total over the time for the mean; say both",
            ),
        )


def is_quantities(table: Table) -> bool:
    """Whether a table has a row a quantity."""
    return set(table.columns) >= COLUMNS


def published(table: Table) -> Published:
    """Read the table; a value or unit that cannot be used is left out with a warning."""
    warnings: list[TableWarning] = []
    read = {row.cells["quantity"]: row for row in table.rows if row.aligned}

    def value(name: str, scales: Mapping[str, float] | None = None) -> float | None:
        return _value(read.get(name), scales, warnings)

    rate = read.get("transfer_rate")
    unit = "" if rate is None else rate.cells["unit"]
    scale = units.rate_unit_bps(unit)
    rate_bps = _value(rate, {} if scale is None else {unit: scale}, warnings)
    duration_s, total_bits = value("duration", _SECONDS), value("data_transferred", _BITS)
    disagreement = None
    if rate_bps is not None and total_bits is not None and duration_s is not None and duration_s > 0:
        disagreement = rate_disagrees(total_bits, duration_s, rate_bps)
    return Published(
        duration_s,
        rate_bps,
        value("file_transfers"),
        value("packets"),
        value("dropped_or_overrun_packets"),
        total_bits,
        disagreement,
        tuple(warnings),
        value("clients"),
        value("client_groups"),
        value("ports"),
        read["ports"].cells["unit"] if "ports" in read else "",
        value("switches"),
    )


def _value(row: Row | None, scales: Mapping[str, float] | None, warnings: list[TableWarning]) -> float | None:
    """The value of a row in SI; without ``scales`` the unit is a word for what is counted."""
    if row is None:
        return None
    number = parse_number(row.cells["value"])
    if number is None:
        warnings.append(TableWarning(why_no_number(row.cells["value"]), row.number, row.line, "value"))
        return None
    if scales is None:
        return number
    scale = scales.get(row.cells["unit"])
    if scale is None:
        message = f"{quoted(row.cells['unit'])} is not a unit of {row.cells['quantity']}: left out"
        warnings.append(TableWarning(message, row.number, row.line, "unit"))
        return None
    return number * scale
