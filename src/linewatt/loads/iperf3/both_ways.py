# SPDX-License-Identifier: Apache-2.0
"""``iperf3 --bidir``: one process that works both ways, as two tests, each of which goes one way. Pure.

Streams say by ``sender`` whether this end sends them. Sums of the way back have ``_bidir_reverse`` behind
their names. The CPU time of the process is of both ways, and so of neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

WAY = "linewatt_way"
"""which of the two a test is, beside what was asked: what iperf3 writes has no such name"""
_BACK = "_bidir_reverse"
_SUMS = ("sum", "sum_sent", "sum_received")


def way_suffix(is_back: bool | None) -> str:
    """What the key of a test has behind it that is one of two ways; nothing of one that goes one way."""
    return "" if is_back is None else " back" if is_back else " forth"


def each_way(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A document of JSON as one for each way; one that goes one way as it is."""
    if not _goes_both_ways(document):
        yield document
        return
    for back in (False, True):
        yield _way(document, back=back)


def _goes_both_ways(document: Mapping[str, Any]) -> bool:
    """Versions before 3.17 do not say it where they say what was asked."""
    if "test_start" not in document["start"]:
        return False
    tables = (document.get("end") or {}, *document["intervals"])
    return bool(document["start"]["test_start"].get("bidir")) or any(
        name.endswith(_BACK) for table in tables for name in table
    )


def _way(document: Mapping[str, Any], *, back: bool) -> dict[str, Any]:
    start, end = document["start"], document.get("end") or {}
    sends = ("connecting_to" in start) != back
    test_start = {**start["test_start"], "bidir": 0, "reverse": int(back), WAY: way_suffix(back)}
    intervals = [
        {"streams": [stream for stream in interval["streams"] if bool(stream["sender"]) == sends]}
        for interval in document["intervals"]
    ]
    sockets = {stream.get("socket") for interval in intervals for stream in interval["streams"]}
    connected = start.get("connected") or []
    of_way = [connection for connection in connected if connection.get("socket") in sockets] or connected
    way_document = {
        **document,
        "start": {**start, "test_start": test_start, "connected": of_way},
        "intervals": intervals,
        "end": _end_of(end, sends=sends, back=back),
    }
    theirs = document.get("server_output_json")
    if isinstance(theirs, dict) and "start" in theirs and "intervals" in theirs and _goes_both_ways(theirs):
        way_document["server_output_json"] = _way(theirs, back=back)
    return way_document


def _end_of(end: Mapping[str, Any], *, sends: bool, back: bool) -> dict[str, Any]:
    streams = [stream for stream in end.get("streams", ()) if _sends(stream) == sends]
    sums = {
        name: end[f"{name}{_BACK if back else ''}"]
        for name in _SUMS
        if f"{name}{_BACK if back else ''}" in end
    }
    words = {name: end[name] for name in end if name.endswith("_tcp_congestion")}
    return {"streams": streams, **sums, **words}


def _sends(stream: Mapping[str, Any]) -> bool:
    """Whether this end sent a stream: said of what it counted of it, whichever that is."""
    counted = next((part for part in stream.values() if isinstance(part, dict)), {})
    return bool(counted.get("sender"))
