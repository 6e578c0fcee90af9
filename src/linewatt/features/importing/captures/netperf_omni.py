# SPDX-License-Identifier: Apache-2.0
"""netperf's omni output: CSV with a header (``-- -o``), or a key and a value a line (``-- -k``). Pure.

Whoever runs it selects what is printed. THROUGHPUT, THROUGHPUT_UNITS and ELAPSED_TIME are needed, and which
test it is: by the title above, or by PROTOCOL and DIRECTION.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linewatt.errors import InvalidInput, ParseError
from linewatt.features.importing.captures.netperf_model import (
    MOST_SECONDS,
    UNIT,
    CpuUse,
    Interim,
    Measured,
    Section,
    bytes_per_s,
    not_reached,
    rounding_of,
)
from linewatt.foreign import number, one_line
from linewatt.model import Family

_NAMES = {
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Source Address": "SOURCE_ADDR",
    "Destination Address": "DEST_ADDR",
    "Destination Family": "DEST_FAMILY",
    "Local Send Socket Size Requested": "LSS_SIZE_REQ",
    "Local Recv Socket Size Requested": "LSR_SIZE_REQ",
    "Remote Send Socket Size Requested": "RSS_SIZE_REQ",
    "Remote Recv Socket Size Requested": "RSR_SIZE_REQ",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Local CPU Util Method": "LOCAL_CPU_METHOD",
    "Remote CPU Util Method": "REMOTE_CPU_METHOD",
    "Local Service Demand": "LOCAL_SD",
    "Remote Service Demand": "REMOTE_SD",
    "Service Demand Units": "SD_UNITS",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Confidence Iterations Run": "CONFIDENCE_ITERATION",
    "Confidence Width Target": "CONFIDENCE_INTERVAL",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
}
"""what CSV calls a value → its key (print_omni_init_list in nettest_omni.c), where that is not its words"""
_FIRST_NAMES = ("Throughput Units", "Elapsed Time (sec)")
_KEY = re.compile(r"([A-Z][A-Z0-9_]{1,60})(?:\[(\d{1,6})\])?=(.{0,4000})", re.ASCII)
_SURE_KEYS = ("THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "NETPERF_INTERIM_RESULT")
_INTERIM = re.compile(
    rf" {{0,8}}(\d{{1,18}}\.\d\d),({UNIT})/s,(\d{{1,8}}\.\d{{1,6}}),(\d{{1,11}}\.\d{{1,6}}) *\Z", re.ASCII
)
_UNIT = re.compile(rf"({UNIT})/s", re.ASCII)
_USUAL = ("THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "PROTOCOL", "DIRECTION")
_FAMILY_INET6 = "10"
"""of Linux (AF_INET6)"""


@dataclass(frozen=True, slots=True)
class _Values:
    """What one test printed, by key; what netperf prints for unknown is not in it."""

    texts: Mapping[str, str]

    def text(self, key: str) -> str | None:
        return self.texts.get(key) or None

    def number(self, key: str) -> float | None:
        """Raises ParseError for what is no number; ``None``: not printed, or netperf's -1 for unknown."""
        text = self.text(key)
        value = None if text is None else number(text, key)
        return None if value is None or value < 0 else value

    def count(self, key: str) -> int | None:
        value = self.number(key)
        return None if value is None else int(value)


def is_line(line: str) -> bool:
    """Whether nothing but netperf writes such a line."""
    match = _KEY.match(line)
    return (match is not None and match[1] in _SURE_KEYS) or _header(line) is not None


def name_of(line: str) -> str | None:
    """What a test has but once: a key with its number if it has one, or the CSV header; ``None``: neither."""
    if match := _KEY.match(line):
        return f"{match[1]} {match[2] or ''}"
    return "" if _header(line) is not None else None


def exchange(section: Section) -> str | None:
    """The name of a request/response test, by its direction or its units."""
    for values in _all_values(section):
        units, direction = values.text("THROUGHPUT_UNITS") or "", values.text("DIRECTION") or ""
        if units.startswith(("Trans", "Usec")) or "|" in direction or direction == "Connection":
            return one_line(f"{values.text('PROTOCOL') or ''} request/response".strip())[:60]
    return None


def measured(section: Section) -> Iterator[Measured]:
    """Raises InvalidInput, which says what to add."""
    points = tuple(_points(section.lines))
    tests = list(_all_values(section))
    if not tests:
        raise ParseError("its text ends before the figures of the test")
    for at, values in enumerate(tests):
        yield _test(section, values, () if at else points, is_without_header=at > 0)


def _header(line: str) -> list[str] | None:
    """The keys of a CSV header."""
    if "," not in line and line not in _FIRST_NAMES:
        return None
    names = [name.strip() for name in line.split(",")]
    is_omni = any(name in names for name in _FIRST_NAMES) or (
        "Throughput" in names and any(name.startswith(("Local ", "Remote ")) for name in names)
    )
    return [_NAMES.get(name, name.upper().replace(" ", "_")) for name in names] if is_omni else None


def _all_values(section: Section) -> Iterator[_Values]:
    """Of keys one, of CSV one a line of values. Raises ParseError for lines that do not fit their header."""
    keys = {
        match[1]: match[3].strip()
        for line in section.lines
        if (match := _KEY.match(line)) and match[2] is None
    }
    if any(key in keys for key in _SURE_KEYS):
        yield _Values(keys)
        return
    header: list[str] | None = None
    for line in section.lines:
        if header is None:
            header = _header(line)
            continue
        cells = next(csv.reader([line]), []) if "," in line or (line.strip() and len(header) == 1) else []
        if cells and not _INTERIM.match(line):
            if len(cells) != len(header):
                raise ParseError(f"has a line of {len(cells)} values below a header of {len(header)} names")
            yield _Values(dict(zip(header, (cell.strip() for cell in cells), strict=True)))


def _needed(values: _Values, key: str) -> str:
    text = values.text(key)
    if text is None:
        raise InvalidInput(
            f"has no {key} in netperf's output; add it to what is printed (-- -k THROUGHPUT,THROUGHPUT_UNITS,"
            f"ELAPSED_TIME,PROTOCOL,DIRECTION{'' if key in _USUAL else f',{key}'})"
        )
    return text


def _test(
    section: Section, values: _Values, points: tuple[Interim, ...], *, is_without_header: bool
) -> Measured:
    title = section.title
    is_udp, is_reverse = _is_udp(section, values), _is_reverse(section, values)
    figure, unit_text = _needed(values, "THROUGHPUT"), _needed(values, "THROUGHPUT_UNITS")
    unit = _UNIT.fullmatch(unit_text)
    if unit is None:
        raise ParseError(f"has throughput in {one_line(unit_text)[:30]!r}, which is not a unit of netperf")
    arrived = bytes_per_s(figure, unit[1])
    sender, receiver = ("REMOTE", "LOCAL") if is_reverse else ("LOCAL", "REMOTE")
    sent = _sent(values, sender, unit[1]) if is_udp else arrived
    has_no_control = title is not None and title.has_no_control and not is_reverse
    peer = values.text("DEST_ADDR") or (title.peer if title else "")
    return Measured(
        is_udp=is_udp,
        is_reverse=is_reverse,
        family=_family(section, values),
        peer=title.peer if title and title.peer else peer,
        own_address=values.text("SOURCE_ADDR") or (title.own_address if title else ""),
        elapsed_s=_seconds(_needed(values, "ELAPSED_TIME")),
        sent_bytes_per_s=sent,
        arrived_bytes_per_s=None if has_no_control else arrived,
        message_bytes=int(number(_needed(values, f"{sender}_SEND_SIZE"), "a size")) if is_udp else None,
        sent_messages=values.count(f"{sender}_SEND_CALLS") if is_udp else None,
        arrived_messages=values.count(f"{receiver}_RECV_CALLS") if is_udp and not has_no_control else None,
        retransmits=None if is_udp else values.count(f"{sender}_TRANSPORT_RETRANS"),
        local_cpu=_use(values, "LOCAL", arrived if is_reverse else sent, figure),
        remote_cpu=_use(values, "REMOTE", arrived if is_reverse else sent, figure),
        rounding=rounding_of(figure),
        options=tuple(_options(values, sender, receiver, is_udp=is_udp)),
        points=points,
        is_mean=bool(title and title.is_mean) or (values.count("CONFIDENCE_ITERATION") or 0) > 1,
        is_without_header=is_without_header,
        not_reached=not_reached(section.lines) or _too_wide(values),
    )


def _is_udp(section: Section, values: _Values) -> bool:
    protocol = values.text("PROTOCOL") or (section.title.kind.protocol if section.title else None)
    if protocol is None:
        protocol = _needed(values, "PROTOCOL")
    if protocol.lower() not in ("tcp", "udp"):
        raise InvalidInput(f"is of {one_line(protocol)[:20]}; of netperf, streams of TCP and UDP are read")
    return protocol.lower() == "udp"


def _is_reverse(section: Section, values: _Values) -> bool:
    direction = values.text("DIRECTION")
    if direction is None and section.title is not None:
        return section.title.kind.is_reverse
    direction = _needed(values, "DIRECTION")
    if direction not in ("Send", "Receive"):
        raise ParseError(f"has a direction of {one_line(direction)[:20]!r}, which netperf does not have")
    return direction == "Receive"


def _family(section: Section, values: _Values) -> Family:
    address = values.text("DEST_ADDR") or ""
    if ":" in address or values.text("DEST_FAMILY") == _FAMILY_INET6:
        return "ipv6"
    return section.title.family if section.title else "ipv4"


def _seconds(text: str) -> float:
    seconds = number(text, "ELAPSED_TIME")
    if not 0 < seconds <= MOST_SECONDS:
        raise ParseError(f"netperf reports a test of {seconds:g} s")
    return seconds


def _sent(values: _Values, sender: str, unit: str) -> float | None:
    """What was sent of UDP, in which not all arrives; ``None``: not printed."""
    figure = values.text(f"{sender}_SEND_THROUGHPUT")
    if figure is not None:
        return bytes_per_s(figure, unit)
    calls, size = values.number(f"{sender}_SEND_CALLS"), values.number(f"{sender}_SEND_SIZE")
    seconds = values.number("ELAPSED_TIME")
    return None if calls is None or size is None or not seconds else calls * size / seconds


def _use(values: _Values, side: str, per_bytes_per_s: float | None, figure: str) -> CpuUse | None:
    percent = values.number(f"{side}_CPU_UTIL")
    if percent is None:
        return None
    is_per_kb = values.text("SD_UNITS") == "usec/KB"
    return CpuUse(
        percent,
        values.number(f"{side}_SD") if is_per_kb else None,
        per_bytes_per_s,
        rounding_of(figure),
        values.count(f"{side}_CPU_COUNT"),
        (values.text(f"{side}_CPU_METHOD") or "")[:1],
    )


def _too_wide(values: _Values) -> str:
    """The width of the interval where it is wider than was asked for."""
    target_percent, width = values.number("CONFIDENCE_INTERVAL"), values.number("THROUGHPUT_CONFID")
    if not target_percent or width is None or width <= target_percent:
        return ""
    return f" (confidence interval: {width:g} % instead of {target_percent:g} %)"


def _options(values: _Values, sender: str, receiver: str, *, is_udp: bool) -> Iterator[tuple[str, str]]:
    """Sizes that were asked for, and of messages. Those that sockets had in the end differ each time."""
    names = {
        "message": None if is_udp else f"{sender}_SEND_SIZE",
        "send-socket": f"{sender[0]}SS_SIZE_REQ",
        "receive-socket": f"{receiver[0]}SR_SIZE_REQ",
    }
    for name, key in names.items():
        size = None if key is None else values.count(key)
        if size:
            yield f"netperf.{name}", str(size)


def _points(lines: Sequence[str]) -> Iterator[Interim]:
    """Interim results (``-D``): lines of CSV, or keys with a number each. Raises ParseError, InvalidInput."""
    numbered: dict[str, dict[str, str]] = {}
    for line in lines:
        if match := _INTERIM.match(line):
            rate, unit, seconds, end = match.groups()
            yield Interim(float(end), float(seconds), bytes_per_s(rate, unit))
        elif (key := _KEY.match(line)) and key[2] is not None:
            numbered.setdefault(key[2], {})[key[1]] = key[3].strip()
    for keys in numbered.values():
        names = ("NETPERF_INTERIM_RESULT", "NETPERF_UNITS", "NETPERF_INTERVAL", "NETPERF_ENDING")
        if any(name not in keys for name in names):
            raise ParseError("an interim result of it is not whole")
        rate, units, seconds, end = (keys[name] for name in names)
        unit_match = _UNIT.fullmatch(units)
        if unit_match is None:
            raise ParseError(
                f"has an interim result in {one_line(units)[:30]!r}, which is not a unit of netperf"
            )
        yield Interim(number(end, "a time"), number(seconds, "a time"), bytes_per_s(rate, unit_match[1]))
