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
        "Datagrams that were sent did not arrive. Throughput is what arrived, so no figure is wrong; where they were lost "
        "is in the evidence, as far as counters of the hosts say.",
        f"The load's own count: {percent(LOSS_SHOWN)} or more of the datagrams of the window. Places are the counters of "
        "the sender's socket, queues and NIC, and of the receiver's NIC, backlog and socket; what they leave over is said.",
        "Offer less (rate) to learn what arrives without loss; look at what the evidence names.",
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
        "The load counts once, over its whole run: throughput, loss and latency are of warm-up and tail, too, while CPU and "
        "watts are of the window.",
        "An interval of the load reaches beyond the window at both ends.",
        "Make the window long beside omit and tail; where the start differs from the rest, run longer.",
    ),
    Kind(
        "load-spins",
        "doubtful",
        "case",
        ("cpu", "power", "above_idle"),
        "A rate-limited load of some versions burns its CPU while it waits: the sender's CPU use is not the cost of the "
        "traffic.",
        "The sender's version is one that busy-waits (loads.md names them), and the case is paced.",
        "Use a version that does not, which the evidence names, or leave the rate out.",
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
        "The ends have different limits of sockets, or another congestion control: turned around, the same pair may reach "
        "another rate.",
        "Of both hosts, as the trial had them set or as they showed them: net.ipv4.tcp_rmem, tcp_wmem and "
        "tcp_congestion_control (TCP), net.core.rmem_default and wmem_default (UDP), net.core.rmem_max and wmem_max.",
        "Set them alike (settings: sysctl), unless the hosts are meant to differ in them.",
    ),
    Kind(
        "offloads-differ",
        "note",
        "case",
        (),
        "Segmentation or receive offloads are on at one end and off at the other: the end without them spends more CPU for each "
        "byte, and the pair turned around may reach another rate.",
        f"Both data interfaces in the trial (ethtool -k), for TCP: {', '.join(SEGMENT_OFFLOADS)}.",
        "Set them alike (settings: offload), unless the hosts are meant to differ in them.",
    ),
)
