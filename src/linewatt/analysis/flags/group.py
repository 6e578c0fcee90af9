# SPDX-License-Identifier: Apache-2.0
"""What only pairs that run at once show: a generator that is the limit of its own pair, a slow one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from linewatt.analysis.cases.flows import flow_trials
from linewatt.analysis.flags.case_flag import case_flag
from linewatt.analysis.limits import limit_text
from linewatt.analysis.limits.ranking import Ranked
from linewatt.analysis.limits.verdict import Limit
from linewatt.findings import FULL_RATIO, SLOWER_PAIR_RATIO
from linewatt.model import Case, Flag, Role, Trial
from linewatt.units import format_change, format_rate


def test_bed_of_pair(case: Case, limit: Limit, of_group: Limit) -> Iterator[Flag]:
    """A generator that is full while the host that is in all pairs has room; both ways and in a ring none is
    in all, or all are alike."""
    role: Role = "receiver" if case.shape == "one-to-many" else "sender"
    shared: Role = "sender" if role == "receiver" else "receiver"
    peer, dut = case.host(role), case.host(shared)
    if case.shape in ("both-ways", "ring") or case.paced or not limit.named:
        return
    if any(candidate.end != role and candidate.host != peer for candidate in limit.named):
        return
    cpus = [
        candidate for candidate in of_group.ranked if candidate.end == shared and candidate.cpu is not None
    ]
    full = [candidate for candidate in of_group.ranked if candidate.host == dut and candidate.holds]
    if not cpus or full or any(cpu.share >= FULL_RATIO for cpu in cpus):
        return
    yield case_flag(
        "test-bed-is-the-limit",
        peer,
        (
            *said_of(limit.named, f"{peer} is the limit of its pair, not {dut}"),
            f"busiest at {dut}: {limit_text.short_limit(cpus[0])}",
        ),
        f"{dut} could do more: use more or faster hosts on the other side, or more instances",
    )


def said_of(named: Sequence[Ranked], lead: str) -> tuple[str, ...]:
    """What speaks for these limits, behind a lead."""
    first, *others = (clause for candidate in named for clause in limit_text.evidence(candidate))
    return (f"{lead}: {first}", *others)


def slower_pairs(trials: Sequence[Trial]) -> Iterator[Flag]:
    """Pairs of a group with clearly less than the others in every trial; ``trials`` are those done.

    One in which what a pair had is not known says nothing of any.
    """
    rates: dict[Case, list[float]] = {}
    for trial in trials:
        bps_by_pair = {
            flow_trial.case: bps
            for flow_trial in flow_trials(trial)
            if (bps := flow_trial.throughput_bps) is not None
        }
        for pair, bps in bps_by_pair.items() if len(bps_by_pair) == len(trial.case.pairs) else ():
            rates.setdefault(pair, []).append(bps)
    for pair, pair_rates in rates.items():
        others = [of_other for other_pair, of_other in rates.items() if other_pair != pair]
        usual = [median(run) for run in zip(*others, strict=True)]
        if all(
            bps < (1 - SLOWER_PAIR_RATIO) * usual_bps
            for bps, usual_bps in zip(pair_rates, usual, strict=True)
        ):
            others_have = "the other pair has" if len(others) == 1 else "the other pairs have"
            change = format_change(fmean(pair_rates) / fmean(usual) - 1)
            yield Flag(
                "slower-pair",
                pair.way,
                f"{format_rate(fmean(pair_rates))}; {others_have} {format_rate(fmean(usual))} ({change})",
                f"check the limit in the row of {pair.way}, its line, and other processes on its hosts",
            )
