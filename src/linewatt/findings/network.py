# SPDX-License-Identifier: Apache-2.0
"""Findings on packets: dropped, foreign, or not accounted for."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

DROPS_SHOWN_RATIO = 1e-4
"""packets of the usual causes that were dropped, as part of those that the interface passed"""
USUAL_DROP_CAUSES = ("nic_rx_dropped", "qdisc_dropped")
"""Frames of protocols that nobody listens to are dropped on any network, and a queue that is full is how TCP
learns what a path carries."""

FLOOR_BPS, SLACK_RATIO = 10e6, 0.03
"""traffic that no neighbour is needed for: management in the data network, and counters read beside the window"""
FLOOR_PPS = 1000.0
"""as many make ``FLOOR_BPS`` where they are full"""
STRAY_PPS = 100.0
"""datagrams for ports where nobody listens: what asks for services on any network sends fewer"""
SMALLER_PACKET_OPTIONS = {"length", "mss", "nodelay"}
"""options of a load of TCP, of which one may have its packets smaller than they could be"""
ANSWER_BYTES = 64
"""of IP and TCP, of an acknowledgement with options"""
LEAST_SEEN_PAYLOAD_RATIO = 0.9
"""of the payload: an interface that shows less of it is not the one that the load takes"""
LEAST_OF_LOAD_RATIO = 0.1
"""of the payload: an interface that received less of it is not on the path of the load"""
LEAST_SEGMENT_RATIO = 0.9
"""of the payload that an MTU has room for: options of TCP take less than the rest"""
LAST_READING_EDGE_S = 0.05
"""by how much the last reading may come after the load"""

SILENT_LEAST_S, SILENT_INTERVALS, SILENT_RATIO = 1.0, 3, 0.1
"""how long nothing may arrive of what TCP has sent: seconds, intervals of the load, part of the window. Of more
the trial has failed: its mean would be one of a path that was down"""

KINDS = (
    Kind(
        "netem",
        "note",
        "case",
        (),
        "The kernel's netem delays or loses what a data interface sends: throughput, loss and latency are those of the path "
        "that it makes, not of the hosts and the line between them.",
        "The root queueing discipline of a data interface, read in the tail of the load, is netem: set by the campaign "
        "(`netem`, docs/knobs.md) or by somebody.",
        "Read the figures as of such a path; `netem: none`, or taking it off, measures the hosts.",
        "Delay or loss by netem",
    ),
    Kind(
        "packets-dropped",
        "note",
        "case",
        (),
        "Counters of a host say that it dropped packets while the window ran.",
        f"Its counters of drops (the same as of a soak, see docs/soak.md) moved in the window; those of queues, and of what "
        f"nobody wanted, by {percent(DROPS_SHOWN_RATIO)} or more of the packets. What is in `udp-loss` is not told again.",
        "Look at ring sizes, socket buffers (net.core.rmem_max), queues (`tc -s qdisc`) and net.core.netdev_max_backlog.",
    ),
    Kind(
        "bond-port-down",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A port of the bond that carries the load lost its link: the bond carried on with fewer ports, and the figures are of "
        "both states, or of the lesser one.",
        "MII status and count of link failures of each port of a bond that is a data interface, has one as its port, or is of "
        "the case's network, between the reads before and after the window; the kernel's notices (the sensor link) say when. A "
        "trial whose data interface itself lost its carrier has failed, unless that is a port of a bond of which another one was up "
        "throughout.",
        "Look at the cable, the switch's port and dmesg, and measure again.",
    ),
    Kind(
        "pause-frames",
        "note",
        "case",
        (),
        "Ethernet's flow control stopped a sender, with each frame for 65,535 × 512 bit times at most (3.4 ms at 10 Gbps): "
        "where there are many, what limits is whoever sent the pause frames, not the CPU that waited.",
        "Counts of pause frames of a data interface (ethtool) moved between the reads before and after the window, where "
        "the driver has them.",
        "Look at the rings and the PCIe slot of whoever sent them, and at the switch.",
    ),
    Kind(
        "neighbour-traffic",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The data interface carried packets that are not the load's, or the host got such by another one: they took a part of "
        "the line, and of the CPU time for interrupts.",
        f"Bytes of the interface in the window, either way, against goodput × framing with retransmissions, and an answer to "
        f"each packet of TCP: {percent(SLACK_RATIO)} and {FLOOR_BPS / 1e6:g} Mbit/s more. Or packets in the same way, "
        f"{percent(SLACK_RATIO)} and {FLOOR_PPS:,.0f} a second more: small ones make few bytes and cost a CPU as much. They are "
        "not compared where a factor may make those of TCP smaller (the load's length of writes, MSS or no-delay). Where a NIC writes "
        "its counters so rarely that readings find them unmoved, the load may have made so much more as it makes meanwhile. Where the load "
        "was uneven at an edge of the window, as much as it differed there from its mean is allowed, too. Or datagrams for "
        f"UDP ports where nobody listens: {percent(SLACK_RATIO)} of what the interface received and {STRAY_PPS:g} a second.",
        "Find who else uses the interface, stop it, or measure on an interface of its own.",
    ),
    Kind(
        "segments-small",
        "note",
        "case",
        (),
        "TCP sent smaller segments than the MTU of an end has room for: the figures are those of the smaller packets, which cost "
        "more CPU, and not of the MTU that is set.",
        f"The MSS of the load's connections (`ss -ti` at the sender) is below {percent(LEAST_SEGMENT_RATIO)} of the payload that the larger "
        "MTU of both ends has room for, and the load was not asked for an MSS.",
        "Set one MTU at both ends and on the way; look for MSS clamping and for routes with an mtu or advmss.",
        "Segments smaller than the MTU",
    ),
    Kind(
        "load-not-on-interface",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The load took another interface than the one that the inventory names: its line, its CPUs of interrupts, its settings and "
        "its neighbours are not those that linewatt read, and no limit is looked for in that line.",
        f"The data interface of an end carried less than {percent(LEAST_OF_LOAD_RATIO)} of the payload in the window; loads of "
        f"{FLOOR_BPS / 1e6:g} Mbit/s or less are not compared.",
        "Look which way the data takes (`ip route get`), name that interface in the inventory, and measure again.",
        "Load not on the data interface",
    ),
    Kind(
        "goodput-above-interface",
        "withheld",
        "case",
        ("throughput",),
        "The receiver counted more bytes than its data interface received, or than that of the sender sent, which is impossible: "
        "the load counts too much, or a part of it took another path. Throughput, and all that is divided by it, is withheld in "
        "such trials.",
        f"Payload that the receiving processes counted in the window, of datagrams with their headers of IP and UDP, against bytes "
        f"that the interface of either end carried in it: {percent(SLACK_RATIO)} and {FLOOR_BPS / 1e6:g} Mbit/s more, and as much as "
        f"an uneven load, rarely written counters and readings that came late allow. An interface that carried less than {percent(LEAST_OF_LOAD_RATIO)} of the "
        "payload is not compared: the load takes another one.",
        "Compare the load with another one, look for a second path (`ip route get`), and repeat the measurement.",
        "Goodput above what the interface carried",
    ),
)
