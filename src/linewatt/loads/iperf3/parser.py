# SPDX-License-Identifier: Apache-2.0
"""iperf3's JSON as one end's account of a test. Pure."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from linewatt.errors import ParseError
from linewatt.foreign import read_json
from linewatt.loads.base import LoadEnd, LoadInterval
from linewatt.missing import Missing

MAX_DURATION_S = 86_400
MAX_STREAMS = 128


def json_after_warnings(text: str) -> dict[str, Any]:
    """The JSON object in ``text``, after any warnings in front of it. Raises ParseError."""
    start = text.find("{")
    if not text.strip():
        raise ParseError("iperf3 wrote nothing")
    if start < 0:
        raise ParseError(f"iperf3 wrote no JSON but: {first_line(text)}")
    document = read_json(text[start:], f"iperf3's JSON of {len(text)} characters is cut off or damaged")
    if not isinstance(document, dict):
        raise ParseError("iperf3's JSON is not an object")
    return document


def error_of(text: str) -> str | None:
    """What the JSON of a failed test says of it; ``None`` where it says nothing."""
    with suppress(ParseError, TypeError, KeyError):
        return str(read_json(text, "iperf3")["error"])
    return None


def nobody_came(document: dict[str, Any]) -> bool:
    """Whether it is of a server that ended before any client had come."""
    start = document.get("start")
    if not isinstance(start, dict) or document.get("intervals"):
        return False
    return not start.keys() & {"connecting_to", "accepted_connection"} and not start.get("connected")


def load_end(document: dict[str, Any]) -> LoadEnd:
    start, end = document["start"], document["end"]
    is_client = "connecting_to" in start
    is_sender = is_client != bool(start["test_start"]["reverse"])
    tables = (_counted(interval["streams"]) for interval in document["intervals"])
    intervals = tuple(_interval(streams, is_sender) for streams in tables if streams)
    if not intervals:
        raise ParseError("iperf3 reported no interval")
    return LoadEnd(
        is_sender=is_sender,
        version=start["version"].removeprefix("iperf "),
        intervals=intervals,
        duration_s=intervals[-1].end_s,
        cpu_cores=_cpu_cores(end),
        out_of_order_packets=None if is_sender else _out_of_order(end["streams"]),
        congestion=_word(end.get("sender_tcp_congestion" if is_sender else "receiver_tcp_congestion")),
        connections=tuple(
            (int(connected["local_port"]), int(connected["remote_port"]))
            for connected in start.get("connected", ())
        ),
    )


def _counted(streams: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Streams of an interval outside iperf3's own warm-up (``--omit``, which linewatt does not use)."""
    return [stream for stream in streams if not stream.get("omitted", False)]


def _interval(streams: list[dict[str, Any]], is_sender: bool) -> LoadInterval:
    """The sum of the streams, at the times of the first: they are read microseconds apart."""
    if any(stream.get("sender", is_sender) != is_sender for stream in streams):
        raise ParseError("iperf3 ran in both directions at once; linewatt needs one process a direction")
    start_s, end_s = float(streams[0]["start"]), float(streams[0]["end"])
    if not 0 <= start_s <= end_s:
        raise ParseError(f"iperf3 reported an interval from {start_s:g} s to {end_s:g} s")
    transferred_bytes = _total(streams, "bytes")
    if transferred_bytes is None:
        raise ParseError("iperf3 reported an interval without its bytes")
    return LoadInterval(
        start_s=start_s,
        end_s=end_s,
        transferred_bytes=transferred_bytes,
        retransmits=_total(streams, "retransmits") if is_sender else None,
        packets=_total(streams, "packets"),
        lost_packets=None if is_sender else _lost(streams),
        rtt_s=_mean_rtt_s(streams) if is_sender else None,
    )


def _mean_rtt_s(streams: list[dict[str, Any]]) -> float | None:
    """Mean over the streams of their smoothed RTT (tcp_info); None unless every stream has it.

    0: the kernel has not measured it yet; -1: the system does not report it (iperf3's get_rtt).
    """
    rtts_us = [int(stream.get("rtt") or 0) for stream in streams]
    return sum(rtts_us) / len(rtts_us) / 1e6 if min(rtts_us) > 0 else None


def _lost(streams: list[dict[str, Any]]) -> int | None:
    """Datagrams lost; fewer than 0 where more came late than were lost, which an interval before counted.

    Raises ParseError where more came late than came at all.
    """
    if not all("lost_packets" in stream for stream in streams):
        return None
    lost = sum(int(stream["lost_packets"]) for stream in streams)
    if lost < -(_total(streams, "packets") or 0):
        raise ParseError(f"iperf3 counted {lost} lost_packets")
    return lost


def _total(streams: list[dict[str, Any]], key: str) -> int | None:
    """Sum over the streams; None unless every stream has it."""
    if not all(key in stream for stream in streams):
        return None
    counts = [int(stream[key]) for stream in streams]
    if min(counts, default=0) < 0:
        raise ParseError(f"iperf3 counted {min(counts)} {key}")
    return sum(counts)


def _out_of_order(streams: list[dict[str, Any]]) -> int | None:
    udp = [stream["udp"] for stream in streams if "udp" in stream]
    return _total(udp, "out_of_order") if udp else None


def _word(value: object) -> str | None:
    return None if value is None else str(value)[:40]


def _cpu_cores(end: dict[str, Any]) -> float | None:
    percent = end.get("cpu_utilization_percent", {}).get("host_total")
    return None if percent is None else float(percent) / 100


def first_line(text: str) -> str:
    """The first line that says what is wrong, without the tool's usage text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    messages = [line for line in lines if line.startswith("iperf3:")]
    return (messages or lines or [""])[0]


def other_end(document: dict[str, Any]) -> LoadEnd | Missing:
    """What one end's JSON has of the other, which told it when the test was over; a text says why it has
    none.

    That is one count, of the whole test but for iperf3's own warm-up; with ``--get-server-output`` it is all
    that the server counted. A server is told nothing of its client, and a client before 3.10 nothing of
    the other end of UDP: of these their own count of the other end is 0, or there is none. The other's
    version is never told, and so not of which time the CPU use is that it told (``remote_total``).
    """
    start, end = document["start"], document["end"]
    theirs = document.get("server_output_json")
    if isinstance(theirs, dict) and "intervals" in theirs and "error" not in theirs:
        return load_end(theirs)
    is_client = "connecting_to" in start
    is_sender = is_client == bool(start["test_start"]["reverse"])
    name = "sum_sent" if is_sender else "sum_received"
    totals = end.get(name)
    if not is_client:
        return Missing("iperf3 does not send the client's results to the server")
    if not isinstance(totals, dict) or not totals.get("bytes"):
        return Missing(
            f"iperf3's {name} is {'empty' if isinstance(totals, dict) else 'missing'} in the client's file"
        )
    seconds = float(totals["end"]) - float(totals["start"])
    if seconds <= 0:
        return Missing(f"iperf3's {name} covers no time")
    is_udp = start["test_start"]["protocol"] == "UDP"
    return LoadEnd(
        is_sender=is_sender,
        version="",
        intervals=(
            LoadInterval(
                start_s=0.0,
                end_s=seconds,
                transferred_bytes=int(totals["bytes"]),
                retransmits=_total([totals], "retransmits") if is_sender else None,
                packets=_total([totals], "packets") if is_udp else None,
                lost_packets=None if is_sender or not is_udp else _total([totals], "lost_packets"),
            ),
        ),
        duration_s=seconds,
        cpu_cores=None,
        congestion=_word(end.get("sender_tcp_congestion" if is_sender else "receiver_tcp_congestion")),
    )
