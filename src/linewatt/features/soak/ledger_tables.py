# SPDX-License-Identifier: Apache-2.0
"""The ledger of a soak as tables of text, and its events as lines.

``terminal.py`` prints them, ``page.py`` and ``markdown.py`` have them on pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby

from linewatt.features.soak.digest import Interval, Soak
from linewatt.features.soak.ledger import CLIENT_NICS, CLIENTS, COLUMNS, SERVER, SERVER_NICS, Figure, Ledger
from linewatt.features.soak.summary import Fact
from linewatt.loads import SOAKING_LOADS
from linewatt.records import Event
from linewatt.report import (
    Cell,
    Head,
    Lack,
    Note,
    Row,
    RowGroup,
    Table,
    absences,
    bytes_text,
    number_text,
    text_cells,
)
from linewatt.units import MISSING, format_rate

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
    reasons = dict.fromkeys(
        figure.reason for line in lines for figure in line.figures.values() if figure.reason
    )
    return Table(
        title="Everything that was counted",
        keys=(Head("What", kind="text"),),
        heads=tuple(Head(TITLES[name]) for name in columns),
        groups=tuple(
            RowGroup(
                f"{section} (B)" if section == "Bytes" else section,
                tuple(
                    Row(text_cells(line.title), tuple(_cell(line.figures.get(name)) for name in columns))
                    for line in section_lines
                ),
            )
            for section, section_lines in groupby(lines, key=lambda line: line.section)
        ),
        notes=tuple(Note("absence", reason) for reason in reasons),
        group_title="Ledger",
        style="numbers matrix",
    )


def _cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell("")
    if not figure.known and figure.value is None:
        return Cell(MISSING, reason=figure.reason)
    text = f"{figure.known:,.0f}"
    return Cell(f"≥ {text}" if figure.resets or figure.value is None else text)


def interval_table(soak: Soak) -> Table:
    """The ledger by slices of time."""
    return Table(
        title="The same by slices of time (UTC)",
        keys=(Head("From", kind="text"),),
        heads=tuple(Head(name) for name, _, _ in _INTERVAL),
        groups=(RowGroup("", tuple(map(_interval, soak.intervals))),),
        style="numbers matrix",
    )


def groups_table(soak: Soak) -> Table:
    """What each group of clients moved; of what was not read why."""
    groups, rows, lacks = soak.groups, [], []
    for group in groups:
        counted = (
            ("Received", group.got_bytes, bytes_text),
            ("Sent", group.put_bytes, bytes_text),
            ("Rate, mean", soak.rate_of(group), format_rate),
            ("Transfers", group.transfers, number_text),
            ("Failed", group.failed, number_text),
        )
        cells = (Cell(text(figure.value), reason=figure.reason) for _, figure, text in counted)
        rows.append(Row(text_cells(group.name), (Cell(f"{group.clients}"), *cells)))
        lacks += [Lack(title, figure.reason, "", group.name) for title, figure, _ in counted if figure.reason]
    heads = tuple(map(Head, ("Clients", "Received", "Sent", "Rate, mean", "Transfers", "Failed")))
    return Table(
        "Groups of clients",
        (Head("Group", kind="text"),),
        heads,
        (RowGroup("", tuple(rows)),),
        absences(lacks, len(groups)),
    )


def facts_table(title: str, facts: Sequence[Fact], notes: tuple[Note, ...] = ()) -> Table:
    """What, its value, and what a reader must know beside it."""
    rows = tuple(
        Row(text_cells(fact.title), (Cell(fact.value, mark=fact.mark), Cell(fact.note))) for fact in facts
    )
    heads = (Head("Value", kind="text"), Head("Note", kind="prose"))
    return Table(title, (Head("What", kind="text"),), heads, (RowGroup("", rows),), notes)


def _interval(interval: Interval) -> Row:
    key = text_cells(stamp(interval.start_s))
    values = [read(interval.ledger) for _, _, read in _INTERVAL]
    if all(value is None for value in values[:_TELLING]):
        return Row(key, text_cells("nothing was read"))
    cells = (text(value) for (_, text, _), value in zip(_INTERVAL, values, strict=True))
    return Row(key, text_cells(*cells))


def _first(*keys: str, of: tuple[str, ...]) -> Callable[[Ledger], float | None]:
    """The sum of some lines, in the first column that knows it."""

    def read(book: Ledger) -> float | None:
        sums = (sum((book.value(key, column) for key in keys), Figure(0.0)).value for column in of)
        return next((value for value in sums if value is not None), None)

    return read


def _received(book: Ledger) -> float | None:
    """By the users; without any by the load beside them."""
    loads = [f"{name}_received_bytes" for name in SOAKING_LOADS]
    key = next((key for key in ("get_bytes", *loads) if key in book.by_key), loads[0])
    return book.value(key, CLIENTS).value


def _retransmits(book: Ledger) -> float | None:
    """Of both ends, or what is known of the clients."""
    both_ends = book.value("retransmits", CLIENTS) + book.value("retransmits", SERVER)
    return book.value("retransmits", CLIENTS).value if both_ends.value is None else both_ends.value


_NICS = (SERVER_NICS, CLIENT_NICS)
_INTERVAL: tuple[tuple[str, Callable[[float | None], str], Callable[[Ledger], float | None]], ...] = (
    ("Received", bytes_text, _received),
    ("Sent", bytes_text, _first("put_bytes", of=(CLIENTS,))),
    ("Server sent", bytes_text, _first("get_bytes", of=(SERVER,))),
    ("Server received", bytes_text, _first("put_bytes", of=(SERVER,))),
    ("NICs to clients", bytes_text, _first("get_bytes", of=_NICS)),
    ("NICs to server", bytes_text, _first("put_bytes", of=_NICS)),
    ("Packets", number_text, _first("to_clients_packets", "to_server_packets", of=_NICS)),
    ("Dropped", number_text, lambda book: book.dropped),
    ("Retransmits", number_text, _retransmits),
    ("Done", number_text, _first("gets_done", "puts_done", of=(CLIENTS,))),
    ("Failed", number_text, _first("gets_failed", "puts_failed", of=(CLIENTS,))),
    ("Unfinished", number_text, _first("unfinished", of=(CLIENTS,))),
    ("Logins refused", number_text, _first("logins_failed", of=(CLIENTS,))),
)
"""columns of the ledger by slices of time"""
_TELLING = 7
"""of them, without any of which nothing was read"""


def stamp(time_s: float) -> str:
    """``01-09 23:06:35``, in UTC."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%m-%d %H:%M:%S")


def event_line(event: Event) -> str:
    """``01-09 23:06:35 dut: vsftpd was ended by signal 9``."""
    host = f" {event.host}:" if event.host else ""
    return f"{stamp(event.time_s)}{host} {event.text}"


def part_lines(soak: Soak) -> list[str]:
    """One line a part: from when to when, and how it ended."""
    return [
        f"part {part.number}: {stamp(part.started_s)} to {stamp(part.ended_s)}, {part.why or _KILLED}"
        for part in soak.parts
    ]


_KILLED = "not ended: its controller was killed, or still runs"
