# SPDX-License-Identifier: Apache-2.0
"""The runs of a case as comparing reads them, made once of its trials. Pure.

It is a thousandth of what the trials are, and can be kept: whoever compares tens of thousands of trials again
reads none of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from linewatt.analysis.cases.flows import with_flows
from linewatt.analysis.cases.responses import responses
from linewatt.analysis.flags.case import FlagCount, count_flags
from linewatt.analysis.flags.effects import light_codes
from linewatt.analysis.limits.group import verdicts
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.statistics.stats import estimate
from linewatt.model import Case, Provenance, Trial


@dataclass(frozen=True, slots=True)
class Measured:
    """A response in the runs that have it, on the scale it is compared on. ``reason``: why none has.

    ``scope`` and ``provenance`` are of the watts in it.
    """

    values: tuple[float, ...]
    scope: str | None = None
    provenance: Provenance | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """Figures are of the trials that are done; ``measured`` is by the name of the response.

    ``settings`` are those of each host of the first of them; ``limit`` is its kind and what it is.
    """

    case: Case
    trials: int
    failed: int
    flags: tuple[FlagCount, ...]
    measured: dict[str, Measured]
    started_s: tuple[float, float] | None = None
    window_s: float | None = None
    payload_bytes: float | None = None
    target_bps: float | None = None
    settings: dict[str, dict[str, str | None]] = field(default_factory=dict)
    limit: tuple[str, str] | None = None
    numbers: tuple[int, ...] = ()
    """of the trials that are done"""

    @property
    def done(self) -> int:
        return self.trials - self.failed


def runs_by_case(trials: Iterable[Trial]) -> dict[Case, CaseRuns]:
    """The runs of each case, in the order in which cases first appear; steps of searches are runs of none."""
    trials_by_case: dict[Case, list[Trial]] = {}
    settings: dict[Case, dict[str, dict[str, str | None]]] = {}
    for whole_trial in trials:
        if whole_trial.case.search:
            continue
        for trial in with_flows([whole_trial]):
            trials_by_case.setdefault(trial.case, []).append(trial)
            if trial.status == "done":
                settings_by_host = {
                    end.host: dict(end.settings) for end in whole_trial.ends if end.host in trial.case.hosts
                }
                settings.setdefault(trial.case, settings_by_host)
    limits = verdicts(trials_by_case)
    return {
        case: _runs(case, case_trials, limits[case], settings.get(case, {}))
        for case, case_trials in trials_by_case.items()
    }


def _runs(
    case: Case, trials: Sequence[Trial], limit: Limit, settings: dict[str, dict[str, str | None]]
) -> CaseRuns:
    done = [trial for trial in trials if trial.status == "done"]
    started_s = [trial.started_s for trial in done]
    target = estimate(trial.target_bps for trial in done)
    return CaseRuns(
        case=case,
        trials=len(trials),
        failed=len(trials) - len(done),
        flags=count_flags(trials, light_codes(done)),
        measured={
            response.response.name: Measured(
                tuple(value for value in response.values if value is not None),
                response.scope,
                response.provenance,
            )
            for response in responses(done, sender=True)
        },
        started_s=(min(started_s), max(started_s)) if started_s else None,
        window_s=_median(trial.window.seconds for trial in done if trial.window is not None),
        payload_bytes=_payload_bytes(done),
        target_bps=None if target is None else target.mean,
        settings=settings,
        limit=(limit.kind, limit.what) if limit.found else None,
        numbers=tuple(trial.number for trial in done),
    )


def _median(numbers: Iterable[float]) -> float | None:
    values = list(numbers)
    return statistics.median(values) if values else None


def _payload_bytes(trials: Sequence[Trial]) -> float | None:
    """Of a datagram, from what the receiver got."""
    return _median(
        trial.throughput_bps * trial.window.seconds / 8 / (trial.packets - trial.lost_packets)
        for trial in trials
        if trial.throughput_bps
        and trial.window
        and trial.packets is not None
        and trial.lost_packets is not None
        and trial.packets > trial.lost_packets
    )
