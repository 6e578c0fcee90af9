# SPDX-License-Identifier: Apache-2.0
"""Findings on paths and settings that do not work as the campaign assumes."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS = (
    Kind(
        "path-not-proven",
        "doubtful",
        "case",
        ("throughput",),
        "The check before the first trial could not show that the path carries full packets. The load may "
        "have used smaller ones.",
        "Pings of MTU size, with fragmentation forbidden, got no reply, or only smaller ones did. They are "
        "sent both ways in each setting. If only smaller ones pass and the campaign sets the MTU, the "
        "trials fail instead.",
        "Repair the path or lower the MTU. If a firewall drops pings, allow them during the campaign.",
    ),
    Kind(
        "instance-got-nothing",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "One instance received no data while others did. The sum is of fewer instances than the case says.",
        "Its receiver counted nothing in the window. If no instance receives anything, the trial fails.",
        "Check its output in raw.tar.gz, its ports, and firewalls.",
    ),
    Kind(
        "steering-not-possible",
        "doubtful",
        "case",
        ("throughput",),
        "The campaign asks for one queue per instance (steer: true), but flows were not steered. Instances "
        "may share one.",
        "The receiver had no rule for the ports of the trial. Steering needs a NIC with its own interrupts, "
        "a queue for each instance, root, and a receiver that is the server.",
        "Remove steer, use fewer instances or more queues (channels), or make the receiver the server.",
    ),
)
