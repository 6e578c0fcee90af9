# SPDX-License-Identifier: Apache-2.0
"""Every byte, packet, transfer and drop of a soak as each of those who counted saw it. Pure.

A ledger has a line a quantity and a column a counter of it: what the clients' programs say, what the server's
log says, and what the NICs of either say. Missing is None with a reason. ``balance.py`` says
whether the columns agree, ``ledger_tables.py`` makes the ledger the table that is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from linewatt.loads import SOAKING_LOADS
from linewatt.sensors import COUNTED_TWICE, DROP_CAUSES

CLIENTS, SERVER, CLIENT_NICS, SERVER_NICS = "clients", "server", "client_nics", "server_nics"
COLUMNS = (CLIENTS, SERVER, CLIENT_NICS, SERVER_NICS)


@dataclass(frozen=True, slots=True)
class Total:
    """What one series counted over the soak, in ``unit``. ``resets``: each hid what was counted in a step."""

    host: str
    source: str
    channel: str
    value: float | None
    resets: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A sum of totals. ``value`` is a least value where ``resets`` are not 0; None has a reason, and
    ``least`` where some of it is known."""

    value: float | None
    reason: str | None = None
    resets: int = 0
    least: float | None = None

    @property
    def known(self) -> float | None:
        """The sum, or of it what is known."""
        return self.least if self.value is None else self.value

    def __add__(self, addend: Figure) -> Figure:
        if self.value is None or addend.value is None:
            return Figure(None, self.reason or addend.reason)
        return Figure(self.value + addend.value, None, self.resets + addend.resets)

    def __sub__(self, subtrahend: Figure) -> Figure:
        if self.value is None or subtrahend.value is None:
            return Figure(None, self.reason or subtrahend.reason)
        return Figure(self.value - subtrahend.value, None, self.resets + subtrahend.resets)


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity. ``key`` is stable; ``is_drop``: each one counted was lost at that place."""

    section: str
    key: str
    title: str
    unit: str
    figures: dict[str, Figure]
    is_drop: bool = False

    def figure(self, column: str) -> Figure:
        return self.figures.get(column, Figure(None, "not counted there"))

    @property
    def total(self) -> float:
        """Over both ends, of what is known."""
        return sum(figure.known for figure in self.figures.values() if figure.known is not None)


@dataclass(frozen=True, slots=True)
class Ends:
    """Who is which end. Without users, ``clients`` are the hosts that a load runs on."""

    clients: tuple[str, ...]
    server: str | None


def is_counted(source: str, channel: str) -> bool:
    """Whether a series counts: of a further interface (``netcounters:eth1``) only its own, not the host's."""
    return ":" not in source or channel.startswith(("nic.", "qdisc."))


NEEDED: frozenset[str] = frozenset(
    {
        *(channel for cause in DROP_CAUSES for channel in cause.channels),
        *(f"nic.{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets")),
        "nstat.TcpRetransSegs",
        "nstat.TcpExtTCPDSACKRecv",
    }
)
"""channels of sensors that the ledger is made of; of users, server and load it is all"""


@dataclass(frozen=True, slots=True)
class Ledger:
    """All lines in order, over the soak."""

    lines: tuple[Line, ...]
    ends: Ends
    by_key: dict[str, Line] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.by_key.update({line.key: line for line in self.lines})

    def value(self, key: str, column: str) -> Figure:
        """One figure; None with a reason where the ledger has no such line."""
        line = self.by_key.get(key)
        return Figure(None, f"nothing counted {key}") if line is None else line.figure(column)

    @property
    def dropped(self) -> int | None:
        """Packets dropped or overrun at either end, of every cause; None where nothing was read, and the
        least where ``dropped_lacks`` says what was not."""
        if all(drop.known is None for column in COLUMNS for drop in self._drops(column)):
            return None
        twice = sum(self._twice(column) for column in COLUMNS)
        return round(sum(line.total for line in self.lines if line.is_drop) - twice)

    @property
    def dropped_lacks(self) -> str | None:
        """Why drops of an end are not all counted: nothing counts them there, or not on each of its hosts."""
        for drops in map(self._drops, COLUMNS):
            lacking = [drop for drop in drops if drop.value is None]
            partly = [drop for drop in lacking if drop.least is not None]
            if partly or (lacking and len(lacking) == len(drops)):
                return (partly or lacking)[0].reason
        return None

    def _drops(self, column: str) -> list[Figure]:
        """Of one end, by cause."""
        return [line.figures[column] for line in self.lines if line.is_drop and column in line.figures]

    def _twice(self, column: str) -> float:
        """What two lines of one end both count."""
        return sum(min(self.value(key, column).known or 0.0 for key in pair) for pair in COUNTED_TWICE)


class Book:
    """Totals by host, source and channel. A source may have an interface after a colon."""

    def __init__(self, totals: Iterable[Total], ends: Ends) -> None:
        self.hosts: dict[str, tuple[str, ...]] = {
            CLIENTS: ends.clients,
            SERVER: () if ends.server is None else (ends.server,),
        }
        self._totals: dict[tuple[str, str], list[Total]] = {}
        for total in totals:
            if not is_counted(total.source, total.channel):
                continue
            self._totals.setdefault((total.host, total.channel), []).append(total)
        self.channels = sorted({channel for _, channel in self._totals})

    def sum(self, side: str, *channels: str, silent_is_zero: bool = False) -> Figure:
        """Over all hosts of a side and all these channels. What no host has is None, and so is a sum of
        hosts of which one could not be read, unless one that never counted any of it has 0 of it."""
        hosts = self.hosts[side]
        if not hosts:
            return Figure(None, "no server of this campaign" if side == SERVER else "no clients")
        totals = [
            total for host in hosts for name in channels for total in self._totals.get((host, name), ())
        ]
        values = [total.value for total in totals if total.value is not None]
        least = sum(values) if values else None
        unread = next((total for total in totals if total.value is None), None)
        if unread is not None:
            why = f"{unread.host}: {unread.channel}: {unread.reason or 'not read'}"
            return Figure(None, why, least=least)
        if not silent_is_zero:
            if not totals:
                return Figure(None, f"no reading of {channels[0]}")
            silent = [host for host in hosts if not any((host, name) in self._totals for name in channels)]
            if silent:
                return Figure(None, f"{silent[0]}: no reading of {channels[0]}", least=least)
        return Figure(sum(values), None, sum(total.resets for total in totals))

    def has(self, side: str, prefix: str) -> bool:
        """Whether any host of the side has a channel of that beginning."""
        hosts = set(self.hosts[side])
        return any(host in hosts and channel.startswith(prefix) for host, channel in self._totals)


def ledger(totals: Iterable[Total], ends: Ends) -> Ledger:
    """The whole ledger of what was counted."""
    book = Book(totals, ends)
    lines = [*_bytes(book), *_packets(book), *_transfers(book), *_logins(book), *_drops(book)]
    return Ledger(tuple(lines), ends)


def _bytes(book: Book) -> list[Line]:
    lines = []
    for way, title, client, server in (
        ("get", "Received", "received", "sent"),
        ("put", "Sent", "sent", "received"),
    ):
        all_bytes = book.sum(CLIENTS, f"users.{client}_bytes")
        done = book.sum(CLIENTS, f"users.done_{client}_bytes")
        complete = book.sum(SERVER, f"server.{server}_bytes")
        incomplete_bytes = book.sum(SERVER, f"server.incomplete_{server}_bytes")
        tx, rx = ("tx", "rx") if way == "get" else ("rx", "tx")
        lines += [
            Line("Bytes", f"{way}_done_bytes", f"{title}, done", "B", {CLIENTS: done, SERVER: complete}),
            Line(
                "Bytes",
                f"{way}_vain_bytes",
                f"{title}, incomplete",
                "B",
                {CLIENTS: all_bytes - done, SERVER: incomplete_bytes},
            ),
            Line(
                "Bytes",
                f"{way}_bytes",
                f"{title}, in all",
                "B",
                {
                    CLIENTS: all_bytes,
                    SERVER: complete + incomplete_bytes,
                    CLIENT_NICS: book.sum(CLIENTS, f"nic.{rx}_bytes"),
                    SERVER_NICS: book.sum(SERVER, f"nic.{tx}_bytes"),
                },
            ),
        ]
    users = [line for line in lines if _is_there(line, (CLIENTS, SERVER))]
    return (users or [line for line in lines if _is_there(line, COLUMNS)]) + [
        line for load in SOAKING_LOADS for line in _load(book, load)
    ]


def _load(book: Book, load: str) -> list[Line]:
    lines = []
    for section, unit, name, title in (
        ("Bytes", "B", "sent_bytes", "sent"),
        ("Bytes", "B", "received_bytes", "received"),
        ("Packets", "count", "lost_packets", "datagrams lost on the way"),
    ):
        channel = f"load.{name}"
        if channel in book.channels:
            figures = _ends(book, channel, silent_is_zero=True)  # a host that only sent received nothing
            lines.append(Line(section, f"{load}_{name}", f"{load}, {title}", unit, figures))
    return lines


def _ends(book: Book, *channels: str, silent_is_zero: bool = False) -> dict[str, Figure]:
    return {
        side: book.sum(side, *channels, silent_is_zero=silent_is_zero)
        for side in (CLIENTS, SERVER)
        if book.hosts[side]
    }


def _packets(book: Book) -> list[Line]:
    lines = [
        Line(
            "Packets",
            f"{way}_packets",
            title,
            "count",
            {
                CLIENT_NICS: book.sum(CLIENTS, f"nic.{client}_packets"),
                SERVER_NICS: book.sum(SERVER, f"nic.{server}_packets"),
            },
        )
        for way, title, client, server in (
            ("to_clients", "Packets to clients", "rx", "tx"),
            ("to_server", "Packets to the server", "tx", "rx"),
        )
    ]
    for key, title, channel in (
        ("retransmits", "TCP retransmits", "nstat.TcpRetransSegs"),
        ("spurious", "– of them needless, as the other end said (DSACK)", "nstat.TcpExtTCPDSACKRecv"),
    ):
        lines.append(Line("Packets", key, title, "count", _ends(book, channel)))
    return [line for line in lines if _is_there(line, COLUMNS)]


def _transfers(book: Book) -> list[Line]:
    if not book.has(CLIENTS, "users.") and not book.has(SERVER, "server."):
        return []
    lines = [
        Line("Transfers", f"{way}s_done", title, "count", _pair(book, f"users.{way}s", f"server.{way}s"))
        for way, title in (("get", "Gets done"), ("put", "Puts done"))
    ]
    for way, title in (("get", "Gets"), ("put", "Puts")):
        failed = _failed(book, way)
        broken = book.sum(SERVER, f"server.incomplete_{way}s")
        name = f"{title} that failed"
        lines.append(Line("Transfers", f"{way}s_failed", name, "count", {CLIENTS: failed, SERVER: broken}))
        lines += _failures(book, way)
    unfinished = {CLIENTS: book.sum(CLIENTS, "users.unfinished")}
    checked = {CLIENTS: book.sum(CLIENTS, "users.checked")}
    return [
        *lines,
        Line("Transfers", "unfinished", "Unfinished when the time was over", "count", unfinished),
        Line("Transfers", "checked", "Whose content was compared", "count", checked),
    ]


def _logins(book: Book) -> list[Line]:
    if not book.has(CLIENTS, "users.") and not book.has(SERVER, "server."):
        return []
    refused = {CLIENTS: _failed(book, "login"), SERVER: book.sum(SERVER, "server.logins_refused")}
    starts = {SERVER: book.sum(SERVER, "server.starts")}
    return [
        Line("Logins", "logins", "Logins", "count", _pair(book, "users.logins", "server.logins")),
        Line("Logins", "logins_failed", "Logins refused or failed", "count", refused),
        *_failures(book, "login"),
        Line("Logins", "server_starts", "Starts of the server", "count", starts),
    ]


def _pair(book: Book, client: str, server: str) -> dict[str, Figure]:
    return {CLIENTS: book.sum(CLIENTS, client), SERVER: book.sum(SERVER, server)}


def _failed(book: Book, action: str) -> Figure:
    """All failures of an action; 0 where users counted and none failed."""
    names = _named(book, action)
    if names:
        return book.sum(CLIENTS, *names, silent_is_zero=True)
    logins = book.sum(CLIENTS, "users.logins")
    return Figure(0.0) if logins.value is not None else logins


def _named(book: Book, action: str) -> list[str]:
    return [name for name in book.channels if name.startswith(f"users.failed.{action}.")]


def _failures(book: Book, action: str) -> list[Line]:
    lines = []
    for channel in _named(book, action):
        name = channel.rpartition(".")[2]
        figure = book.sum(CLIENTS, channel, silent_is_zero=True)
        if figure.value != 0:
            key = f"failed_{action}_{name.replace('-', '_')}"
            section = "Logins" if action == "login" else "Transfers"
            lines.append(Line(section, key, f"– {name}", "count", {CLIENTS: figure}))
    return lines


def _drops(book: Book) -> list[Line]:
    lines = []
    for cause in DROP_CAUSES:
        figures = _ends(book, *cause.channels)
        if any(figure.known is not None for figure in figures.values()):
            is_drop = cause.is_drop and cause.is_packets
            lines.append(Line("Drops", cause.key, cause.title, "count", figures, is_drop))
    return lines


def _is_there(line: Line, columns: Sequence[str]) -> bool:
    return any(line.figure(column).value is not None for column in columns)
