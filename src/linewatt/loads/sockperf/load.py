# SPDX-License-Identifier: Apache-2.0
"""sockperf: one instance is one server, which is stopped, and one client process.

Facts that shape the flags and the parser (docs/loads.md has the version that was tried):

- Whatever goes wrong, its status is 0: only what it prints tells.
- It prints when it ends, once: figures are of its whole run, not of the window.
- Times are taken from the CPU's own clock (TSC). With ``--no-rdtsc`` 3.7 takes ticks of that clock for
  nanoseconds in its rate and warm-up, so that 1000 messages a second are 385 on 2.6 GHz: it is never used.
- The server's gap detection writes a line a gap, without bound: lost is what was sent and not received.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from linewatt.errors import InvalidInput
from linewatt.loads.base import Exchange, Load, LoadEnd, LoadJob, Option, Version, Wanted
from linewatt.loads.sockperf.parser import failure, load_end
from linewatt.model import TestName, is_request_response, is_tcp
from linewatt.sizes import ANY_SIZE

MINIMUM_VERSION = (3, 6)
"""first with ``--client_ip``"""
LEAST_MESSAGE_BYTES = 14
MOST_MESSAGE_BYTES = 65_507
WARM_UP_S = 0.4
"""at the start of a request/response test, and out of its figures"""

_DEFAULT_BYTES: dict[TestName, int] = {"tcp": 16_384, "tcp-rr": 64, "udp-rr": 64}
_OVER_TCP = ("--tcp", "--uc-reuseaddr")
"""Without the second a server cannot have a port for a minute after a connection that the server's end closed
(TIME_WAIT). Not over UDP, where two servers could have one port then."""


class Sockperf(Load):
    """Commands and parser of sockperf; all pure."""

    name = "sockperf"
    text_pattern = r"^sockperf: "
    package = "sockperf"
    version_pattern = re.compile(r"sockperf, version (\d+(?:\.\d+)+)")
    """``sockperf, version 3.7-no.git`` → (3, 7)"""
    minimum_version = MINIMUM_VERSION
    tests = ("tcp-rr", "udp-rr", "tcp", ANY_SIZE)
    least_datagram_bytes = LEAST_MESSAGE_BYTES
    lead_s = 2.1
    """0.1 s to learn the rate of the CPU's clock, and a sleep of 2 s, also with ``--dontwarmup``"""
    trail_s = 0.1
    try_limit_s = 5.0
    server_ends = False
    options: ClassVar = {
        "size": Option(
            "--msg-size",
            f"bytes of a message, {LEAST_MESSAGE_BYTES} to {MOST_MESSAGE_BYTES}",
            r"[1-9][0-9]{1,4}",
            "1024",
            ("tcp-rr", "udp-rr", "tcp"),
        )
    }

    def refusals(self, wanted_case: Wanted) -> Iterator[tuple[str, str]]:
        yield from super().refusals(wanted_case)
        if wanted_case.direction == "reverse":
            yield "directions", "sockperf has no reverse: its client sends; name the pair the other way round"
        if wanted_case.family == "ipv6":
            yield "families", "sockperf 3.7 has no IPv6; take ipv4"
        if wanted_case.streams > 1:
            yield (
                "streams",
                f"sockperf has one connection a process, not {wanted_case.streams}; take instances",
            )
        if wanted_case.zerocopy:
            yield "zerocopy", "sockperf cannot send without copying; take it out"
        if wanted_case.omit_s < 2 * WARM_UP_S:
            yield "omit", f"sockperf warms up for {WARM_UP_S:g} s; set at least {2 * WARM_UP_S:g}"

    def option(self, name: str, value: str) -> str:
        checked = super().option(name, value)
        if name == "size" and not LEAST_MESSAGE_BYTES <= int(checked) <= MOST_MESSAGE_BYTES:
            minimum, maximum = LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES
            raise InvalidInput(f"sockperf.size must be {minimum} to {maximum} bytes; got {value!r}")
        return checked

    def server_command(self, job: LoadJob, version: Version) -> list[str]:
        """Serves until it is interrupted, then prints its count. Raises InvalidInput."""
        return [
            *("sockperf", "server", "--ip", job.server_address, "--port", str(job.port)),
            *(_OVER_TCP if is_tcp(job.test) else []),
            *("--msg-size", str(self._checked(job, version).message_bytes)),
        ]

    def client_command(self, job: LoadJob, version: Version) -> list[str]:
        """Connects, runs for the job's seconds (rounded up), prints what it counted. Raises InvalidInput."""
        settings = self._checked(job, version)
        return [
            *("sockperf", "ping-pong" if is_request_response(job.test) else "throughput"),
            *("--ip", job.server_address, "--port", str(job.port)),
            *(["--tcp"] if is_tcp(job.test) else []),
            *("--msg-size", str(settings.message_bytes)),
            *("--time", str(math.ceil(job.duration_s))),
            *(["--client_ip", job.client_address] if job.client_address is not None else []),
            *(["--mps", str(settings.messages_hz)] if settings.messages_hz is not None else []),
        ]

    def parse(self, text: str, argv: Sequence[str] = (), peer: str = "") -> LoadEnd:
        """One end's account; the server's is over the time that its client says it ran."""
        return load_end(text, argv, peer)

    def complaint(self, stdout: str, stderr: str) -> str:
        return failure(f"{stdout}\n{stderr}") or super().complaint(stdout, stderr)

    def try_server(self, exchange: Exchange) -> list[str]:
        over_tcp = _OVER_TCP[1:] if exchange.protocol == "TCP" else []
        return ["sockperf", "server", *_at(exchange), *over_tcp]

    def try_client(self, exchange: Exchange) -> list[str]:
        """Ten messages in the one second that is its shortest."""
        return [
            *("sockperf", "ping-pong", *_at(exchange)),
            *("--client_ip", exchange.client_address, "--time", "1", "--mps", "10"),
        ]

    def try_problem(self, stdout: str, stderr: str, status: int) -> str | None:
        if wrong := failure(f"{stdout}\n{stderr}"):
            return wrong
        return None if status == 0 and "[Total Run]" in stdout else f"it said nothing, status {status}"

    def _checked(self, job: LoadJob, version: Version) -> _Made:
        """What a job comes to here. Raises InvalidInput for what sockperf, or this copy of it, cannot do."""
        if wrong := self.too_old(version):
            raise InvalidInput(wrong)
        size = dict(job.options).get("size") or _DEFAULT_BYTES.get(job.test) or job.datagram_bytes
        if size is None:
            raise InvalidInput(f"sockperf has no test {job.test} over {job.family}")
        message_bytes = int(self.option("size", str(size)))
        messages_hz = None if job.rate_bps is None else round(job.rate_bps / (8 * message_bytes))
        if messages_hz == 0:
            raise InvalidInput(
                f"{job.rate_bps:g} bit/s is less than a message of {message_bytes} bytes a second"
            )
        return _Made(message_bytes, messages_hz)


class _Made(NamedTuple):
    """Messages of a job: their size, and how many a second; ``None``: as fast as it goes."""

    message_bytes: int
    messages_hz: int | None


def _at(exchange: Exchange) -> list[str]:
    tcp = ["--tcp"] if exchange.protocol == "TCP" else []
    return ["--ip", exchange.server_address, "--port", str(exchange.port), *tcp]
