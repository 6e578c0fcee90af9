# SPDX-License-Identifier: Apache-2.0
"""Findings on all runs of a case together."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent
from linewatt.findings.limits import LITTLE_GAIN_RATIO

VISIBLE_DRIFT = 0.02
FAR_PART = 0.12
"""fraction of the mean: few runs this far apart may have two modes; healthy runs have a CV of 2 %"""
FAR_ERRORS = 5.0
"""times the standard error of a single run: a larger spread of runs is not noise within a run"""
SEARCH_DRIFT = LITTLE_GAIN_RATIO / 2
"""of throughput over a search, which ends when a doubling brings less than ``LITTLE_GAIN_RATIO``"""

KINDS = (
    Kind(
        "two-modes",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "The trials of a case fall into two groups, as when streams share a receive queue in some. The "
        "mean is in neither group.",
        "A gap in the sorted trials, or Hartigan's dip test; see docs/metrics.md, Statistics.",
        "Give each stream a queue (steer: true), use more streams, or pin processes; look at each mode "
        "separately.",
    ),
    Kind(
        "modes-unresolved",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Fewer than 10 trials of a case differ by more than noise within a trial explains. They may have two "
        "modes, with the mean in neither; so few trials cannot tell.",
        f"The trials have a standard deviation above {FAR_ERRORS:g} times the standard error of a trial (with "
        f"autocorrelation), and they are {percent(FAR_PART)} of the mean apart or on two levels; or they "
        "alternate between two levels. Not raised if the first trial, or a drift, explains it. See "
        "docs/metrics.md, Statistics.",
        "Run the case 10 times or more (trials: 10). Until then, look at each trial.",
    ),
    Kind(
        "drifts-over-trials",
        "doubtful",
        "case",
        ("throughput", "comparison"),
        "Throughput rises or falls from trial to trial over the campaign.",
        f"A slope over time of {percent(VISIBLE_DRIFT)} or more, not explained by the spread of the trials.",
        "Check temperature, frequency and other processes; compare interleaved cases only (order: "
        "interleaved).",
    ),
    Kind(
        "drifts-over-search",
        "doubtful",
        "campaign",
        ("throughput",),
        "Throughput rises or falls over time during an instance search, which tries one number of instances "
        "after the other. The change over time looks like an effect of the number.",
        "A slope over time within the trials of each number of instances, common to all numbers, that their "
        f"spread does not explain. Over the whole search it would be {percent(SEARCH_DRIFT)} or more.",
        "Check temperature, frequency and other processes. Let hosts warm up and search again, or list the "
        "numbers, whose trials are then interleaved.",
    ),
    Kind(
        "congestion-differs",
        "doubtful",
        "case",
        ("throughput", "cpu", "comparison"),
        "Trials of one case used different TCP congestion controls; their mean is of neither.",
        "The load reports the congestion control of its sockets at the sender in each trial.",
        "Set it (settings: sysctl: net.ipv4.tcp_congestion_control), find what changes it, and measure "
        "again.",
    ),
)
