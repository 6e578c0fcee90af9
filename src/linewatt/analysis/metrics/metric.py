# SPDX-License-Identifier: Apache-2.0
"""What a metric is: how it is read, what it is called, in which units people read it, how it compares. Pure.

One declaration (:mod:`linewatt.analysis.metrics.of_trial`, of watts and joules
:mod:`linewatt.analysis.metrics.of_power`) is all that a metric needs: summaries, tables, JSON, CSV, the
glossary and comparisons are made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, Protocol, TypeVar

from linewatt.analysis.metrics.made_by_name import MadeByName
from linewatt.analysis.metrics.unit import Unit
from linewatt.analysis.statistics.stats import Estimate, Quantity, estimate
from linewatt.findings import Figure
from linewatt.missing import Missing, value_or_none
from linewatt.model import Role, TestName, Trial, is_request_response, is_tcp
from linewatt.units import BPS_PER_GBPS

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary

Loads = Literal["all", "tcp", "udp", "request-response"]
"""the loads that have a metric; documents have those of request/response only for such loads"""

Watts = Literal["system", "cpu", "both"]

Value = float | Missing
"""of one trial, in SI"""

Measured = TypeVar("Measured")
"""what a metric is read from: a trial, or the power of one end of it"""
Read = TypeVar("Read")
"""what is read: the value, or why it is missing"""


@dataclass(frozen=True, slots=True)
class Response:
    """How the metric ``name`` is compared: as ratios if ``relative``, else as differences.

    ``more`` and ``less`` name a change; ``group`` is its name for ``compare --metric``.
    """

    name: str
    title: str
    more: str
    less: str
    higher_is_better: bool = True
    relative: bool = True
    group: str = ""
    counted: str = ""
    """what a difference counts, if it is not between shares"""
    is_share: bool = False
    """whether values are from 0 to 1 and compared as differences, which are then at most 1"""
    units: tuple[Unit, ...] = field(default=(), compare=False)
    """as in :class:`Metric`; if empty, those of the metric"""

    @property
    def worse(self) -> str:
        """A change for the worse."""
        return self.less if self.higher_is_better else self.more


@dataclass(frozen=True)
class Metric(Generic[Measured, Read]):
    """One metric of a case, or of the power of one end of it.

    ``read`` takes it from a trial, or from the power of one end of a trial. If only a series has it,
    ``scaled`` computes it from a case and its 1-instance case. ``key`` is its name in JSON and CSV; an
    estimate adds ``_mean``, ``_sd`` and ``_n``, an end begins with ``receiver_`` or ``sender_``. ``heading``
    is the title broken into lines for a terminal. ``loads`` are the loads that have it. Of two ``units``, the
    first is for tables in Gbps, the second for those in Mbps; JSON and CSV use the first for power, SI else.
    """

    name: str
    title: str
    heading: str
    units: tuple[Unit, ...]
    read: Callable[[Measured], Read] | None = None
    scaled: Callable[[CaseSummary, CaseSummary], Value] | None = None
    """a scaled metric is shown only for a series"""
    key: str = ""
    """if it is not ``name``"""
    loads: Loads = "all"
    tabled: bool = True
    """whether the table of a test shows it; JSON and CSV have it in any case"""
    only_recorded: bool = False
    """whether tables and documents have it only if some trial does; older results lack it"""
    column_if_known: bool = False
    """whether tables have its column only if some case has a value; documents always have it"""
    show_sd: bool = False
    show_ci: bool = False
    """whether JSON, CSV and the report have its 95 % CI"""
    quantity: Quantity = "positive"
    """which values of the mean are possible; they limit its CI"""
    rank: int = 0
    """of its column on a narrow terminal, as in :class:`linewatt.report.table.Head`"""
    figure: Figure | None = None
    """its group of figures, which findings can make doubtful"""
    role: Role | None = None
    """the end whose CPU use it is computed from"""
    watts: Watts | None = None
    """whose watts it is computed from; their scope replaces ``{scope}`` in title and heading"""
    spread: bool = True
    """whether tables of power have its standard deviation over trials"""
    bound: str = ""
    """its error bound, shown as ±: a key of ``of_power.BOUNDS``"""
    remark: str = ""
    response: Response | None = None
    meaning: str = ""
    """for the glossary, under ``term`` or the title"""
    term: str = ""

    def __post_init__(self) -> None:
        if self.response is not None and not self.response.units:
            object.__setattr__(self, "response", replace(self.response, units=self.units))

    @property
    def of_series(self) -> bool:
        """Whether only a series has it; at one instance it says nothing."""
        return self.scaled is not None

    @property
    def si_key(self) -> str:
        """Its name in JSON and CSV, without the end that an estimate's mean has."""
        return self.key or self.name

    def value(self: CaseMetric, summary: CaseSummary) -> Estimate | float | None:
        """The value of a case, SI; ``None`` when no trial has it."""
        return (summary.scalings if self.of_series else summary.values).get(self.name)

    def applies(self: CaseMetric, summaries: Sequence[CaseSummary]) -> bool:
        """Whether it means anything for these cases."""
        if self.of_series and all(summary.case.instances == 1 for summary in summaries):
            return False
        if (self.only_recorded or self.column_if_known) and not self.has_values(summaries):
            return False
        return any(means_something(self.loads, summary.case.test) for summary in summaries)

    def has_values(self: CaseMetric, summaries: Sequence[CaseSummary]) -> bool:
        """Whether any of these cases has a value."""
        return any(self.value(summary) is not None for summary in summaries)

    def unit(self: CaseMetric, summaries: Sequence[CaseSummary]) -> Unit:
        """The unit these cases are shown in."""
        rates = [summary.throughput_bps.mean for summary in summaries if summary.throughput_bps]
        return self.units[0] if max(rates, default=0.0) >= BPS_PER_GBPS else self.units[-1]


CaseMetric = Metric[Trial, Value]


class HasValues(Protocol):
    """What has estimates by the name of their metric."""

    @property
    def values(self) -> Mapping[str, Estimate | None]: ...


class Mean:
    """A metric of a summary by its name, as an attribute."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, summary: HasValues, owner: type) -> Estimate | None:
        return summary.values.get(self._name)


def means_something(loads: Loads, test: TestName) -> bool:
    """Whether a metric of these loads is one of a test."""
    if loads == "request-response":
        return is_request_response(test)
    return loads == "all" or is_tcp(test) == (loads == "tcp")


class FromTrials(NamedTuple):
    """What a figure is over trials, and why some or all of them have none."""

    mean: Estimate | None
    why_missing: str | None


def estimates(
    reads: Mapping[str, Callable[[Trial], Value]],
    trials: Sequence[Trial],
    quantities: Mapping[str, Quantity] | None = None,
    only_recorded: Collection[str] = (),
) -> tuple[MadeByName[Estimate | None], MadeByName[str]]:
    """Mean and spread over done trials by name, and why some or all of them have none; made when read.

    ``quantities``: which means are possible, by name. ``only_recorded``: names without an entry, and without
    a reason, if no trial has a value.
    """
    quantities = quantities or {}

    @cache
    def read_trials(name: str) -> FromTrials | None:
        values = [reads[name](trial) for trial in trials]
        if name in only_recorded and all(isinstance(value, Missing) for value in values):
            return None
        value_estimate = estimate(map(value_or_none, values), quantities.get(name, "signed"))
        return FromTrials(value_estimate, why_missing(values))

    def mean(name: str) -> Estimate | None:
        if (entry := read_trials(name)) is None:
            raise KeyError(name)
        return entry.mean

    def reason(name: str) -> str:
        if (entry := read_trials(name)) is None or entry.why_missing is None:
            raise KeyError(name)
        return entry.why_missing

    names = tuple(reads)
    return MadeByName(names, mean), MadeByName(names, reason)


def note_missing(name: str, values: Sequence[object], reasons: dict[str, str]) -> None:
    """Put down why values are missing, and of how many trials."""
    if (why := why_missing(values)) is not None:
        reasons[name] = why


def why_missing(values: Sequence[object]) -> str | None:
    """Why values are missing, and of how many trials; ``None``: none is."""
    if not values:
        return "no trial of this case is done"
    missing = [value for value in values if isinstance(value, Missing)]
    if not missing:
        return None
    distinct = {id(value): value for value in missing}.values()  # most are one constant
    return of_some(dict.fromkeys(map(str, distinct)), len(missing), len(values))


def of_some(whys: Iterable[str], lacking: int, trials: int) -> str:
    """The reasons, and how many trials they are of unless of all."""
    text = "; ".join(whys)
    return text if lacking == trials else f"in {lacking} of {trials} trials: {text}"
