# SPDX-License-Identifier: Apache-2.0
"""Idle windows: what quiet hosts use without load, before and after the trials of each setting."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from linewatt.analysis.power import Total, power_of_system
from linewatt.campaign import host_as_set
from linewatt.campaign.planning import settling_limits
from linewatt.engine.live.feed import Feed, Reading
from linewatt.engine.live.session import Session
from linewatt.engine.measuring import run_record
from linewatt.engine.measuring.idle import BusyCores, host_values, moving, needed_s
from linewatt.engine.measuring.window_power import IdlePower, Meters
from linewatt.errors import HostError, WaitTimeout
from linewatt.hosts import HostSpec, now_s
from linewatt.model import Window
from linewatt.records import SCHEMA_VERSION, Idle, IdleHost, Look, Times
from linewatt.store import idle_cores, idle_power_of, idle_windows, numbered_files, write_idle

LATE_LIMIT_S = 5.0


Setting = tuple[tuple[str, str], ...]
"""(factor, level) of what a host's idle state may depend on"""


@dataclass(frozen=True, slots=True)
class Measured:
    """An idle window of some hosts with one setting, and what tools wrote, by file name."""

    setting: Setting
    window: Idle
    raw: dict[str, str]

    @property
    def moving(self) -> dict[str, str]:
        """Host → what still moved when the window began."""
        return {name: values.moving for name, values in self.window.hosts.items() if values.moving}


async def measure(
    session: Session,
    seconds: float,
    settings: Mapping[str, Setting],
    powered: Collection[str],
    meters_by_host: Mapping[str, Meters] = MappingProxyType({}),
    server: str | None = None,
) -> list[Measured]:
    """Wait until hosts are quiet, then ``seconds``, and say what they did. Raises HostError, WaitTimeout.

    ``settings`` are those of each host; ``powered`` hosts have a source of power, ``meters_by_host`` is what
    is known of these by host; ``server`` as for :func:`linewatt.campaign.factors.setting_at_host`. The window
    begins when every source has been read: a gauge covers nothing before that.
    """
    names = list(settings)
    feeds = [feed for name in names for feed in session.feeds[name]]
    meters = [feed for feed in feeds if not feed.essential]
    specs = [host_as_set(session.specs[name], setting, server) for name, setting in settings.items()]
    async with session.beside.still():  # this machine may be one of them
        await asyncio.gather(*(_past(feed, feed.started_s, LATE_LIMIT_S) for feed in meters))
        waits = (
            _settle(session, spec, seconds, spec.name in powered, meters_by_host.get(spec.name, {}))
            for spec in specs
        )
        looks = dict(zip(names, await asyncio.gather(*waits), strict=True))
        window = Window(now_s(), now_s() + seconds)
        await asyncio.gather(*(_past(feed, window.end_s, seconds + LATE_LIMIT_S) for feed in feeds))
    by_setting: dict[Setting, list[HostSpec]] = {}
    for spec in specs:
        by_setting.setdefault(settings[spec.name], []).append(spec)
    return [
        _measured(session, setting, setting_specs, window, looks, meters_by_host)
        for setting, setting_specs in by_setting.items()
    ]


def _measured(
    session: Session,
    setting: Setting,
    specs: Iterable[HostSpec],
    window: Window,
    looks: Mapping[str, Look | None],
    meters_by_host: Mapping[str, Meters],
) -> Measured:
    hosts: dict[str, IdleHost] = {}
    raw: dict[str, str] = {}
    readings_by_host: dict[str, list[Reading]] = {}
    for spec in specs:
        name, look = spec.name, looks[spec.name]
        readings = _readings(session, name, look.window.start_s if look else window.start_s, window.end_s)
        hosts[name] = host_values(spec, readings, window, look, meters_by_host.get(name, {}))
        raw |= {f"{name}/{reading.source}.jsonl": reading.raw() for reading in readings}
        readings_by_host[name] = readings
    raw[run_record.NAME] = run_record.idle_text(
        readings_by_host, {name: meters_by_host.get(name, {}) for name in readings_by_host}
    )
    times = Times(start_s=window.start_s, end_s=window.end_s)
    idle = Idle(schema_version=SCHEMA_VERSION, window=times, hosts=hosts)
    return Measured(setting, idle.model_copy(update={"setting": dict(setting)} if setting else {}), raw)


async def _settle(
    session: Session, spec: HostSpec, idle_s: float, powered: bool, meters: Meters
) -> Look | None:
    """Wait until a host is quiet, or its time for that is over; the last look at it, if there could be one.

    It is looked at when all its sensors have read anew, and not once more for each of them: many hosts settle
    at the same time. Raises HostError, WaitTimeout.
    """
    began_s, name, cores = now_s(), spec.name, BusyCores(spec)
    while True:
        live = [feed for feed in session.feeds[name] if _is_live(feed)]
        if not live:
            return None
        needed = needed_s((feed.updates_s for feed in session.feeds[name]), meters)
        settle_limits = settling_limits(idle_s, powered=powered, needed_s=needed)
        end_s = min(feed.latest_s for feed in live)
        if end_s - settle_limits.look_s >= began_s:
            needed = needed if powered else settle_limits.look_s
            look = Look(start_s=end_s - settle_limits.look_s, end_s=end_s, needed_s=needed)
            readings = _readings(session, name, look.window.start_s, end_s)
            moves = moving(spec, readings, look.window, cores)
            if moves is None or end_s - began_s >= settle_limits.limit_s:
                return look
        newest_s = max(feed.latest_s for feed in live)
        await asyncio.gather(
            *(_past(feed, newest_s, LATE_LIMIT_S + feed.interval_s, more=True) for feed in live)
        )


def _is_live(feed: Feed) -> bool:
    """Whether a sensor delivers: one that hangs is missing, not waited for."""
    patience_s = LATE_LIMIT_S + feed.interval_s
    return feed.essential or (feed.failure is None and now_s() - feed.latest_s < patience_s)


def _readings(session: Session, name: str, start_s: float, end_s: float) -> list[Reading]:
    return [feed.reading(start_s, end_s) for feed in session.feeds[name]]


class IdleBook:
    """The idle windows of a result: before and after the trials of each setting of each host.

    Those before, and between trials, are ``idle.json``, ``idle-2.json`` and so on, those after
    ``idle-end.json``, ``idle-end-2.json``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._windows: list[Idle] = list(idle_windows(path))

    def add(self, measured: Measured, *, after: bool = False) -> None:
        """Keep an idle window, on disk before anything else happens."""
        files = numbered_files(self._path, "idle-end" if after else "idle")
        write_idle(
            next(file for file in files if not file.exists()), measured.window.as_written(), measured.raw
        )
        self._windows.append(measured.window.model_copy(update={"after": after}))

    def lacking(self, hosts: Collection[str], setting: Setting) -> set[str]:
        """Those of ``hosts`` that have no idle window with this setting."""
        return set(hosts) - {name for window in self._of(setting) for name in window.hosts}

    def cores(self, setting: Setting, hosts: Iterable[str]) -> dict[str, float | None]:
        """Host → cores that were busy idle with this setting."""
        windows = self._of(setting)
        return {name: idle_cores(windows, name) for name in hosts if _is_in(windows, name)}

    def power(self, setting: Setting, hosts: Iterable[str]) -> dict[str, IdlePower]:
        """Host → power of its sources idle with this setting, as far as it is known by now."""
        windows = self._of(setting)
        return {
            name: {key: idle_power.power_w for key, idle_power in idle_power_of(windows, name).items()}
            for name in hosts
            if _is_in(windows, name)
        }

    def before(self, setting: Setting, host: str) -> IdleHost | None:
        """What a host did in its first idle window with this setting, when no trial of it had run."""
        return next((window.hosts[host] for window in self._of(setting) if host in window.hosts), None)

    def drifted(self, setting: Setting, hosts: Iterable[str]) -> dict[str, str]:
        """Host → how its idle power with this setting differs by more than it should, in words."""
        windows = self._of(setting)
        drifts = {name: _drift(windows, name) for name in hosts}
        return {name: what for name, what in drifts.items() if what is not None}

    def _of(self, setting: Setting) -> list[Idle]:
        return [window for window in self._windows if dict(window.setting) == dict(setting)]


def _is_in(windows: Iterable[Idle], host: str) -> bool:
    return any(host in window.hosts for window in windows)


def _drift(windows: list[Idle], host: str) -> str | None:
    joined = idle_power_of(windows, host)
    results = [
        replace(
            result, idle_w=idle.power_w, idle_uncertainty_w=idle.uncertainty_w, idle_windows_w=idle.windows_w
        )
        for result in windows[-1].hosts.get(host, IdleHost()).power
        if (idle := joined.get((result.source, result.channel))) is not None
    ]
    system = power_of_system(results)
    return system.idle_drift if isinstance(system, Total) else None


async def _past(feed: Feed, time_s: float, limit_s: float, *, more: bool = False) -> None:
    """Wait for the reading behind a time (``more``: beyond it).

    A source of power that hangs is missing, not waited for.
    """
    try:
        await feed.wait_past(time_s + 1e-6 if more else time_s, limit_s)
    except WaitTimeout:
        if feed.essential:
            raise
    if feed.essential and feed.failure is not None:
        raise HostError(f"{feed.host}: {feed.source} {feed.failure}")
