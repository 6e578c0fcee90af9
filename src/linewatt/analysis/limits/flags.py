# SPDX-License-Identifier: Apache-2.0
"""What the limit of a case makes worth telling. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from linewatt.analysis.limits import words
from linewatt.analysis.limits.ranking import Ranked
from linewatt.analysis.limits.verdict import Limit
from linewatt.findings.limits import FULL, IMPOSSIBLE, REACHED
from linewatt.model import Case, Flag, Trial
from linewatt.units import format_percent, format_rate


def limit_flags(case: Case, trials: Sequence[Trial], limit: Limit) -> Iterator[Flag]:
    """Findings on a case, from its done ``trials`` and its limit."""
    where = f"{case.sender} → {case.receiver}"
    yield from _asked(case, limit, where)
    yield from _impossible(trials, limit, where)
    yield from _test_bed(case, limit)


def _asked(case: Case, limit: Limit, where: str) -> Iterator[Flag]:
    """Load levels say it themselves, beside each level (load_levels.py)."""
    asked = limit.candidate("paced")
    if asked is None or case.load_level is not None or asked.share >= REACHED:
        return
    if asked.capacity is None or asked.used is None:
        return
    by = f"; limited by {limit.what}" if limit.found else "; no limit found"
    yield Flag(
        "rate-not-reached",
        where,
        f"{format_rate(asked.used)} of the {format_rate(asked.capacity)} asked for arrived "
        f"({format_percent(asked.share)}){by}",
        "ask for less, or take the rate away: these are figures of a lower rate",
    )


def _impossible(trials: Sequence[Trial], limit: Limit, where: str) -> Iterator[Flag]:
    line = limit.candidate("line-rate") or limit.candidate("shaper")
    above = [share for share in line.known if share > IMPOSSIBLE] if line else []
    known = [trial.line_goodput_bps for trial in trials if trial.line_goodput_bps is not None]
    if not above or not known:
        return
    yield Flag(
        "above-line-rate",
        where,
        f"{format_percent(max(above))} of the {format_rate(fmean(known))} of payload that the line carries, "
        f"above it in {len(above)} of {len(trials)} trials",
        "look at which interface the data takes (ip route get), and at its speed and shaper",
    )


def _test_bed(case: Case, limit: Limit) -> Iterator[Flag]:
    if case.paced or not limit.named or any(one.end != "sender" for one in limit.named):
        return
    receiving = [one for one in limit.ranked if one.end == "receiver" and one.cpu is not None]
    if not receiving or any(one.share >= FULL for one in receiving):
        return
    yield Flag(
        "test-bed-is-the-limit",
        case.sender,
        f"{case.sender} is the limit, not {case.receiver}: {_said(limit.named)}; "
        f"the receiver's busiest: {words.short(receiving[0])}",
        "the receiver could take more: send from more instances or a faster host",
    )


def _said(named: Sequence[Ranked]) -> str:
    return "; ".join(words.evidence(one, named=True) for one in named)
