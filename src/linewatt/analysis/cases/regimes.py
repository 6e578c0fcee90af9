# SPDX-License-Identifier: Apache-2.0
"""In which regime a case runs: one process, several, or more than bring anything; and why. Pure.

single: one instance. saturated: what instances share is full, or twice as many brought less than LITTLE_GAIN.
multi: between. What was asked for a rate and held it is paced, whatever its instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from linewatt.analysis.limits.ceiling import Measured, flat, gain
from linewatt.analysis.limits.cpus import count
from linewatt.analysis.limits.knee import Knee, knee, widened
from linewatt.analysis.limits.ranking import Ranked
from linewatt.findings.limits import LITTLE_GAIN
from linewatt.model import Case

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary

Regime = Literal["single", "multi", "saturated", "paced"]
SAME_CAPACITY = 0.01


@dataclass(frozen=True, slots=True)
class RowRegime:
    """The regime of a case, and the evidence in few words."""

    regime: Regime
    why: str


def explained(series: Sequence[CaseSummary]) -> tuple[RowRegime, ...]:
    """The regime of each case of a series, instances ascending, with why."""
    bend = knee_of(series)
    return tuple(_regime(series, at, bend) for at in range(len(series)))


def knee_of(series: Sequence[Measured]) -> Knee | None:
    """Where throughput stops to follow; ``None``: nowhere that the series shows, or paced."""
    means = {
        one.case.instances: one.throughput_bps
        for one in series
        if one.throughput_bps is not None and not one.case.paced
    }
    if len(means) < len(series):
        return None
    bend = knee([(float(number), one.mean) for number, one in means.items()])
    return None if bend is None else widened(bend, means)


def _regime(series: Sequence[CaseSummary], at: int, bend: Knee | None) -> RowRegime:
    summary, limit = series[at], series[at].limit
    held = summary.case.paced and (not limit.found or limit.kind == "paced")
    if summary.case.processes == 1 and not held:
        return RowRegime("single", "one instance")
    more = series[at + 1] if at + 1 < len(series) else None
    if not held and limit.found and _is_ceiling(summary, more):
        return RowRegime("saturated", f"{limit.lead[0].lower()}{limit.lead[1:]}: {limit.evidence}")
    if summary.case.paced:
        return RowRegime("paced", unscaled(summary))
    fewer = series[at - 1] if at else None
    if fewer is None:
        return RowRegime("multi", "no case with fewer instances, and nothing that they share is full")
    stopped = flat(fewer, summary, bend)
    if stopped is not None:
        return RowRegime("saturated", stopped)
    found = gain(fewer, summary)
    return RowRegime("multi", "throughput not known" if found is None else found.words)


def unscaled(summary: CaseSummary) -> str:
    """Why a paced case has no scaling: its rate was held, or did not arrive."""
    what = "a rate" if summary.case.load_level is None else "a load level"
    asked = summary.limit.candidate("paced")
    missed = asked is not None and bool(asked.known) and not asked.holds
    said = f"asked for {what} that did not arrive" if missed else f"held to {what}"
    return f"{said}: how much is sent says nothing of how it scales"


def _is_ceiling(summary: CaseSummary, more: CaseSummary | None) -> bool:
    """Whether what is full is full for more instances, too: not what each of them brings anew."""
    if more is not None and _rises(summary, more):
        return False
    limit = summary.limit
    named = limit.named or limit.of_all
    if not any(map(_is_shared, named)) and limit.kind != "device-or-path":
        return more is not None or any(_is_crowded(one, summary.case) for one in named)
    return True


def _is_shared(one: Ranked) -> bool:
    """Line, shaper, slot, quota of a control group: there is one, however many instances."""
    return one.unit == "bit/s" or one.cgroup is not None


def _is_crowded(one: Ranked, case: Case) -> bool:
    """CPUs that are fewer than the processes at their host: more of these get no more of them."""
    pairs = sum(one.host in way for way in case.flows or case.beside)
    return one.role is not None and count(one.role) < case.instances * max(1, pairs)


def _rises(summary: CaseSummary, more: CaseSummary) -> bool:
    """Whether more instances brought more through the same line."""
    lines = [one.limit.candidate("line-rate") or one.limit.candidate("shaper") for one in (summary, more)]
    first, second = (None if one is None else one.capacity for one in lines)
    if first is not None and second is not None and abs(second / first - 1) > SAME_CAPACITY:
        return False
    found = gain(summary, more)
    return found is not None and found.ratio >= LITTLE_GAIN
