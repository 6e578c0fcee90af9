# SPDX-License-Identifier: Apache-2.0
"""A case as a row: every metric that is declared, by the name that it has in ``show --json``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linewatt.analysis.metrics import METRICS, POWER_METRICS, PowerMetric, power_title, unscaled
from linewatt.analysis.statistics import Estimate
from linewatt.declare import unit_of
from linewatt.errors import InvalidInput
from linewatt.model import ENDS, Case, Provenance, Role
from linewatt.report import is_exported, provenance_of

if TYPE_CHECKING:
    from linewatt.analysis.cases import CaseSummary
    from linewatt.analysis.metrics import CaseMetric
    from linewatt.report.trials import Digest


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a case, in the unit that its name ends with; ``unit`` says it in words.

    ``mean`` and ``sd`` are over ``n`` trials; without a mean ``reason`` says why. ``uncertainty`` is a bound
    of the error of watts above idle, ``provenance`` whether watts were measured. ``doubts`` are codes of
    findings that make it doubtful.
    """

    name: str
    title: str
    unit: str | None
    mean: float | None
    sd: float | None = None
    n: int = 0
    reason: str | None = None
    provenance: Provenance | None = None
    uncertainty: float | None = None
    doubts: tuple[str, ...] = ()
    _estimate: Estimate | None = field(default=None, repr=False, compare=False)
    _from_si: Callable[[float], float] = field(default=unscaled, repr=False, compare=False)

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The 95 % CI of the mean; ``None`` at one trial, whose spread is not known."""
        interval = None if self._estimate is None else self._estimate.interval()
        return None if interval is None else (self._from_si(interval.low), self._from_si(interval.high))

    @property
    def is_doubtful(self) -> bool:
        """Whether any finding makes it so."""
        return bool(self.doubts)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What the trials of one case say together.

    ``figures`` are by name, in the order of ``show --json``; ``row["throughput_bps"]`` is one of them.
    """

    case: Case
    title: str
    """the case in few words"""
    trials_done: int
    trials_failed: int
    limited_by: str
    """what limits it, in words with the evidence"""
    figures: Mapping[str, Figure]

    def __getitem__(self, name: str) -> Figure:
        """Raises InvalidInput for a name that no figure of this case has."""
        if name not in self.figures:
            raise InvalidInput(f"{name}: no figure of this case; there are {', '.join(self.figures)}")
        return self.figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __contains__(self, name: object) -> bool:
        return name in self.figures

    @property
    def means(self) -> dict[str, float | None]:
        """Name → mean: a row of a table."""
        return {name: figure.mean for name, figure in self.figures.items()}


def cases_of(view: Digest) -> tuple[CaseResult, ...]:
    """The cases of a result in the order of its tables; rates that were only tried in a search are none."""
    return tuple(_case(summary, view) for summary in view.summaries)


def _case(summary: CaseSummary, view: Digest) -> CaseResult:
    figures = [_of_metric(metric, summary, view) for metric in METRICS if is_exported(metric, summary)]
    figures += [
        _of_power(metric, role, summary, view)
        for role in ENDS
        for metric in POWER_METRICS
        if not metric.only_recorded or _counts_packets(metric, role, summary)
    ]
    return CaseResult(
        case=summary.case,
        title=view.describe(summary.case),
        trials_done=summary.trials_done,
        trials_failed=summary.trials_failed,
        limited_by=summary.limit.words,
        figures={figure.name: figure for figure in figures},
    )


def _counts_packets(metric: PowerMetric, role: Role, summary: CaseSummary) -> bool:
    power = summary.power(role)
    return power is not None and metric.name in power.values


def _of_metric(metric: CaseMetric, summary: CaseSummary, view: Digest) -> Figure:
    value = metric.value(summary)
    estimate = value if isinstance(value, Estimate) else None
    mean = estimate.mean if estimate else value if isinstance(value, float) else None
    doubts = view.findings.doubts(summary.case, metric.figure, metric.role) if metric.figure else ()
    return Figure(
        name=metric.si_key,
        title=metric.title,
        unit=unit_of(metric.si_key),
        mean=mean,
        sd=estimate.sd if estimate else None,
        n=estimate.n if estimate else 0,
        reason=None if mean is not None else summary.reasons.get(metric.name, "not recorded"),
        doubts=doubts,
        _estimate=estimate,
    )


def _of_power(metric: PowerMetric, role: Role, summary: CaseSummary, view: Digest) -> Figure:
    name, power, convert = f"{role}_{metric.si_key}", summary.power(role), metric.units[0].from_si
    estimate = None if power is None else power.values.get(metric.name)
    bound = None if power is None or estimate is None else power.values.get(metric.bound)
    whys = summary.reasons if power is None else power.reasons
    why = whys.get(f"{role}_power" if power is None else metric.name, "not recorded")
    return Figure(
        name=name,
        title=f"{power_title(metric)}, {role}",
        unit=unit_of(name),
        mean=None if estimate is None else convert(estimate.mean),
        sd=None if estimate is None or estimate.sd is None else convert(estimate.sd),
        n=0 if estimate is None else estimate.n,
        reason=None if estimate is not None else why,
        provenance=None if power is None else provenance_of(metric, power),
        uncertainty=None if bound is None else convert(bound.mean),
        doubts=view.findings.doubts(summary.case, metric.figure, role) if metric.figure else (),
        _estimate=estimate,
        _from_si=convert,
    )
