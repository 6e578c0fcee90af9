# SPDX-License-Identifier: Apache-2.0
"""When connections are opened, seen on the wire: ``python -m bench.wire`` inside a lab's switch namespace.

Prints a line for every TCP SYN that passes: the kernel's own receive stamp (Unix nanoseconds), addresses and
ports. The kernel drops all other frames before they get here, so that looking costs next to nothing.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.rows import MeasurementFailed

_ETHERTYPE_IPV4 = 0x0800
_ALL = 0x0003
"""a bridge takes frames from its ports before anyone who asks for one protocol sees them"""
_SO_ATTACH_FILTER = 26
_SO_TIMESTAMPNS = 35  # asm-generic/socket.h
_FRAME = 96
_READY = "ready"

# Classic BPF (linux/filter.h: code, jump if true, jump if false, operand), offsets from the Ethernet header
_SYN_ONLY = (
    (0x28, 0, 0, 12),  # ethertype …
    (0x15, 0, 9, _ETHERTYPE_IPV4),
    (0x30, 0, 0, 23),  # … protocol
    (0x15, 0, 7, socket.IPPROTO_TCP),
    (0x28, 0, 0, 20),  # … not a later fragment
    (0x45, 5, 0, 0x1FFF),
    (0xB1, 0, 0, 14),  # length of the IP header
    (0x50, 0, 0, 14 + 13),  # TCP flags: SYN without ACK
    (0x54, 0, 0, 0x12),
    (0x15, 0, 1, 0x02),
    (0x06, 0, 0, _FRAME),
    (0x06, 0, 0, 0),
)


@dataclass(frozen=True, slots=True)
class Opening:
    """One connection being opened; ``time_s`` is Unix seconds."""

    time_s: float
    client: str
    server: str
    client_port: int
    server_port: int


class Watcher:
    """The openings seen so far; a SYN that passes several ports of the switch, or again, counts once."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str, int, int], Opening] = {}

    def take(self, line: str) -> None:
        """One line as :func:`main` prints it."""
        nanoseconds, client, server, client_port, server_port = line.split()
        key = client, server, int(client_port), int(server_port)
        self._first.setdefault(key, Opening(int(nanoseconds) / 1e9, *key))

    def openings(self) -> list[Opening]:
        return sorted(self._first.values(), key=lambda one: one.time_s)


def firsts(openings: Iterable[Opening], start_s: float, end_s: float) -> list[float]:
    """When each client opened its first connection in that time, in order."""
    found: dict[str, float] = {}
    for one in openings:
        if start_s <= one.time_s < end_s:
            found[one.client] = min(one.time_s, found.get(one.client, one.time_s))
    return sorted(found.values())


@contextmanager
def watching(namespace: str) -> Iterator[Watcher]:
    """Look at a switch namespace as long as the context lasts. Raises MeasurementFailed."""
    watcher = Watcher()
    argv = ["ip", "netns", "exec", namespace, sys.executable, "-m", "bench.wire"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            if child.stdout is None or child.stdout.readline().strip() != _READY:
                said = child.stderr.read().strip().splitlines()[-1:] if child.stderr else []
                raise MeasurementFailed(f"cannot look at {namespace}: {' '.join(said)}")
            reader = threading.Thread(target=_read, args=(child.stdout, watcher))
            reader.start()
            yield watcher
        finally:
            child.terminate()
            child.wait()
        reader.join()


def _read(lines: Iterable[str], watcher: Watcher) -> None:
    for line in lines:
        watcher.take(line)


def main() -> None:
    """Print openings until ended."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as wire:
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _SYN_ONLY))
        attached = struct.pack("HL", len(_SYN_ONLY), ctypes.addressof(program))
        wire.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
        wire.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        print(_READY, flush=True)
        while True:
            frame, ancillary, _, _ = wire.recvmsg(_FRAME, socket.CMSG_SPACE(16))
            seconds, nanoseconds = struct.unpack("ll", ancillary[0][2])
            print(seconds * 1_000_000_000 + nanoseconds, *opening_of(frame), flush=True)


def opening_of(frame: bytes) -> tuple[str, str, int, int]:
    """Client, server and their ports, from an Ethernet frame that carries TCP over IPv4."""
    transport = 14 + 4 * (frame[14] & 0x0F)
    ports = struct.unpack_from("!HH", frame, transport)
    return socket.inet_ntoa(frame[26:30]), socket.inet_ntoa(frame[30:34]), ports[0], ports[1]


if __name__ == "__main__":
    main()
