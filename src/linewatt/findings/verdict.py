# SPDX-License-Identifier: Apache-2.0
"""Findings on the runs of a case together."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent
from linewatt.findings.limits import LITTLE_GAIN_RATIO

VISIBLE_DRIFT = 0.02
FAR_PART = 0.12
"""of the mean: the range of few runs that may be of two modes; healthy runs have a CV of 2 %"""
FAR_ERRORS = 5.0
"""times the standard error of a run by itself: a spread of runs that noise within a run does not explain"""
SEARCH_DRIFT = LITTLE_GAIN_RATIO / 2
"""of throughput over a search: a doubling that brings LITTLE_GAIN more ends none"""

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
        "modes-unresolved",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "Fewer than 10 runs of a case differ by more than noise within a run explains: they may be of two modes, and the "
        "mean of neither. So few runs cannot tell.",
        f"Runs whose standard deviation is more than {FAR_ERRORS:g} times the standard error of a run (from its intervals, "
        f"with their autocorrelation) and that are {percent(FAR_PART)} of the mean apart, or on two levels; or runs that change "
        "between two levels in turn. Not raised where the first run, or a drift, explains it. See docs/metrics.md, Statistics.",
        "Run the case 10 times or more (trials: 10), and read each run until then.",
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
        "drifts-over-search",
        "doubtful",
        "campaign",
        ("throughput",),
        "Throughput rises or falls while instances are searched, whose numbers are tried one after the other: what it lost "
        "or gained by time looks like what instances bring.",
        f"A slope over time within the trials of each number of instances, of all numbers together, that their spread does "
        f"not explain and that would be {percent(SEARCH_DRIFT)} or more over the search.",
        "Look at temperature, frequency and what else ran; let hosts warm up and search again, or name the numbers, whose "
        "trials are interleaved.",
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
