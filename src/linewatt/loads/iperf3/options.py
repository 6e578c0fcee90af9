# SPDX-License-Identifier: Apache-2.0
"""Options of iperf3 that a campaign may vary; everything else follows from the test."""

from __future__ import annotations

from linewatt.loads.base import Option
from linewatt.model import TestName

_SIZE = r"[1-9][0-9]{0,8}[KM]?"
_TCP: tuple[TestName, ...] = ("tcp",)
_ALL: tuple[TestName, ...] = ("tcp", "udp-1500", "udp-60")
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
