# SPDX-License-Identifier: Apache-2.0
"""Whether the columns of a ledger agree, and by how much they do not. Pure.

Programs and logs must agree to the byte: what clients hold for done is what the server's log calls complete.
NICs count frames, so their bytes lie between two bounds:

- at least the payload: each byte passed once. Not more, because a NIC or a veth pair that passes packets of
  many segments (TSO, GRO) may count their headers once. Of puts that were cut a client has given its socket
  what never left it: up to :data:`SOCKET_BYTES` each, and no more than all that was incomplete;
- at most the payload with a header for each segment of the smallest size, :data:`SEGMENT_BYTES`; an
  acknowledgement for each segment of the other direction; each retransmitted segment; for each transfer
  and login :data:`CONTROL_BYTES` of control connection and handshakes; for each transfer that was cut what
  sockets hold, :data:`SOCKET_BYTES`; and :data:`BACKGROUND_BPS` a host for all else that uses the interface,
  linewatt's own connection with its sensors among it.

A header is at most :data:`HEADER_BYTES`: Ethernet 14, VLAN 4, IPv6 40, TCP 20 with at most 40 of options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from linewatt.features.soak.ledger import CLIENT_NICS, CLIENTS, SERVER, SERVER_NICS, Figure, Ledger
from linewatt.loads import SOAKING_LOADS

HEADER_BYTES = 118
SEGMENT_BYTES = 1348
"""payload of a segment in packets of 1,420 bytes: what tunnels leave of 1,500; larger ones need less"""
CONTROL_BYTES = 8192
SOCKET_BYTES = 8 << 20
BACKGROUND_BPS = 64 * 1024 * 8
PACKETS_APART = 1e-4
"""of the packets: NICs of both ends are not read at the same moment, and bridges talk"""
LEAST_APART = 1000
FEW_PACKETS = 100
"""so few are no evidence of loss between NICs, whatever was retransmitted"""

Verdict = Literal["balanced", "explained", "off"]


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison. ``verdict`` is None where a side is missing; ``difference`` in B or packets, server's
    or NIC's less clients'. ``words`` is the whole in one line."""

    key: str
    title: str
    verdict: Verdict | None
    difference: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Balance:
    """All comparisons, the drops that no counter covers, and what it means in one line.

    ``verdict`` is ``off`` where any is, None where bytes of both ends could not be compared.
    """

    checks: tuple[Check, ...]
    verdict: Verdict | None
    words: str
    unexplained: int | None
    unexplained_words: str


def balance(book: Ledger, duration_s: float, lost: Sequence[str] = ()) -> Balance:
    """Compare the columns of a ledger of ``duration_s``.

    ``lost`` are clients that were lost for a while: what they did after their last report nobody knows.
    """
    checks = [*_bytes(book, lost), *_nics(book, duration_s), *_packets(book)]
    verdicts = [check.verdict for check in checks if check.verdict is not None]
    sides = [check for check in checks if check.key in ("get_done", "put_done")]
    lacking = next((check.words for check in sides if check.verdict is None), None)
    off = [check.words for check in checks if check.verdict == "off"]
    explained = [check.words for check in checks if check.verdict == "explained"]
    verdict: Verdict | None = None
    if off:
        verdict, words = "off", f"does not balance: {'; '.join(off)}"
    elif lacking is not None or not verdicts:
        words = f"cannot be told: {lacking or 'nothing was counted at both ends'}"
    elif explained:
        verdict, words = "explained", f"balances, with {'; '.join(explained)}"
    else:
        verdict, words = "balanced", "balances"
    return Balance(tuple(checks), verdict, words, *_unexplained(book, checks))


def _bytes(book: Ledger, lost: Sequence[str]) -> Iterator[Check]:
    if "get_done_bytes" not in book.by_key:
        return
    for way, title in (("get", "Received"), ("put", "Sent")):
        clients, server = (book.value(f"{way}_done_bytes", side) for side in (CLIENTS, SERVER))
        name = f"{title}: clients' done, server's complete"
        difference = server - clients
        if difference.value is None:
            yield Check(f"{way}_done", name, None, None, f"{title.lower()} bytes: {_reason(clients, server)}")
        else:
            verdict, words = _done(book, way, title, difference.value, lost)
            yield Check(f"{way}_done", name, verdict, difference.value, words)


def _done(
    book: Ledger, way: str, title: str, difference_bytes: float, lost: Sequence[str]
) -> tuple[Verdict, str]:
    """A transfer that was whole for one end alone makes a difference; it must be one of those that failed."""
    if difference_bytes == 0:
        return "balanced", f"{title.lower()}: both ends have the same bytes"
    who = "server" if difference_bytes > 0 else "clients"
    amount = f"{title.lower()}: the {who} counted {abs(difference_bytes):,.0f} B more as done"
    vain = book.value(f"{way}_vain_bytes", CLIENTS if difference_bytes > 0 else SERVER).value or 0.0
    cut = sum(book.value(key, CLIENTS).value or 0.0 for key in (f"{way}s_failed", "unfinished"))
    broken = book.value(f"{way}s_failed", SERVER).value or 0.0
    others = cut if difference_bytes > 0 else broken
    if others and abs(difference_bytes) <= vain:
        end = "clients" if difference_bytes > 0 else "server"
        return "explained", f"{amount}, in transfers that the {end} hold for failed or unfinished"
    if lost and difference_bytes > 0:
        return "explained", f"{amount}, as {', '.join(lost)} could not report the last of what it did"
    return "off", f"{amount}: off by {abs(difference_bytes):,.0f} B"


def _nics(book: Ledger, duration_s: float) -> Iterator[Check]:
    for way, title in (("get", "Received"), ("put", "Sent")):
        for column, who in ((SERVER_NICS, "server's NICs"), (CLIENT_NICS, "clients' NICs")):
            if f"{way}_bytes" not in book.by_key:
                continue
            name = f"{title}: {who}, payload with its overhead"
            counted = book.value(f"{way}_bytes", column)
            payload, upper_bytes = _bounds(book, way, column, duration_s)
            if counted.value is None or payload.value is None or upper_bytes is None:
                yield Check(f"{way}_{column}", name, None, None, f"{who}: {_reason(counted, payload)}")
            else:
                held = _held(book) if way == "put" else 0.0
                verdict, words = _within(f"{who}, {way}s", counted.value, payload.value, held, upper_bytes)
                yield Check(f"{way}_{column}", name, verdict, counted.value - payload.value, words)


def _held(book: Ledger) -> float:
    """What sockets of clients may have held of puts that were cut, B: it counts as payload and never left."""
    cut = sum(book.value(key, CLIENTS).value or 0.0 for key in ("puts_failed", "unfinished"))
    return min(book.value("put_vain_bytes", CLIENTS).value or 0.0, cut * SOCKET_BYTES)


def _within(
    what: str, counted: float, payload: float, held: float, upper_bytes: float
) -> tuple[Verdict, str]:
    overhead_bytes = counted - payload
    ratio = (
        f"{100 * overhead_bytes / payload:+.2f} % of the payload" if payload else f"{overhead_bytes:,.0f} B"
    )
    if overhead_bytes < -held:
        lacking = -overhead_bytes
        return "off", f"{what}: {lacking:,.0f} B less than the payload: off by {lacking - held:,.0f} B"
    if overhead_bytes < 0:
        return "balanced", f"{what}: {ratio}: sockets of puts that were cut may have held up to {held:,.0f} B"
    if counted > upper_bytes:
        over = counted - upper_bytes
        return "off", f"{what}: {ratio}, {over:,.0f} B above what protocols need: off by {over:,.0f} B"
    return "balanced", f"{what}: {ratio}, as protocols need"


def _bounds(book: Ledger, way: str, column: str, duration_s: float) -> tuple[Figure, float | None]:
    """The least and the most that the NICs of one end count for one direction, B."""
    back = "put" if way == "get" else "get"
    payload, back_payload = book.value(f"{way}_bytes", CLIENTS), book.value(f"{back}_bytes", CLIENTS)
    also = [book.value(f"{way}_bytes", SERVER).value, book.value(f"{back}_bytes", SERVER).value]
    hosts = len(book.ends.clients) if column == CLIENT_NICS else 1
    load = _load_bytes(book, way, column)
    if payload.value is None and load > 0:
        payload = back_payload = Figure(0.0)
    if payload.value is None:
        return payload, None
    forth = max(payload.value, also[0] or 0.0)
    acknowledged = max(back_payload.value or 0.0, also[1] or 0.0)
    again = sum(book.value("retransmits", side).value or 0.0 for side in (CLIENTS, SERVER))
    counts = ("gets_done", "puts_done", "gets_failed", "puts_failed", "unfinished", "logins", "logins_failed")
    events = sum(book.value(key, CLIENTS).value or 0.0 for key in counts)
    cut = sum(book.value(key, CLIENTS).value or 0.0 for key in (f"{way}s_failed", "unfinished"))
    segments = (forth + acknowledged) / SEGMENT_BYTES + again
    key = ("to_clients" if way == "get" else "to_server") + "_packets"
    packets = book.value(key, column).value if load else None
    if packets is not None:  # datagrams may be small: their headers are known by their number alone
        segments = max(segments, packets)
    upper_bytes = (
        forth
        + load
        + segments * HEADER_BYTES
        + again * SEGMENT_BYTES
        + events * CONTROL_BYTES
        + cut * SOCKET_BYTES
        + hosts * duration_s * BACKGROUND_BPS / 8
    )
    return Figure(payload.value + load), upper_bytes


def _load_bytes(book: Ledger, way: str, column: str) -> float:
    """What a load beside the users adds to one direction at one end, B."""
    side = CLIENTS if column == CLIENT_NICS else SERVER
    outward = (way == "put") == (side == CLIENTS)
    way_key = "sent_bytes" if outward else "received_bytes"
    return sum(book.value(f"{load}_{way_key}", side).value or 0.0 for load in SOAKING_LOADS)


def _packets(book: Ledger) -> Iterator[Check]:
    """What one end's NICs sent against what the other's received; meaningful where nobody else takes part."""
    for key, title, sender, receiver in (
        ("to_clients_packets", "Packets to clients", SERVER_NICS, CLIENT_NICS),
        ("to_server_packets", "Packets to the server", CLIENT_NICS, SERVER_NICS),
    ):
        if key not in book.by_key:
            continue
        sent, received = book.value(key, sender), book.value(key, receiver)
        if sent.value is None or received.value is None:
            yield Check(key, title, None, None, f"{title.lower()}: {_reason(sent, received)}")
            continue
        lost = sent.value - received.value
        allowed = max(LEAST_APART, PACKETS_APART * sent.value) + _lost_at(book, receiver)
        words = f"{title.lower()}: {sent.value:,.0f} sent, {received.value:,.0f} received"
        if lost > allowed:
            yield Check(key, title, "off", lost, f"{words}: {lost:,.0f} did not arrive")
        else:
            yield Check(key, title, "balanced", lost, words)


def _lost_at(book: Ledger, column: str) -> float:
    """Packets that NICs of an end lost before they counted them as received."""
    side = CLIENTS if column == CLIENT_NICS else SERVER
    causes = ("nic_rx_missed", "nic_rx_overrun", "nic_rx_errors")
    return sum(book.value(key, side).value or 0.0 for key in causes)


def _unexplained(book: Ledger, checks: Sequence[Check]) -> tuple[int | None, str]:
    """Packets that one end's NICs sent and the other's did not get, for which no counter has a cause.

    A few may be of others on the interface: those count that TCP had to send again. Where NICs cannot be
    compared, it is all that had to be sent again and that no counter recorded.
    """
    counted_drops = book.dropped
    if counted_drops is None:
        return None, "drops: no counter of them was read"
    again, counts = _sent_again(book)
    lacks = book.dropped_lacks
    counts += f"{'at least ' if lacks else ''}{counted_drops:,} drops counted at the ends"
    between = [check for check in checks if check.key.endswith("_packets") and check.verdict is not None]
    missing = round(sum(max(0.0, check.difference or 0.0) for check in between))
    if len(between) == 2 and missing <= FEW_PACKETS:
        return 0, f"no unexplained drops: {counts}, and no packet is missing between the NICs of both ends"
    if any(check.verdict == "off" for check in between):
        return missing, f"{missing:,} unexplained drops, sent and not received: {counts}; {_LOOK}"
    if again is None:
        return None, "lost segments: no counter of retransmitted segments was read"
    unexplained = max(0, again - counted_drops)
    unexplained = min(unexplained, missing) if len(between) == 2 else unexplained
    if unexplained == 0:
        return 0, f"no unexplained drops: {counts}"
    if lacks:
        return None, f"drops are not all counted: {lacks}"
    return unexplained, f"{unexplained:,} unexplained drops: {counts}; {_LOOK}"


_LOOK = "the rest was lost between them: look at the counters of switches and links"


def _sent_again(book: Ledger) -> tuple[int | None, str]:
    """Segments retransmitted less those that the other end had already, and the same in words."""
    again = _both(book, "retransmits")
    if again.value is None:
        return None, ""
    spurious = min(_both(book, "spurious").value or 0.0, again.value)
    needless = f", {spurious:,.0f} of them needlessly" if spurious else ""
    return round(again.value - spurious), f"{again.value:,.0f} segments retransmitted{needless}, "


def _both(book: Ledger, key: str) -> Figure:
    """Over the ends that there are."""
    sides = [side for side, hosts in ((CLIENTS, book.ends.clients), (SERVER, book.ends.server)) if hosts]
    if not sides:
        return Figure(None, "no hosts")
    return sum((book.value(key, side) for side in sides), Figure(0.0))


def _reason(*figures: Figure) -> str | None:
    """Why one of the figures is missing."""
    return next((figure.reason or "not known" for figure in figures if figure.value is None), None)
