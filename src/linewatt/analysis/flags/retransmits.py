# SPDX-License-Identifier: Apache-2.0
"""TCP segments that were sent again: how many, and where they were lost, by counters. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from linewatt.analysis.limits.candidate import SentAgain
from linewatt.analysis.limits.retransmits import mean_sent_again, pair_retransmitted_ratio, sent_again
from linewatt.findings import LOSSY_RETRANSMIT_RATIO
from linewatt.model import Case, Flag, Trial
from linewatt.units import format_percent


def retransmit_flags(case: Case, trials: Sequence[Trial]) -> Iterator[Flag]:
    """A finding where TCP sent more segments again than it needs to find its rate; ``trials`` are done.

    Of a group each pair says it.
    """
    counted = [(trial, ratio) for trial in trials if (ratio := pair_retransmitted_ratio(trial)) is not None]
    above = [sent_again(trial, ratio) for trial, ratio in counted if ratio >= LOSSY_RETRANSMIT_RATIO]
    again = mean_sent_again(above)
    if again is None or fmean(ratio for _, ratio in counted) < LOSSY_RETRANSMIT_RATIO:
        return
    yield Flag(
        "tcp-retransmits",
        case.way,
        f"{again.segments:,.0f} segments per trial were retransmitted ({format_percent(again.ratio)}) in "
        f"{len(above)} of {len(counted)} trials: {_place(case, again)}",
        "find the queue or link that drops (tc -s qdisc, ethtool -S, the switch's ports), and measure again",
    )


def _place(case: Case, again: SentAgain) -> str:
    """Where they were lost, as far as counters tell; reordered packets are sent again, but not lost."""
    if again.end is not None:
        dropped = f"{again.dropped(again.end):,.0f} packets per trial"
        return f"{case.host(again.end)} dropped {dropped}, most of them {again.place(again.end)}"
    if again.uncounted:
        return "the counters of a host are missing, so the place of the loss is not known"
    return f"{case.sender} and {case.receiver} counted no such drops: check the path between them"
