# SPDX-License-Identifier: Apache-2.0
"""A limit inside the device or the path: what is left when nothing known is full. Pure.

More instances bring no more, the line and the CPUs of both ends have room, nothing is lost, and the level
repeats. Each of these is checked; what is not known is named, and without all of it no verdict stands on it.
The sentence "limited by …" is made in ``report/trials/answer/limits.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from linewatt.analysis.limits import limit_text
from linewatt.analysis.limits.cpus import count
from linewatt.analysis.limits.knee import Knee
from linewatt.analysis.limits.ranking import Ranked
from linewatt.analysis.limits.verdict import Limit
from linewatt.analysis.statistics.contrasts import welch
from linewatt.findings import (
    BEYOND_KNEE_GAIN,
    CEILING_SD_RATIO,
    FULL_RATIO,
    LIMITING_LOSS_RATIO,
    LITTLE_GAIN_RATIO,
    LOSSY_RETRANSMIT_RATIO,
    SAME_CEILING_RATIO,
    SEGMENT_BITS,
    WAITING_CPU_RATIO,
)
from linewatt.missing import Missing
from linewatt.model import Case, Role
from linewatt.units import format_change, format_percent, format_rate, format_significant

if TYPE_CHECKING:
    from linewatt.analysis.cases.summary import CaseSummary
    from linewatt.analysis.statistics.stats import Estimate

_MOST_LOG = 100.0
_Answer = tuple[bool | None, str]
"""whether it holds (``None``: not known), and what was seen or is not known"""


class Measured(Protocol):
    """A case with the throughput of its trials; ``None``: none of them has any."""

    @property
    def case(self) -> Case: ...

    @property
    def throughput_bps(self) -> Estimate | None: ...


@dataclass(frozen=True, slots=True)
class Gain:
    """What twice the instances brought, as a part of what there was; ``low`` and ``high`` are its 95 % CI."""

    ratio: float
    low: float | None = None
    high: float | None = None

    def is_below(self, gain: float) -> bool:
        """Surely, where there are runs enough to tell."""
        return self.ratio < gain and (self.high is None or self.high < gain)

    @property
    def words(self) -> str:
        """``twice the instances brought 17.6 % more``."""
        sure = (
            ""
            if self.low is None or self.high is None
            else f" ({format_change(self.low)} to {format_change(self.high)})"
        )
        return f"twice the instances brought {format_change(self.ratio)}{sure}"


def gain(fewer: Measured, more: Measured) -> Gain | None:
    """From one case of a series to one with more instances; ``None``: not known."""
    a, b = fewer.throughput_bps, more.throughput_bps
    if a is None or b is None or min(a.mean, b.mean) <= 0 or fewer.case.instances >= more.case.instances:
        return None
    doublings = math.log2(more.case.instances / fewer.case.instances)
    return _gain(doublings, a.mean, b.mean, a.values, b.values)


@lru_cache(maxsize=1024)
def _gain(
    doublings: float, mean: float, new_mean: float, values: tuple[float, ...], new_values: tuple[float, ...]
) -> Gain:
    """Regimes and ceilings ask of the same cases."""
    ratio = _factor((math.log(new_mean) - math.log(mean)) / doublings) - 1
    logs = [[math.log(value) for value in runs if value > 0] for runs in (values, new_values)]
    contrast = welch(logs[0], logs[1])
    if isinstance(contrast, Missing):
        return Gain(ratio)
    low, high = (_factor(end / doublings) - 1 for end in contrast.interval)
    return Gain(ratio, low, high)


def _factor(log: float) -> float:
    """e to the power of it; what is beyond any gain stays finite."""
    return math.exp(min(log, _MOST_LOG))


def flat(fewer: CaseSummary, more: CaseSummary, bend: Knee | None) -> tuple[str, ...]:
    """Why more instances bring no more, in clauses; none where they do, or it is not sure."""
    gain_to_more = gain(fewer, more)
    if gain_to_more is None:
        return ()
    if gain_to_more.is_below(LITTLE_GAIN_RATIO):
        return (gain_to_more.words,)
    if bend is None or more.case.instances <= bend.instances or not gain_to_more.is_below(BEYOND_KNEE_GAIN):
        return ()
    return (
        gain_to_more.words,
        f"beyond the knee at {format_significant(bend.instances)} instances one more brings "
        f"{format_rate(bend.after_bps)}, before it {format_rate(bend.before_bps)}",
    )


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A level that nothing known explains. Without ``unknown`` its evidence is whole.

    ``stopped`` are the clauses of why it does not rise, ``excluded`` is what does not explain it.
    """

    throughput_bps: float
    stopped: tuple[str, ...]
    excluded: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def evidence(self) -> tuple[str, ...]:
        return ("; ".join(self.stopped), *self.excluded)


def ceiling(series: Sequence[CaseSummary], at: int, stopped: tuple[str, ...]) -> Ceiling | None:
    """Whether one case of a series is at a hidden ceiling; ``stopped`` says why it does not rise."""
    summary = series[at]
    if summary.throughput_bps is None or summary.limit.found or summary.case.paced:
        return None
    if any(
        candidate.full_in and not candidate.ruled_out
        for candidate in summary.limit.ranked
        if candidate.port is None
    ):
        return None
    if _has_full_port(summary) or summary.limit.but_of:
        return None
    line, receiver = _line(summary), _cpus(series[: at + 1], "receiver")
    answers = (
        line,
        receiver,
        _cpus(series[: at + 1], "sender"),
        _loss(summary),
        _repeats(summary.throughput_bps),
    )
    if any(holds is False for holds, _ in answers) or line[0] is None or receiver[0] is None:
        return None
    return Ceiling(
        summary.throughput_bps.mean,
        stopped,
        tuple(sentence for holds, sentence in answers if holds),
        tuple(sentence for holds, sentence in answers if holds is None),
    )


def _has_full_port(summary: CaseSummary) -> bool:
    """Whether the line of one of several data ports may be what instances wait for: nearly full in the mean
    of the trials, or full in most. Ports that share a ceiling take turns at more of it than their part."""
    ports = [candidate for candidate in summary.limit.ranked if candidate.port is not None]
    return any(port.share >= FULL_RATIO or 2 * port.full_in > len(port.known) for port in ports)


def with_ceiling(series: Sequence[CaseSummary], at: int, hidden_ceiling: Ceiling) -> list[CaseSummary]:
    """The series with that limit in the case and in those before it that stand at the same level."""
    level = hidden_ceiling.throughput_bps
    return [
        replace(summary, limit=_limit(summary.limit, hidden_ceiling))
        if number == at or (number < at and _same_level(summary, level))
        else summary
        for number, summary in enumerate(series)
    ]


def suspected(limit: Limit, hidden_ceiling: Ceiling) -> Limit:
    """A limit that was not found, with the ceiling that the series shows and what is not known of it."""
    near = format_rate(hidden_ceiling.throughput_bps, 4)
    unknown = f"not known: {', '.join(hidden_ceiling.unknown)}"
    return replace(
        limit,
        what=f"no limit found, perhaps one inside the device or the path near {near}",
        clauses=(*hidden_ceiling.evidence, unknown),
        margin=unknown,
    )


def _same_level(case_summary: CaseSummary, level_bps: float) -> bool:
    if (
        case_summary.throughput_bps is None
        or case_summary.limit.found
        or case_summary.case.paced
        or _has_full_port(case_summary)
    ):
        return False
    return abs(case_summary.throughput_bps.mean / level_bps - 1) <= SAME_CEILING_RATIO


def _limit(before: Limit, hidden_ceiling: Ceiling) -> Limit:
    return replace(
        before,
        kinds=("device-or-path",),
        what=f"something inside the device or the path, at {format_rate(hidden_ceiling.throughput_bps)}",
        clauses=hidden_ceiling.evidence,
        named=(),
    )


def _line(summary: CaseSummary) -> _Answer:
    line = summary.limit.candidate("line-rate") or summary.limit.candidate("shaper")
    if line is None or line.capacity is None:
        return None, "the line rate"
    evidence = f"not the line rate: {format_percent(line.share)} of {format_rate(line.capacity)} of payload"
    ports = [candidate.share for candidate in summary.limit.ranked if candidate.port is not None]
    if len(ports) > 1:
        evidence += f" over {len(ports)} ports, of the fullest {format_percent(max(ports))}"
    return not line.full_in, evidence


def _cpus(series: Sequence[CaseSummary], end: Role) -> _Answer:
    """Room on every CPU of an end; else that an instance uses clearly less than it did with fewer."""
    summary = series[-1]
    roles = [
        candidate for candidate in summary.limit.ranked if candidate.end == end and candidate.cpu is not None
    ]
    kinds = {role.kind for role in roles}
    if {f"{end}-app-cpu", f"{end}-irq-cpu"} <= kinds and not any(map(_blurred, roles)):
        return True, f"no full CPU: busiest {limit_text.short_limit(roles[0])}"
    where = summary.case.host(end) if summary.case.is_both_ways else f"the {end}"
    cores_by_instances = [
        (case_summary.case.instances, cores / case_summary.case.instances)
        for case_summary in series
        if (cores := _cores(case_summary, end))
    ]
    if (
        not cores_by_instances
        or cores_by_instances[-1][0] != summary.case.instances
        or len(cores_by_instances) < 2
    ):
        return None, f"the CPUs of {where}"
    now = cores_by_instances[-1][1]
    then, peak_cores = max(cores_by_instances[:-1], key=lambda entry: entry[1])
    if now > WAITING_CPU_RATIO * peak_cores:
        return None, f"single CPUs of {where}"
    comparison = f"an instance uses {now:.2f} cores of {where}, and used {peak_cores:.2f} with {then}"
    return True, f"not the CPU: {comparison}, so it waits"


def _blurred(ranked: Ranked) -> bool:
    return ranked.role is not None and ranked.role == ranked.cpu and count(ranked.role) > 1


def _cores(case_summary: CaseSummary, end: Role) -> float | None:
    cores = case_summary.cpu_cores(end)
    return cores.mean if cores else None


def _loss(summary: CaseSummary) -> _Answer:
    if not summary.case.is_tcp:
        lost = summary.lost_ratio
        return (
            (None, "loss")
            if lost is None
            else (lost.mean < LIMITING_LOSS_RATIO, f"{format_percent(lost.mean)} lost")
        )
    sent, window_s = summary.retransmits, summary.window_s
    if sent is None or window_s is None or summary.throughput_bps is None:
        return None, "retransmits"
    full = summary.throughput_bps.mean * window_s / SEGMENT_BITS
    part = sent.mean / min(full, summary.sent_segments or full)
    return part < LOSSY_RETRANSMIT_RATIO, f"{sent.mean:,.0f} retransmits per trial"


def _repeats(throughput: Estimate) -> _Answer:
    if throughput.sd is None:
        return None, "whether it repeats: one run"
    spread = throughput.sd / throughput.mean
    return spread < CEILING_SD_RATIO, f"repeats to {format_percent(spread)} (SD of {throughput.n} trials)"
