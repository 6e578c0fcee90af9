# SPDX-License-Identifier: Apache-2.0
"""iperf3, the field's standard generator: one instance is one server and one client process.

Facts that shape the flags and the parser (docs/loads.md has the versions that were tried):

- ``--bitrate`` is per stream and UDP's default is 1 Mbit/s, so it is always given, 0 for unlimited.
- Rate limits up to 3.17 run on a 1 ms timer in step with the kernel's tick, which hides the CPU used from
  tick accounting (docs/sensors.md#mpstat): a timer that divides no tick is set. Later ones only pass the
  option to an older peer.
- A failed run can exit with status 0 and still print intervals: only ``error`` in the JSON tells.
- ``--time`` takes whole seconds, 1 to 86,400.

What binds a process to its CPUs is put before its command: ``placement/pin.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from linewatt.errors import InvalidInput, NobodyCame, ParseError
from linewatt.foreign import KIB, MIB, one_line, read_json
from linewatt.loads.base import (
    Exchange,
    Load,
    LoadEnd,
    LoadJob,
    Option,
    Protocol,
    ToldEnd,
    Version,
    version_text,
)
from linewatt.loads.iperf3.files import ends_of
from linewatt.loads.iperf3.parser import (
    MAX_DURATION_S,
    MAX_STREAMS,
    error_of,
    json_after_warnings,
    load_end,
    nobody_came,
)
from linewatt.loads.iperf3.text import ends_of_text
from linewatt.missing import Missing
from linewatt.model import TestName
from linewatt.sizes import ANY_SIZE, MINIMUM_FRAME_BYTES, frame_bytes, too_small

MINIMUM_VERSION = (3, 2)
"""first with ``--connect-timeout`` and ``--pacing-timer``"""

DONT_FRAGMENT_FROM = (3, 10)
"""first with ``--dont-fragment``"""
SERVER_CPU_FROM = (3, 10)
"""first whose server counts its CPU time from the test on, and not from when it began to listen (esnet/iperf
issue 1076)"""
ZEROCOPY_REVERSE_FROM = (3, 11)
"""first that sends without a copy as a server, too"""

MOST_SAID = 300
"""characters of its own words in a message"""

CONNECT_TIMEOUT_MS = 3000

PACING_TIMER_US = 317
"""Prime, and no divisor of a tick of 1, 2.5, 3.33, 4 or 10 ms: the load visits every phase of it."""

_SIZE = r"[1-9][0-9]{0,8}[KM]?"
_TCP: tuple[TestName, ...] = ("tcp",)
_ALL: tuple[TestName, ...] = ("tcp", ANY_SIZE)
OPTIONS: dict[str, Option] = {
    "window": Option("--window", "socket buffer, bytes, K or M", _SIZE, "512K", _ALL),
    "length": Option("--length", "bytes of one read or write, K or M", _SIZE, "128K", _TCP),
    "mss": Option("--set-mss", "TCP maximum segment size, bytes", r"[1-9][0-9]{1,4}", "1400", _TCP),
    "congestion": Option(
        "--congestion", "congestion control algorithm", r"[a-z][a-z0-9_]{0,15}", "bbr", _TCP
    ),
    "nodelay": Option("--no-delay", "whether small segments are sent at once", None, "on", _TCP),
}
"""UDP's length is what makes its test"""


class Iperf3(Load):
    """Commands and parser of iperf3; all pure."""

    name = "iperf3"
    package = "iperf3"
    version_pattern = re.compile(r"^iperf (\d+(?:\.\d+)+)", re.MULTILINE)
    """``iperf 3.17.1+ (cJSON …)`` → (3, 17, 1)"""
    minimum_version = MINIMUM_VERSION
    tests = _ALL
    least_datagram_bytes = 16
    """its own stamp and number"""
    options = OPTIONS
    is_default = True
    suffix = "json"
    soaks = True
    threaded_from = (3, 16)
    """its release notes"""
    timer_option = "--pacing-timer"
    busy_waits = ((3, 16), (3, 18))
    by_hand = "iperf3 --json or text"
    text_pattern = (
        r"^\[ *(?:ID|\d+)\] Interval +Transfer +(?:Bitrate|Bandwidth) +(?:Retr|Jitter|Total|Cwnd|Lost)"
        r"|^iperf Done\.|^Server listening on \d+ \(test"
    )
    both_ends = "iperf3 --server --json, or --get-server-output at the client"

    def server_command(self, job: LoadJob, version: Version) -> list[str]:
        """One test, then it ends and prints its JSON. Raises InvalidInput."""
        _check(job, version)
        return [
            *("iperf3", "--server", "--one-off", "--json"),
            *("--port", str(job.port)),
            *("--bind", job.server_address),
            *("--interval", f"{job.interval_s:g}"),
        ]

    def client_command(self, job: LoadJob, version: Version) -> list[str]:
        """Connects, runs for the job's seconds (rounded up) and prints its JSON. Raises InvalidInput."""
        _check(job, version)
        command = [
            *("iperf3", "--client", job.server_address, "--json"),
            *("--port", str(job.port)),
            "--version6" if job.family == "ipv6" else "--version4",
            *("--time", str(math.ceil(job.duration_s))),
            *("--interval", f"{job.interval_s:g}"),
            *("--connect-timeout", str(CONNECT_TIMEOUT_MS)),
            *_rate_flags(job),
            *_udp_flags(job, version),
        ]
        if job.client_address is not None:
            command += ["--bind", job.client_address]
        if job.streams > 1:
            command += ["--parallel", str(job.streams)]
        if job.reverse:
            command.append("--reverse")
        if job.zerocopy:
            command.append("--zerocopy")
        return [*command, *self.option_flags(job.options)]

    def most_bytes(self, job: LoadJob) -> int:
        """Streams have 200 to 500 bytes an interval, and some thousand each besides (3.12 to 3.21)."""
        intervals = math.ceil(job.duration_s / job.interval_s)
        return MIB + KIB * (intervals + 8) * (job.streams + 2)

    def listens(self, protocol: Protocol) -> Protocol:
        """The control connection is TCP, whatever is measured."""
        return "TCP"

    def parse(self, text: str, argv: Sequence[str] = (), peer: str = "") -> LoadEnd:
        """One end's account from its JSON.

        An interval sums all streams. ``cpu_cores`` is iperf3's ``host_total`` (getrusage of its own
        process, all threads). Raises ParseError with iperf3's own words when the test failed, even
        if it got as far as printing intervals: half a test is no test; NobodyCame at a server that no client
        had come to.
        """
        document = json_after_warnings(text)
        if "error" in document:
            why = f"iperf3: {one_line(str(document['error'])[:MOST_SAID])}"
            raise (NobodyCame if nobody_came(document) else ParseError)(why)
        try:
            return load_end(document)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            shown = one_line(repr(error)[:MOST_SAID])
            raise ParseError(f"iperf3: its JSON has an unknown shape: {shown}") from error

    def ends_of(self, file: str, text: str, documents: tuple[Any, ...]) -> tuple[ToldEnd, ...] | None:
        ends = ends_of(file, text, documents)
        return None if ends is None else tuple(map(_with_cpu_of_the_test, ends))

    def ends_of_text(self, file: str, text: str) -> tuple[ToldEnd, ...] | None:
        ends = ends_of_text(file, text)
        return None if ends is None else tuple(map(_with_cpu_of_the_test, ends))

    def complaint(self, stdout: str, stderr: str) -> str:
        return error_of(stdout) or super().complaint(stdout, stderr)

    def tried(self, tests: Iterable[TestName]) -> tuple[Protocol, ...]:
        """TCP first: iperf3 needs it to agree on a test of UDP."""
        return tuple(dict.fromkeys(("TCP", *super().tried(tests))))

    def try_server(self, exchange: Exchange) -> list[str]:
        where = ["--bind", exchange.server_address, "--port", str(exchange.port)]
        return ["iperf3", "--server", "--one-off", *where]

    def try_client(self, exchange: Exchange) -> list[str]:
        """One block of 64 bytes: iperf3 itself begins with an exchange both ways, of datagrams with UDP."""
        family = "--version6" if exchange.family == "ipv6" else "--version4"
        limit = ["--connect-timeout", f"{1000 * exchange.limit_s:.0f}"]
        kind = ["--udp", "--bitrate", "0"] if exchange.protocol == "UDP" else []
        block = ["--blockcount", "1", "--length", "64"]
        where = ["--client", exchange.server_address, "--port", str(exchange.port)]
        return ["iperf3", *where, "--bind", exchange.client_address, family, *limit, *kind, *block, "--json"]

    def try_problem(self, stdout: str, stderr: str, status: int) -> str | None:
        """What went wrong, in iperf3's words; it may be that its status is 0."""
        try:
            error = read_json(stdout[stdout.find("{") :], "iperf3").get("error") if "{" in stdout else None
        except (ParseError, AttributeError):
            error = "its answer was cut off"
        if error is None and status == 0 and "{" in stdout:
            return None
        words = str(error or stderr.strip() or f"status {status}").splitlines()[-1]
        return words.removeprefix("error - ").removeprefix("iperf3: error - ")[:160]


def _with_cpu_of_the_test(told_end: ToldEnd) -> ToldEnd:
    """A test without the server's CPU use, unless its version is known to count that of the test."""
    end = told_end.other if told_end.is_client else told_end.own
    if isinstance(end, Missing):
        return told_end
    version = tuple(int(part) for part in re.findall(r"\d+", end.version)[:2])
    if version >= SERVER_CPU_FROM:
        return told_end
    blind = replace(end, cpu_cores=None)
    return replace(told_end, other=blind) if told_end.is_client else replace(told_end, own=blind)


def _check(job: LoadJob, version: Version) -> None:
    """Raises InvalidInput for what iperf3, or this copy of it, cannot do."""
    if wrong := Iperf3().too_old(version):
        raise InvalidInput(wrong)
    if not 0 < job.duration_s <= MAX_DURATION_S:
        raise InvalidInput(f"iperf3 runs 1 to {MAX_DURATION_S} s, not {job.duration_s:g} s; cut it in parts")
    if not 1 <= job.streams <= MAX_STREAMS:
        raise InvalidInput(f"iperf3 runs 1 to {MAX_STREAMS} streams a process, not {job.streams}")
    if job.rate_bps is not None and job.rate_bps / job.streams < 1:
        raise InvalidInput(f"a rate of {job.rate_bps:g} bit/s is not a rate; leave it out to run unlimited")
    if why := too_small(job.test, job.family):
        raise InvalidInput(why)
    if job.zerocopy and job.test != "tcp":
        raise InvalidInput(f"zerocopy is for tcp; {job.test} would ignore it")
    if job.zerocopy and job.reverse and version < ZEROCOPY_REVERSE_FROM:
        needed = version_text(ZEROCOPY_REVERSE_FROM)
        shown = version_text(version)
        raise InvalidInput(f"iperf3 {shown} ignores zerocopy in reverse; {needed} or later is needed")


def _rate_flags(job: LoadJob) -> list[str]:
    """iperf3 limits each stream, linewatt each instance."""
    if job.rate_bps is None:
        return ["--bitrate", "0"]
    per_stream_bps = round(job.rate_bps / job.streams)
    return ["--bitrate", str(per_stream_bps), "--pacing-timer", str(PACING_TIMER_US)]


def _udp_flags(job: LoadJob, version: Version) -> list[str]:
    """64-bit counters, because 32 bits wrap within the hour at a million packets a second."""
    if job.datagram_bytes is None:
        return []
    flags = ["--udp", "--length", str(job.datagram_bytes), "--udp-counters-64bit"]
    could_be_cut = frame_bytes(job.test) != MINIMUM_FRAME_BYTES and job.family == "ipv4"
    if could_be_cut and version >= DONT_FRAGMENT_FROM:
        flags.append("--dont-fragment")
    return flags
