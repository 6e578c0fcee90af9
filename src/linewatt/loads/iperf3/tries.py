# SPDX-License-Identifier: Apache-2.0
"""A port tried with iperf3: one block of 64 bytes. Pure."""

from __future__ import annotations

from linewatt.errors import ParseError
from linewatt.foreign import read_json
from linewatt.loads.base import Exchange


def server_command(exchange: Exchange) -> list[str]:
    """A server for one exchange."""
    return [
        "iperf3",
        "--server",
        "--one-off",
        *("--bind", exchange.server_address),
        *("--port", str(exchange.port)),
    ]


def client_command(exchange: Exchange) -> list[str]:
    """iperf3 itself begins with an exchange both ways, of datagrams with UDP."""
    own = [
        *("--bind", exchange.client_address),
        "--version6" if exchange.family == "ipv6" else "--version4",
    ]
    limit = ["--connect-timeout", f"{1000 * exchange.limit_s:.0f}"]
    kind = ["--udp", "--bitrate", "0"] if exchange.protocol == "UDP" else []
    block = ["--blockcount", "1", "--length", "64"]
    where = ["--client", exchange.server_address, "--port", str(exchange.port)]
    return ["iperf3", *where, *own, *limit, *kind, *block, "--json"]


def problem(stdout: str, stderr: str, status: int) -> str | None:
    """What went wrong, in iperf3's words; it may be that its status is 0."""
    try:
        error = read_json(stdout[stdout.find("{") :], "iperf3").get("error") if "{" in stdout else None
    except (ParseError, AttributeError):
        error = "its answer was cut off"
    if error is None and status == 0 and "{" in stdout:
        return None
    words = str(error or stderr.strip() or f"status {status}").splitlines()[-1]
    return words.removeprefix("error - ").removeprefix("iperf3: error - ")[:160]
