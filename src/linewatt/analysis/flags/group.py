# SPDX-License-Identifier: Apache-2.0
"""What only pairs that run at once show: a generator that is the limit of its own pair, a slow one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from linewatt.analysis.cases.flows import flow_trials
from linewatt.analysis.limits import words
from linewatt.analysis.limits.verdict import Limit
from linewatt.findings.limits import FULL, SLOWER_PAIR
from linewatt.model import Case, Flag, Role, Trial
from linewatt.units import format_change, format_rate


def test_bed_of_pair(case: Case, limit: Limit, of_group: Limit) -> Iterator[Flag]:
    """A generator that is full while the host that is in all pairs has room; both ways and in a ring none is
    in all, or all are alike."""
    own: Role = "receiver" if case.shape == "one-to-many" else "sender"
    shared: Role = "sender" if own == "receiver" else "receiver"
    peer, dut = case.host(own), case.host(shared)
    if case.shape in ("both-ways", "ring") or case.paced or not limit.named:
        return
    if any(one.end != own and one.host != peer for one in limit.named):
        return
    cpus = [one for one in of_group.ranked if one.end == shared and one.cpu is not None]
    full = [one for one in of_group.ranked if one.host == dut and one.holds]
    if not cpus or full or any(one.share >= FULL for one in cpus):
        return
    said = "; ".join(words.evidence(one, named=True) for one in limit.named)
    yield Flag(
        "test-bed-is-the-limit",
        peer,
        f"{peer} is the limit of its pair, not {dut}: {said}; of {dut} the busiest: {words.short(cpus[0])}",
        f"{dut} could do more: use more or faster hosts beside it, or more instances",
    )


def slower_pairs(case: Case, trials: Sequence[Trial]) -> Iterator[Flag]:
    """Pairs of a group with clearly less than the others in every trial; ``trials`` are those done.

    One in which what a pair had is not known says nothing of any.
    """
    rates: dict[Case, list[float]] = {}
    for trial in trials:
        known = {one.case: bps for one in flow_trials(trial) if (bps := one.throughput_bps) is not None}
        for pair, bps in known.items() if len(known) == len(trial.case.pairs) else ():
            rates.setdefault(pair, []).append(bps)
    for pair, own in rates.items():
        others = [of_other for other, of_other in rates.items() if other != pair]
        usual = [median(run) for run in zip(*others, strict=True)]
        if all(bps < (1 - SLOWER_PAIR) * most for bps, most in zip(own, usual, strict=True)):
            beside = "the other has" if len(others) == 1 else "the others have"
            change = format_change(fmean(own) / fmean(usual) - 1)
            yield Flag(
                "slower-pair",
                pair.way,
                f"{format_rate(fmean(own))} where {beside} {format_rate(fmean(usual))} ({change})",
                f"look at what limits {pair.way} in its own row, at its line, and at what else runs there",
            )
