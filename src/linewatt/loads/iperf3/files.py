# SPDX-License-Identifier: Apache-2.0
"""What ``iperf3 --json`` wrote at a client or a server, also several tests one behind the other. Pure.

Stamps: ``timestamp.timesecs`` is the host's clock, cut to a second, when the ends agreed on the test (3.18
and newer have milliseconds, too). Connections are opened then, and the test begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from linewatt.errors import FileRefused, InvalidInput, ParseError
from linewatt.foreign import contained, one_line
from linewatt.loads.base import BOTH_WAYS, Asked, LoadEnd, ToldEnd
from linewatt.loads.iperf3.both_ways import WAY, each_way
from linewatt.loads.iperf3.parser import MAX_DURATION_S, MAX_STREAMS, load_end, other_end
from linewatt.missing import Missing
from linewatt.model import Family
from linewatt.sizes import udp_test

NAME = "iperf3"
SETUP_S = 0.2
"""that opening the connections of a test may take: some round trips, and up to 128 streams"""
SECOND_S, MILLISECOND_S = 1.0, 0.001
DEFAULT_BLOCK_BYTES = 131072
"""of TCP"""
LARGEST_PAYLOAD = 65_507
"""of a datagram (IPv4)"""
MOST_BPS = 1e15
LATEST_S = 2.0**33
"""of a stamp: in the year 2242"""
CUT_OFF = "its stream ends before the test does"
MOST_TESTS = 1000
"""of one file"""


def ends_of(file: str, text: str, documents: tuple[Any, ...]) -> tuple[ToldEnd, ...] | None:
    """The tests of a file of iperf3; ``None``: it is none. Raises ParseError, InvalidInput."""
    documents = tuple(_each_once(_joined(documents) if _is_stream(documents) else documents))
    if not documents or not all(_is_test(document) for document in documents):
        return None
    if len(documents) > MOST_TESTS:
        raise InvalidInput(f"more than {MOST_TESTS} tests in one file; import it in parts")
    begun = tuple(document for document in documents if not _never_began(document))
    by_server = bool(begun) and all("connecting_to" not in document["start"] for document in begun)
    return tuple(_ends(file, text, begun if by_server else documents))


def _is_stream(documents: tuple[Any, ...]) -> bool:
    """Whether ``--json-stream`` wrote them: a line an event."""
    return bool(documents) and all(
        isinstance(document, dict) and {"event", "data"} == document.keys() for document in documents
    )


def _joined(events: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """Tests of events, as ``--json`` writes them; one without its last event has failed.

    Raises ParseError for events without a test that they are of.
    """
    test: dict[str, Any] | None = None
    for event, data in ((str(event["event"]), event["data"]) for event in events):
        if event == "start":
            if test is not None:
                yield test
            test = {"start": data, "intervals": [], "end": {}, "error": CUT_OFF}
        elif test is None:
            raise ParseError(f"its stream begins with {event[:20]!r}, and not with the start of a test")
        elif event == "interval":
            test["intervals"].append(data)
        else:  # end; error and server_output_json stand beside them in --json, too
            test[event] = data
            if event == "end" and test.get("error") == CUT_OFF:
                del test["error"]
    if test is not None:
        yield test


def _each_once(documents: Iterable[Any]) -> Iterator[Any]:
    """Without a test that is the same as the one before: a client may write its last one twice."""
    before: Any = None
    for document in documents:
        if document != before:
            yield document
        before = document


def _is_test(document: object) -> bool:
    return isinstance(document, dict) and {"start", "intervals", "end"} <= document.keys()


def _never_began(document: Mapping[str, Any]) -> bool:
    """Whether no test ran: a server that is ended says so while it waits, a client that found no server; one
    that is killed says nothing."""
    return not {"test_start", "timestamp", "cookie"} <= document["start"].keys()


def _ends(file: str, text: str, documents: tuple[Any, ...]) -> Iterator[ToldEnd]:
    for number, document in enumerate(documents, start=1):
        which = "its JSON" if len(documents) == 1 else f"test {number} of it"
        with contained(which):
            test_text = text if len(documents) == 1 else json.dumps(document, indent=1)
            for way in each_way(document):
                yield _end(file, way, test_text)


def _end(file: str, document: dict[str, Any], text: str) -> ToldEnd:
    start = document["start"]
    failure = document.get("error")
    if _never_began(document):
        if failure is None:
            raise FileRefused("iperf3 was ended before its test began")
        failure_line = one_line(str(failure))[:200]
        raise FileRefused(f"iperf3 says {failure_line!r}, and no test began")
    test_params = _asked(start)
    is_client = "connecting_to" in start
    begun_s, resolution_s = _begun(start["timestamp"])
    system = str(start.get("system_info", "")).split()
    peer = start["connecting_to"] if is_client else start.get("accepted_connection", {})
    return ToldEnd(
        file=file,
        node=system[1] if len(system) > 1 else None,
        facts={"kernel": {"release": system[2]}} if len(system) > 2 else {},
        program=str(start["version"])[:60] if "version" in start else None,
        is_client=is_client,
        peer=address(peer.get("host", "")),
        addresses=frozenset(address(socket["local_host"]) for socket in start.get("connected", ())),
        port=_server_port(start, is_client),
        key=f"{start['cookie']!s:.64}{start['test_start'].get(WAY, '')}",
        connection=_connection(start, is_client=is_client),
        begun_s=begun_s + test_params.omit_s,
        late_s=resolution_s + SETUP_S,
        asked=test_params,
        own=nothing(test_params, is_client) if failure is not None else load_end(document),
        other=Missing("the test failed") if failure is not None else other_end(document),
        told=_told(document, is_client=is_client),
        text=text,
        failure=None if failure is None else f"iperf3: {one_line(str(failure))[:300]}",
    )


def address(text: object) -> str:
    """As people write it: an IPv4 address by which a socket of IPv6 was reached is one."""
    return one_line(str(text)).removeprefix("::ffff:")[:60]


def connection(client: object, client_port: object, server: object, server_port: object) -> str:
    """What both ends of a test call its first connection of data."""
    return f"{address(client)} {client_port} to {address(server)} {server_port}"


def _connection(start: Mapping[str, Any], *, is_client: bool) -> str:
    """Empty where it is not said."""
    first = (start.get("connected") or [{}])[0]
    names = ("local_host", "local_port", "remote_host", "remote_port")
    if any(name not in first for name in names):
        return ""
    endpoints = [first[name] for name in names]
    return connection(*endpoints) if is_client else connection(*endpoints[2:], *endpoints[:2])


def _told(document: Mapping[str, Any], *, is_client: bool) -> str:
    """Where figures of the other end stand."""
    if isinstance(document.get("server_output_json"), dict):
        return "server_output_json"
    is_sender = is_client == bool(document["start"]["test_start"]["reverse"])
    return f"end.{'sum_sent' if is_sender else 'sum_received'}, one count of the whole test"


def nothing(test_params: Asked, is_client: bool) -> LoadEnd:
    """An end of a test that failed."""
    return LoadEnd(is_client != test_params.is_reverse, "", (), test_params.seconds or 0.0, None)


def _begun(stamp: Mapping[str, Any]) -> tuple[float, float]:
    """When a test began at the earliest, and how far the stamp is cut, in seconds."""
    if "timemillisecs" in stamp:
        return _within(stamp["timemillisecs"], 0, 1000 * LATEST_S, "as a stamp") / 1000, MILLISECOND_S
    return _within(stamp["timesecs"], 0, LATEST_S, "as a stamp"), SECOND_S


def _server_port(start: Mapping[str, Any], is_client: bool) -> int:
    """Where the server listens, which tells instances at one host apart."""
    if is_client:
        return int(start["connecting_to"]["port"])
    connected = start.get("connected") or [{}]
    return int(connected[0].get("local_port", 0))


def _asked(start: Mapping[str, Any]) -> Asked:
    test_start = start["test_start"]
    protocol = str(test_start["protocol"])
    if protocol not in ("TCP", "UDP"):
        raise InvalidInput(f"is of {one_line(protocol)[:20]}; of iperf3, tests of TCP and UDP are read")
    streams = int(_within(test_start["num_streams"], 1, MAX_STREAMS, "streams"))
    rate = test_start.get("target_bitrate", start.get("target_bitrate"))
    by_size = bool(test_start.get("bytes") or test_start.get("blocks"))
    family = _family(start)
    return Asked(
        load=NAME,
        test="tcp" if protocol == "TCP" else udp_test(int(test_start["blksize"]), family),
        family=family,
        streams=streams,
        is_reverse=bool(test_start["reverse"]),
        rate_bps=_within(rate, 1, MOST_BPS, "bit/s") * streams if rate else None,
        omit_s=_within(test_start.get("omit", 0), 0, MAX_DURATION_S, "seconds of omit"),
        seconds=None if by_size else _within(test_start["duration"], 0, MAX_DURATION_S, "seconds"),
        options=tuple(_options(protocol, start, test_start)),
        factors=tuple(_factors(test_start, by_size=by_size)),
        is_rate_told=rate is not None,
    )


def _within(value: Any, lowest: float, highest: float, what: str) -> float:
    """A number as iperf3 can have it. Raises ParseError."""
    number = float(value)
    if not lowest <= number <= highest:
        raise ParseError(f"iperf3 runs {lowest:g} to {highest:g} {what}, not {number:g}")
    return number


def _family(start: Mapping[str, Any]) -> Family:
    connected = start.get("connected") or [{}]
    address = str(connected[0].get("local_host", ""))
    return "ipv6" if ":" in address and not address.startswith("::ffff:") else "ipv4"


def _options(
    protocol: str, start: Mapping[str, Any], test_start: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Options that campaigns have, too, as far as iperf3 says that they were used."""
    if start.get("sock_bufsize"):
        yield "iperf3.window", size_text(int(start["sock_bufsize"]))
    if protocol == "TCP" and int(test_start["blksize"]) != DEFAULT_BLOCK_BYTES:
        yield "iperf3.length", size_text(int(test_start["blksize"]))
    if "tcp_mss" in start:
        yield "iperf3.mss", str(int(start["tcp_mss"]))


def size_text(count: int) -> str:
    for unit, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)


def _factors(test_start: Mapping[str, Any], *, by_size: bool) -> Iterator[tuple[str, str]]:
    """What makes it another case than any of a campaign."""
    if by_size:
        yield (
            "until",
            f"{test_start['bytes']} bytes" if test_start.get("bytes") else f"{test_start['blocks']} blocks",
        )
    if test_start.get(WAY):
        yield BOTH_WAYS
    if test_start.get("tos"):
        yield "tos", str(int(test_start["tos"]))
    if test_start.get("fqrate"):
        yield "fq-rate", str(int(test_start["fqrate"]))
    for name in ("gso", "gro"):  # --gsro: datagrams that the kernel cuts and joins, which changes their cost
        if test_start.get(name):
            yield name, "on"
