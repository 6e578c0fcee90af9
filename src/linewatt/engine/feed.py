# SPDX-License-Identifier: Apache-2.0
"""A running sensor's stream: lines in, stamped records kept, samples out."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from linewatt.errors import HostError, ParseError, WaitTimeout
from linewatt.hosts.base import Host, Line, Process
from linewatt.hosts.clock import now_s
from linewatt.hosts.process import bounded
from linewatt.model import Channel, Sample
from linewatt.sensors.base import Sensor


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a sensor as it arrived; ``span_s`` is the time since the one before."""

    received_s: float
    span_s: float
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor delivered over some time, the records it is from, and what was wrong with them."""

    host: str
    source: str
    records: tuple[Record, ...] = ()
    samples: Mapping[str, list[Sample]] = field(default_factory=dict)
    channels: Mapping[str, Channel] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def raw(self) -> str:
        """The records as JSON lines: time of arrival, and the tool's own words."""
        return "".join(
            json.dumps(
                {
                    "received_s": round(record.received_s, 6),
                    "span_s": round(record.span_s, 6),
                    "text": record.text,
                }
            )
            + "\n"
            for record in self.records
        )


class Feed:
    """One sensor on one host, from start to stop of the campaign."""

    def __init__(self, host: str, sensor: Sensor, cfg: Any) -> None:
        self.host = host
        self.sensor = sensor
        self._cfg = cfg
        self._records: deque[Record] = deque()
        self._lines: list[str] = []
        self._arrived = asyncio.Event()
        self._process: Process | None = None
        self._since_s = 0.0

    async def start(self, host: Host) -> None:
        """Start (or start again) the sensor's process."""
        self._lines.clear()
        words = [f"{name}={value}" for name, value in self.sensor.environment().items()]
        argv = ["env", *words, *self.sensor.command(self._cfg, host.spec)]
        self._since_s = now_s()
        self._process = await host.start(argv, on_line=self.take)

    def take(self, line: Line) -> None:
        """One line of the sensor's output."""
        self._lines.append(line.text)
        if self.sensor.ends_record(line.text):
            span_s = line.received_s - self._since_s
            self._since_s = line.received_s
            self._records.append(Record(line.received_s, span_s, "\n".join(self._lines)))
            self._lines.clear()
            self._arrived.set()

    @property
    def latest_s(self) -> float:
        """Arrival of the newest record; 0 before there is one."""
        return self._records[-1].received_s if self._records else 0.0

    async def wait_past(self, time_s: float, limit_s: float) -> None:
        """Wait until a record from after ``time_s`` is there. Raises WaitTimeout."""
        while self.latest_s < time_s:
            self._arrived.clear()
            await bounded(
                self._arrived.wait(), limit_s, f"{self.host}: the next reading of {self.sensor.name}"
            )

    def forget_before(self, time_s: float) -> None:
        """Drop records that no later window can need."""
        while len(self._records) > 1 and self._records[1].received_s < time_s:
            self._records.popleft()

    def between(self, start_s: float, end_s: float) -> tuple[Record, ...]:
        """Records that touch the time from ``start_s`` to ``end_s``: one before, one after, all within."""
        records = list(self._records)
        first = max((i for i, record in enumerate(records) if record.received_s <= start_s), default=0)
        last = next((i for i, record in enumerate(records) if record.received_s >= end_s), len(records) - 1)
        return tuple(records[max(0, first) : last + 1])

    def latest(self, count: int) -> tuple[Record, ...]:
        return tuple(self._records)[-count:]

    async def stop(self) -> None:
        if self._process is not None:
            try:
                await self._process.stop()
            except (HostError, WaitTimeout):
                return
            finally:
                self._process = None


def read(host: str, sensor: Sensor, records: tuple[Record, ...]) -> Reading:
    """Parse records into samples. A record that cannot be parsed is a problem, never a number."""
    samples: dict[str, list[Sample]] = {}
    channels: dict[str, Channel] = {}
    problems = []
    for record in records:
        try:
            values, reasons = sensor.parse(record.text), sensor.reasons(record.text)
        except ParseError as error:
            problems.append(str(error))
            continue
        for name, value in values.items():
            if name not in channels:
                channels[name] = sensor.channel(name)
            span_s = record.span_s if channels[name].kind == "mean" else 0.0
            reason = None if value is not None else _reason(reasons, name)
            samples.setdefault(name, []).append(Sample(record.received_s, name, value, span_s, reason))
    return Reading(host, sensor.name, records, samples, channels, tuple(problems))


def _reason(reasons: Mapping[str, str], channel: str) -> str:
    """Why a reading is missing: sensors say it by channel, or by the part of its name before the dot."""
    return reasons.get(channel) or reasons.get(channel.partition(".")[0]) or "not delivered"
