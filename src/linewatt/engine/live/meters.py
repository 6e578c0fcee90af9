# SPDX-License-Identifier: Apache-2.0
"""Meters as feeds: each is read in a thread of its own, so that one that hangs delays nobody.

A meter that cannot be reached is tried again and again; meanwhile its readings are missing, with the reason.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import Any

from linewatt.engine.live.feed import LiveFeed
from linewatt.errors import InvalidInput, LinewattError, WaitTimeout
from linewatt.foreign import LARGEST, contained, scrubbed
from linewatt.hosts import Host, Line, now_s, within_limit
from linewatt.model import Channel
from linewatt.sensors.power import (
    CALL_LIMIT_S,
    Meter,
    MeterRecord,
    MeterSession,
    PowerConfig,
    no_meter,
    parse_record,
)

RETRY_S = 5.0
NO_METER_RETRY_S = 60.0
"""so that its refusal stands when the run asks for it"""
OPEN_LIMIT_S = 2 * CALL_LIMIT_S
"""opening is more than one call; one that takes longer is down until it answers"""
PROBE_S = 2.0
PROBE_EVERY_S = 0.05
PROBE_CHANGES = 6
MIN_CHANGES = 3


class MeterRecords:
    """A meter's records as a sensor's: every line is one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.channels: dict[str, Channel] = {}

    def ends_record(self, line: str) -> bool:
        return bool(line)

    def parse(self, record: str) -> dict[str, float | None]:
        return dict(parse_record(record).values)

    def reasons(self, record: str) -> dict[str, str]:
        return dict(parse_record(record).reasons)

    def channel(self, name: str) -> Channel:
        return self.channels[name]


def plausible(
    values: Mapping[str, float | None], reasons: Mapping[str, str]
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Readings that can be kept, and why the others are none."""
    plausible_values, why = dict(values), {name: scrubbed(text) for name, text in reasons.items()}
    for name, value in values.items():
        if value is not None and not -LARGEST <= value <= LARGEST:
            shown = f"{value:g}" if isinstance(value, float) else "a number beyond 1e30"
            plausible_values[name], why[name] = None, f"it says {shown}, which no meter can measure"
    return plausible_values, why


class _Probe:
    """How often a meter updates its readings, if it can be seen to change in the first seconds.

    One channel of power stands for all: a BMC reads its sensors in turn, at one pace.
    """

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self._power = [name for name, channel in channels.items() if channel.unit == "W"]
        self.watched = self._power[0] if self._power else None
        self._end_s = now_s() + PROBE_S
        self._changes: list[float] = []
        self._last: float | None = None

    @property
    def ended(self) -> bool:
        return now_s() >= self._end_s or len(self._changes) >= PROBE_CHANGES

    def saw(self, value: float | None) -> None:
        if value is None:
            return
        if self._last is not None and value != self._last:
            self._changes.append(now_s())
        self._last = value

    def result(self) -> dict[str, float]:
        """Median time between changes for every channel of power; nothing when there were too few."""
        if len(self._changes) < MIN_CHANGES:
            return {}
        update_s = median(after - before for before, after in pairwise(self._changes))
        return dict.fromkeys(self._power, update_s)


class MeterFeed(LiveFeed):
    """A meter's readings, from start to stop of the campaign."""

    def __init__(self, host: str, source: str, meter: Meter, cfg: PowerConfig, password: str | None) -> None:
        self._meter_records = MeterRecords(meter.name)
        super().__init__(host, self._meter_records, cfg, source, essential=False)
        self._meter = meter
        self._interval_s = cfg.interval_s
        self._password = password
        self._ended = threading.Event()
        self._settled = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._measures = False

    async def start(self, host: Host) -> None:
        """Open the meter; one that is down, or cannot meet its settings, is tried again and again."""
        if self._thread is not None and not self._ended.is_set():
            return
        self._ended = threading.Event()
        self._settled.clear()
        self._said = self.refused = None
        self.started_s = self._since_s = now_s()
        loop = asyncio.get_running_loop()
        name = f"meter {self.host} {self.source}"
        self._thread = threading.Thread(target=self._run, args=(loop, self._ended), name=name, daemon=True)
        self._thread.start()
        try:
            await within_limit(self._settled.wait(), OPEN_LIMIT_S, "it to answer")
        except WaitTimeout as error:
            self.failure = str(error)

    async def stop(self) -> None:
        """Let the thread end by itself: it may be waiting for a meter that hangs."""
        self._ended.set()

    def _run(self, loop: asyncio.AbstractEventLoop, ended: threading.Event) -> None:
        """The thread: what it says once it was told to end is no longer heard."""

        def tell(what: Any, *values: Any) -> None:
            if not loop.is_closed() and not ended.is_set():
                loop.call_soon_threadsafe(what, *values)

        while not ended.is_set():
            try:
                with contained("its answer"):
                    session = self._meter.open(self._password)
                    channels = dict(session.channels)
            except LinewattError as error:
                tell(self._fail, str(error), error if isinstance(error, InvalidInput) else None)
                ended.wait(RETRY_S)
                continue
            tell(self._opened, channels)
            try:
                with contained("its answer"):
                    self._read(session, tell, ended)
            except InvalidInput as error:
                tell(self._fail, str(error), error)
                ended.wait(NO_METER_RETRY_S)
            except LinewattError as error:
                tell(self._fail, str(error))
                ended.wait(RETRY_S)
            finally:
                session.close()

    def _read(self, session: MeterSession, tell: Any, ended: threading.Event) -> None:
        probe = _Probe(session.channels)
        due_s = now_s()
        while not ended.is_set():
            begin_s = now_s()
            values, reasons = plausible(session.read(), session.reasons)
            self._check(session.channels, values)
            record = MeterRecord(begin_s, now_s(), values, reasons)
            tell(self.take, Line((record.begin_s + record.end_s) / 2, record.line()))
            due_s = max(due_s + self._interval_s, now_s())
            if probe.watched is not None:
                probe.saw(values.get(probe.watched))
                self._look_closely(session, probe, due_s, ended)
                if probe.ended:
                    tell(self._measured, probe.result())
                    probe.watched = None
            ended.wait(max(0.0, due_s - now_s()))

    def _check(self, channels: Mapping[str, Channel], values: Mapping[str, float | None]) -> None:
        """Whether the first reading measures anything. Raises InvalidInput."""
        if not self._measures and (problem := no_meter(channels, values)):
            raise InvalidInput(problem)
        self._measures = True

    def _look_closely(
        self, session: MeterSession, probe: _Probe, until_s: float, ended: threading.Event
    ) -> None:
        """Read one channel often, to see when it changes."""
        while not probe.ended and now_s() + PROBE_EVERY_S < until_s and not ended.wait(PROBE_EVERY_S):
            probe.saw(session.read([str(probe.watched)]).get(str(probe.watched)))

    def _opened(self, channels: Mapping[str, Channel]) -> None:
        self.failure = self.refused = None
        self._meter_records.channels = dict(channels)
        self._settled.set()

    def _measured(self, updates_s: Mapping[str, float]) -> None:
        self.updates_s = {**self.updates_s, **updates_s}

    def _fail(self, reason: str, refused: InvalidInput | None = None) -> None:
        """Missing readings for all it is known to deliver, so that the gap is on record."""
        self.failure = reason
        channels = self._meter_records.channels
        if channels:
            when_s = now_s()
            record = MeterRecord(when_s, when_s, dict.fromkeys(channels), dict.fromkeys(channels, reason))
            self.take(Line(when_s, record.line()))
        self.refused = refused
        self._settled.set()
        self.arrived()
