# SPDX-License-Identifier: Apache-2.0
"""Findings on what limits a case, and the thresholds of the limit finder (``analysis/limits``)."""

from __future__ import annotations

from linewatt.findings.kinds import Kind, percent

FULL_RATIO = 0.90
"""What is used to less than this limits nothing."""
FULL_ALONE_RATIO = 0.97
"""What one of several data ports uses of its line, while all together have room: a flow may for a while take more
than its part of whatever they share."""
WAITED_RATIO = 0.4
"""of the time that TCP had data to send: who waits for a buffer that long would else be faster by two thirds. A
buffer that limits is not full all the time: what is let through is sent first, and paced (BBR)"""
FILLED_RATIO = 2 / 3
"""of a send buffer, with data on its way: a sender that waits for it is woken when a third is free (Linux,
``sk_stream_write_space``); a buffer that the kernel sizes itself holds twice the congestion window"""
THROTTLED_PERIODS_RATIO = 0.5
"""of the periods of a CPU quota: it was used up in so many that the load would be faster without it, though a TCP
that waits for the other end, or for what it queued meanwhile, does not use it up in each"""
IN_TURN_RATIO = 0.9
"""of the readings: softirqs that fill one CPU in so many of them, not always the same one, limit as on one"""
IN_TURN_BESIDE_RATIO = 0.5
"""of the time of any other CPU at such a reading: where another serves as many, work is spread, not moved"""
TIE_RATIO = 0.02
"""Candidates as near to full as this are named together."""
REACHED_RATE_RATIO = 0.98
"""of the rate that was asked for: from here on it is what limits"""
EXCEEDED_RATE_RATIO = 1.02
"""of the rate that was asked for: more than that is another load than the one that was asked for"""
IMPOSSIBLE_LINE_RATIO = 1.005
"""of what the line can carry: more is an error of the measurement"""
LIMITING_LOSS_RATIO = 0.01
"""of the datagrams: from here on more is sent than arrives, and something on the way is full"""
OVERFLOW_PART = 0.5
"""of the loss: a queue that dropped so much of it is where it was lost"""
LOSSY_RETRANSMIT_RATIO = 0.01
"""of the segments: more is a path that loses. TCP itself drops a few at whatever is full, to find its rate"""
SEGMENT_BITS = 1448 * 8
"""payload of a full one at an MTU of 1500: larger packets are fewer"""
LITTLE_GAIN_RATIO = 0.10
"""Twice the instances bring less than this where something that they share is full."""
SLOWER_PAIR_RATIO = 0.2
"""of what the others have in the median: pairs that share a line evenly differ by less"""
ASYMMETRIC_FACTOR = 2.0
"""times as much one way as the other: unlike hosts on a symmetric path were published with 1.3"""
BEYOND_KNEE_GAIN = 0.25
"""the same, of cases beyond the knee of their series"""
CEILING_SD_RATIO = 0.01
"""of the mean: a ceiling repeats at least as well"""
SAME_CEILING_RATIO = 0.02
"""Cases as near as this to a ceiling stand at it."""
WAITING_CPU_RATIO = 0.75
"""An instance that uses less than this part of the CPU that it used with fewer beside it waits for something."""
OUTLIER_PART = 0.10
OUTLIER_SDS = 5.0
OUTLIER_UNCERTAINTIES = 3.0
"""What is between a power outlier and the rest: part of what the rest say, robust SDs, bounds of its error."""

KINDS = (
    Kind(
        "rate-not-reached",
        "note",
        "case",
        (),
        "Less arrived than was asked for: the figures are those of a lower rate.",
        f"Less than {percent(REACHED_RATE_RATIO)} of the asked rate arrived, in the mean of the trials.",
        "Ask for less, or take the rate away; what limits the case is named beside its table.",
    ),
    Kind(
        "rate-exceeded",
        "doubtful",
        "case",
        ("throughput", "cpu"),
        "More was sent or arrived than was asked for: the figures are those of a higher rate, and that rate limits nothing.",
        f"More than {percent(EXCEEDED_RATE_RATIO)} of the asked rate was sent or arrived, in the mean of the trials or of a soak's load.",
        "See how the load paces (docs/loads.md): whether it catches up after pauses, and whether its rate is of a stream or "
        "of a process; measure again at the rate that is meant.",
    ),
    Kind(
        "above-line-rate",
        "doubtful",
        "case",
        ("throughput",),
        "More payload was counted than the line can carry: the throughput is wrong, or the line is another than the one "
        "that was read.",
        f"Throughput is above {percent(IMPOSSIBLE_LINE_RATIO)} of the goodput of the line in a trial.",
        "Look at which interface the data takes (ip route get), at its speed and shaper, and at the load's version.",
    ),
    Kind(
        "tcp-retransmits",
        "note",
        "case",
        (),
        "TCP sent many segments again: packets are lost or reordered between the two sockets, and the throughput is what TCP "
        "gets out of such a path.",
        f"Retransmits of the load in the window are {percent(LOSSY_RETRANSMIT_RATIO)} or more of the segments, in the mean of the "
        f"trials. A host whose counters show drops of {percent(OVERFLOW_PART)} of that or more is named as the place, else the path.",
        "Find the queue or the link that drops: `tc -s qdisc`, `ethtool -S`, the switch's ports.",
        "TCP retransmits",
    ),
    Kind(
        "test-bed-is-the-limit",
        "note",
        "case",
        (),
        "The sending host is full while the receiving one has room: the figures say what the sender can send, not what "
        "the receiver can take.",
        f"What limits the case is at the sender, and every known CPU of the receiver is below {percent(FULL_RATIO)}.",
        "Send from more instances or a faster host.",
    ),
    Kind(
        "slower-pair",
        "note",
        "case",
        (),
        "Of pairs that run at once, one has clearly less than the others: its own host or way is slower, or what they share "
        "is not shared evenly.",
        f"In every trial its throughput is more than {percent(SLOWER_PAIR_RATIO)} below the median of the others.",
        "Look at what limits that pair in its own row, at its line, and at what else runs on its hosts; run it alone, too.",
    ),
    Kind(
        "directions-differ",
        "note",
        "case",
        (),
        "A pair of hosts carries far more one way than the other: the path is not symmetric, or one host sends or "
        "receives much better than the other.",
        f"In the mean of its trials, a case has at most 1/{ASYMMETRIC_FACTOR:g} of the throughput of the same case with sender and receiver "
        "exchanged. Load levels and searches are left out.",
        "Look at what limits each direction, at shapers and policers on the way, and at the route each way.",
    ),
    Kind(
        "hidden-ceiling",
        "note",
        "case",
        (),
        "More instances bring no more, and nothing that linewatt knows of is full: a limit inside the device or the path, "
        "such as a NIC's internal switch.",
        f"Twice the instances bring less than {percent(LITTLE_GAIN_RATIO)} more (beyond the knee of the series "
        f"{percent(BEYOND_KNEE_GAIN)}), line (of every data port, too), slot where it is known, and every CPU of both ends are below "
        f"{percent(FULL_RATIO)} (or an instance uses less than {percent(WAITING_CPU_RATIO)} of the CPU that it did with fewer beside it, so that it waits), "
        f"nothing is lost, and the level repeats (SD below {percent(CEILING_SD_RATIO)}).",
        "Look at the data sheets of NIC and switch for limits over all ports, at the slot, and at memory bandwidth.",
    ),
    Kind(
        "power-outlier",
        "doubtful",
        "case",
        ("power", "above_idle"),
        "The power of one case is far from what CPU power and the other cases of its series explain: fans at another speed, "
        "a power cap, another setting.",
        f"More than {percent(OUTLIER_PART)}, {OUTLIER_SDS:g} robust standard deviations and {OUTLIER_UNCERTAINTIES:g} times "
        "the bound of its error away from a line over throughput through at least four cases.",
        "Look at fan speed, temperatures and frequency of that case, and measure it again.",
    ),
)
