# SPDX-License-Identifier: Apache-2.0
"""Findings on where a campaign puts its processes; they are known before anything runs."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS = (
    Kind(
        "not-ready",
        "doubtful",
        "host",
        ("throughput", "cpu"),
        "When the run began, the host failed a check of `linewatt check`: this would spoil a result.",
        "The run judges the host's facts and clock at its start as `linewatt check` does (docs/check.md). "
        "It does not repeat other checks, such as ports and packet size.",
        "Do what the finding says, run `linewatt check` until the host is ready, and measure again.",
        "Host not ready",
    ),
    Kind(
        "app-irq-share-cpu",
        "note",
        "campaign",
        (),
        "One CPU runs a load process and the receive work of the interface: each slows the other, and "
        "linewatt cannot tell which of them fills the CPU.",
        "The CPUs of both roles overlap in the plan.",
        "Give app_cpus and irq_cpus different CPUs.",
        "Load and receive work share a CPU",
    ),
    Kind(
        "instances-share-cpu",
        "note",
        "campaign",
        (),
        "Several load processes run on one CPU: more instances add processes, but no CPUs.",
        "The plan puts more than one process of a host on a CPU.",
        "Name at least as many app_cpus as instances.",
        "Instances share a CPU",
    ),
    Kind(
        "streams-share-cpu",
        "note",
        "campaign",
        (),
        "All streams of an instance share the CPU that it is pinned to, even if the load has several "
        "threads.",
        "A case has several streams, and each of its processes is pinned to one CPU.",
        "Use instances rather than streams to load more CPUs.",
        "Streams share a CPU",
    ),
    Kind(
        "hosts-share-cpus",
        "doubtful",
        "campaign",
        ("cpu",),
        "The CPU figures of both ends count the same CPUs, as hosts of a lab may: the CPU use of each includes "
        "the other's.",
        "The inventory says which hosts share CPUs; or two of them have the same boot id, and CPUs in common "
        "that their logins may use or their CPU figures count.",
        "For figures on CPU cost, use hosts that do not share CPUs.",
    ),
)
