# SPDX-License-Identifier: Apache-2.0
"""Shares of each CPU over each second, from sysstat's ``mpstat``.

Shape of the stream (sysstat 11.5.1 to 12.7): one JSON document that grows by one object per interval.
mpstat writes unbuffered; the line that closes the CPU table arrives whole, with its newline, within a
millisecond of the interval's end, while the object's own ``}`` stays without a newline until the next
interval. So the table's ``]`` ends a record, and what follows it opens the next one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic import Field

from linewatt.errors import ParseError
from linewatt.foreign import read_json
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import SensorConfig

MPSTAT_COLUMNS = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
"""mpstat's columns; guest time is left out of usr and nice, so that they sum to 100 %."""

_SUM_TOLERANCE_PERCENT = 1.0
"""Ten columns rounded to 0.01 are at most 0.05 off; more than this is a counter that jumped."""

_TABLE = '"cpu-load": ['
_TABLE_END = "\t\t\t\t\t]"
_STAMP = re.compile(r'"timestamp": "(?:\d{4}-\d\d-\d\dT)?(\d\d):(\d\d):(\d\d)')
_CHANNEL = re.compile(r"cpu(\d+)\.([a-z]+)_ratio")
_DAY_S = 86_400.0

CPU_SHARE_SOURCES = ("mpstat", "sar", "flent", "netperf")
"""of shares of CPU time, the better one first; all but ``mpstat`` come with imports only
(docs/import.md)"""
WHOLE_HOST = "host.cpu_cores"
"""cores in use, where a file does not tell its CPUs apart"""


class MpstatConfig(SensorConfig):
    """mpstat takes whole seconds only."""

    interval_s: float = Field(default=1.0, ge=1.0, multiple_of=1.0)


class Mpstat:
    """Per-CPU shares (0..1 of one CPU), each the mean over the record's interval."""

    name: ClassVar[str] = "mpstat"
    Config: ClassVar[type[SensorConfig]] = MpstatConfig

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list; runs until SIGINT (sysstat before 12.7.8 leaves its JSON open on SIGTERM)."""
        return ["mpstat", "-P", "ALL", "-o", "JSON", f"{cfg.interval_s:.0f}"]

    def environment(self) -> dict[str, str]:
        """UTC stamps, 24-hour clock, decimal points."""
        return {"S_TIME_FORMAT": "ISO", "TZ": "UTC", "LC_ALL": "C"}

    def ends_record(self, line: str) -> bool:
        """Whether this is the ``]`` of the CPU table; the ``]`` of the document is indented less."""
        return line.rstrip("\r\n") == _TABLE_END

    def parse(self, record: str) -> dict[str, float | None]:
        """Shares of every CPU in the record, ``cpu<N>.<column>_ratio`` (0..1).

        A CPU that went offline is missing or all zero, depending on the version; one that came back
        shows shares that do not sum to 100 %. Either is None or absent, never 100 % busy. The row
        "all" is left out: it follows from the others. Raises ParseError.
        """
        return values_of_shares(_rows(record))

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings of :meth:`parse` are None, by ``cpu<N>``. Raises ParseError."""
        return reasons_of_shares(_rows(record))

    def channel(self, name: str) -> Channel:
        """Unit, kind and scope of a channel. Raises ParseError for a name mpstat does not deliver."""
        match = _CHANNEL.fullmatch(name)
        if match is None or match[2] not in MPSTAT_COLUMNS:
            raise ParseError(f"mpstat delivers no channel {name!r}")
        return Channel(name=name, unit="ratio", kind="mean", scope=f"cpu:{match[1]}")


def mpstat_time_s(record: str, near_s: float) -> float | None:
    """The record's own stamp as Unix seconds, for a cross-check of its arrival.

    mpstat prints the time of day of the host's clock, cut to whole seconds, and no date: the day is the
    one that brings it closest to ``near_s`` (the arrival). None if the record has no stamp.
    """
    stamps = _STAMP.findall(record)
    if not stamps:
        return None
    hours, minutes, seconds = (int(part) for part in stamps[-1])
    midnight = datetime.fromtimestamp(near_s, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    stamp_s = midnight.timestamp() + 3600 * hours + 60 * minutes + seconds
    return stamp_s - _DAY_S * round((stamp_s - near_s) / _DAY_S)


Rows = Mapping[int, Mapping[str, float]]
"""CPU number → column → percent"""


def values_of_shares(rows: Rows) -> dict[str, float | None]:
    """Shares (0..1) by channel; None where those of a CPU do not sum to 100 %."""
    values: dict[str, float | None] = {}
    for cpu, row in rows.items():
        plausible = _sums_to_100(row)
        for column in MPSTAT_COLUMNS:
            if column in row:
                values[f"cpu{cpu}.{column}_ratio"] = row[column] / 100 if plausible else None
    return values


def reasons_of_shares(rows: Rows) -> dict[str, str]:
    """Why values are None, by ``cpu<N>``."""
    return {
        f"cpu{cpu}": f"cpu {cpu} went offline or came back: its shares sum to {sum(row.values()):.2f} %"
        for cpu, row in rows.items()
        if not _sums_to_100(row)
    }


def _rows(record: str) -> dict[int, dict[str, float]]:
    """CPU number → column → percent. Raises ParseError."""
    before, mark, table = record.rpartition(_TABLE)
    if not mark or _TABLE in before:
        raise ParseError(f"mpstat: a record holds one CPU table, this one {record.count(_TABLE)}")
    try:
        rows = read_json(f"[{table.rpartition(']')[0]}]", "the CPU table")
        return {
            int(row["cpu"]): {column: float(row[column]) for column in MPSTAT_COLUMNS if column in row}
            for row in rows
            if row["cpu"] not in ("all", "-1")
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ParseError(f"mpstat: the CPU table cannot be read: {error}") from error


def _sums_to_100(row: Mapping[str, float]) -> bool:
    return abs(sum(row.values()) - 100) <= _SUM_TOLERANCE_PERCENT


SENSOR = Mpstat()
