# SPDX-License-Identifier: Apache-2.0
"""CPU quotas of control groups as what may limit: the load runs out of them, whichever CPU has room. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from linewatt.analysis.limits.candidate import Candidate, Kind
from linewatt.model import CgroupThrottling, EndResult, OutsideLimits, Trial


def quota_candidates(trial: Trial) -> Iterator[Candidate]:
    """Of each end the control group that was throttled in most of its periods: its own, or a parent."""
    for end in (trial.receiver, trial.sender):
        limits = None if end is None else end.outside_limits
        if end is None or limits is None or not limits.cgroups:
            continue
        cgroup = max(limits.cgroups, key=partial(_rank, limits))
        yield _candidate(end, limits, cgroup)


def _rank(limits: OutsideLimits, cgroup: CgroupThrottling) -> tuple[float, float]:
    return throttled_ratio(cgroup, limits), cgroup.throttled_s


def throttled_ratio(cgroup: CgroupThrottling, limits: OutsideLimits) -> float:
    """In which part of its periods a quota was used up. Periods in which nothing of it ran are not counted by
    the kernel, but have passed."""
    periods = _periods(cgroup, limits)
    return min(1.0, cgroup.throttled_periods / periods) if periods else 0.0


def _periods(cgroup: CgroupThrottling, limits: OutsideLimits) -> float:
    passed = int(limits.between_s / cgroup.period_s) if cgroup.period_s else 0
    return max(cgroup.periods, passed)


def _candidate(end: EndResult, limits: OutsideLimits, cgroup: CgroupThrottling) -> Candidate:
    kind: Kind = "receiver-cpu-quota" if end.role == "receiver" else "sender-cpu-quota"
    return Candidate(
        kind=kind,
        end=end.role,
        capacity=_periods(cgroup, limits),
        used=cgroup.throttled_periods,
        unit="periods",
        share=throttled_ratio(cgroup, limits),
        source="cpu.stat of the control group: its periods, and those in which it was throttled",
        otherwise="no period in which it was throttled",
        evidence=quota_words(cgroup),
        host=end.host,
        cgroup=cgroup.path,
        throttled_s=cgroup.throttled_s,
        between_s=limits.between_s,
    )


def quota_words(cgroup: CgroupThrottling) -> tuple[str, ...]:
    """``a quota of 0.1 CPUs``, where it is known."""
    cores = cgroup.quota_cores
    return () if cores is None else (f"a quota of {cores:.3g} CPUs",)
