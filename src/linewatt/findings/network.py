# SPDX-License-Identifier: Apache-2.0
"""Findings on packets: dropped, foreign, or not accounted for."""

from __future__ import annotations

from linewatt.findings.kinds import Kind

KINDS = (
    Kind(
        "packets-dropped",
        "note",
        "case",
        (),
        "Counters of a host say that it dropped packets while the window ran.",
        "Any of its counters of drops moved in the window.",
        "Look at ring sizes, socket buffers (net.core.rmem_max) and net.core.netdev_max_backlog.",
    ),
)
