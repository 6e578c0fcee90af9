# SPDX-License-Identifier: Apache-2.0
"""Findings that follow from where a campaign puts its processes; they are known before anything runs."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS = (
    Kind(
        "not-ready",
        "doubtful",
        "host",
        ("throughput", "cpu"),
        "A check of the host failed when the run began: `linewatt check` says that this would spoil a result.",
        "Facts and the clock of the host when the run began, judged as `linewatt check` does (docs/check.md). What only "
        "`check` asks for, as ports and full packets of a way, is not among it.",
        "Do what the finding says, run `linewatt check` until it is ready, and measure again.",
        "Host not ready",
    ),
    Kind(
        "app-irq-share-cpu",
        "note",
        "campaign",
        (),
        "A CPU runs a load process and takes the receive work of the interface, too: which of the two fills it cannot "
        "be told, and each slows the other.",
        "The CPUs of both roles overlap in the plan.",
        "Give app_cpus and irq_cpus different CPUs.",
        "Load and receive work share a CPU",
    ),
    Kind(
        "instances-share-cpu",
        "note",
        "campaign",
        (),
        "Several load processes run on one CPU: more instances add processes there, and no CPU.",
        "The plan puts more than one process of a host on a CPU.",
        "Name at least as many app_cpus as instances.",
        "Instances share a CPU",
    ),
    Kind(
        "streams-share-cpu",
        "note",
        "campaign",
        (),
        "All streams of an instance share the CPU that it is pinned to, whatever threads the load has.",
        "A case has several streams and its processes are pinned to a CPU each.",
        "Use instances rather than streams to load more CPUs.",
        "Streams share a CPU",
    ),
    Kind(
        "hosts-share-cpus",
        "doubtful",
        "campaign",
        ("cpu",),
        "Both ends run on the same CPUs, as hosts of a lab may: the CPU use of each contains the other's.",
        "The inventory says which hosts share CPUs.",
        "Use hosts with CPUs of their own for any figure on CPU cost.",
    ),
)
