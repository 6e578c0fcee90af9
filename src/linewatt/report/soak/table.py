# SPDX-License-Identifier: Apache-2.0
"""The ledger of a soak as tables of text, and its events as lines: once for terminal and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from linewatt.analysis.soak.ledger import (
    CLIENT_NICS,
    CLIENTS,
    COLUMNS,
    SERVER,
    SERVER_NICS,
    Figure,
    Ledger,
)
from linewatt.loads.registry import SOAKING
from linewatt.report.soak.digest import Interval, Soak
from linewatt.report.soak.summary import Fact, bytes_text, count_text
from linewatt.report.table import Cell, Head, Note, Row, RowGroup, Table, texts
from linewatt.units import MISSING

TITLES = {
    CLIENTS: "Clients",
    SERVER: "Server",
    CLIENT_NICS: "Clients’ NICs",
    SERVER_NICS: "Server’s NICs",
}
MOST_EVENTS = 200


def ledger_table(book: Ledger, *, zeros: bool = True) -> Table:
    """The ledger by sections; without ``zeros`` causes of drops that never happened are left out.

    A cell is empty where its column does not count such things.
    """
    lines = [line for line in book.lines if zeros or line.section != "Drops" or line.total]
    columns = [name for name in COLUMNS if zeros or any(name in line.figures for line in lines)]
    reasons = dict.fromkeys(one.reason for line in lines for one in line.figures.values() if one.reason)
    return Table(
        title="Everything that was counted",
        keys=(Head("What", kind="text"),),
        heads=tuple(Head(TITLES[name]) for name in columns),
        groups=tuple(
            RowGroup(
                f"{section} (B)" if section == "Bytes" else section,
                tuple(
                    Row(texts(one.title), tuple(_cell(one.figures.get(name)) for name in columns))
                    for one in own
                ),
            )
            for section, own in groupby(lines, key=lambda line: line.section)
        ),
        notes=tuple(Note("absence", reason) for reason in reasons),
        group_title="Ledger",
        style="numbers matrix",
    )


def _cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell("")
    if figure.value is None:
        return Cell(MISSING, reason=figure.reason)
    text = f"{figure.value:,.0f}"
    return Cell(f"≥ {text}" if figure.resets else text)


INTERVAL_COLUMNS = (
    "Received",
    "Sent",
    "Server sent",
    "Server received",
    "NICs to clients",
    "NICs to server",
    "Packets",
    "Dropped",
    "Retransmits",
    "Done",
    "Failed",
    "Unfinished",
    "Logins refused",
)


def interval_table(soak: Soak) -> Table:
    """The ledger by slices of time."""
    return Table(
        title="The same by slices of time (UTC)",
        keys=(Head("From", kind="text"),),
        heads=tuple(map(Head, INTERVAL_COLUMNS)),
        groups=(RowGroup("", tuple(map(_interval, soak.intervals))),),
        style="numbers matrix",
    )


def groups_table(soak: Soak) -> Table:
    """What each group of clients moved."""
    rows = [
        Row(
            texts(one.name),
            texts(
                f"{one.clients}",
                bytes_text(one.got_bytes),
                bytes_text(one.put_bytes),
                count_text(one.transfers),
                count_text(one.failed),
            ),
        )
        for one in soak.groups
    ]
    heads = tuple(map(Head, ("Clients", "Received", "Sent", "Transfers", "Failed")))
    return Table("Groups of clients", (Head("Group", kind="text"),), heads, (RowGroup("", tuple(rows)),))


def facts_table(title: str, facts: Sequence[Fact], notes: tuple[Note, ...] = ()) -> Table:
    """What, its value, and what a reader must know beside it."""
    rows = tuple(Row(texts(one.title), (Cell(one.value, mark=one.mark), Cell(one.note))) for one in facts)
    heads = (Head("Value", kind="text"), Head("Note", kind="prose"))
    return Table(title, (Head("What", kind="text"),), heads, (RowGroup("", rows),), notes)


def _interval(one: Interval) -> Row:
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
    if all(size.value is None for size in sizes) and counts[0] is None:
        return Row(texts(stamp(one.start_s)), texts("nothing was read"))
    cells = (*(bytes_text(size.value) for size in sizes), *(count_text(value) for value in counts))
    return Row(texts(stamp(one.start_s)), texts(*cells))


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
