# SPDX-License-Identifier: Apache-2.0
"""A running sensor's stream: lines in, stamped records kept, samples out."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from linewatt.errors import InvalidInput, LinewattError, NotReady, ParseError, WaitTimeout
from linewatt.foreign import understood
from linewatt.hosts import Host, Line, now_s, within_limit
from linewatt.model import Channel, Sample, Window
from linewatt.sensors import Records, Stamped

MOST_CHARACTERS = 1 << 20
"""of a record: a second of 1024 CPUs is a fifth of it"""
STAMP_SLACK_S = 0.1
"""A stamp may lie this much behind its arrival: the error of a host's offset, and rounding."""
STAMP_AGE_S = 60.0
"""No meter delivers a reading later than this; an older stamp is of another clock."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a sensor as it arrived; ``span_s`` is the time since the one before.

    ``read_s`` is when it was read where its source says so, on the controller's time line. ``values`` are
    its readings by channel, ``reasons`` say why one is None. A record that cannot be parsed has a problem
    and no values: it never becomes a number.
    """

    received_s: float
    span_s: float
    text: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None
    read_s: float | None = None
    misplaced: bool = False
    """its stamp cannot be when it was read: that is the problem, the text could be parsed"""

    @property
    def time_s(self) -> float:
        """When its values held: as its source stamped it, else when it arrived."""
        return self.received_s if self.read_s is None else self.read_s


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor delivered over some time, the records it is from, and what was wrong with them."""

    host: str
    source: str
    records: tuple[Record, ...] = ()
    channels: Mapping[str, Channel] = field(default_factory=dict)
    updates_s: Mapping[str, float] = field(default_factory=dict)
    """how often a channel is updated at its source, where that could be measured"""
    failure: str | None = None
    """why its source delivers nothing now"""
    optional: bool = False
    """a source of power, which a campaign can do without"""

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(record.problem for record in self.records if record.problem is not None)

    def values(self, channel: str) -> list[tuple[float, float | None]]:
        """A channel's readings with their times, Unix seconds."""
        return [
            (record.time_s, record.values[channel]) for record in self.records if channel in record.values
        ]

    def within(self, channel: str, window: Window) -> list[tuple[float, float]]:
        """A channel's known readings in a window, with their times."""
        return [
            (time_s, value)
            for time_s, value in self.values(channel)
            if value is not None and window.start_s <= time_s <= window.end_s
        ]

    def samples(self, *channels: str) -> Iterator[Sample]:
        """The samples of some channels, or of all."""
        for name in channels or self.channels:
            channel = self.channels.get(name)
            is_mean = channel is not None and channel.kind == "mean"
            for record in self.records:
                if name in record.values:
                    value = record.values[name]
                    span_s = record.span_s if is_mean else 0.0
                    reason = None if value is not None else _reason(record.reasons, name)
                    yield Sample(record.time_s, name, value, span_s, reason)

    def raw(self) -> str:
        """The records as JSON lines: time of arrival, and the tool's own words."""
        return "".join(json.dumps(_raw(record)) + "\n" for record in self.records)


class Feed:
    """What a source of one host delivers: lines in, records kept, readings out."""

    def __init__(
        self, host: str, sensor: Records, cfg: Any, source: str | None = None, *, essential: bool = True
    ) -> None:
        """``essential``: a campaign does not begin without it.

        ``refused`` is set while its source says that the settings ask for what it does not have.
        """
        self.host = host
        self.essential = essential
        self.source = source or sensor.name
        self.sensor = sensor
        self._stamped = sensor if isinstance(sensor, Stamped) else None
        self.updates_s: dict[str, float] = {}
        self.failure: str | None = None
        self.refused: InvalidInput | None = None
        self._said: Record | None = None
        self._opening: str | None = None
        self._cfg = cfg
        self._channels: dict[str, Channel] = {}
        self._records: deque[Record] = deque()
        self._lines: list[str] = []
        self._characters = 0
        self._arrived = asyncio.Event()
        self._host: Host | None = None
        self._since_s = self._heard_s = 0.0
        self.started_s = 0.0

    def take(self, line: Line) -> None:
        """One line of the sensor's output."""
        self._heard_s = line.received_s
        self._lines.append(line.text)
        self._characters += len(line.text) + 1
        is_too_long = self._characters > MOST_CHARACTERS
        if is_too_long or self.sensor.ends_record(line.text):
            span_s = line.received_s - self._since_s
            self._since_s = line.received_s
            if is_too_long:
                problem = f"{self.source}: a record is longer than {MOST_CHARACTERS >> 20} MiB"
                record = Record(line.received_s, span_s, self._lines[0][:200], problem=problem)
            else:
                record = self._record(line.received_s, span_s, "\n".join(self._lines))
            self._records.append(record)
            self._lines.clear()
            self._characters = 0
            if self._opening is None:
                self._said = record
            self.arrived()

    def arrived(self) -> None:
        """Wake whoever waits for a record."""
        self._arrived.set()

    def take_again(self, stored_record: Mapping[str, Any]) -> None:
        """A record as :meth:`Reading.raw` keeps it, parsed anew."""
        received_s, span_s, text = stored_record["received_s"], stored_record["span_s"], stored_record["text"]
        problem = stored_record.get("misplaced")
        if problem is not None:
            record = Record(received_s, span_s, text, problem=problem, misplaced=True)
        else:
            record = replace(self._parsed(received_s, span_s, text), read_s=stored_record.get("read_s"))
        self._records.append(record)

    def whole(self) -> Reading:
        """What all the records hold that it has."""
        return self._of(tuple(self._records))

    def _record(self, received_s: float, span_s: float, text: str) -> Record:
        record = self._parsed(received_s, span_s, text)
        if record.problem is not None:
            return record
        try:
            read_s = understood(lambda: self._read_s(text), self.source)
        except ParseError as error:
            return Record(received_s, span_s, text, problem=str(error))
        if read_s is None:
            return record
        problem = self._misplaced(read_s, received_s)
        if problem is not None:
            return Record(received_s, span_s, text, problem=f"{self.source}: {problem}", misplaced=True)
        return replace(record, read_s=read_s)

    def _parsed(self, received_s: float, span_s: float, text: str) -> Record:
        try:
            values, reasons, channels = understood(lambda: self._understand(text), self.source)
        except LinewattError as error:
            self.refused = error if isinstance(error, InvalidInput) else None
            self._opening = str(error) if isinstance(error, NotReady) else None
            return Record(received_s, span_s, text, problem=str(error))
        except Exception as error:  # noqa: BLE001  one odd record must not end the stream for good
            return Record(received_s, span_s, text, problem=f"{self.source}: cannot be read: {error!r}")
        self.refused = self._opening = None
        self._channels |= channels
        return Record(received_s, span_s, text, values, reasons)

    def _understand(
        self, text: str
    ) -> tuple[Mapping[str, float | None], Mapping[str, str], Mapping[str, Channel]]:
        """Values, reasons, and the channels that are new."""
        values = self.sensor.parse(text)
        is_whole = values and None not in values.values()
        reasons = {} if is_whole else self.sensor.reasons(text)  # which parses it once more
        new = values.keys() - self._channels.keys()
        return values, reasons, {name: self.sensor.channel(name) for name in new}

    def _read_s(self, text: str) -> float | None:
        """A record's own stamp, put on the controller's time line."""
        if self._host is None or self._stamped is None:
            return None
        host_s = self._stamped.time_s(text)
        return None if host_s is None else self._host.clock.to_controller(host_s)

    def _misplaced(self, read_s: float, received_s: float) -> str | None:
        """Why a stamp cannot be when the reading was taken."""
        early_s = read_s - received_s
        if early_s > STAMP_SLACK_S:
            return f"a reading is stamped {early_s:.3f} s after it arrived; is its time the host's clock?"
        if early_s < -STAMP_AGE_S:
            return f"a reading is stamped {-early_s:.0f} s before it arrived; is its time the host's clock?"
        if read_s < self.latest_s:
            return f"a reading is stamped {self.latest_s - read_s:.3f} s before the one that came first"
        return None

    @property
    def latest_s(self) -> float:
        """Time of the newest record; 0 before there is one."""
        return self._records[-1].time_s if self._records else 0.0

    @property
    def late_s(self) -> float:
        """How much later than that of other hosts what its host says may come."""
        return 0.0 if self._host is None else self._host.limits.late_s

    async def wait_past(self, time_s: float, limit_s: float) -> None:
        """Wait until a record from after ``time_s`` is there, or its source is down. Raises WaitTimeout."""
        while self.failure is None and self.latest_s < time_s:
            self._arrived.clear()
            awaited = f"{self.host}: the next reading of {self.source}"
            await within_limit(self._arrived.wait(), limit_s + self.late_s, awaited)

    async def heard(self, time_s: float, limit_s: float) -> bool:
        """Whether a record from after ``time_s`` came in time; where its source is down nobody waits."""
        try:
            await self.wait_past(time_s, limit_s)
        except WaitTimeout:
            return False
        return self.failure is None

    async def silent(self, limit_s: float, opening_s: float) -> str | None:
        """Wait for the first record since its start, and say why it holds no number; None: it does.

        ``opening_s`` more are waited for one whose records say that its readings are still to come.
        """
        limit_s += self.late_s
        until_s = now_s() + limit_s
        while self.failure is None and self._said is None:
            self._arrived.clear()
            left_s = until_s + (opening_s if self._opening else 0.0) - now_s()
            try:
                await within_limit(self._arrived.wait(), max(0.0, left_s), "its first reading")
            except WaitTimeout:
                return self._opening or f"waited {limit_s:g} s for its first reading"
        if self.refused is not None:  # why its source has ended, too, if it has
            return str(self.refused)
        return self.failure or (_without_number(self._said) if self._said else None)

    @property
    def interval_s(self) -> float:
        """How often its source is read."""
        return float(self._cfg.interval_s)

    @property
    def counts_bytes(self) -> bool:
        """Whether it reads the counters of an interface."""
        return self.sensor.name == "netcounters"

    def channels_in(self, units: Collection[str]) -> list[Channel]:
        """What it has delivered so far in some units."""
        return [channel for channel in self._channels.values() if channel.unit in units]

    def rate_bps(self, *channels: str) -> float | None:
        """What counters of bytes together grew by, between the newest two records."""
        newest = [
            (record.received_s, [record.values.get(name) for name in channels])
            for record in self.latest(2)
            if record.problem is None
        ]
        totals = [
            (time_s, sum(v for v in counts if v is not None))
            for time_s, counts in newest
            if None not in counts
        ]
        if len(totals) < 2:
            return None
        (before_s, before), (after_s, after) = totals
        if after_s <= before_s:  # two that came with one packet have one stamp
            return None
        return max(0.0, 8 * (after - before) / (after_s - before_s))

    def forget_before(self, time_s: float) -> None:
        """Drop records that no later window can need."""
        while len(self._records) > 1 and self._records[1].time_s < time_s:
            self._records.popleft()

    def between(self, start_s: float, end_s: float) -> tuple[Record, ...]:
        """Records that touch the time from ``start_s`` to ``end_s``: one before, one after, all within."""
        records = list(self._records)
        first = max((i for i, record in enumerate(records) if record.time_s <= start_s), default=0)
        last = next((i for i, record in enumerate(records) if record.time_s >= end_s), len(records) - 1)
        return tuple(records[max(0, first) : last + 1])

    def later(self, than_s: float) -> Reading:
        """What the records hold that are later than that; none comes after it that is not."""
        return self._of(tuple(record for record in self._records if record.time_s > than_s))

    def latest(self, count: int) -> tuple[Record, ...]:
        return tuple(self._records)[-count:]

    def reading(self, start_s: float, end_s: float) -> Reading:
        """What the records of :meth:`between` hold."""
        return self._of(self.between(start_s, end_s))

    def _of(self, records: tuple[Record, ...]) -> Reading:
        names: dict[str, object] = {}
        for record in records:
            names.update(record.values)
        channels = {name: self._channels[name] for name in names}
        updates_s, optional = dict(self.updates_s), not self.essential
        return Reading(self.host, self.source, records, channels, updates_s, self.failure, optional)


class LiveFeed(Feed, ABC):
    """One source on one host, from start to stop of the campaign."""

    @abstractmethod
    async def start(self, host: Host) -> None:
        """Have it deliver, if it does not. Raises HostError, WaitTimeout."""

    @abstractmethod
    async def stop(self) -> None:
        """Have it deliver nothing more."""

    @property
    def pid(self) -> int | None:
        """Its process on the host; None: it has none there, or it is not known."""
        return None

    def notice_silence(self) -> None:
        """Have one that hangs fail, where nothing else would tell."""


def _without_number(record: Record) -> str | None:
    """Why a record has no number at all."""
    if record.problem is not None:
        return record.problem
    if any(value is not None for value in record.values.values()):
        return None
    return "; ".join(dict.fromkeys(_reason(record.reasons, name) for name in record.values))


def _raw(record: Record) -> dict[str, Any]:
    """All that the text does not say: a record is made of it again as it was."""
    raw_record: dict[str, Any] = {
        "received_s": record.received_s,
        "span_s": record.span_s,
        "text": record.text,
    }
    if record.read_s is not None:
        raw_record["read_s"] = record.read_s
    if record.misplaced:
        raw_record["misplaced"] = record.problem
    return raw_record


def _reason(reasons: Mapping[str, str], channel: str) -> str:
    """Why a reading is missing: sensors say it by channel, or by the part of its name before the dot."""
    return reasons.get(channel) or reasons.get(channel.partition(".")[0]) or "not delivered"
