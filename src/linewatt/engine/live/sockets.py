# SPDX-License-Identifier: Apache-2.0
"""TCP connections as ``ss -tim`` of iproute2 tells them: asked for by port, and parsed. Pure.

Shape: a line with state, queues and addresses, then an indented one with the socket's memory and the kernel's
``tcp_info``: ``skmem:(…)``, the name of the congestion control, and words as ``rtt:0.05/0.01``. What a kernel
or an iproute2 does not tell is left out: bytes_acked is of iproute2 4.1 and Linux 4.1, busy and what limits
of 4.9 both, bytes_sent of 4.20 and 5.0; times that are 0 are left out, too (iproute2, misc/ss.c,
tcp_stats_print).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SCRIPT = 'PATH=$PATH:/usr/sbin:/sbin; ss -Htinm state established "$1"'
_ENDS = re.compile(r"^\S*\s*\d+\s+\d+\s+\S+:(\d{1,5})\s+\S+:(\d{1,5})(?:\s|$)")
_DECIMAL = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)"
_TIME = rf"{_DECIMAL}ms"
_MEMORY = re.compile(r" skmem:\(([^)]*)\)")
_NOT_A_NAME = re.compile(r"[:(]|^(ts|sack|ecn|ecnseen|fastopen|lp|app_limited|delivered)$")


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection at one end. Times are of its whole life; None: not told."""

    local_port: int
    peer_port: int
    sent_bytes: int
    congestion: str | None = None
    rtt_s: float | None = None
    mss_bytes: int | None = None
    cwnd_packets: int | None = None
    busy_s: float | None = None
    rwnd_limited_s: float | None = None
    sndbuf_limited_s: float | None = None
    send_buffer_bytes: int | None = None


def command(ports: Sequence[int]) -> list[str]:
    """Prints the connections from or to these ports."""
    port_filter = " or ".join(f"sport = :{port} or dport = :{port}" for port in dict.fromkeys(ports))
    return ["bash", "-c", _SCRIPT, "linewatt", f"( {port_filter} )"]


def parse(text: str) -> tuple[Connection, ...]:
    """Every connection; one whose second line is missing or cut has what is there."""
    return tuple(_connection(ends, details) for ends, details in _blocks(text))


def _blocks(text: str) -> Iterator[tuple[re.Match[str], str]]:
    ends, details = None, ""
    for line in text.splitlines():
        match = _ENDS.match(line)
        if match is None:
            details += f" {line.strip()} "
            continue
        if ends is not None:
            yield ends, details
        # old versions can print both on one line
        ends, details = match, f" {line[match.end() :].strip()} "
    if ends is not None:
        yield ends, details


def _connection(ends: re.Match[str], details: str) -> Connection:
    busy_s = _seconds(details, "busy")
    memory = _MEMORY.search(details)
    send_buffer = re.search(r"(?:^|,)tb([0-9]{1,19})(?:,|$)", memory[1]) if memory else None
    return Connection(
        int(ends[1]),
        int(ends[2]),
        sent_bytes=_integer(details, "bytes_sent") or _integer(details, "bytes_acked") or 0,
        congestion=_congestion(_MEMORY.sub("", details)),
        rtt_s=_milli(re.search(rf" rtt:{_DECIMAL}/", details)),
        mss_bytes=_integer(details, "mss"),
        cwnd_packets=_integer(details, "cwnd"),
        busy_s=busy_s,
        rwnd_limited_s=None if busy_s is None else _seconds(details, "rwnd_limited") or 0.0,
        sndbuf_limited_s=None if busy_s is None else _seconds(details, "sndbuf_limited") or 0.0,
        send_buffer_bytes=int(send_buffer[1]) if send_buffer else None,
    )


def _congestion(details: str) -> str | None:
    """The first word that is neither an option of TCP nor a value: ``ts sack ecn cubic wscale:7,7 …``."""
    for word in details.split():
        if ":" in word:
            return None
        if not _NOT_A_NAME.search(word):
            return word
    return None


def _integer(details: str, key: str) -> int | None:
    match = re.search(rf" {key}:([0-9]{{1,19}})(?=\s)", details)
    return int(match[1]) if match else None


def _seconds(details: str, key: str) -> float | None:
    return _milli(re.search(rf" {key}:{_TIME}", details))


def _milli(match: re.Match[str] | None) -> float | None:
    return float(match[1]) / 1000 if match else None
