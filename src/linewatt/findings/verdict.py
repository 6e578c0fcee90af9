# SPDX-License-Identifier: Apache-2.0
"""Findings on the runs of a case together."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

VISIBLE_DRIFT = 0.02

KINDS = (
    Kind(
        "two-modes",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The runs of a case fall into two groups, as when streams share a receive queue in some of them: the mean is of "
        "neither.",
        "A gap in the sorted runs, or Hartigan's dip; see docs/metrics.md, Statistics.",
        "Give each stream a queue (steer: true), spread them over more streams, or pin them; look at each mode apart.",
    ),
    Kind(
        "drifts-over-trials",
        "doubtful",
        "case",
        ("throughput", "comparison"),
        "Throughput rises or falls from run to run over the campaign.",
        f"A slope over time of {percent(VISIBLE_DRIFT)} or more that the spread of the runs does not explain.",
        "Look at temperature, frequency and what else ran; compare interleaved cases only (order: interleaved).",
    ),
    Kind(
        "congestion-differs",
        "doubtful",
        "case",
        ("throughput", "cpu", "comparison"),
        "Runs of one case used different congestion controls of TCP: their mean is of neither.",
        "What the load says of its sockets at the sender, trial by trial.",
        "Set it (settings: sysctl: net.ipv4.tcp_congestion_control), find out what changes it, and measure again.",
    ),
)
