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
        "A stored file of the soak cannot be read.",
        "A file of a part is damaged: a chunk, a users file or an events file.",
        "Look for an intact copy in a backup. Without it, totals continue across the damage, and rates leave "
        "out its time.",
    ),
    Kind(
        "chunk-missing",
        "doubtful",
        "campaign",
        ("throughput",),
        "Stored chunks are missing. Rates leave out their time; totals leave it out only at the start or end "
        "of a part.",
        "A file listed in SHA256SUMS is missing, chunk numbers have a gap, or a part that ended has no "
        "readings up to its end.",
        "Look for the files in a backup.",
    ),
    Kind(
        "ledger-off",
        "doubtful",
        "campaign",
        ("throughput",),
        "Counts of bytes, packets or transfers disagree by more than the stated bounds explain.",
        "Two columns of the ledger do not balance; see the evidence.",
        "Look for traffic other than the load, counters that were reset, and a server that was killed.",
    ),
    Kind(
        "drops-unexplained",
        "note",
        "campaign",
        (),
        "Packets were lost, but no counter at either end recorded it.",
        "Sent minus received minus all drops recorded at both ends.",
        "Read the counters of each switch port and link on the path before and after a soak.",
    ),
    Kind(
        "total-disagrees-with-rate",
        "doubtful",
        "campaign",
        ("throughput",),
        "The rate and the total over the same time contradict each other.",
        "Total ÷ time differs from the stated or mean rate by more than 1 %.",
        "Look at gaps: counts from a gap are in the total, but not in rates.",
    ),
    Kind(
        "soak-interrupted",
        "note",
        "campaign",
        (),
        "The soak was interrupted and resumed.",
        "It has more than one part.",
        "Note that figures cover only the measured time. Effects that build up over days started again.",
    ),
    Kind(
        "readings-missing",
        "note",
        "campaign",
        (),
        "A sensor or client was silent for a while.",
        "Its records have a gap of more than three intervals.",
        "See the events for the reason. Counts from the gap are in totals, but not in rates.",
    ),
    Kind(
        "counter-reset",
        "doubtful",
        "campaign",
        ("throughput",),
        "A counter went back, so its total is a lower bound.",
        "A reading fell below the previous one without a wrap.",
        "Check whether a host was rebooted or a driver was reloaded.",
    ),
    Kind(
        "stalls",
        "note",
        "campaign",
        (),
        "The rate fell far below its median while users ran.",
        "Slices of the soak are below 10 % of the median.",
        "Look at events and drops at the same time.",
    ),
    Kind(
        "rate-drifts",
        "note",
        "campaign",
        (),
        "The rate rises or falls over the soak.",
        "The 95 % CI of the Theil–Sen slope excludes 0, and the slope makes 2 % or more over the soak.",
        "Look at temperature, memory and the server's disk usage over the same time.",
    ),
    Kind(
        "power-incomplete",
        "doubtful",
        "host",
        ("power",),
        "Power readings have gaps. Energy assumes the mean power in the gaps.",
        "Readings cover less than 99 % of the soak.",
        "See the events for the reason.",
    ),
)
