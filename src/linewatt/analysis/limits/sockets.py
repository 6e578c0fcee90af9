# SPDX-License-Identifier: Apache-2.0
"""Kernel parameters that bound what a socket of an end may hold, and how it sends."""

from __future__ import annotations

from linewatt.model import Role

CONGESTION = "net.ipv4.tcp_congestion_control"
SOCKET_LIMITS: dict[Role, dict[str, tuple[str, ...]]] = {
    "sender": {
        "tcp": ("net.ipv4.tcp_wmem", "net.core.wmem_max"),
        "udp": ("net.core.wmem_default", "net.core.wmem_max"),
    },
    "receiver": {
        "tcp": ("net.ipv4.tcp_rmem", "net.core.rmem_max"),
        "udp": ("net.core.rmem_default", "net.core.rmem_max"),
    },
}
"""by protocol"""
SOCKET_SETTINGS = (
    CONGESTION,
    *dict.fromkeys(
        name
        for names_by_protocol in SOCKET_LIMITS.values()
        for names in names_by_protocol.values()
        for name in names
    ),
)
