# SPDX-License-Identifier: Apache-2.0
"""What sockperf prints when it ends, as one end's account of a test. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from linewatt.errors import ParseError
from linewatt.foreign import one_line
from linewatt.loads.base import LoadEnd, LoadInterval

MOST_SAID = 200
CLOCK_RATIO = 0.02
"""its seconds may differ from those of its timer by so much and ``CLOCK_S``"""
CLOCK_S = 0.2

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_VERSION = re.compile(r"version #(\S+)")
_COUNT = r"(\d{1,18})"
_SECONDS = r"(\d{1,9}\.\d{1,9}) sec"
_SENT = re.compile(rf"Total of {_COUNT} messages sent in {_SECONDS}")
_RUN = re.compile(rf"\[Total Run\] RunTime={_SECONDS}; Warm up time=(\d{{1,9}}) msec;")
_VALID = re.compile(
    rf"\[Valid Duration\] RunTime={_SECONDS}; SentMessages={_COUNT}; ReceivedMessages={_COUNT}"
)
_SERVED = re.compile(rf"Total {_COUNT} messages received and handled")
_DISORDER = re.compile(
    rf"# dropped messages = {_COUNT}; # duplicated messages = {_COUNT}; # out-of-order messages = {_COUNT}"
)
_PERCENTILE = re.compile(r"---> (?:percentile (\d{1,2}\.\d{3})|<(MAX)> observation) *= *(\d{1,15}\.\d{1,9})")
_NAMES = {"50.000": "p50", "99.000": "p99", "99.900": "p99.9", "MAX": "max"}
_WRONG = re.compile(
    r"sockperf: +(?:ERROR: (?:\[fd=\d+\] )?(.+)|('-.+' Invalid.+)|(No messages were (?:sent|received)[^.]*))"
)


def failure(text: str) -> str | None:
    """What it says of its failure, in its own words; its status says nothing."""
    match = _WRONG.search(_COLOURS.sub("", text))
    return None if match is None else one_line(next(filter(None, match.groups())).strip()[:MOST_SAID])


@dataclass(frozen=True, slots=True)
class _Account:
    """What a client says: seconds of its run, from when to when it counted, and what."""

    seconds: float
    start_s: float
    end_s: float
    sent: int
    answered: int | None = None
    """of a request/response test; throughput has no answers"""
    duplicated: int | None = None
    out_of_order: int | None = None


def load_end(text: str, argv: Sequence[str], peer: str) -> LoadEnd:
    """The client's account, or the server's over the time its client ran. Raises ParseError."""
    text, peer = _COLOURS.sub("", text), _COLOURS.sub("", peer)
    is_client = "[SERVER]" not in text
    if wrong := failure(text):
        raise ParseError(f"sockperf: {wrong}")
    account = _account(text if is_client else peer)
    if is_client:
        _check_clock(account.seconds, _number(argv, "--time"))
    arrived = account.sent if is_client else _arrived(text, account)
    packets = lost = None
    if "--tcp" not in argv:
        packets = max(account.sent, arrived)
        lost = None if is_client else packets - arrived
    size = _number(argv, "--msg-size")
    interval = LoadInterval(
        account.start_s, account.end_s, arrived * size, packets=packets, lost_packets=lost
    )
    return LoadEnd(
        is_sender=is_client,
        version=_version(text),
        intervals=(interval,),
        duration_s=account.seconds,
        cpu_cores=None,
        out_of_order_packets=None if packets is None or is_client else account.out_of_order,
        duplicate_packets=None if packets is None or is_client else account.duplicated,
        latency_s=_latency_s(text),
    )


def _account(text: str) -> _Account:
    """Of a client's output, without colours. Raises ParseError."""
    if not text.strip():
        raise ParseError("sockperf's client wrote nothing")
    sent, run, valid = _SENT.search(text), _RUN.search(text), _VALID.search(text)
    if sent is not None:
        account = _Account(float(sent[2]), 0.0, float(sent[2]), int(sent[1]))
    elif run is not None and valid is not None:
        start_s = int(run[2]) / 1000
        disorder = _DISORDER.search(text)
        counts = (None, None) if disorder is None else (int(disorder[2]), int(disorder[3]))
        end_s = start_s + float(valid[1])
        account = _Account(float(run[1]), start_s, end_s, int(valid[2]), int(valid[3]), *counts)
    else:
        raise ParseError("sockperf's client ended without its counts")
    if not 0 <= account.start_s < account.end_s <= account.seconds + CLOCK_S:
        raise ParseError(
            f"sockperf counted from {account.start_s:g} to {account.end_s:g} s of {account.seconds:g} s"
        )
    return account


def _check_clock(seconds: float, asked_s: int) -> None:
    """Its timer is the kernel's, and its seconds are those of the CPU's clock. Raises ParseError."""
    if abs(seconds - asked_s) > CLOCK_S + CLOCK_RATIO * asked_s:
        raise ParseError(
            f"sockperf ran for {asked_s} s and says {seconds:g} s: it takes the CPU's clock for another "
            "rate than it has, and no time it says can be used"
        )


def _arrived(text: str, account: _Account) -> int:
    """Messages that came to the server in the time of the account. Raises ParseError."""
    served = _SERVED.search(text)
    if served is None:
        raise ParseError("sockperf's server ended without its count")
    return int(served[1]) if account.answered is None else account.answered


def _latency_s(text: str) -> dict[str, float]:
    """Percentiles of half a round trip, as sockperf has them in µs; empty for throughput."""
    percentiles = {
        match[1] or match[2]: round(float(match[3]) / 1e6, 9) for match in _PERCENTILE.finditer(text)
    }
    return {name: percentiles[key] for key, name in _NAMES.items() if key in percentiles}


def _version(text: str) -> str:
    match = _VERSION.search(text)
    return match[1][:40] if match else "?"


def _number(argv: Sequence[str], option: str) -> int:
    """A number of the command line. Raises ParseError."""
    for name, value in pairwise(argv):
        if name == option and value.isdecimal() and len(value) < 10:
            return int(value)
    raise ParseError(f"sockperf was called without {option}")
