# SPDX-License-Identifier: Apache-2.0
"""What hosts of a stored result draw from their power supplies. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from linewatt.analysis.cases import CaseSummary
from linewatt.analysis.power import Total, total_of_scope
from linewatt.model import ENDS, Provenance, Role
from linewatt.report import plural, provenance_words, test_title
from linewatt.report.trials import Digest

OUTPUT, INPUT = "psu-out", "psu-in"


@dataclass(frozen=True, slots=True)
class HostLoad:
    """DC output of a host: the mean in its case with the highest throughput, and the highest mean of all.

    ``in_w`` is what went into the supplies over the trials of that case; ``None``: not read in all of them.
    """

    host: str
    load_w: float
    peak_w: float
    in_w: float | None
    case_words: str
    provenance: Provenance | None

    @property
    def words(self) -> str:
        """``h2 draws 249.0 W in TCP, h1 → h2, 16 instances; at most 339.2 W in any case``."""
        sure = provenance_words([self.provenance])
        load = f"{self.host} draws {self.load_w:.1f} W{f' ({sure})' if sure else ''} in {self.case_words}"
        return load if self.peak_w <= self.load_w else f"{load}; at most {self.peak_w:.1f} W in any case"


def host_loads(view: Digest) -> dict[str, HostLoad]:
    """The hosts whose DC output is in the result, by name."""
    cases_by_host: dict[str, list[tuple[CaseSummary, Role, float]]] = {}
    for summary in view.summaries:
        for role in ENDS:
            power = summary.power(role)
            if power is not None and power.system_scope == OUTPUT and power.system_w is not None:
                cases = cases_by_host.setdefault(power.host, [])
                cases.append((summary, role, power.system_w.mean))
    return {host: _load(view, host, cases) for host, cases in cases_by_host.items()}


def _load(view: Digest, host: str, cases: Iterable[tuple[CaseSummary, Role, float]]) -> HostLoad:
    cases = list(cases)
    summary, role, load_w = max(cases, key=lambda entry: _rate_bps(entry[0]))
    power, case = summary.power(role), summary.case
    return HostLoad(
        host=host,
        load_w=load_w,
        peak_w=max(case_w for _, _, case_w in cases),
        in_w=_input_w(view, summary, role),
        case_words=f"{test_title(case.test)}, {case.way}, {plural(case.instances, 'instance')}",
        provenance=None if power is None else power.system_provenance,
    )


def _rate_bps(summary: CaseSummary) -> float:
    return 0.0 if summary.throughput_bps is None else summary.throughput_bps.mean


def _input_w(view: Digest, summary: CaseSummary, role: Role) -> float | None:
    ends = [
        trial.end(role)
        for trial in view.result.trials
        if trial.case == summary.case and trial.status == "done"
    ]
    totals = [None if end is None else total_of_scope(end.power, INPUT) for end in ends]
    watts = [total.power_w for total in totals if isinstance(total, Total)]
    return fmean(watts) if watts and len(watts) == len(totals) else None
