# SPDX-License-Identifier: Apache-2.0
"""What iperf3 prints for people, at a client or a server (tried: 3.12). Pure.

A row has the bytes and the rate of an interval, cut to three digits, or to whole units of ``--format``. The
rate is taken where it is finer: bytes are rate times the time that the row shows. Text has no date unless
``--verbose`` prints ``Time:``, ``--timestamps=%s`` was asked for, or whoever ran it printed Unix seconds
on the line before the test. The size of datagrams is what bytes and datagrams of all rows allow.

Rows of ``--bidir`` have a role behind the stream: ``TX-C`` and ``RX-S`` go to the server, ``RX-C`` and
``TX-S`` back. They are two tests, each of which goes one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from linewatt.errors import FileRefused, InvalidInput, ParseError
from linewatt.foreign import contained, one_line
from linewatt.loads.base import BOTH_WAYS, Asked, LoadEnd, LoadInterval, ToldEnd
from linewatt.loads.iperf3 import files as by_hand
from linewatt.loads.iperf3.both_ways import way_suffix
from linewatt.loads.iperf3.parser import MAX_DURATION_S, MAX_STREAMS
from linewatt.missing import Missing
from linewatt.model import Family
from linewatt.sizes import udp_test

NO_DATE = "text of iperf3 does not say when its test ran (iperf3 --json does)"
CUT_OFF = "its text ends before the test does"
USUAL_PAYLOADS = (1448, 1472, 1460, 1470, 1428, 1400, 8192, 8948, 1024, 512, 256, 128, 64)
"""defaults of versions, and sizes that people ask for; the first that fits is taken"""
_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BINARY = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_ROW = re.compile(
    r"\[ *(SUM|\d{1,4})\] +(\d{1,6}\.\d\d)- *(\d{1,6}\.\d\d) +sec +"
    r"(\d{1,15}(?:\.\d{1,3})?) ([KMGT]?)Bytes +(\d{1,15}(?:\.\d{1,3})?) ([KMGT]?)(bits|Bytes)/sec(.*)",
    re.ASCII,
)
_OF_A_WAY = re.compile(r"(.{0,60}?\[ *)(SUM|\d{1,4})\]\[([RT])X-([CS])\](.*)", re.ASCII)
_STREAM = re.compile(r"\[ *(\d{1,4})\] ", re.ASCII)
_HEADER = re.compile(r"\[ ID\](?:\[Role\])? Interval +Transfer +(?:Bitrate|Bandwidth)\b(.*)", re.ASCII)
_LOST = re.compile(r" +[\d.]+ ms +(-?\d{1,15})/(\d{1,15}) ", re.ASCII)
_COUNT = re.compile(r" +(\d{1,15})(?: +[\d.]+ [KMGT]?Bytes)?(?: +[\d.]+ ?[mu]s)? *\Z", re.ASCII)
_CONNECTED = re.compile(
    r"\[ *\d{1,4}\] local (\S{1,80}) port (\d{1,5}) connected to (\S{1,80}) port (\d{1,5})", re.ASCII
)
_CLIENT = re.compile(r"Connecting to host (\S{1,200}), port (\d{1,5})", re.ASCII)
_ACCEPTED = re.compile(r"Accepted connection from (\S{1,80}), port \d{1,5}", re.ASCII)
_TIME = re.compile(r"Time: \w{3}, (\d{1,2}) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC)", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = re.compile(r"(?:\S*(?:BEGIN|START)\S* +)?([12]\d{9})(?:\.(\d{1,9}))?", re.ASCII | re.IGNORECASE)
_PREFIX = re.compile(r"([12]\d{9})(?:\.\d{1,9})? ", re.ASCII)
_VERSION = re.compile(r"iperf (3\.\d{1,3}\S{0,20})", re.ASCII)
_SYSTEM = re.compile(r"(?:Linux|FreeBSD|NetBSD|OpenBSD|Darwin|SunOS|CYGWIN\S*) (\S{1,64}) ", re.ASCII)
_STARTED = re.compile(
    r"Starting Test: protocol: (\w{1,10}), (\d{1,4}) streams, (\d{1,9}) byte blocks, omitting (\d{1,6}) "
    r"seconds(?:, (\d{1,6}) second test)?(?:, (\d{1,15}) (bytes|blocks) to send)?(?:, tos (\d{1,3}))?",
    re.ASCII,
)
_RATE = re.compile(r"Target Bitrate: (\d{1,15})", re.ASCII)
_COOKIE = re.compile(r"Cookie: (\S{1,64})", re.ASCII)
_CPU = re.compile(r"CPU Utilization: local/\w{1,10} (\d{1,6}(?:\.\d{1,3})?)%", re.ASCII)
_ERROR = re.compile(r"iperf3: (error|interrupt) - (.{1,300})")
_SERVER_OUTPUT = "Server output:"


@dataclass(frozen=True, slots=True)
class _Row:
    """One row. ``rounding`` is the half of its last digit, as a part of what it says."""

    stream: str
    start_s: float
    end_s: float
    transferred_bytes: float
    rounding: float
    low_bytes: float
    high_bytes: float
    retransmits: int | None
    packets: int | None
    lost_packets: int | None
    role: str
    is_omitted: bool


@dataclass(slots=True)
class _Test:
    """The lines of one test of one end, as they come."""

    is_client: bool
    peer: str
    port: int
    begun: tuple[float, float] | None
    lines: list[str] = field(default_factory=list)
    served: list[str] = field(default_factory=list)
    """what a server wrote that the client shows (``--get-server-output``)"""
    node: str | None = None
    program: str | None = None
    is_back: bool | None = None
    """of a test that ran both ways at once, whether these are the lines of the way from the server"""

    @property
    def text(self) -> str:
        return "\n".join((*self.lines, *self.served))


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows of a test: those of intervals, and those of its summary."""

    intervals: tuple[_Row, ...]
    summary: tuple[_Row, ...]
    heads: tuple[str, ...]
    """what each line of heads has behind the rate"""

    @property
    def is_udp(self) -> bool:
        return any("Datagrams" in head for head in self.heads)

    @property
    def rows(self) -> tuple[_Row, ...]:
        return (*self.intervals, *self.summary)


def ends_of_text(file: str, text: str) -> tuple[ToldEnd, ...] | None:
    """The tests of a file of text; ``None``: it is none of iperf3. Raises ParseError, InvalidInput."""
    lines = text.splitlines()
    if not any(_is_own(line) for line in lines):
        return None
    tests = list(_tests(lines))
    if not tests:
        error_text = next((match[2] for line in lines if (match := _ERROR.search(line))), None)
        if error_text is None and not any(_is_listening(line) for line in lines):
            raise FileRefused("text of iperf3 without the lines in which its test begins")
        raise FileRefused(
            f"text of iperf3 in which no test began{f' ({one_line(error_text)[:200]})' if error_text else ''}"
        )
    if len(tests) > by_hand.MOST_TESTS:
        raise InvalidInput(f"more than {by_hand.MOST_TESTS} tests in one file; import it in parts")
    ends = []
    for number, test in enumerate(tests, start=1):
        with contained(f"test {number} of it" if len(tests) > 1 else "its text"):
            ends += [_end(file, number, one_way, test.text) for one_way in _each_way(test)]
    return tuple(ends)


def _is_own(line: str) -> bool:
    """Whether nothing but iperf3 writes such a line; heads of tables are iperf 2's, too."""
    return bool(_CLIENT.search(line) or _ERROR.match(line) or _ACCEPTED.search(line)) or _is_listening(line)


def _is_listening(line: str) -> bool:
    return "Server listening on " in line and (
        "-----" in line or line.rstrip()[-1:].isdigit() or "(test #" in line
    )


def _tests(lines: Sequence[str]) -> Iterator[_Test]:
    """Each from the line in which its client connects, or its server accepts."""
    test: _Test | None = None
    node = program = None
    stamp: tuple[float, float] | None = None
    is_served = False
    for line in lines:
        if match := _VERSION.match(line):
            program = f"iperf {match[1]}"
        elif match := _SYSTEM.match(line):
            node = match[1]
        client, accepted = _CLIENT.search(line), None if is_served else _ACCEPTED.search(line)
        if client or accepted:
            if test is not None:
                yield test
            is_served = False
            stamp = stamp or _stamp(line)
            peer, port = (client[1], int(client[2])) if client else (accepted[1] if accepted else "", 0)
            test = _Test(client is not None, peer, port, stamp, node=node, program=program)
        elif test is not None and test.is_client and line.startswith(_SERVER_OUTPUT):
            is_served = True
        elif test is not None:
            is_served = is_served and not line.startswith("iperf Done.")
            (test.served if is_served else test.lines).append(line)
        if line.strip():
            stamp = _stamp(line) if not (client or accepted) else None
    if test is not None:
        yield test


def _stamp(line: str) -> tuple[float, float] | None:
    """When a line was written, and how far its stamp is cut, in seconds."""
    if match := _TIME.search(line):
        day, month, year, *clock = match.groups()
        if month not in _MONTHS:
            return None
        date_fields = (int(year), _MONTHS.index(month) + 1, int(day), *map(int, clock))
        try:
            return datetime(*date_fields, tzinfo=UTC).timestamp(), 1.0  # type: ignore[misc,arg-type]
        except ValueError as error:
            raise ParseError(f"{match[0]!r} is not a time") from error
    if match := _EPOCH.fullmatch(line.strip()) or _PREFIX.match(line):
        fraction = match[2] if match.re is _EPOCH else None
        return float(f"{match[1]}.{fraction or 0}"), 10.0 ** -len(fraction) if fraction else 1.0
    return None


def _table(lines: Iterable[str]) -> _Table:
    """Raises ParseError."""
    intervals: list[_Row] = []
    summary: list[_Row] = []
    heads: list[str] = []
    for line in lines:
        if match := _HEADER.search(line):
            heads.append(match[1])
        elif "[" in line and (match := _ROW.match(line, line.index("["))):
            row = _row(match)
            (summary if row.role or (len(heads) > 1 and not row.is_omitted) else intervals).append(row)
    return _Table(tuple(intervals), tuple(summary), tuple(heads))


def _row(match: re.Match[str]) -> _Row:
    stream, start, end, size, size_unit, rate, rate_unit, rate_base, after_rate = match.groups()
    start_s, end_s = float(start), float(end)
    if not 0 <= start_s <= end_s <= 2 * MAX_DURATION_S:
        raise ParseError(f"iperf3 reported an interval from {start} s to {end} s")
    factor = (_DECIMAL[rate_unit] / 8) if rate_base == "bits" else _BINARY[rate_unit]
    bytes_per_s, rate_half = float(rate) * factor, _half(rate)
    size_bytes, size_half = float(size) * _BINARY[size_unit], _half(size)
    is_rate_finer = end_s > start_s and float(rate) > 0 and rate_half <= size_half
    figures_text, omitted_mark, _ = after_rate.partition("(omitted)")
    words = figures_text.split()
    role = words[-1] if words[-1:] in (["sender"], ["receiver"]) else ""
    counts = figures_text.rstrip().removesuffix(role)
    lost, count = _LOST.match(f"{counts} "), _COUNT.match(counts)
    return _Row(
        stream=stream,
        start_s=start_s,
        end_s=end_s,
        transferred_bytes=bytes_per_s * (end_s - start_s) if is_rate_finer else size_bytes,
        rounding=min(rate_half, size_half) if is_rate_finer else size_half,
        low_bytes=size_bytes * (1 - size_half),
        high_bytes=size_bytes * (1 + size_half),
        retransmits=int(count[1]) if count else None,
        packets=int(lost[2]) if lost else int(count[1]) if count else None,
        lost_packets=int(lost[1]) if lost else None,
        role=role,
        is_omitted=bool(omitted_mark),
    )


def _half(text: str) -> float:
    """Half of the last digit, as a part of the number; 0 of a number that is 0."""
    decimals = len(text.partition(".")[2])
    value = float(text)
    return 0.5 * 10.0**-decimals / value if value > 0 else 0.0


def _each_way(test: _Test) -> Iterator[_Test]:
    """A test that ran both ways at once as one for each, any other as it is.

    What a client shows of its server stands in the middle of its own summary: roles tell them apart.
    """
    if not any("][Role]" in line or _OF_A_WAY.fullmatch(line) for line in test.lines):
        yield test
        return
    for is_back in (False, True):
        yield replace(
            test,
            lines=list(_lines_of_way(test, by_client=test.is_client, is_back=is_back)),
            served=list(_lines_of_way(test, by_client=False, is_back=is_back)) if test.served else [],
            is_back=is_back,
        )


def _lines_of_way(test: _Test, *, by_client: bool, is_back: bool) -> Iterator[str]:
    """The lines of one end about one way, without their roles.

    CPU time is of both ways, and so of neither.
    """
    own_lines, other_lines = (test.lines, test.served)
    if by_client != test.is_client:
        own_lines, other_lines = other_lines, own_lines
    role = ("R" if by_client == is_back else "T", "C" if by_client else "S")
    streams = _streams(own_lines, role)
    for line in own_lines:
        if _OF_A_WAY.fullmatch(line):
            yield from _without_role(line, role)
        elif not _CPU.search(line):
            stream = _STREAM.search(line) if _CONNECTED.search(line) else None
            if stream is None or stream[1] in streams:
                yield line
    for line in other_lines:
        yield from _without_role(line, role)


def _without_role(line: str, role: tuple[str, str]) -> Iterator[str]:
    """A row as tests have it that go one way, if it is of this role."""
    row = _OF_A_WAY.fullmatch(line)
    if row is not None and (row[3], row[4]) == role:
        yield f"{row[1]}{row[2]}]{row[5]}"


def _streams(lines: Sequence[str], role: tuple[str, str]) -> frozenset[str]:
    """Streams that rows of this role are of; without any row, half of those that were connected."""
    rows = [match for line in lines if (match := _OF_A_WAY.fullmatch(line))]
    if rows:
        return frozenset(row[2] for row in rows if (row[3], row[4]) == role)
    connected = [match[1] for line in lines if _CONNECTED.search(line) and (match := _STREAM.search(line))]
    is_forth = role in (("T", "C"), ("R", "S"))
    half = len(connected) // 2
    return frozenset(connected[:half] if is_forth else connected[half:])


def _end(file: str, number: int, test: _Test, text: str) -> ToldEnd:
    table = _table(test.lines)
    connected = [match for line in test.lines if (match := _CONNECTED.search(line))]
    failure = _failure(test, table)
    if not connected:
        raise FileRefused(failure or "no test began")
    settings, doubts = _asked(test, table, connected)
    is_sender = test.is_client != settings.is_reverse
    own_end = by_hand.nothing(settings, test.is_client) if failure else _own(table, test, is_sender=is_sender)
    port = test.port or int(connected[0][2])
    stamp = test.begun or next((line_stamp for line in test.lines[:8] if (line_stamp := _stamp(line))), None)
    return ToldEnd(
        file=file,
        node=test.node,
        program=test.program,
        is_client=test.is_client,
        peer=by_hand.address(test.peer),
        addresses=frozenset(by_hand.address(match[1]) for match in connected),
        port=port,
        key=f"{_first(_COOKIE, test.lines) or f'{file} {number}'[-200:]}{way_suffix(test.is_back)}",
        begun_s=(stamp[0] if stamp else 0.0) + settings.omit_s,
        late_s=by_hand.SETUP_S + (stamp[1] if stamp else 0.0),
        asked=settings,
        own=own_end,
        other=Missing("the test failed")
        if failure
        else _other(test, table, is_sender=is_sender, is_udp=table.is_udp),
        told="Server output" if test.served else "the summary of its text, one count of the whole test",
        text=text,
        failure=failure,
        connection=by_hand.connection(
            *(connected[0].groups() if test.is_client else _turned(connected[0].groups()))
        ),
        undated=None if stamp else NO_DATE,
        rounded=(_rounded(table), *doubts),
    )


def _turned(endpoints: Sequence[str]) -> tuple[str, ...]:
    return (*endpoints[2:], *endpoints[:2])


def _failure(test: _Test, table: _Table) -> str | None:
    error_matches = [match for line in test.lines if (match := _ERROR.search(line))]
    if error_matches and (test.is_client or not table.summary):
        return f"iperf3: {one_line(error_matches[0][2])[:300]}"
    return None if table.summary else f"iperf3: {CUT_OFF}"


def _rounded(table: _Table) -> str:
    rows = [row for row in _whole(table.intervals or table.summary) if row.transferred_bytes > 0]
    largest_rounding = max((row.rounding for row in rows), default=0.0)
    return f"text of iperf3 has no bytes, and rates rounded to ± {100 * largest_rounding:.2g} %"


def _whole(rows: Iterable[_Row]) -> Iterator[_Row]:
    """Those of all streams together: of ``[SUM]`` where there are several."""
    all_rows = list(rows)
    sums = [row for row in all_rows if row.stream == "SUM"]
    yield from sums or all_rows


def _own(table: _Table, test: _Test, *, is_sender: bool) -> LoadEnd:
    """What this end counted. Raises ParseError where it shows nothing of it."""
    counted = [row for row in _whole(table.intervals) if not row.is_omitted]
    rows = counted or [row for row in _whole(table.summary) if _is_of(row, is_sender=is_sender)][:1]
    if not rows:
        raise ParseError("iperf3 reported no interval")
    intervals = tuple(_interval(row, is_sender=is_sender, is_udp=table.is_udp) for row in rows)
    cpu = _first(_CPU, test.lines)
    version = (test.program or "").removeprefix("iperf ")
    cores = None if cpu is None else float(cpu) / 100
    return LoadEnd(is_sender, version, intervals, intervals[-1].end_s, cores)


def _is_of(row: _Row, *, is_sender: bool) -> bool:
    return row.role in ("", "sender" if is_sender else "receiver")


def _interval(row: _Row, *, is_sender: bool, is_udp: bool) -> LoadInterval:
    return LoadInterval(
        start_s=row.start_s,
        end_s=row.end_s,
        transferred_bytes=round(row.transferred_bytes),
        retransmits=row.retransmits if is_sender and not is_udp else None,
        packets=row.packets if is_udp else None,
        lost_packets=None if is_sender or not is_udp else row.lost_packets,
    )


def _other(test: _Test, table: _Table, *, is_sender: bool, is_udp: bool) -> LoadEnd | Missing:
    """What the text has of the other end; or why nothing."""
    if not test.is_client:
        return Missing("iperf3 does not send the client's results to the server")
    served_table = _table(test.served)
    other_rows = [row for row in _whole(served_table.intervals) if not row.is_omitted]
    if other_rows:
        intervals = tuple(_interval(row, is_sender=not is_sender, is_udp=is_udp) for row in other_rows)
        return LoadEnd(not is_sender, "", intervals, intervals[-1].end_s, None)
    role = "receiver" if is_sender else "sender"
    (*_, row) = (None, *(summary_row for summary_row in _whole(table.summary) if summary_row.role == role))
    if row is None and is_udp and is_sender:
        row = next(
            (
                _arrived(summary_row)
                for summary_row in _whole(table.summary)
                if summary_row.lost_packets is not None
            ),
            None,
        )
    if row is None or row.end_s <= row.start_s or row.transferred_bytes <= 0:
        return Missing(f"the text of the client has no line of the {role}")
    interval = _interval(row, is_sender=not is_sender, is_udp=is_udp)
    return LoadEnd(not is_sender, "", (interval,), interval.end_s, None)


def _arrived(row: _Row) -> _Row:
    """The one line that versions before 3.2 have of UDP: bytes that were sent, and what was lost of them."""
    arrived_ratio = max(0.0, 1 - (row.lost_packets or 0) / row.packets) if row.packets else 0.0
    return replace(row, transferred_bytes=row.transferred_bytes * arrived_ratio)


def _asked(test: _Test, table: _Table, connected: Sequence[re.Match[str]]) -> tuple[Asked, tuple[str, ...]]:
    """What was asked as far as the text shows it, and what is not sure of that."""
    started = next((match for line in test.lines if (match := _STARTED.search(line))), None)
    address = connected[0][1]
    family: Family = "ipv6" if ":" in address and not address.startswith("::ffff:") else "ipv4"
    streams = len(connected)
    if not 1 <= streams <= MAX_STREAMS:
        raise ParseError(f"iperf3 runs 1 to {MAX_STREAMS} streams, not {streams}")
    test_name, doubt = "tcp", ""
    if table.is_udp:
        payload, doubt = (int(started[3]), "") if started else _payload(table.rows)
        test_name = udp_test(payload, family)
    rate_bps_text = _first(_RATE, test.lines)
    omitted = {(row.start_s, row.end_s) for row in table.intervals if row.is_omitted}
    return Asked(
        load=by_hand.NAME,
        test=test_name,
        family=family,
        streams=streams,
        is_reverse=_is_reverse(test, table),
        rate_bps=float(rate_bps_text) * streams if rate_bps_text and int(rate_bps_text) else None,
        omit_s=float(started[4]) if started else sum(end_s - start_s for start_s, end_s in omitted),
        seconds=float(started[5]) if started and started[5] else None,
        options=_options(started, is_udp=table.is_udp),
        factors=_factors(started, goes_both_ways=test.is_back is not None),
        is_rate_told=rate_bps_text is not None,
    ), ((doubt,) if doubt else ())


def _options(started: re.Match[str] | None, *, is_udp: bool) -> tuple[tuple[str, str], ...]:
    if started is None or is_udp or int(started[3]) == by_hand.DEFAULT_BLOCK_BYTES:
        return ()
    return (("iperf3.length", by_hand.size_text(int(started[3]))),)


def _factors(started: re.Match[str] | None, *, goes_both_ways: bool) -> tuple[tuple[str, str], ...]:
    factors = [BOTH_WAYS] if goes_both_ways else []
    if started is not None and started[6]:
        factors.append(("until", f"{int(started[6])} {started[7]}"))
    if started is not None and started[8] and int(started[8]):
        factors.append(("tos", started[8]))
    return tuple(factors)


def _is_reverse(test: _Test, table: _Table) -> bool:
    if test.is_back is not None:
        return test.is_back
    if test.is_client:
        return any("Reverse mode, remote host" in line for line in test.lines)
    head = table.heads[0] if table.heads else ""
    sends = "Retr" in head or ("Total Datagrams" in head and "Lost/" not in head)
    return sends or {row.role for row in table.summary} == {"sender"}


def _payload(rows: Iterable[_Row]) -> tuple[int, str]:
    """Bytes of a datagram by what all rows allow, and what is not sure of that. Raises ParseError."""
    low_bytes, high_bytes = 0.0, float(by_hand.LARGEST_PAYLOAD)
    for row in rows:
        datagrams = (row.packets or 0) - max(0, row.lost_packets or 0)
        if datagrams > 0 and not (row.role == "receiver" and row.lost_packets):
            row_low_bytes, row_high_bytes = row.low_bytes / datagrams, row.high_bytes / datagrams
            # else lost datagrams came in another interval
            if row_high_bytes >= low_bytes and row_low_bytes <= high_bytes:
                low_bytes, high_bytes = max(low_bytes, row_low_bytes), min(high_bytes, row_high_bytes)
    smallest_bytes, largest_bytes = max(1, -int(-low_bytes // 1)), int(high_bytes)
    if low_bytes <= 0 or smallest_bytes > largest_bytes:
        smallest_bytes = largest_bytes = max(1, round((low_bytes + high_bytes) / 2)) if low_bytes > 0 else 0
    if not 0 < smallest_bytes <= largest_bytes:
        raise ParseError("no row has datagrams, and so their size is not known")
    if smallest_bytes == largest_bytes:
        return smallest_bytes, ""
    usual_payload_bytes = next(
        (usual_bytes for usual_bytes in USUAL_PAYLOADS if smallest_bytes <= usual_bytes <= largest_bytes),
        None,
    )
    payload_bytes = usual_payload_bytes or _round_number(smallest_bytes, largest_bytes)
    return payload_bytes, (
        f"its datagrams have {smallest_bytes:,} to {largest_bytes:,} bytes by its figures, "
        f"taken as {payload_bytes:,}"
    )


def _round_number(smallest_bytes: int, largest_bytes: int) -> int:
    """The number of a range that most powers of two divide, else ten: sizes are asked for as such."""
    for step_bytes in (1 << bit for bit in range(15, 3, -1)):
        if (multiple_bytes := largest_bytes // step_bytes * step_bytes) >= smallest_bytes:
            return multiple_bytes
    return (smallest_bytes + largest_bytes) // 2


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    return next((match[1] for line in lines if (match := pattern.search(line))), None)
