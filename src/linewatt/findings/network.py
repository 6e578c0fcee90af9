# SPDX-License-Identifier: Apache-2.0
"""Findings on packets: dropped, foreign, or not accounted for."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

DROPS_SHOWN = 1e-4
"""packets of the usual causes that were dropped, as part of those that the interface passed"""
USUAL = ("nic_rx_dropped", "qdisc_dropped")
"""Frames of protocols that nobody listens to are dropped on any network, and a queue that is full is how TCP
learns what a path carries."""

KINDS = (
    Kind(
        "packets-dropped",
        "note",
        "case",
        (),
        "Counters of a host say that it dropped packets while the window ran.",
        f"Its counters of drops (the same as of a soak, see docs/soak.md) moved in the window; those of queues, and of what "
        f"nobody wanted, by {percent(DROPS_SHOWN)} or more of the packets. What is in `udp-loss` is not told again.",
        "Look at ring sizes, socket buffers (net.core.rmem_max), queues (`tc -s qdisc`) and net.core.netdev_max_backlog.",
    ),
    Kind(
        "pause-frames",
        "note",
        "case",
        (),
        "Ethernet's flow control stopped a sender: what limits is whoever sent the pause frames, not the CPU that waited.",
        "Counts of pause frames of a data interface (ethtool) moved between the reads before and after the window, where "
        "the driver has them.",
        "Look at the rings and the PCIe slot of whoever sent them, and at the switch.",
    ),
)
