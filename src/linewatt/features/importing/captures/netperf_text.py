# SPDX-License-Identifier: Apache-2.0
"""netperf's text for people: TCP_STREAM, TCP_MAERTS, TCP_SENDFILE and UDP_STREAM. Pure.

The header says the units, and whether there are CPU columns (``-c``, ``-C``). Of UDP the first line is what
was sent, the second is what arrived. ``-1`` stands for what was not measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linewatt.errors import InvalidInput, ParseError
from linewatt.features.importing.captures.netperf_model import (
    UNIT,
    CpuUse,
    Interim,
    Measured,
    Section,
    Title,
    bytes_per_s,
    not_reached,
    rounding_of,
)
from linewatt.foreign import one_line

CUT_OFF = "its text ends before the figures of the test"
_RATE = r"(\d{1,18}\.\d{1,2})"
_HEADER = re.compile(
    r"bytes {1,4}bytes {1,4}(?:bytes {1,4}secs\.|secs {1,16}# {1,8}#) {1,4}"
    rf"({UNIT}) {{0,6}}/s(?:ec)?\b(.{{0,60}})",
    re.ASCII,
)
_TCP = re.compile(
    rf" *(-?\d{{1,12}}) +(-?\d{{1,12}}) +(-?\d{{1,12}}) +(\d{{1,8}}\.\d\d) +{_RATE}"
    r"(?: +(-?[\d.]{1,12}) +(-?[\d.]{1,12}) +(-?[\d.]{1,14}) +(-?[\d.]{1,14}))?(?= |\Z)",
    re.ASCII,
)
_SENT = re.compile(
    rf" *(-?\d{{1,12}}) +(\d{{1,6}}) +(\d{{1,8}}\.\d\d) +(\d{{1,18}}) +(\d{{1,18}}) +{_RATE}"
    r"(?: +(-?[\d.]{1,12}) +(-?[\d.]{1,14}))? *\Z",
    re.ASCII,
)
_ARRIVED = re.compile(
    rf" *(-?\d{{1,12}}) +(\d{{1,8}}\.\d\d) +(\d{{1,18}}) +{_RATE}"
    r"(?: +(-?[\d.]{1,12}) +(-?[\d.]{1,14}))? *\Z",
    re.ASCII,
)
_INTERIM = re.compile(
    rf"Interim result: {{1,20}}{_RATE} ({UNIT})/s over "
    r"(\d{1,8}\.\d{1,6}) seconds ending at (\d{1,11}\.\d{1,6})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class _Header:
    """``methods`` are the letters of how CPU use was measured, of netperf's own host and of the other one."""

    unit: str
    has_cpu: bool
    methods: tuple[str, str]


def measured(section: Section) -> Iterator[Measured]:
    """The tests of a section: one, and more where figures follow without a header of their own."""
    title = section.title
    if title is None:
        raise ParseError("holds figures without the line in which netperf names the test")
    if title.name.startswith("OMNI"):
        raise InvalidInput(
            "holds netperf's omni output in columns for people; let netperf print CSV (-- -o) or keys (-- -k)"
        )
    test = Measured(
        is_udp=title.kind.protocol == "udp",
        is_reverse=title.kind.is_reverse,
        family=title.family,
        peer=title.peer,
        own_address=title.own_address,
        is_sendfile=title.name == "TCP SENDFILE",
        is_mean=title.is_mean,
        not_reached=not_reached(section.lines),
        points=tuple(_points(section.lines)),
    )
    header = next((line_header for line in section.lines if (line_header := _header(line)) is not None), None)
    if header is None and _has_figures(section.lines):
        raise InvalidInput(
            "holds figures of netperf without its header (-P 0), which says what the columns are; "
            "let netperf print it (-P 1)"
        )
    nobody_told = title.has_no_control and not test.is_reverse
    tests: list[Measured] = []
    if header is not None:
        rows = _udp(test, title, header, section.lines) if test.is_udp else _tcp(test, header, section.lines)
        tests = list(rows)
    if not tests:
        yield replace(test, failure=f"netperf: {_failure(section.lines)}")
        return
    for at, measured_test in enumerate(tests):
        known_test = (
            replace(measured_test, arrived_bytes_per_s=None, arrived_messages=None)
            if nobody_told
            else measured_test
        )
        yield known_test if at == 0 else replace(known_test, is_without_header=True, points=())


def _failure(lines: Sequence[str]) -> str:
    """netperf's last words about a test without figures."""
    messages = [line.strip() for line in lines if line.startswith(("netperf:", "send_", "recv_", "netperf_"))]
    return one_line(messages[-1])[:300] if messages else CUT_OFF


def _has_figures(lines: Sequence[str]) -> bool:
    return any(_TCP.match(line) or _SENT.match(line) for line in lines)


def _header(line: str) -> _Header | None:
    match = _HEADER.match(line)
    if match is None:
        return None
    unit, after_unit = match.groups()
    letters = "".join(re.findall(r"% ([A-Z?]{1,2})", after_unit))
    return _Header(unit, "us/KB" in after_unit, (letters[:1], letters[1:2] or letters[:1]))


def _tcp(test: Measured, header: _Header, lines: Sequence[str]) -> Iterator[Measured]:
    for line in lines:
        match = _TCP.match(line)
        if match is None or (match[6] is not None) != header.has_cpu:
            continue
        receive_socket, send_socket, message, elapsed, rate = match.groups()[:5]
        throughput = bytes_per_s(rate, header.unit)
        percents, demands = match.groups()[5:7], match.groups()[7:]
        local_cpu, remote_cpu = (
            _use(percent, demand, throughput, rounding_of(rate), method)
            for percent, demand, method in zip(percents, demands, header.methods, strict=True)
        )
        yield replace(
            test,
            elapsed_s=float(elapsed),
            sent_bytes_per_s=throughput,
            arrived_bytes_per_s=throughput,
            message_bytes=int(message),
            local_cpu=local_cpu,
            remote_cpu=remote_cpu,
            rounding=rounding_of(rate),
            options=_options(send_socket, receive_socket, message),
        )


def _udp(test: Measured, title: Title, header: _Header, lines: Sequence[str]) -> Iterator[Measured]:
    """Raises ParseError for a line of what was sent without that of what arrived."""
    sent: re.Match[str] | None = None
    for line in lines:
        if match := _SENT.match(line):
            if sent is not None:
                break
            sent = match
        elif sent is not None and (match := _ARRIVED.match(line)):
            yield _datagrams(test, title, header, sent, match)
            sent = None
    if sent is not None:
        raise ParseError("its text ends before what the receiver got")


def _datagrams(
    test: Measured, title: Title, header: _Header, sent: re.Match[str], arrived: re.Match[str]
) -> Measured:
    send_socket, message, elapsed, sent_messages, _, sent_rate, local_percent, local_demand = sent.groups()
    receive_socket, _, arrived_messages, arrived_rate, remote_percent, remote_demand = arrived.groups()
    sent_bytes_per_s = bytes_per_s(sent_rate, header.unit)
    arrived_bytes_per_s = bytes_per_s(arrived_rate, header.unit)
    # migrated tests divide both hosts' CPU time by what was sent (nettest_omni.c), older ones each by its own
    per_bytes = (sent_bytes_per_s, sent_bytes_per_s if title.is_migrated else arrived_bytes_per_s)
    if not header.has_cpu or local_percent is None or remote_percent is None:
        local_percent = remote_percent = None
    sent_rounding = rounding_of(sent_rate)
    rounding = max(sent_rounding, rounding_of(arrived_rate))
    return replace(
        test,
        elapsed_s=float(elapsed),
        sent_bytes_per_s=sent_bytes_per_s,
        arrived_bytes_per_s=arrived_bytes_per_s,
        message_bytes=int(message),
        sent_messages=int(sent_messages),
        arrived_messages=int(arrived_messages),
        local_cpu=_use(local_percent, local_demand, per_bytes[0], sent_rounding, header.methods[0]),
        remote_cpu=_use(remote_percent, remote_demand, per_bytes[1], rounding, header.methods[1]),
        rounding=rounding,
        options=_options(send_socket, receive_socket, None),
    )


def _use(
    percent: str | None, demand: str, per_bytes_per_s: float, rounding: float, method: str
) -> CpuUse | None:
    """``None``: not asked for, for which nothing or -1 stands."""
    if percent is None or float(percent) < 0:
        return None
    return CpuUse(float(percent), float(demand), per_bytes_per_s, rounding, method=method)


def _options(send_socket: str, receive_socket: str, message: str | None) -> tuple[tuple[str, str], ...]:
    """Sizes in bytes as netperf prints them, whether they were asked for or not."""
    sizes = {"message": message, "send-socket": send_socket, "receive-socket": receive_socket}
    return tuple((f"netperf.{name}", size) for name, size in sizes.items() if size and int(size) > 0)


def _points(lines: Sequence[str]) -> Iterator[Interim]:
    for line in lines:
        if match := _INTERIM.match(line):
            rate, unit, seconds, end = match.groups()
            yield Interim(float(end), float(seconds), bytes_per_s(rate, unit))
