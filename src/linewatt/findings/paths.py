# SPDX-License-Identifier: Apache-2.0
"""Findings on settings and paths that are not what they were taken to be."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS = (
    Kind(
        "path-not-proven",
        "doubtful",
        "case",
        ("throughput",),
        "Before its first trial the way of a case could not be shown to carry full packets: what was measured may be "
        "of smaller ones.",
        "A ping of the size of the MTU, with fragmentation forbidden, both ways in each setting: it was not answered, "
        "or only smaller ones were. Where the campaign itself sets the MTU, such trials fail in place of this.",
        "Mend the path or lower the MTU; where a firewall drops pings, let them through for the campaign.",
    ),
    Kind(
        "instance-got-nothing",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Nothing of one instance's load arrived, while others ran: the sum is of fewer instances than the case says.",
        "The receiver's own count of that instance in the window. Where nothing arrived at all the trial fails.",
        "Look at its output in raw.tar.gz, at the ports, and for a firewall.",
    ),
    Kind(
        "steering-not-possible",
        "doubtful",
        "case",
        ("throughput",),
        "A queue for each instance was asked for (steer: true), and flows were not steered: instances may share one.",
        "No rule for the ports of the trial was in force at the receiver. It takes a NIC with interrupts of its own, a "
        "queue for each instance, root's rights, and a receiver that is the server.",
        "Leave steer out, use fewer instances or more queues (channels), or let the receiver be the server.",
    ),
)
