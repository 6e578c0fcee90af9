# SPDX-License-Identifier: Apache-2.0
"""Somebody else's transfer over the same interface, cheap in CPU. Runs on a host.

``neighbour.py LIMIT_S take PORT`` discards what comes in the kernel (MSG_TRUNC, tcp(7)); ``neighbour.py
LIMIT_S send PORT ADDRESS RATE_BPS`` sends at that rate. Each says ``ready`` once it listens or is connected.
"""

from __future__ import annotations

import socket
import sys
import time

_CHUNK = 1 << 18


def _ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def take(port: int, end_s: float) -> None:
    """Discard until the end."""
    with socket.create_server(("", port)) as server:
        _ready()
        server.settimeout(max(0.0, end_s - time.monotonic()))
        peer, _ = server.accept()
        with peer:
            room = bytearray(_CHUNK)
            while time.monotonic() < end_s and peer.recv_into(room, _CHUNK, socket.MSG_TRUNC):
                pass


def send(port: int, end_s: float, address: str, rate_bps: float) -> None:
    """Send at a rate until the end."""
    chunk = bytes(_CHUNK)
    with socket.create_connection((address, port)) as peer:
        _ready()
        began_s, sent = time.monotonic(), 0
        while time.monotonic() < end_s:
            peer.sendall(chunk)
            sent += len(chunk)
            time.sleep(max(0.0, began_s + 8 * sent / rate_bps - time.monotonic()))  # the pace itself


def main(limit_s: str, what: str, port: str, *rest: str) -> None:
    """Either end."""
    end_s = time.monotonic() + float(limit_s)
    if what == "take":
        take(int(port), end_s)
    else:
        send(int(port), end_s, rest[0], float(rest[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
