# SPDX-License-Identifier: Apache-2.0
"""In which regime a case runs: one process, several, or more than bring anything; and why. Pure.

single: one instance. saturated: what instances share is full, or twice as many brought less than LITTLE_GAIN.
multi: between. What was asked for a rate and held it is paced, whatever its instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from linewatt.analysis.limits.ceiling import Measured, flat, gain
from linewatt.analysis.limits.cpus import count
from linewatt.analysis.limits.knee import Knee, knee, widened
from linewatt.analysis.limits.ranking import Ranked
from linewatt.findings import LITTLE_GAIN_RATIO
from linewatt.model import Case

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary
    from linewatt.analysis.statistics.stats import Estimate

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
        measured.case.instances: measured.throughput_bps
        for measured in series
        if measured.throughput_bps is not None and not measured.case.paced
    }
    if len(means) < len(series):
        return None
    return _knee_of(tuple(means.items()))


@lru_cache(maxsize=1024)
def _knee_of(means: tuple[tuple[int, Estimate], ...]) -> Knee | None:
    """Regimes and ceilings ask of the same series, by means and their spread alone."""
    bend = knee([(float(number), mean.mean) for number, mean in means])
    return None if bend is None else widened(bend, dict(means))


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
    if stopped:
        return RowRegime("saturated", "; ".join(stopped))
    gain_from_fewer = gain(fewer, summary)
    return RowRegime("multi", "throughput not known" if gain_from_fewer is None else gain_from_fewer.words)


def unscaled(summary: CaseSummary) -> str:
    """Why a paced case has no scaling: its rate was held, or did not arrive."""
    what = "a rate" if summary.case.load_level is None else "a load level"
    paced_candidate = summary.limit.candidate("paced")
    missed = paced_candidate is not None and bool(paced_candidate.known) and not paced_candidate.holds
    cause = f"asked for {what} that did not arrive" if missed else f"held to {what}"
    return f"{cause}: how much is sent says nothing of how it scales"


def _is_ceiling(summary: CaseSummary, more: CaseSummary | None) -> bool:
    """Whether what is full is full for more instances, too: not what each of them brings anew."""
    if more is not None and _rises(summary, more):
        return False
    limit = summary.limit
    named = limit.named or limit.of_all
    if not any(map(_is_shared, named)) and limit.kind != "device-or-path":
        return more is not None or any(_is_crowded(candidate, summary.case) for candidate in named)
    return True


def _is_shared(ranked: Ranked) -> bool:
    """Line, shaper, slot, quota of a control group: there is one, however many instances."""
    return ranked.unit == "bit/s" or ranked.cgroup is not None


def _is_crowded(ranked: Ranked, case: Case) -> bool:
    """CPUs that are fewer than the processes at their host: more of these get no more of them."""
    pairs = sum(ranked.host in way for way in case.flows or case.beside)
    return ranked.role is not None and count(ranked.role) < case.instances * max(1, pairs)


def _rises(summary: CaseSummary, more: CaseSummary) -> bool:
    """Whether more instances brought more through the same line."""
    lines = [
        case_summary.limit.candidate("line-rate") or case_summary.limit.candidate("shaper")
        for case_summary in (summary, more)
    ]
    first, second = (None if line is None else line.capacity for line in lines)
    if first is not None and second is not None and abs(second / first - 1) > SAME_CAPACITY:
        return False
    gain_to_more = gain(summary, more)
    return gain_to_more is not None and gain_to_more.ratio >= LITTLE_GAIN_RATIO
