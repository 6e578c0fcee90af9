# SPDX-License-Identifier: Apache-2.0
"""What trials are compared with: all idle windows of a result joined, for each host and setting. Pure.

The window after a setting is measured when its trials are long stored, so idle power is put into them when a
result is read. It is the mean of the windows, never the lowest of them, which would be biased.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

from linewatt.model import Case, EndResult, PowerResult, Trial
from linewatt.records import Idle, IdleHost

Key = tuple[str, str]
"""source, channel"""


@dataclass(frozen=True, slots=True)
class JoinedIdle:
    """Idle power of one channel, W, made of all its windows."""

    power_w: float
    uncertainty_w: float | None
    windows_w: tuple[float, ...]
    doubt: str | None = None


def idle_power_of(windows: Iterable[Idle], host: str) -> dict[Key, JoinedIdle]:
    """Idle power of a host's channels over windows of one setting, given in the order of time."""
    by_channel: dict[Key, list[tuple[float, float | None]]] = {}
    doubts: dict[str, None] = {}
    for window in windows:
        values = window.hosts.get(host, IdleHost())
        if values.moving:
            doubts[values.moving] = None
        for channel in values.power:
            if channel.power_w is not None:
                by_channel.setdefault((channel.source, channel.channel), []).append(
                    (channel.power_w, _bound_w(channel))
                )
    doubt = "; ".join(doubts) or None
    return {key: _joined(values, doubt) for key, values in by_channel.items()}


def _joined(values: Sequence[tuple[float, float | None]], doubt: str | None) -> JoinedIdle:
    powers = tuple(power_w for power_w, _ in values)
    bounds = [bound_w for _, bound_w in values if bound_w is not None]
    half_w = (max(powers) - min(powers)) / 2
    bound_w = math.hypot(half_w, fmean(bounds)) if len(bounds) == len(values) else None
    return JoinedIdle(fmean(powers), bound_w, powers, doubt)


def _bound_w(stored: PowerResult) -> float | None:
    """Bound of the error of one window's mean: as it was stored with it, else that of its energy."""
    if stored.idle_uncertainty_w is not None:
        return stored.idle_uncertainty_w
    if not stored.energy_j or stored.energy_uncertainty_j is None or not stored.power_w:
        return None
    return stored.energy_uncertainty_j * stored.power_w / stored.energy_j


def idle_cores(windows: Iterable[Idle], host: str) -> float | None:
    """Busy cores, the mean of the windows; None where no window has a figure."""
    cores_by_window = (window.hosts[host].cpu_cores for window in windows if host in window.hosts)
    measured = [cores for cores in cores_by_window if cores is not None]
    return fmean(measured) if measured else None


def with_idle(trials: Sequence[Trial], windows: Sequence[Idle]) -> tuple[Trial, ...]:
    """The trials, each end with its host's idle power in the same setting."""
    if not windows:
        return tuple(trials)

    @cache
    def idle(case: Case, host: str) -> dict[Key, JoinedIdle]:
        return idle_power_of((window for window in windows if window.is_of(case)), host)

    def with_its_idle(trial: Trial) -> Trial:
        return trial.with_ends(lambda end: _end(end, idle(trial.case, end.host)))

    return tuple(map(with_its_idle, trials))


def _end(end: EndResult, idle: Mapping[Key, JoinedIdle]) -> EndResult:
    if not idle or not end.power:
        return end
    return replace(
        end,
        power=tuple(_power(channel, idle.get((channel.source, channel.channel))) for channel in end.power),
    )


def _power(channel: PowerResult, idle: JoinedIdle | None) -> PowerResult:
    if idle is None:
        return channel
    return replace(
        channel,
        idle_w=idle.power_w,
        idle_uncertainty_w=idle.uncertainty_w,
        idle_windows_w=idle.windows_w,
        idle_doubt=idle.doubt,
    )
