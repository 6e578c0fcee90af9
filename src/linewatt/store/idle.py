# SPDX-License-Identifier: Apache-2.0
"""What trials are compared with: all idle windows of a result joined, for each host and setting. Pure.

The window after a setting is measured when its trials are long stored, so idle power is put into them when a
result is read. It is the mean of the windows, never the lowest of them, which would be biased.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from linewatt.model import Case, EndResult, PowerResult, Trial

_BARE = "bare"

Key = tuple[str, str]
"""source, channel"""


@dataclass(frozen=True, slots=True)
class IdleWindow:
    """One idle window as stored: the setting it is of, and what each host showed; Unix seconds."""

    hosts: Mapping[str, Mapping[str, Any]]
    setting: Mapping[str, str] = field(default_factory=dict)
    after: bool = False
    start_s: float = 0.0
    end_s: float = 0.0

    def is_of(self, case: Case) -> bool:
        """Whether the hosts of a case were set like this; what is of the load alone is in no setting."""
        levels = dict(case.factors)
        network = self.setting.get("network", _BARE)
        own = ((name, level) for name, level in self.setting.items() if name != "network")
        return network == case.network and all(levels.get(name) == level for name, level in own)


@dataclass(frozen=True, slots=True)
class Idle:
    """Idle power of one channel, W, made of all its windows."""

    power_w: float
    uncertainty_w: float | None
    windows_w: tuple[float, ...]
    doubt: str | None = None


def window_of(document: Mapping[str, Any], *, after: bool) -> IdleWindow:
    """A stored document as a window."""
    times = document.get("window") or {}
    return IdleWindow(
        hosts=document.get("hosts") or {},
        setting=document.get("setting") or {},
        after=after,
        start_s=float(times.get("start_s", 0.0)),
        end_s=float(times.get("end_s", 0.0)),
    )


def idle_of(windows: Iterable[IdleWindow], host: str) -> dict[Key, Idle]:
    """Idle power of a host's channels over windows of one setting, given in the order of time."""
    found: dict[Key, list[tuple[float, float | None]]] = {}
    doubts: dict[str, None] = {}
    for window in windows:
        values = window.hosts.get(host) or {}
        if values.get("moving"):
            doubts[values["moving"]] = None
        for one in values.get("power") or ():
            if one.get("power_w") is not None:
                key = (one["source"], one["channel"])
                found.setdefault(key, []).append((one["power_w"], _bound_w(one)))
    doubt = "; ".join(doubts) or None
    return {key: _joined(values, doubt) for key, values in found.items()}


def _joined(values: Sequence[tuple[float, float | None]], doubt: str | None) -> Idle:
    powers = tuple(power_w for power_w, _ in values)
    bounds = [bound_w for _, bound_w in values if bound_w is not None]
    half_w = (max(powers) - min(powers)) / 2
    bound_w = math.hypot(half_w, fmean(bounds)) if len(bounds) == len(values) else None
    return Idle(fmean(powers), bound_w, powers, doubt)


def _bound_w(stored: Mapping[str, Any]) -> float | None:
    """Bound of the error of one window's mean: as it was stored with it, else that of its energy."""
    if stored.get("idle_uncertainty_w") is not None:
        return float(stored["idle_uncertainty_w"])
    energy_j, bound_j = stored.get("energy_j"), stored.get("energy_uncertainty_j")
    if not energy_j or bound_j is None or not stored["power_w"]:
        return None
    return float(bound_j) * float(stored["power_w"]) / float(energy_j)


def idle_cores(windows: Iterable[IdleWindow], host: str) -> float | None:
    """Cores that were busy, the mean of the windows; None where none of them could tell."""
    known = [
        cores for window in windows if (cores := (window.hosts.get(host) or {}).get("cpu_cores")) is not None
    ]
    return fmean(known) if known else None


def with_idle(trials: Sequence[Trial], windows: Sequence[IdleWindow]) -> tuple[Trial, ...]:
    """The trials, each end's power beside what its host drew idle with the same setting."""
    if not windows:
        return tuple(trials)
    known: dict[tuple[Case, str], dict[Key, Idle]] = {}

    def idle(case: Case, host: str) -> dict[Key, Idle]:
        if (case, host) not in known:
            known[case, host] = idle_of((one for one in windows if one.is_of(case)), host)
        return known[case, host]

    return tuple(_trial(trial, idle) for trial in trials)


def _trial(trial: Trial, idle: Any) -> Trial:
    sender, receiver = (
        end and _end(end, idle(trial.case, end.host)) for end in (trial.sender, trial.receiver)
    )
    if sender is trial.sender and receiver is trial.receiver:
        return trial
    return replace(trial, sender=sender, receiver=receiver)


def _end(end: EndResult, idle: Mapping[Key, Idle]) -> EndResult:
    if not idle or not end.power:
        return end
    return replace(end, power=tuple(_power(one, idle.get((one.source, one.channel))) for one in end.power))


def _power(one: PowerResult, idle: Idle | None) -> PowerResult:
    if idle is None:
        return one
    return replace(
        one,
        idle_w=idle.power_w,
        idle_uncertainty_w=idle.uncertainty_w,
        idle_windows_w=idle.windows_w,
        idle_doubt=idle.doubt,
    )
