# SPDX-License-Identifier: Apache-2.0
"""The ledger of a soak as tables of text, and its events as lines: once for terminal and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from linewatt.analysis.soak.ledger import (
    CLIENT_NICS,
    CLIENTS,
    COLUMNS,
    SERVER,
    SERVER_NICS,
    Figure,
    Ledger,
    Line,
)
from linewatt.loads.registry import SOAKING
from linewatt.report.soak.digest import Interval, Soak
from linewatt.report.soak.summary import bytes_text, count_text
from linewatt.units import MISSING

TITLES = {
    CLIENTS: "Clients",
    SERVER: "Server",
    CLIENT_NICS: "Clients’ NICs",
    SERVER_NICS: "Server’s NICs",
}
MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One line of the ledger; a cell that is empty is of what that column does not count."""

    section: str
    title: str
    cells: tuple[str, ...]
    reasons: tuple[str, ...]
    is_drop: bool


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One slice of time. ``is_gap``: nothing was read."""

    start: str
    cells: tuple[str, ...]
    is_gap: bool


def ledger_rows(book: Ledger, *, zeros: bool = True) -> list[LedgerRow]:
    """Lines of the ledger; without ``zeros`` causes of drops that never happened are left out."""
    lines = [line for line in book.lines if zeros or line.section != "Drops" or line.total]
    return [_row(line) for line in lines]


def _row(line: Line) -> LedgerRow:
    cells = tuple(_cell(line, line.figures.get(column)) for column in COLUMNS)
    reasons = [one.reason for one in line.figures.values() if one.reason]
    return LedgerRow(line.section, line.title, cells, tuple(dict.fromkeys(reasons)), line.is_drop)


def _cell(line: Line, figure: Figure | None) -> str:
    if figure is None:
        return ""
    if figure.value is None:
        return MISSING
    text = f"{figure.value:,.0f}"
    return f"≥ {text}" if figure.resets else text


INTERVAL_COLUMNS = (
    "Got",
    "Put",
    "Server sent",
    "Server received",
    "NICs to clients",
    "NICs to server",
    "Packets",
    "Dropped",
    "Sent again",
    "Done",
    "Failed",
    "Unfinished",
    "Logins refused",
)


def interval_rows(soak: Soak) -> list[IntervalRow]:
    """The ledger by intervals, in the columns of :data:`INTERVAL_COLUMNS`."""
    return [_interval(one) for one in soak.intervals]


def _interval(one: Interval) -> IntervalRow:
    book = one.ledger
    to_clients, to_server = (
        _first(book, key, SERVER_NICS, CLIENT_NICS) for key in ("to_clients_packets", "to_server_packets")
    )
    done = book.value("gets_done", CLIENTS) + book.value("puts_done", CLIENTS)
    failed = book.value("gets_failed", CLIENTS) + book.value("puts_failed", CLIENTS)
    sizes = (
        _first(book, "get_bytes", CLIENTS) if "get_bytes" in book.by_key else _load(book),
        book.value("put_bytes", CLIENTS),
        book.value("get_bytes", SERVER),
        book.value("put_bytes", SERVER),
        _first(book, "get_bytes", SERVER_NICS, CLIENT_NICS),
        _first(book, "put_bytes", SERVER_NICS, CLIENT_NICS),
    )
    again = book.value("retransmits", CLIENTS) + book.value("retransmits", SERVER)
    if again.value is None:
        again = book.value("retransmits", CLIENTS)
    dropped = book.dropped
    counts = (
        (to_clients + to_server).value,
        None if dropped is None else float(dropped),
        again.value,
        done.value,
        failed.value,
        book.value("unfinished", CLIENTS).value,
        book.value("logins_failed", CLIENTS).value,
    )
    cells = (*(bytes_text(size.value) for size in sizes), *(count_text(value) for value in counts))
    is_gap = all(size.value is None for size in sizes) and counts[0] is None
    return IntervalRow(stamp(one.start_s), cells, is_gap)


def _first(book: Ledger, key: str, *columns: str) -> Figure:
    """Of the first column that knows it."""
    figures = [book.value(key, column) for column in columns]
    return next((one for one in figures if one.value is not None), figures[0])


def _first_line(book: Ledger, keys: Sequence[str], column: str) -> Figure:
    """Of the first line that the ledger has."""
    return book.value(next((key for key in keys if key in book.by_key), keys[0]), column)


def _load(book: Ledger) -> Figure:
    return _first_line(book, [f"{name}_received_bytes" for name in SOAKING], CLIENTS)


def stamp(time_s: float) -> str:
    """``01-09 23:06:35``, in UTC."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%m-%d %H:%M:%S")


def event_line(event: Mapping[str, Any]) -> str:
    """``01-09 23:06:35 dut: vsftpd was ended by signal 9``."""
    host = f" {event['host']}:" if event.get("host") else ""
    return f"{stamp(float(event['time_s']))}{host} {event['text']}"


def part_lines(soak: Soak) -> list[str]:
    """One line a part: from when to when, and how it ended."""
    return [
        f"part {one.number}: {stamp(one.started_s)} to {stamp(one.ended_s)}, {one.why or _KILLED}"
        for one in soak.parts
    ]


_KILLED = "not ended: its controller was killed, or still runs"
