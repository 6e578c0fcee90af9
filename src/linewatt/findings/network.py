# SPDX-License-Identifier: Apache-2.0
"""Findings on packets: dropped, foreign, or not accounted for."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

DROPS_SHOWN_RATIO = 1e-4
"""drops of the usual causes that are reported, as a fraction of the packets that the interface passed"""
USUAL_DROP_CAUSES = ("nic_rx_dropped", "qdisc_dropped")
"""Any network drops some frames of unwanted protocols, and a full queue drops packets to slow TCP down."""

FLOOR_BPS, SLACK_RATIO = 10e6, 0.03
"""allowance for management traffic in the data network, and for counters not read at the window's edges"""
FLOOR_PPS = 1000.0
"""the same allowance in packets per second: about ``FLOOR_BPS`` in full packets"""
STRAY_PPS = 100.0
"""datagrams per second for ports without a listener; service discovery on any network sends fewer"""
SMALLER_PACKET_OPTIONS = {"length", "mss", "nodelay"}
"""options of a TCP load that may make its packets smaller than they could be"""
ANSWER_BYTES = 64
"""IP and TCP headers of an acknowledgement with options"""
LEAST_SEEN_PAYLOAD_RATIO = 0.9
"""fraction of the payload: an interface that shows less is not the interface of the load"""
LEAST_OF_LOAD_RATIO = 0.1
"""fraction of the payload: an interface that carried less is not on the path of the load"""
LEAST_SEGMENT_RATIO = 0.9
"""fraction of the payload that fits the MTU: options of TCP take less than the rest"""
LAST_READING_EDGE_S = 0.05
"""how long after the end of the load the last reading may come"""

SILENT_LEAST_S, SILENT_INTERVALS, SILENT_RATIO = 1.0, 3, 0.1
"""The trial fails if nothing that TCP has sent arrives for the longest of these: seconds, intervals of the
load, fraction of the window. Its mean would be that of a path that was down."""

KINDS = (
    Kind(
        "netem",
        "note",
        "case",
        (),
        "The kernel's netem delays or drops packets that a data interface sends. Throughput, loss and "
        "latency are those of this emulated path, not of the hosts and the line between them.",
        "In the tail of the load, the root queueing discipline of a data interface is netem. The campaign "
        "(`netem`, docs/knobs.md) or somebody else set it.",
        "Read the figures as those of an emulated path. To measure the hosts, set `netem: none`.",
        "Delay or loss by netem",
    ),
    Kind(
        "packets-dropped",
        "note",
        "case",
        (),
        "Counters of a host show that it dropped packets during the window.",
        "A drop counter (docs/soak.md) increased in the window. Drops in queueing disciplines and rx_dropped "
        f"of the interface count only from {percent(DROPS_SHOWN_RATIO)} of the packets. Losses reported as "
        "`udp-loss` are not repeated.",
        "Check ring sizes, socket buffers (net.core.rmem_max), queues (`tc -s qdisc`) and "
        "net.core.netdev_max_backlog.",
    ),
    Kind(
        "bond-port-down",
        "doubtful",
        "trial",
        ("throughput", "cpu"),
        "A port of the bond that carries the load lost its link. The bond continued with fewer ports, so "
        "the figures show the degraded state or a mix of both states.",
        "A bond port was down or had new link failures in the reads before and after the window, or the "
        "kernel reported it down (sensor link). Bonds count if they are a data interface, have one as a "
        "port, or belong to the case's network. If a data interface itself loses its carrier, the trial "
        "fails, unless it is a bond port and another port stayed up.",
        "Check the cable, the switch port and dmesg, and measure again.",
    ),
    Kind(
        "pause-frames",
        "note",
        "case",
        (),
        "Ethernet flow control paused a sender, for at most 65,535 × 512 bit times per frame (3.4 ms at 10 "
        "Gbps). If there are many, the limit is the device that sent the frames, not the CPU that waited.",
        "Pause frame counters of a data interface (ethtool) increased between the reads before and after "
        "the window. Not all drivers have them.",
        "Check the rings and the PCIe slot of the device that sent them, and the switch.",
    ),
    Kind(
        "neighbour-traffic",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The data interface carried traffic other than the load, or the host received such traffic on "
        "another interface. This traffic used part of the line and of the CPU time for interrupts.",
        "In one direction, the interface carried more than the load explains (payload, framing, "
        f"retransmissions, TCP acknowledgements): by {percent(SLACK_RATIO)} plus {FLOOR_BPS / 1e6:g} Mbit/s, "
        f"or by {percent(SLACK_RATIO)} plus {FLOOR_PPS:,.0f} packets a second. Uneven load and rarely "
        "updated NIC counters raise these thresholds; packets are not compared if a TCP load sets write "
        "length, MSS or no-delay. Or UDP datagrams for ports without a listener exceed "
        f"{percent(SLACK_RATIO)} of the packets received plus {STRAY_PPS:g} a second.",
        "Find the other user of the interface and stop it, or measure on a dedicated interface.",
    ),
    Kind(
        "segments-small",
        "note",
        "case",
        (),
        "TCP sent smaller segments than the MTU of an end allows. The figures are those of smaller packets, "
        "which cost more CPU, not those of the configured MTU.",
        f"The MSS of the load's connections (`ss -ti` at the sender) is below {percent(LEAST_SEGMENT_RATIO)} "
        "of the payload that fits the larger MTU of both ends. Loads that set an MSS are not checked.",
        "Set the same MTU at both ends and on the path; check for MSS clamping and for routes with an mtu "
        "or advmss.",
        "Segments smaller than the MTU",
    ),
    Kind(
        "load-not-on-interface",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The load used a different interface from the one in the inventory. The line, interrupt CPUs, "
        "settings and other traffic that linewatt read are those of the wrong interface. Its line is not "
        "considered as a limit.",
        f"The data interface of an end carried less than {percent(LEAST_OF_LOAD_RATIO)} of the payload in "
        f"the window. Loads of {FLOOR_BPS / 1e6:g} Mbit/s or less are not checked.",
        "Find the interface of the data (`ip route get`), name it in the inventory, and measure again.",
        "Load not on the data interface",
    ),
    Kind(
        "goodput-above-interface",
        "withheld",
        "case",
        ("throughput",),
        "The receiver counted more bytes than its own or the sender's data interface carried, which is "
        "impossible. The load overcounts, or part of it took another path. Throughput, and figures divided "
        "by it, are withheld in such trials.",
        "Payload counted by the receiving processes in the window (UDP: with IP and UDP headers) exceeds "
        f"the bytes on the interface of either end by {percent(SLACK_RATIO)} plus {FLOOR_BPS / 1e6:g} "
        "Mbit/s. Uneven load, rarely updated counters and late readings raise this threshold. An interface "
        f"with less than {percent(LEAST_OF_LOAD_RATIO)} of the payload is not checked, because the load uses "
        "another one.",
        "Compare with another load, look for a second path (`ip route get`), and measure again.",
        "Goodput above what the interface carried",
    ),
)
