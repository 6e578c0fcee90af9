# SPDX-License-Identifier: Apache-2.0
"""What a sensor is: an argument list that streams records, and a pure parser of one record.

A sensor runs on its host through the whole campaign; the engine stamps every line on arrival, cuts the
stream into records where :meth:`Sensor.ends_record` says so, and turns each record into samples. Readings
of ``kind`` "mean" span the time since the record before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from linewatt.hosts.base import HostSpec
from linewatt.model import Channel


class SensorConfig(BaseModel):
    """Settings that every sensor has; a plug-in's own ``Config`` extends it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval_s: float = 1.0


class Sensor(Protocol):
    """One source of samples on a host."""

    name: ClassVar[str]
    Config: ClassVar[type[SensorConfig]]

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """Argument list of the streaming process (pure)."""

    def environment(self) -> dict[str, str]:
        """Environment the process needs, set with ``env`` in front of the command."""

    def ends_record(self, line: str) -> bool:
        """Whether this line completes a record."""

    def parse(self, record: str) -> dict[str, float | None]:
        """Readings of one record, channel name → value in SI. Raises ParseError."""

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings are None or absent, by channel or by the group of channels (the part before a dot)."""

    def channel(self, name: str) -> Channel:
        """Unit, kind, scope and provenance of a channel this sensor delivered."""


def cut_records(sensor: Sensor, lines: Iterable[str]) -> Iterator[str]:
    """The records of a stream of lines (without their newlines); an unfinished last one is left out."""
    record: list[str] = []
    for line in lines:
        record.append(line)
        if sensor.ends_record(line):
            yield "\n".join(record)
            record.clear()
