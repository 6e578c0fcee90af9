# SPDX-License-Identifier: Apache-2.0
"""What netperf printed at its client: text for people, or omni output as CSV or keys and values. Pure.

One file may hold several tests. netperf prints one mean of each whole test, and no time. A stamp on the line
before the test says when it ran, or interim results (``-D``) do. Throughput is what the receiver counted,
divided by the time until all of it had arrived (nettest_omni.c, nettest_bsd.c). CPU use is a share of all
CPUs; service demand tells how many these are (calc_service_demand_internal in netlib.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linewatt.engine.live import Record
from linewatt.errors import InvalidInput, ParseError
from linewatt.features.importing.captures import netperf_omni, netperf_text
from linewatt.features.importing.captures.folder import CaptureFile
from linewatt.features.importing.captures.model import Found, Track
from linewatt.features.importing.captures.netperf_model import (
    MOST_SECONDS,
    NAME,
    Interim,
    Measured,
    Section,
    Title,
)
from linewatt.features.importing.captures.stamps import stamp_line
from linewatt.foreign import contained, one_line
from linewatt.loads import Asked, LoadEnd, LoadInterval, ToldEnd
from linewatt.missing import Missing
from linewatt.model import Channel, TestName
from linewatt.sensors import WHOLE_HOST
from linewatt.sizes import udp_test

SETUP_S = 0.5
"""that netperf may take from its start to that of its test: it connects twice"""
STAMP_S = 0.01
"""by how much a time of an interim result may be off"""
MOST_TESTS = 1000
NO_DATE = "netperf does not print when its test ran"
NO_DATE_OF_SEVERAL = "netperf ran its test several times (-i) and prints their mean"
NO_CPU = "not in netperf's output (-c adds its own host's, -C the other's)"
NO_CPUS = (
    "netperf prints a share of all CPUs, whose number is not in its output "
    "(LOCAL_CPU_COUNT, REMOTE_CPU_COUNT)"
)
NOT_KNOWN = "not in netperf's output, which ran without its control connection (-N)"
NOT_SENT = "not in netperf's output (LOCAL_SEND_THROUGHPUT, LOCAL_SEND_CALLS)"
MEAN_OF = "netperf ran the test several times (-i) and printed the mean of them"
NOT_REACHED = "netperf says that it did not reach the confidence it was asked for"
TOLD = "netperf's throughput, one mean of the whole test"
ROUNDED_RATIO = 1e-4
"""rates that are rounded by less are taken as they are"""
_TITLE = re.compile(
    r"(?:MIGRATED )?((?:TCP|UDP|SCTP|DCCP|SDP|XTI|EXS|DLPI|OMNI|STREAM|DG|LOC_CPU|REM_CPU)[\w /|-]{0,40}) "
    r"(?:TEST|Test)(?: from \S{1,255} \(([^()]{0,64})\) port \d{1,5} \w{1,20})?"
    r"(?: to (\S{1,255})(?: \(([^()]{0,64})\) port \d{1,5} (\w{1,20}))?)?(?= |\Z)",
    re.ASCII,
)
_NO_SERVER = re.compile(r"establish.control(?: could not establish|: are you sure)", re.ASCII)
_WORDS = ("TEST", "Test", "THROUGHPUT", "Throughput", "ELAPSED_TIME", "Elapsed Time", "NETPERF_", "establish")
"""of which each of its files has one"""
_EXCHANGES = re.compile(r"request|connect|\|", re.ASCII | re.IGNORECASE)
_ANY_ADDRESS = ("", "0.0.0.0", "::", "::0")  # noqa: S104  what netperf prints, nothing is bound


def begins(text: str) -> bool:
    """Whether netperf printed this."""
    return any(word in text for word in _WORDS) and any(_is_netperf(line) for line in text.splitlines())


def find(file: CaptureFile) -> Found | None:
    """The tests of a file; ``None``: it is not netperf's. Raises ParseError, InvalidInput."""
    if not begins(file.text):
        return None
    lines = file.text.splitlines()
    sections = tuple(_sections(lines))
    exchanges = list(dict.fromkeys(name for section in sections if (name := _exchange(section))))
    streams = [section for section in sections if not _exchange(section)]
    if not streams:
        raise InvalidInput(
            f"holds netperf's {one_line(', '.join(exchanges))} test; request/response is not read"
            if exchanges
            else f"netperf says {one_line(_last_words(lines))!r}, and no test began"
        )
    tests: list[tuple[Section, Measured]] = []
    for number, section in enumerate(streams, start=1):
        with contained(f"test {number} of it" if len(streams) > 1 else "its text"):
            tests.extend((section, measured) for measured in _measured(section))
    if len(tests) > MOST_TESTS:
        raise InvalidInput(f"more than {MOST_TESTS} tests in one file; import it in parts")
    ends = tuple(_end(file, number, *test) for number, test in enumerate(tests, start=1))
    tracks = tuple(
        track
        for end, (_, measured) in zip(ends, tests, strict=True)
        for track in _tracks(file, end.key, measured)
    )
    return Found(file, NAME, ends=ends, tracks=tracks, note=_note(exchanges, tests))


def _is_netperf(line: str) -> bool:
    return bool(_TITLE.match(line) or _NO_SERVER.search(line)) or netperf_omni.is_line(line)


def _last_words(lines: Sequence[str]) -> str:
    return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "nothing")


def _note(exchanges: Sequence[str], tests: Sequence[tuple[Section, Measured]]) -> str | None:
    notes = []
    if exchanges:
        notes.append(f"its {one_line(', '.join(exchanges))} tests are left out: no request/response is read")
    if any(measured.is_without_header for _, measured in tests):
        notes.append("figures without a header (-P 0) are of the test, units and hosts of the header above")
    return "; ".join(notes) or None


def _sections(lines: Sequence[str]) -> Iterator[Section]:
    """The lines of each test, from its title on. Without a title a test begins with its first key, or its CSV
    header."""
    title: Title | None = None
    begun = stamp = None
    body: list[str] = []
    names: set[str] = set()
    for line in lines:
        match, name = _TITLE.match(line), netperf_omni.name_of(line)
        if match or name in names:
            if title is not None or names:
                yield Section(title, begun, tuple(body))
            title, begun, body, names = None, stamp, [], set()
        if match:
            title = _title(match, line)
        else:
            body.append(line)
        if name is not None:
            begun = stamp if title is None and not names else begun
            names.add(name)
        if line.strip():
            stamp = _stamp(line)
    if title is not None or names:
        yield Section(title, begun, tuple(body))


def _stamp(line: str) -> tuple[float, float] | None:
    """Unix seconds that stand alone in a line, and how far they are cut."""
    if not line[:1].isdigit():
        return None
    stamp = stamp_line(line)
    return (stamp[0], stamp[1]) if stamp is not None and stamp[2] else None


def _title(match: re.Match[str], line: str) -> Title:
    name, own_address, peer, peer_address, family = match.groups()
    after_title = line[match.end() :]
    return Title(
        name=name,
        own_address=own_address or "",
        peer=peer or peer_address or "",
        family="ipv6" if family == "AF_INET6" else "ipv4",
        is_migrated=line.startswith("MIGRATED"),
        is_mean=" conf." in after_title,
        has_no_control=": no control" in after_title,
    )


def _exchange(section: Section) -> str | None:
    """The name of a request/response test, which is not read."""
    if section.title is not None and _EXCHANGES.search(section.title.name):
        return section.title.name
    return netperf_omni.exchange(section)


def _measured(section: Section) -> Iterator[Measured]:
    is_omni = any(map(netperf_omni.is_line, section.lines))
    return netperf_omni.measured(section) if is_omni else netperf_text.measured(section)


def _end(file: CaptureFile, number: int, section: Section, measured: Measured) -> ToldEnd:
    request = _asked(measured)
    points = () if measured.is_mean else measured.points
    client, server = _both(measured, points)
    stamp = section.begun if not measured.is_without_header and not measured.is_mean else None
    begun = (points[0].end_s - points[0].seconds, STAMP_S) if points else stamp
    late_s = (begun[1] if begun else 0.0) + (0.0 if points else SETUP_S)
    return ToldEnd(
        file=file.name,
        node=None,
        is_client=True,
        peer=one_line(measured.peer)[:60],
        addresses=frozenset({one_line(measured.own_address)[:60]} - set(_ANY_ADDRESS)),
        port=0,
        key=f"{file.name} {number}"[-200:],
        begun_s=begun[0] if begun else 0.0,
        late_s=late_s,
        asked=request,
        own=client,
        other=server,
        told=TOLD,
        text="\n".join(section.lines),
        failure=measured.failure,
        undated=None if begun else NO_DATE_OF_SEVERAL if measured.is_mean else NO_DATE,
        rounded=_rounded(measured),
        finer="run netperf without -f, whose figures have more digits",
        own_missing=None if client.intervals or measured.failure is not None else NOT_SENT,
        no_cpu=_no_cpu(measured),
        mean_of=MEAN_OF if measured.is_mean else "",
        confidence_missed=f"{NOT_REACHED}{measured.not_reached}" if measured.not_reached else "",
    )


def _no_cpu(measured: Measured) -> str:
    """Why CPU use is missing where it is."""
    uses = (measured.local_cpu, measured.remote_cpu)
    return NO_CPUS if any(use is not None and use.cores is None for use in uses) else NO_CPU


def _rounded(measured: Measured) -> tuple[str, ...]:
    if measured.rounding < ROUNDED_RATIO:
        return ()
    return (f"netperf rounded its rates to ± {100 * measured.rounding:.2g} %",)


def _asked(measured: Measured) -> Asked:
    return Asked(
        load=NAME,
        test=_test(measured),
        family=measured.family,
        streams=1,
        is_reverse=measured.is_reverse,
        rate_bps=None,
        omit_s=0.0,
        seconds=None,
        options=measured.options,
        factors=(("sendfile", "on"),) if measured.is_sendfile else (),
        is_rate_told=False,
    )


def _test(measured: Measured) -> TestName:
    if not measured.is_udp:
        return "tcp"
    if measured.message_bytes is None:
        raise ParseError("its text ends before the size of its datagrams")
    return udp_test(measured.message_bytes, measured.family)


def _both(measured: Measured, points: Sequence[Interim]) -> tuple[LoadEnd, LoadEnd | Missing]:
    """The client's end and the other one. Raises ParseError."""
    if measured.failure is not None:
        return LoadEnd(not measured.is_reverse, "", (), 0.0, None), Missing("the test failed")
    if not 0 < measured.elapsed_s <= MOST_SECONDS:
        raise ParseError(f"netperf reports a test of {measured.elapsed_s:g} s")
    sender = _whole(measured, is_sender=True)
    receiver = _whole(measured, is_sender=False)
    client, server = (receiver, sender) if measured.is_reverse else (sender, receiver)
    if client is None:
        return LoadEnd(not measured.is_reverse, "", (), measured.elapsed_s, None), server or Missing(
            NOT_KNOWN
        )
    if points:
        intervals = tuple(_intervals(points))
        client = LoadEnd(
            client.is_sender, "", intervals, intervals[-1].end_s, None, retransmits=client.retransmits
        )
    return client, server or Missing(NOT_KNOWN)


def _whole(measured: Measured, *, is_sender: bool) -> LoadEnd | None:
    """One count of the whole test; ``None``: not known."""
    rate = measured.sent_bytes_per_s if is_sender else measured.arrived_bytes_per_s
    if rate is None:
        return None
    sent, arrived = measured.sent_messages, measured.arrived_messages
    lost = None if sent is None or arrived is None or is_sender else sent - arrived
    interval = LoadInterval(
        0.0,
        measured.elapsed_s,
        round(rate * measured.elapsed_s),
        packets=sent if is_sender or arrived is not None else None,
        lost_packets=lost,
    )
    retransmits = measured.retransmits if is_sender else None
    return LoadEnd(is_sender, "", (interval,), measured.elapsed_s, None, retransmits=retransmits)


def _intervals(points: Sequence[Interim]) -> Iterator[LoadInterval]:
    """Interim results as seconds since the first began. Raises ParseError where they go back in time."""
    begun_s = points[0].end_s - points[0].seconds
    before_s = 0.0
    for point in points:
        end_s = point.end_s - begun_s
        if not before_s <= end_s <= MOST_SECONDS:
            raise ParseError("its interim results go back in time")
        seconds = min(point.seconds, end_s - before_s)
        if seconds > 0:
            yield LoadInterval(end_s - seconds, end_s, round(point.bytes_per_s * seconds))
        before_s = end_s


def _tracks(file: CaptureFile, key: str, measured: Measured) -> Iterator[Track]:
    """CPU use of netperf's own host, and of the other one, where it was asked for."""
    for use, of_peer in ((measured.local_cpu, False), (measured.remote_cpu, True)):
        cores = None if use is None else use.cores
        if cores is not None and measured.failure is None:
            yield Track(
                file=file,
                source=NAME,
                records=(Record(measured.elapsed_s, measured.elapsed_s, "", {WHOLE_HOST: cores}),),
                channels={WHOLE_HOST: Channel(WHOLE_HOST, "cores", "mean", "host")},
                clock="unix",
                resolution_s=0.0,
                of_peer=of_peer,
                test=key,
            )
