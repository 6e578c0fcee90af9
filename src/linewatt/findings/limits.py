# SPDX-License-Identifier: Apache-2.0
"""Findings on what limits a case, and the thresholds of the limit finder (``analysis/limits``)."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

FULL_RATIO = 0.90
"""A resource that is used less is not the limit."""
FULL_ALONE_RATIO = 0.97
"""The line of one of several data ports, while all together have room: for a while, a flow may take more than
its part of what they share."""
WAITED_RATIO = 0.4
"""Part of the time that TCP had data to send: without such a wait for a buffer it would be two thirds faster.
A limiting buffer is not full all the time: data that it lets through is sent first, and paced (BBR)."""
FILLED_RATIO = 2 / 3
"""Part of a send buffer filled with data in flight: Linux wakes a waiting sender when a third is free
(``sk_stream_write_space``). A buffer that the kernel sizes itself holds twice the congestion window."""
THROTTLED_PERIODS_RATIO = 0.5
"""Part of the periods in which a CPU quota was used up: without it, the load would be faster. TCP that waits
for the other end, or sends what it queued before, does not use up the quota in every period."""
IN_TURN_RATIO = 0.9
"""Part of the readings: softirqs that fill one CPU in so many, not always the same, limit as on one CPU."""
IN_TURN_BESIDE_RATIO = 0.5
"""Time of any other CPU in such a reading: if another CPU serves this much, the work is spread, not moved."""
TIE_RATIO = 0.02
"""Candidates this close to the fullest are named together."""
REACHED_RATE_RATIO = 0.98
"""Part of the requested rate: from here on, that rate is the limit."""
EXCEEDED_RATE_RATIO = 1.02
"""Part of the requested rate: above it, the load differs from what was requested."""
IMPOSSIBLE_LINE_RATIO = 1.005
"""Part of what the line can carry: more is a measurement error."""
LIMITING_LOSS_RATIO = 0.01
"""Part of the datagrams: from here on, something on the path is full."""
OVERFLOW_PART = 0.5
"""Part of the loss: a queue that dropped this much is the place of the loss."""
LOSSY_RETRANSMIT_RATIO = 0.01
"""Part of the segments: more is a lossy path. TCP itself loses a few at full queues to find its rate."""
SEGMENT_BITS = 1448 * 8
"""Payload of a full segment at an MTU of 1500; with larger packets there are fewer."""
LITTLE_GAIN_RATIO = 0.10
"""If twice the instances gain less than this, something that they share is full."""
SLOWER_PAIR_RATIO = 0.2
"""Part of the others' median: pairs that share a line evenly differ by less."""
ASYMMETRIC_FACTOR = 2.0
"""Ratio of both directions; published results of different hosts on a symmetric path have 1.3."""
BEYOND_KNEE_GAIN = 0.25
"""``LITTLE_GAIN_RATIO`` for cases beyond the knee of their series."""
CEILING_SD_RATIO = 0.01
"""Part of the mean: a ceiling repeats at least this well."""
SAME_CEILING_RATIO = 0.02
"""Cases this close to a ceiling are at the ceiling."""
WAITING_CPU_RATIO = 0.75
"""An instance that uses less than this part of its CPU use with fewer instances waits for something."""
OUTLIER_PART = 0.10
OUTLIER_SDS = 5.0
OUTLIER_UNCERTAINTIES = 3.0
"""How far a power outlier is from the rest: part of the expected power, robust SDs, bounds of its error."""

KINDS = (
    Kind(
        "rate-not-reached",
        "note",
        "case",
        (),
        "Less than the requested rate arrived: the figures are of a lower rate.",
        f"Less than {percent(REACHED_RATE_RATIO)} of the requested rate arrived, in the mean of the trials.",
        "Lower the rate or leave it out; the limit of the case is named beside its table.",
    ),
    Kind(
        "rate-exceeded",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "More than the requested rate was sent or arrived: the figures are of a higher rate, and the "
        "requested one is not the limit.",
        f"More than {percent(EXCEEDED_RATE_RATIO)} of the requested rate was sent or arrived, in the mean of "
        "the trials or of a soak's load.",
        "Check the load's pacing (docs/loads.md): whether it catches up after pauses, and whether its rate "
        "is per stream or process; measure again at the intended rate.",
    ),
    Kind(
        "above-line-rate",
        "doubtful",
        "case",
        ("throughput",),
        "More payload was counted than the line can carry: the throughput is wrong, or linewatt read "
        "another line.",
        f"Throughput is above {percent(IMPOSSIBLE_LINE_RATIO)} of the goodput of the line in a trial.",
        "Check which interface the data takes (ip route get), its speed and shaper, and the load's version.",
    ),
    Kind(
        "tcp-retransmits",
        "note",
        "case",
        (),
        "TCP retransmitted many segments: packets are lost or reordered between the two sockets, and "
        "throughput is what TCP reaches on such a path.",
        f"Retransmits of the load in the window are {percent(LOSSY_RETRANSMIT_RATIO)} or more of the "
        f"segments, in the mean of the trials. A host whose counters show drops of {percent(OVERFLOW_PART)} "
        "or more of them is named as the place, else the path.",
        "Find the queue or the link that drops: `tc -s qdisc`, `ethtool -S`, the switch's ports.",
        "TCP retransmits",
    ),
    Kind(
        "test-bed-is-the-limit",
        "note",
        "case",
        (),
        "The sender is full while the receiver has room: the figures show what the sender can send, not "
        "what the receiver can take.",
        "The limit of the case is at the sender, and every known CPU of the receiver is below "
        f"{percent(FULL_RATIO)}.",
        "Send from more instances or a faster host.",
    ),
    Kind(
        "slower-pair",
        "note",
        "case",
        (),
        "One of several parallel pairs has clearly less throughput than the others: its host or path is "
        "slower, or the pairs do not share something evenly.",
        f"In every trial its throughput is more than {percent(SLOWER_PAIR_RATIO)} below the median of the "
        "others.",
        "Check that pair's line, its limit in its own row, and what else runs on its hosts; also run it "
        "alone.",
    ),
    Kind(
        "directions-differ",
        "note",
        "case",
        (),
        "A pair of hosts carries far more in one direction: the path is not symmetric, or one host sends or "
        "receives much better than the other.",
        f"In the mean of its trials, a case has at most 1/{ASYMMETRIC_FACTOR:g} of the throughput of the "
        "same case with sender and receiver swapped. Load levels and searches are not compared.",
        "Check the limit of each direction, shapers and policers on the path, and the route in each "
        "direction.",
    ),
    Kind(
        "hidden-ceiling",
        "note",
        "case",
        (),
        "More instances bring no more throughput, and no known resource is full: the limit is inside the "
        "device or the path, such as a NIC's internal switch.",
        f"Twice the instances bring less than {percent(LITTLE_GAIN_RATIO)} more (beyond the knee of the "
        f"series {percent(BEYOND_KNEE_GAIN)}), nothing is lost, and the level repeats (SD below "
        f"{percent(CEILING_SD_RATIO)}). The line (every data port, too), the slot if known, and every CPU of "
        f"both ends are below {percent(FULL_RATIO)}. CPUs also count as not full if an instance uses less "
        f"than {percent(WAITING_CPU_RATIO)} of the CPU that it used with fewer instances.",
        "Check the slot, memory bandwidth, and the data sheets of NIC and switch for limits over all ports.",
    ),
    Kind(
        "power-outlier",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "CPU power and the other cases of the series do not explain the power of one case: fans at another "
        "speed, a power cap, another setting.",
        f"The case is more than {percent(OUTLIER_PART)}, {OUTLIER_SDS:g} robust standard deviations and "
        f"{OUTLIER_UNCERTAINTIES:g} times the bound of its error off a line of power over throughput (at "
        "least four cases).",
        "Check fan speed, temperatures and frequency of that case, and measure it again.",
    ),
)
