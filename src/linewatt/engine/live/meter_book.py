# SPDX-License-Identifier: Apache-2.0
"""What a campaign learns of its meters while it runs: refresh, averaging and delay of each channel in watts.

Each trial is measured with what is known when it is stored; ``meters.json`` has what was known at its
end, and is put into all trials when the result is read (:mod:`linewatt.store.meters`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from linewatt.analysis.power import Load, Step, meters
from linewatt.campaign import PowerSource
from linewatt.engine.live.feed import Reading
from linewatt.records import SCHEMA_VERSION, Meter, Meters
from linewatt.sensors.power import Dynamics, declared_dynamics
from linewatt.store import known_meters, numbered_files, write_json
from linewatt.store import read_meters as stored_meters

MOST_DISTANCES = 2000
MOST_STEPS = 40
KEPT_S = 90.0
"""readings before a step that are kept to know what was before it"""
GAP_READINGS = 3.0
COURSE_S, COURSE_LOADS = 600.0, 6
"""The beginning of a campaign that is looked at as a whole, for meters that are later than a load is long."""


@dataclass(slots=True)
class _Channel:
    """What was seen of one channel so far."""

    scope: str = ""
    step_w: float | None = None
    readings: list[tuple[float, float]] = field(default_factory=list)
    changed_s: float | None = None
    distances_s: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_DISTANCES))
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=MOST_STEPS))
    fitted_s: float = 0.0
    every_s: float = 1.0
    first_readings: list[tuple[float, float]] = field(default_factory=list)
    first_loads: list[Load] = field(default_factory=list)
    course: Step | None = None
    peak_s: float | None = None

    def take(self, values: Sequence[tuple[float, float | None]]) -> None:
        """Readings later than those it has; a gap between them hides refreshes."""
        last_s = self.readings[-1][0] if self.readings else 0.0
        new = [(time_s, value) for time_s, value in values if value is not None and time_s > last_s]
        if len(new) > 1:
            self.every_s = meters.interval_s([time_s for time_s, _ in new])
        for before, after in pairwise([*self.readings[-1:], *new]):
            if after[0] - before[0] > GAP_READINGS * self.every_s:
                self.changed_s = None
            elif after[1] != before[1]:
                if self.changed_s is not None:
                    self.distances_s.append(after[0] - self.changed_s)
                self.changed_s = after[0]
        self.readings += new
        if self.has_course_to_come:
            self.first_readings += new

    @property
    def has_course_to_come(self) -> bool:
        """Whether a further load is to be part of the course."""
        if not self.first_loads:
            return True
        return (
            len(self.first_loads) < COURSE_LOADS
            and self.first_loads[-1].end_s - self.first_loads[0].start_s < COURSE_S
        )

    def follow(self, load: Load) -> None:
        """What readings did over all loads so far, this one among them."""
        if not self.has_course_to_come or any(load.start_s < earlier.end_s for earlier in self.first_loads):
            return
        if not self.first_loads:
            self.first_readings = [point for point in self.first_readings if point[0] > load.start_s - KEPT_S]
        self.first_loads.append(load)
        readings = [point for point in self.first_readings if point[0] <= load.end_s]
        if readings:
            self.course = meters.fit_course(readings, self.first_loads, self.refresh_s, self.step_w)
        self.look_for_peaks()
        if not self.has_course_to_come:
            self.first_readings = []

    def look_for_peaks(self) -> None:
        """Whether it shows the highest power of some time past, from all readings by now.

        Those behind the last load are before the next one, as none is stored before it has ended.
        """
        loads = self.first_loads
        if loads and self.first_readings and self.has_course_to_come:
            peak_s = meters.fit_peak(self.first_readings, loads, self.refresh_s, self.step_w)
            self.peak_s = self.peak_s if peak_s is None else peak_s

    def fit(self, started_s: float, ended_s: float) -> None:
        """What readings did after a load began."""
        if started_s > self.fitted_s:
            from_idle = self.fitted_s == 0
            self.fitted_s = started_s
            near = [reading for reading in self.readings if started_s - KEPT_S <= reading[0] <= ended_s]
            step = meters.fit_step(near, started_s, self.refresh_s, self.step_w, from_idle=from_idle)
            if step is not None:
                self.steps.append(step)
        self.readings = [reading for reading in self.readings if reading[0] > ended_s - KEPT_S]

    @property
    def refresh_s(self) -> float | None:
        return meters.refresh(self.distances_s, self.every_s)

    @property
    def late_loads(self) -> int:
        """Of how many loads the course shows that this meter is late."""
        return len(self.first_loads) if self.course is not None and meters.is_late(self.course) else 0

    def dynamics(self) -> Dynamics:
        return meters.dynamics(self.distances_s, self.every_s, self.steps, self.course, self.peak_s)


class MeterBook:
    """The meters of a campaign. Threads that store trials may use it at once."""

    def __init__(self, path: Path, sources: Mapping[str, Mapping[str, PowerSource]]) -> None:
        """With what a first part of this result had learned, and what its file declares."""
        self._path = path
        self._before: dict[str, dict[tuple[str, str], Meter]] = {}
        for (host, *key), meter in known_meters(stored_meters(path)).items():
            self._before.setdefault(host, {})[key[0], key[1]] = meter
        self._declared = {
            (host, name): declared_dynamics(source.cfg.refresh_s, source.cfg.averaging_s)
            for host, host_sources in sources.items()
            for name, source in host_sources.items()
        }
        self._channels: dict[str, dict[tuple[str, str], _Channel]] = {}
        """host → source and channel"""
        self._lock = threading.Lock()

    def seen_s(self, host: str, source: str) -> float:
        """When the newest reading of a source was taken that is in the book; 0: none is."""
        with self._lock:
            channels = self._channels.get(host, {})
            last = [
                channel.readings[-1][0]
                for key, channel in channels.items()
                if key[0] == source and channel.readings
            ]
            return max(last, default=0.0)

    def take(self, readings: Sequence[Reading]) -> None:
        """What meters said since :meth:`seen_s`, whatever ran meanwhile."""
        with self._lock:
            for reading in readings:
                for name, channel in reading.channels.items():
                    if reading.optional and channel.unit == "W":
                        channels = self._channels.setdefault(reading.host, {})
                        meter_channel = channels.setdefault(
                            (reading.source, name), _Channel(channel.scope, channel.step)
                        )
                        meter_channel.take(reading.values(name))

    def load(
        self,
        cores: Mapping[str, float | None],
        started_s: float,
        window_end_s: float,
        ended_s: float | None = None,
    ) -> None:
        """A load ran on hosts, of which each used so many cores, and its readings were taken.

        ``ended_s``: when it ended, of a load that is all there from its start on.
        """
        with self._lock:
            for host, used in cores.items():
                for channel in self._channels.get(host, {}).values():
                    channel.fit(started_s, window_end_s)
                    if ended_s is not None:
                        channel.follow(Load(started_s, ended_s, used))

    def has_course_to_come(self, host: str) -> bool:
        """Whether a further load would say more of how late a meter of this host is."""
        with self._lock:
            return any(channel.has_course_to_come for channel in self._channels.get(host, {}).values())

    def of(self, host: str) -> dict[tuple[str, str], Dynamics]:
        """(source, channel) → what is known now of a host's meters."""
        with self._lock:
            return {key: self._known(host, key) for key in self._keys(host)}

    def write(self) -> None:
        """What is known now, beside what a first part of the result had known. Raises StoreError."""
        with self._lock:
            hosts = dict.fromkeys([*self._before, *self._channels])
            for channels in self._channels.values():
                for channel in channels.values():
                    channel.look_for_peaks()
            meters = [self._record(host, key) for host in hosts for key in self._keys(host)]
        if meters:
            file = next(
                candidate for candidate in numbered_files(self._path, "meters") if not candidate.exists()
            )
            write_json(file, Meters(schema_version=SCHEMA_VERSION, meters=meters).as_written())

    def _keys(self, host: str) -> list[tuple[str, str]]:
        return list(dict.fromkeys([*self._before.get(host, {}), *self._channels.get(host, {})]))

    def _known(self, host: str, key: tuple[str, str]) -> Dynamics:
        channel, earlier = self._channels.get(host, {}).get(key), self._before.get(host, {}).get(key)
        learned = channel.dynamics() if channel is not None else Dynamics()
        before = earlier.dynamics if earlier is not None else Dynamics()
        refresh_s = learned.refresh_s if learned.refresh_s is not None else before.refresh_s
        response = learned if learned.settle_s is not None else before
        return replace(response, refresh_s=refresh_s) | self._declared.get((host, key[0]), Dynamics())

    def _record(self, host: str, key: tuple[str, str]) -> Meter:
        channel = self._channels.get(host, {}).get(key) or _Channel()
        dynamics, earlier = self._known(host, key), self._before.get(host, {}).get(key)
        return Meter(
            host=host,
            source=key[0],
            channel=key[1],
            scope=channel.scope,
            **asdict(dynamics),
            read_every_s=channel.every_s,
            distances=len(channel.distances_s),
            steps=len(channel.steps),
            peak_s=channel.peak_s or (earlier.peak_s if earlier else None),
            late_loads=channel.late_loads or (earlier.late_loads if earlier else 0),
        )
