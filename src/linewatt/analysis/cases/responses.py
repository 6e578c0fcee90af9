# SPDX-License-Identifier: Apache-2.0
"""What the factors of an experiment may change: the responses, their value in one trial, and words. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linewatt.analysis.metrics import formulas
from linewatt.analysis.metrics.metric import Response, Value
from linewatt.analysis.metrics.of_trial import METRICS
from linewatt.analysis.metrics.unit import MBPS_PER_W
from linewatt.analysis.power import totals as power
from linewatt.missing import value_or_none
from linewatt.model import Provenance, Role, Trial


@dataclass(frozen=True, slots=True)
class Values:
    """A response in each of several trials, ``None`` where it has none.

    ``scope`` and ``provenance`` are of the watts in it, ``None`` where there are none.
    """

    response: Response
    values: tuple[float | None, ...]
    scope: str | None = None
    provenance: Provenance | None = None


OF_CASE = {metric.name: metric.response for metric in METRICS if metric.response is not None}
THROUGHPUT = OF_CASE["throughput_bps"]
EFFICIENCY = OF_CASE["efficiency_receiver_bps_per_core"]
SENDER_EFFICIENCY = OF_CASE["efficiency_sender_bps_per_core"]
PER_WATT: dict[Role, Response] = {
    role: Response(
        f"{role}_system_bps_per_w",
        f"Throughput per watt of the {role}",
        "more per watt",
        "less per watt",
        group="power",
        units=(MBPS_PER_W,),
    )
    for role in ("receiver", "sender")
}


def responses(trials: Sequence[Trial], *, sender: bool = False) -> list[Values]:
    """The responses that trials of otherwise equal cases have, shares last; none without any value.

    At a load level and in an open loop throughput is what was asked for, so it is no response.
    ``sender``: its efficiency, too.
    """
    is_rate_set = any(t.case.load_level is not None or t.case.arrival_rate_hz is not None for t in trials)
    measured = [
        _values(metric.response, trials, metric.read)
        for metric in METRICS
        if metric.response is not None
        and metric.read is not None
        and not (is_rate_set and metric.response == THROUGHPUT)
        and (sender or metric.role != "sender")
    ]
    measured += [_per_watt(role, trials) for role in PER_WATT]
    measured.sort(key=lambda response_values: not response_values.response.relative)
    return [
        response_values
        for response_values in measured
        if any(value is not None for value in response_values.values)
    ]


def _values(response: Response, trials: Sequence[Trial], read: Callable[[Trial], Value]) -> Values:
    return Values(response, tuple(_usable(response, trial, value_or_none(read(trial))) for trial in trials))


def _usable(response: Response, trial: Trial, value: float | None) -> float | None:
    """The value on the scale it is compared on; a ratio needs one above 0."""
    if trial.status != "done" or value is None or not math.isfinite(value):
        return None
    if not response.relative:
        return value
    return math.log(value) if value > 0 else None


def _per_watt(role: Role, trials: Sequence[Trial]) -> Values:
    """Throughput per watt of one end: watts of one scope only, and as sure as the least sure of them."""
    totals = [_system(trial, role) for trial in trials]
    scope = next((total.scope for total in totals if total is not None), None)
    of_scope = [total if total is not None and total.scope == scope else None for total in totals]
    response = PER_WATT[role]
    values = tuple(
        None
        if total is None
        else _usable(response, trial, formulas.bps_per_w(trial.end_bps(role), total.power_w))
        for trial, total in zip(trials, of_scope, strict=True)
    )
    sure = power.least_sure(total.provenance for total in of_scope if total is not None)
    return Values(response, values, scope, sure)


def _system(trial: Trial, role: Role) -> power.Total | None:
    end = trial.end(role)
    if end is None or trial.status != "done":
        return None
    total = power.power_of_system(end.power)
    return total if isinstance(total, power.Total) else None
