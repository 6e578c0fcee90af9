# SPDX-License-Identifier: Apache-2.0
"""Makes every packet of an interface cost CPU time, as a firewall with many rules does. Runs on a host.

``costly.py LIMIT_S INTERFACE received|all SOCKETS``: packet sockets whose filters divide a number a few
thousand times and take no packet. ``received``: on the CPU that takes the receive work, in softirq. ``all``:
where packets are sent, too, on the sender's CPU. Says ``ready``, and ends with its standard input.
"""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import sys

_ATTACH_FILTER = 26  # SO_ATTACH_FILTER
_LOAD, _DIVIDE, _RETURN = 0x00, 0x34, 0x06  # linux/filter.h
_DIVISIONS = 4000  # of at most 4,096 instructions
_ETHERTYPES = {"received": 0x0800, "all": 0x0003}  # ETH_P_IP is told of arriving packets only


def _filter() -> bytes:
    load = struct.pack("HBBI", _LOAD, 0, 0, 0xFFFFFFFF)
    divide = struct.pack("HBBI", _DIVIDE, 0, 0, 3)
    return load + _DIVISIONS * divide + struct.pack("HBBI", _RETURN, 0, 0, 0)


def main(limit_s: str, interface: str, which: str, sockets: str) -> None:
    """Hold the sockets until the limit or the end of standard input."""
    code = ctypes.create_string_buffer(_filter())
    program = struct.pack("HL", _DIVISIONS + 2, ctypes.addressof(code))
    held = []
    for _ in range(int(sockets)):
        one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        one.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
        one.bind((interface, _ETHERTYPES[which]))
        held.append(one)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    select.select([sys.stdin], [], [], float(limit_s))


if __name__ == "__main__":
    main(*sys.argv[1:])
