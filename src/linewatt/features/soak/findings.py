# SPDX-License-Identifier: Apache-2.0
"""Findings on a soak."""

from __future__ import annotations

from linewatt.findings import Kind

KINDS = (
    Kind(
        "chunk-damaged",
        "doubtful",
        "campaign",
        ("throughput",),
        "A part of what was stored cannot be read.",
        "A file of a part is damaged: a chunk, or what users did or what happened in its time.",
        "All others are in every figure; totals go on over damaged chunks by the readings around them, and rates leave "
        "their time out.",
    ),
    Kind(
        "chunk-missing",
        "doubtful",
        "campaign",
        ("throughput",),
        "Chunks that were stored are not there: what happened in their time is in no rate, and at the start or end of a "
        "part in no total.",
        "SHA256SUMS lists what was stored; chunks count from 1 without a gap; a part that came to its end has readings up "
        "to it.",
        "Look for the files in a backup; every figure is of the time that is there, but for totals over chunks missing "
        "in between.",
    ),
    Kind(
        "ledger-off",
        "doubtful",
        "campaign",
        ("throughput",),
        "Those who counted bytes, packets or transfers disagree by more than the stated bounds explain.",
        "The balance of the ledger; the evidence has both columns.",
        "Look for traffic that is not the load's, counters that were reset, and a server that was killed.",
    ),
    Kind(
        "drops-unexplained",
        "note",
        "campaign",
        (),
        "Packets were lost that no counter of either end recorded.",
        "Sent minus received minus all drops recorded at both ends.",
        "Read the counters of each switch port and link between the ends, before and after.",
    ),
    Kind(
        "total-disagrees-with-rate",
        "doubtful",
        "campaign",
        ("throughput",),
        "A stated rate and the total over the stated time contradict each other.",
        "Total ÷ time against the mean of the rates, beyond the rounding of both.",
        "Look at gaps: what was counted in them is in the total and in no rate.",
    ),
    Kind(
        "soak-interrupted",
        "note",
        "campaign",
        (),
        "A soak was interrupted and gone on with.",
        "It has more than one part.",
        "Totals and rates are of the time that was measured; whatever builds up over days began anew.",
    ),
    Kind(
        "readings-missing",
        "note",
        "campaign",
        (),
        "A sensor or a client was silent for a while.",
        "A gap of more than three intervals in its records.",
        "What counters counted meanwhile is in totals and in no rate; see the events for why.",
    ),
    Kind(
        "counter-reset",
        "doubtful",
        "campaign",
        ("throughput",),
        "A counter went back: its total is a least value.",
        "A reading below the one before it that is no wrap.",
        "Look whether a host was started anew or a driver loaded again.",
    ),
    Kind(
        "stalls",
        "note",
        "campaign",
        (),
        "The rate fell to a small part of its median while users ran.",
        "Slices of the soak below a tenth of the median.",
        "Look at the events and at drops of the same time.",
    ),
    Kind(
        "rate-drifts",
        "note",
        "campaign",
        (),
        "The rate rises or falls over the soak.",
        "A robust slope whose 95 % confidence interval is away from zero and that matters over the soak.",
        "Look at temperature, memory and the fill of the server's disk over the same time.",
    ),
    Kind(
        "power-incomplete",
        "doubtful",
        "host",
        ("power",),
        "Power was not read all the time; energy takes the mean of the rest for all of it.",
        "Readings cover less than 99 % of the soak.",
        "See the events for why.",
    ),
)
