# SPDX-License-Identifier: Apache-2.0
"""The metrics that docs/metrics.md defines, one pure function each: SI in, SI out.

Every one of them is a positive quantity made of positive quantities. A function returns ``None`` when an
input is missing, not finite, or not greater than 0, and when the result would not be a usable number:
never 0, infinity or NaN in place of "unknown".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeGuard

from linewatt.units import REFERENCE_FREQUENCY_HZ


def efficiency_bps_per_core(throughput_bps: float | None, cores: float | None) -> float | None:
    """Computational efficiency, bit/s per core: throughput ÷ CPU used at one end.

    ``cores`` is Σ over the CPUs of that end of (1 − idle). The headline uses the receiver's ("remote").
    """
    return _quotient(throughput_bps, cores)


def at_3ghz(efficiency_bps_per_core: float | None, base_frequency_hz: float | None) -> float | None:
    """Efficiency × 3 GHz ÷ base frequency, bit/s per core.

    Only for rough comparison across CPUs: cores differ in more than their clock.
    """
    return _quotient(_product(efficiency_bps_per_core, REFERENCE_FREQUENCY_HZ), base_frequency_hz)


def bits_per_cycle(efficiency_bps_per_core: float | None, busy_frequency_hz: float | None) -> float | None:
    """Efficiency ÷ the clock that busy CPUs really ran at, bit/cycle = Gbit/s per core and GHz."""
    return _quotient(efficiency_bps_per_core, busy_frequency_hz)


def scaling_factor(
    efficiency_bps_per_core: float | None, single_efficiency_bps_per_core: float | None
) -> float | None:
    """Efficiency of N instances ÷ efficiency of 1, a ratio.

    Not the ratio of throughputs: the published table prints 0.69 at 8 instances, not 0.485
    (docs/published/x64_scaling.csv).
    """
    return _quotient(efficiency_bps_per_core, single_efficiency_bps_per_core)


def throughput_scaling(
    throughput_bps: float | None, single_throughput_bps: float | None, instances: int | None
) -> float | None:
    """T(N) ÷ (N · T(1)), a ratio; 1 is perfectly linear."""
    return _quotient(throughput_bps, _product(single_throughput_bps, instances))


def cpu_cores_per_bps(cores: float | None, throughput_bps: float | None) -> float | None:
    """CPU per throughput, cores per bit/s; smaller is better.

    ``cores`` is what the application CPUs and the IRQ CPUs used together. ``units.percent_per_gbps``
    turns it into the % per Gbps that users read.
    """
    return _quotient(cores, throughput_bps)


def bps_per_w(throughput_bps: float | None, power_w: float | None) -> float | None:
    """Power efficiency, bit/s per W: of PSU DC output for the system, of the CPU for the CPU."""
    return _quotient(throughput_bps, power_w)


def cpu_power_ratio(cpu_w: float | None, system_w: float | None) -> float | None:
    """CPU's share of the system's power, a ratio."""
    return _quotient(cpu_w, system_w)


def dynamic_w(power_w: float | None, idle_w: float | None) -> float | None:
    """Power above idle, W. Idle is measured on the same host with the same settings.

    ``None`` as well when the load drew no more than idle: no cost can be read from that.
    """
    if not (_usable(power_w) and _usable(idle_w)):
        return None
    return _positive(power_w - idle_w)


def energy_j_per_bit(power_w: float | None, throughput_bps: float | None) -> float | None:
    """Energy per bit, J/bit (= W per bit/s); total or dynamic, as the power given.

    W/Gbps × 1000 = pJ/bit, and Mbps/W = 10⁶ ÷ (pJ/bit).
    """
    return _quotient(power_w, throughput_bps)


def cores_used(idle_ratios: Iterable[float | None]) -> float | None:
    """CPU used, cores: Σ over CPUs of (1 − idle).

    ``None`` when one of the CPUs is missing or its idle share is outside 0..1, and when none is given.
    """
    used = 0.0
    count = 0
    for idle_ratio in idle_ratios:
        if idle_ratio is None or not 0 <= idle_ratio <= 1:
            return None
        used += 1 - idle_ratio
        count += 1
    return used if count else None


def _usable(value: float | None) -> TypeGuard[float]:
    return value is not None and 0 < value < math.inf


def _positive(value: float) -> float | None:
    return value if _usable(value) else None


def _quotient(numerator: float | None, denominator: float | None) -> float | None:
    if not (_usable(numerator) and _usable(denominator)):
        return None
    return _positive(numerator / denominator)


def _product(first: float | None, second: float | None) -> float | None:
    if not (_usable(first) and _usable(second)):
        return None
    return _positive(first * second)
