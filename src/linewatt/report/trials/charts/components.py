# SPDX-License-Identifier: Apache-2.0
"""Where the watts go: one breakdown a host and end, at the case that moves most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from linewatt.analysis.power.components import Breakdown, Component, end_breakdown
from linewatt.model import Case, Role
from linewatt.report.charts.figure import Figure
from linewatt.report.series import plural
from linewatt.report.trials.charts.component_chart import component_caption, component_spec, component_words
from linewatt.report.trials.digest import Digest


@dataclass(frozen=True, slots=True)
class EndBreakdown:
    """A breakdown and the case it is of."""

    case: Case
    role: Role
    breakdown: Breakdown

    @property
    def title(self) -> str:
        count = plural(self.case.instances, "instance")
        return f"Where the watts of {self.breakdown.host} go, {self.role}, {self.case.test}, {count}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known beside the chart."""
        said = [f"not counted: {one}" for one in self.breakdown.left_out]
        said += [f"{flag.evidence}; {flag.advice}" for flag in self.breakdown.flags]
        return (*said, *([self.breakdown.reason] if self.breakdown.reason else []))


def breakdowns(view: Digest) -> tuple[EndBreakdown, ...]:
    """For both ends of the case with the highest throughput; an end of which no part is known has none.

    Load levels are left out: the one at 100 % repeats a case at full rate.
    """
    known = [one for group in view.groups for one in group.summaries if one.throughput_bps is not None]
    if not known:
        return ()
    case = max(known, key=lambda one: one.throughput_bps.mean if one.throughput_bps else 0.0).case
    trials = [trial for trial in view.result.trials if trial.case == case]
    ends: tuple[tuple[Role, str], ...] = (("receiver", case.receiver), ("sender", case.sender))
    return tuple(
        EndBreakdown(case, role, found)
        for role, host in ends
        if (found := end_breakdown(trials, role, _declared(view.result.manifest, host))) is not None
        and any(part.kind != "rest" for part in found.parts)
    )


def component_figures(view: Digest) -> Iterator[Figure]:
    """The breakdowns as charts."""
    for one in breakdowns(view):
        spec = component_spec(one.breakdown)
        if spec is not None:
            yield Figure(
                name=f"components-{one.role}",
                title=one.title,
                caption=" ".join(
                    [
                        component_caption(one.breakdown),
                        *(f"{note[:1].upper()}{note[1:]}." for note in one.notes),
                    ]
                ),
                description=component_words(one.breakdown),
                spec=spec,
            )


def _declared(manifest: Mapping[str, Any], host: str) -> list[Component]:
    campaign = manifest.get("campaign") or {}
    return [Component(**entry) for entry in (campaign.get("components") or {}).get(host, ())]
