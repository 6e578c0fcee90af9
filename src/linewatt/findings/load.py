# SPDX-License-Identifier: Apache-2.0
"""Findings on what the load did."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

LOSS_SHOWN = 0.001
"""part of the sent datagrams that is lost, or out of order"""
SEGMENT_OFFLOADS = (
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
)
"""features of ethtool -k that make one packet in the kernel many on the wire"""

KINDS = (
    Kind(
        "udp-loss",
        "note",
        "case",
        (),
        "Datagrams were lost. Throughput counts only those that arrived, so no figure is wrong. The "
        "evidence says where they were lost, as far as the hosts' counters show.",
        f"By its own count, the load lost {percent(LOSS_SHOWN)} or more of the datagrams in the window. The "
        "places are counters of the sender's socket, queues and NIC, and of the receiver's NIC, backlog and "
        "socket; the evidence has the unexplained rest.",
        "Check the places in the evidence; to measure the rate without loss, lower `rate` or use `search`.",
    ),
    Kind(
        "udp-out-of-order",
        "note",
        "case",
        (),
        "Datagrams arrived out of order.",
        f"The receiver counted {percent(LOSS_SHOWN)} or more out of order.",
        "Look for more than one path or queue between the hosts.",
    ),
    Kind(
        "counted-once",
        "note",
        "case",
        (),
        "The load counts once, over its whole run: throughput, loss and latency include warm-up and tail, "
        "but CPU and watts cover only the window.",
        "An interval of the load extends beyond both ends of the window.",
        "Make the window much longer than omit and tail.",
    ),
    Kind(
        "load-spins",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "This version of the load busy-waits between packets: the sender's CPU use is not the cost of the "
        "traffic.",
        "The case has a rate, and the sender's version busy-waits (loads.md lists such versions).",
        "Use a version that sleeps, which the evidence names, or leave the rate out.",
    ),
    Kind(
        "load-versions-differ",
        "note",
        "case",
        (),
        "The ends run different versions of the same load, which may use different CPU time.",
        "The load reports its version at each end.",
        "Use the same version on both hosts.",
    ),
    Kind(
        "socket-settings-differ",
        "note",
        "case",
        (),
        "The two hosts differ in socket limits or congestion control: throughput may differ in the other "
        "direction.",
        "Compared, as the trial set them, else as the hosts showed them: net.ipv4.tcp_rmem, tcp_wmem and "
        "tcp_congestion_control (TCP), net.core.rmem_default and wmem_default (UDP), net.core.rmem_max and "
        "wmem_max.",
        "Set them to the same values (settings: sysctl), unless the hosts are meant to differ.",
    ),
    Kind(
        "offloads-differ",
        "note",
        "case",
        (),
        "Segmentation or receive offloads are on at one host and off at the other: the host without them "
        "uses more CPU per byte, and throughput may differ in the other direction.",
        f"Compared in the trial (ethtool -k, TCP only): {', '.join(SEGMENT_OFFLOADS)}.",
        "Set them to the same values (settings: offload), unless the hosts are meant to differ.",
    ),
)
