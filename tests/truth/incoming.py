# SPDX-License-Identifier: Apache-2.0
"""Which CPU takes the receive work of a connection, asked of its socket (SO_INCOMING_CPU). Runs on hosts.

``incoming.py LIMIT_S take FIRST LAST`` listens on these ports, says ``ready``, and writes a line ``PORT
SOURCE CPU`` for each connection; ``incoming.py LIMIT_S ask ADDRESS FIRST LAST SOURCES…`` makes one from each
of these source ports to each port, and says ``ready`` when all are answered. Connections end by a reset, so
that no port is in use after them.
"""

from __future__ import annotations

import selectors
import socket
import struct
import sys
import time

_INCOMING_CPU = 49  # SO_INCOMING_CPU
_AT_ONCE = struct.pack("ii", 1, 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def take(first: int, last: int, end_s: float) -> None:
    """Answer until the end."""
    ready = selectors.DefaultSelector()
    for port in range(first, last + 1):
        ready.register(socket.create_server(("", port)), selectors.EVENT_READ, port)
    _say("ready")
    while (left_s := end_s - time.monotonic()) > 0:
        for key, _ in ready.select(left_s):
            server = key.fileobj
            assert isinstance(server, socket.socket)
            peer, source = server.accept()
            with peer:
                peer.recv(1)
                cpu = peer.getsockopt(socket.SOL_SOCKET, _INCOMING_CPU)
                _say(f"{key.data} {source[1]} {cpu}")
                peer.send(b".")


def ask(address: str, first: int, last: int, sources: list[int]) -> None:
    """One connection each."""
    for port in range(first, last + 1):
        for source in sources:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind(("", source))
                one.connect((address, port))
                one.send(b".")
                one.recv(1)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    _say("ready")


def main(limit_s: str, what: str, *rest: str) -> None:
    """Either end."""
    if what == "take":
        take(int(rest[0]), int(rest[1]), time.monotonic() + float(limit_s))
    else:
        ask(rest[0], int(rest[1]), int(rest[2]), [int(word) for word in rest[3:]])


if __name__ == "__main__":
    main(*sys.argv[1:])
