# SPDX-License-Identifier: Apache-2.0
"""Clocks, heat, fans, power limits and throttling of a host beside its watts, over trials. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linewatt.analysis.cases.totals import whole_sum
from linewatt.analysis.power.machine_conditions import DEGREES, HERTZ, of_limit, throttled
from linewatt.analysis.power.totals import Total, least_sure, power_of_system
from linewatt.analysis.statistics.stats import known_mean
from linewatt.model import EndResult, Provenance, Trial

_NOT_RECORDED = "not recorded"
_NO_CLOCK = "the host shows no frequency of its CPUs, or none take part in this role"
_WHY = {
    "irq_hz": _NO_CLOCK,
    "app_hz": _NO_CLOCK,
    "of_limit_ratio": "it takes the power of a CPU package (driver rapl) and its limit",
    "throttled": "its kernel counts no throttling: kernels do for Intel CPUs, and not in virtual machines",
    "power_w": "no system power was measured",
}
_RECORDED_WHY = {
    "hottest_c": "thermal.temperature",
    "slowest_fan_rpm": "thermal.fan",
    "fastest_fan_rpm": "thermal.fan",
    "package_limit_w": "thermal.limit",
}


@dataclass(frozen=True, slots=True)
class Heat:
    """What stood beside the watts of one host over one or more trials, SI; ``None`` where nothing tells.

    Clocks and watts are means, ``throttled`` counts all trials, all else is the most, or least, of them.
    """

    app_hz: float | None
    irq_hz: float | None
    hottest_c: float | None
    slowest_fan_rpm: float | None
    fastest_fan_rpm: float | None
    package_limit_w: float | None
    of_limit_ratio: float | None
    throttled: float | None
    power_w: float | None
    provenance: Provenance | None


def heat_of(ends: Sequence[EndResult]) -> Heat:
    """Of one host, over some trials."""
    systems = [total for end in ends if isinstance(total := power_of_system(end.power), Total)]
    fans = [thermal_result for end in ends for thermal_result in end.thermal if thermal_result.unit == "rpm"]
    return Heat(
        app_hz=_clock(ends, "app CPUs"),
        irq_hz=_clock(ends, "IRQ CPUs"),
        hottest_c=max(
            (
                thermal_result.high
                for end in ends
                for thermal_result in end.thermal
                if thermal_result.unit == DEGREES
            ),
            default=None,
        ),
        slowest_fan_rpm=min((fan.low for fan in fans), default=None),
        fastest_fan_rpm=max((fan.high for fan in fans), default=None),
        package_limit_w=next((end.package_limit_w for end in ends if end.package_limit_w is not None), None),
        of_limit_ratio=max((part for end in ends if (part := of_limit(end)) is not None), default=None),
        throttled=whole_sum(throttled(end) for end in ends),
        power_w=known_mean(total.power_w for total in systems),
        provenance=least_sure(total.provenance for total in systems),
    )


def _clock(ends: Sequence[EndResult], name: str) -> float | None:
    return known_mean(
        thermal_result.mean
        for end in ends
        for thermal_result in end.thermal
        if thermal_result.unit == HERTZ and thermal_result.channel == name
    )


def is_heat_known(end: EndResult) -> bool:
    """Whether anything is known beside watts."""
    return bool(end.thermal) or end.package_limit_w is not None or throttled(end) is not None


def end_of_host(trial: Trial, host: str) -> EndResult | None:
    """That of a host in a trial that was done: the first, where it is in several pairs."""
    ends = trial.ends if trial.status == "done" else ()
    return next((end for end in ends if end.host == host), None)


def why_no_heat(name: str, ends: Sequence[EndResult]) -> str:
    """Why a field of :class:`Heat` is ``None``."""
    recorded = _RECORDED_WHY.get(name)
    if recorded is None:
        return _WHY[name]
    return next((why for end in ends if (why := end.reasons.get(recorded))), _NOT_RECORDED)
