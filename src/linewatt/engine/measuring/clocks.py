# SPDX-License-Identifier: Apache-2.0
"""At which clock the CPUs of a host did what they did in a window, by what the kernel says of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from linewatt.engine.live.feed import Reading
from linewatt.model import CpuShares, Window

FEWEST_READINGS = 3
"""of a CPU in the window: each is a mean over some milliseconds"""
LEAST_SEEN_RATIO = 0.8
"""of the CPU time that the host used, on CPUs whose clock was read; the rest may have run at another one"""


def busy_frequency(
    shares: Mapping[int, CpuShares | None], readings: Sequence[Reading], window: Window
) -> tuple[float | None, str]:
    """Hz of its busy CPUs, or why it is not known: cycles ÷ busy seconds, with a CPU's mean clock for all of
    its busy time."""
    cpufreq = next((reading for reading in readings if reading.source == "cpufreq"), None)
    if cpufreq is None:
        return None, "the frequency of its CPUs was not read"
    if any(share is None for share in shares.values()) or not shares:
        return None, "the use of each of its CPUs is not known"
    busy = {cpu: share.busy_ratio for cpu, share in shares.items() if share is not None}
    clocks = {
        cpu: fmean(value for _, value in frequencies)
        for cpu in busy
        if len(frequencies := cpufreq.within(f"cpu{cpu}.frequency_hz", window)) >= FEWEST_READINGS
    }
    if not clocks:
        return None, _why_none(cpufreq)
    seen, used = sum(busy[cpu] for cpu in clocks), sum(busy.values())
    if seen <= 0:
        return None, "no CPU with a frequency reading was busy"
    if seen < LEAST_SEEN_RATIO * used:
        return None, f"CPUs with a frequency reading did {100 * seen / used:.0f} % of the host's work"
    return sum(busy[cpu] * clock for cpu, clock in clocks.items()) / seen, ""


def _why_none(cpufreq: Reading) -> str:
    reasons = (record.reasons["frequency"] for record in cpufreq.records if "frequency" in record.reasons)
    fewer = f"fewer than {FEWEST_READINGS} frequency readings of a CPU are in the window"
    return cpufreq.failure or next(reasons, fewer)
