# SPDX-License-Identifier: Apache-2.0
"""Findings on what the load did."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

LOSS_SHOWN = 0.001
"""datagrams lost, or out of order, as part of those sent"""
SEGMENT_OFFLOADS = (
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
)
"""features of ethtool -k by which one packet in the kernel is many on the wire"""

KINDS = (
    Kind(
        "udp-loss",
        "note",
        "case",
        (),
        "Datagrams that were sent did not arrive. Throughput counts those that arrived, so no figure is wrong. The evidence says where "
        "they were lost, as far as the counters of the hosts tell.",
        f"The load's own count: {percent(LOSS_SHOWN)} or more of the datagrams of the window. Places are the counters of "
        "the sender's socket, queues and NIC, and of the receiver's NIC, backlog and socket; the evidence has the remainder.",
        "Look at the places in the evidence; to measure the rate without loss, lower `rate` or use `search`.",
    ),
    Kind(
        "udp-out-of-order",
        "note",
        "case",
        (),
        "Datagrams overtook each other.",
        f"The receiver's own count: {percent(LOSS_SHOWN)} or more of the datagrams.",
        "Look for more than one path or queue between the hosts.",
    ),
    Kind(
        "counted-once",
        "note",
        "case",
        (),
        "The load counts once, over its whole run: throughput, loss and latency include warm-up and tail, while CPU and watts are of "
        "the window.",
        "An interval of the load reaches beyond the window at both ends.",
        "Make the window much longer than omit and tail.",
    ),
    Kind(
        "load-spins",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "This version of the load spins while it waits for its next packet: the sender's CPU use is not the cost of the traffic.",
        "The case has a rate, and the sender's version busy-waits (loads.md lists such versions).",
        "Use a version that sleeps, which the evidence names, or leave the rate out.",
    ),
    Kind(
        "load-versions-differ",
        "note",
        "case",
        (),
        "Both ends run the same load in different versions, which may cost different CPU time.",
        "What each end's copy says of itself.",
        "Use the same version on both hosts.",
    ),
    Kind(
        "socket-settings-differ",
        "note",
        "case",
        (),
        "The two hosts differ in socket limits or in congestion control: in the other direction the pair may reach another rate.",
        "Of both hosts, as the trial had them set or as they showed them: net.ipv4.tcp_rmem, tcp_wmem and "
        "tcp_congestion_control (TCP), net.core.rmem_default and wmem_default (UDP), net.core.rmem_max and wmem_max.",
        "Set them alike (settings: sysctl), unless the hosts are meant to differ in them.",
    ),
    Kind(
        "offloads-differ",
        "note",
        "case",
        (),
        "Segmentation or receive offloads are on at one host and off at the other: the host without them spends more CPU per byte, "
        "and in the other direction the pair may reach another rate.",
        f"Both data interfaces in the trial (ethtool -k), for TCP: {', '.join(SEGMENT_OFFLOADS)}.",
        "Set them alike (settings: offload), unless the hosts are meant to differ in them.",
    ),
)
