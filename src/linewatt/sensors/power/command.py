# SPDX-License-Identifier: Apache-2.0
"""Readings of any program that runs on the host and prints a line of JSON for each: a meter without a driver.

A line is one record, ``{"time": 1767225600.25, "channel": "wall", "value": 214.5}``, or several channels read
together, ``{"time": …, "values": {"wall": 214.5, "energy": 90211.0}}``. ``time`` is the host's clock in Unix
seconds and may be left out. A value of null is a missing reading, ``reason`` says why. Anything else, such as
an unknown key, is a problem on record and never a number: ``"unit": "mW"`` must not pass as W.

The program runs through the whole campaign, gets ``LINEWATT_INTERVAL_S`` in its environment, and must flush
each line. What it costs its host is its own; linewatt adds nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from linewatt.document import Part
from linewatt.errors import InvalidInput, ParseError
from linewatt.foreign import read_json
from linewatt.hosts import HostSpec
from linewatt.model import Channel
from linewatt.sensors.base import LineSensor
from linewatt.sensors.power.base import PowerConfig, ScopeName, as_configured, each_once

_KEYS = {"time", "channel", "value", "values", "reason"}


def _program(argv: list[str]) -> list[str]:
    if argv and (argv[0].startswith("-") or "=" in argv[0]):
        raise ValueError(f"must begin with a program, got {argv[0]!r}")
    return argv


class CommandChannel(Part):
    """What a channel of the program is."""

    scope: ScopeName = Field(description="What it measures, such as `wall` or `psu-in:PSU1`.")
    unit: Literal["W", "J", "rpm", "V", "A"] = Field(
        examples=["W"],
        description="`W` for power, `J` for a running total of energy; `rpm`, `V`, `A` stand beside.",
    )
    step: float | None = Field(
        default=None, gt=0, description="The smallest difference it can show, in its unit."
    )
    tolerance_percent: float | None = Field(
        default=None, ge=0, le=100, description="Accuracy of its readings, ± % of the value."
    )


class CommandConfig(PowerConfig):
    """A program of the host that prints its readings as lines of JSON."""

    argv: Annotated[
        list[Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]],
        Field(min_length=1),
        AfterValidator(_program),
    ] = Field(
        examples=["[/usr/local/bin/meter]"],
        description="The program and its arguments, for no shell. They are kept in results: no passwords.",
    )
    channels: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")], CommandChannel],
        Field(min_length=1),
        AfterValidator(each_once),
    ] = Field(
        examples=["{wall: {scope: wall, unit: W}}"],
        description="What the program prints: each channel's scope and unit. Any other is a problem.",
    )
    provenance: Literal["measured", "estimate", "simulated"] = Field(
        examples=["measured"],
        description="Whether it reads a meter, computes, or makes its values up; shown with every number.",
    )
    root: bool = Field(
        default=False, description="Run it as root, through `sudo -n` where the host says `sudo: true`."
    )


@dataclass(frozen=True, slots=True)
class _Line:
    time_s: float | None
    values: Mapping[str, float | None]
    reason: str


class Command(LineSensor):
    """Any program of the host that prints its readings as lines of JSON."""

    name: ClassVar[str] = "command"
    Config: ClassVar[type[PowerConfig]] = CommandConfig

    def __init__(self, cfg: CommandConfig) -> None:
        self.cfg = cfg

    @property
    def needs_root(self) -> bool:
        return self.cfg.root

    def command(self, cfg: Any, host: HostSpec) -> list[str]:
        """The program as the settings name it."""
        return list(cfg.argv)

    def environment(self) -> dict[str, str]:
        return {"LC_ALL": "C", "LINEWATT_INTERVAL_S": f"{self.cfg.interval_s:g}"}

    def parse(self, record: str) -> dict[str, float | None]:
        """The readings of a line, by channel.

        Raises ParseError, and InvalidInput for a channel that was not declared.
        """
        return dict(self._line(record).values)

    def reasons(self, record: str) -> dict[str, str]:
        """Why readings are None, by channel. Raises ParseError."""
        line = self._line(record)
        return {name: line.reason for name, value in line.values.items() if value is None}

    def time_s(self, record: str) -> float | None:
        """The program's own stamp, Unix seconds, host's clock; None: it gave none. Raises ParseError."""
        return self._line(record).time_s

    def channel(self, name: str) -> Channel:
        """What a channel is, as the settings say. Raises InvalidInput for one that was not declared."""
        declared = self.cfg.channels[self._declared(name)]
        channel = Channel(
            name=name,
            unit=declared.unit,
            kind="counter" if declared.unit == "J" else "gauge",
            scope=declared.scope,
            provenance=self.cfg.provenance,
            method=f"program {self.cfg.argv[0].rpartition('/')[2]}",
            step=declared.step,
        )
        configured = as_configured(self.cfg, channel)
        tolerance = declared.tolerance_percent
        return configured if tolerance is None else replace(configured, tolerance_ratio=tolerance / 100)

    def _declared(self, name: object) -> str:
        """The name of a channel. Raises InvalidInput when the settings have none of that name."""
        if not isinstance(name, str):
            raise ParseError(f"command: channel {str(name)[:63]!r} is not a name")
        if name not in self.cfg.channels:
            declared = ", ".join(self.cfg.channels)
            raise InvalidInput(
                f"command: channel {str(name)[:63]!r} was not declared; declared are {declared}"
            )
        return name

    def _line(self, record: str) -> _Line:
        document = _mapping(record)
        given_keys = {"channel", "value", "values"} & document.keys()
        if given_keys == {"channel", "value"}:
            pairs = [(document["channel"], document["value"])]
        elif given_keys == {"values"} and isinstance(document["values"], dict) and document["values"]:
            pairs = list(document["values"].items())
        else:
            raise ParseError(f"command: {record[:60]!r} has neither channel and value, nor values")
        readings = {self._declared(name): _value(name, value) for name, value in pairs}
        reason = document.get("reason", "the program gives no value")
        return _Line(_time_s(document), readings, str(reason)[:200])


def _mapping(record: str) -> dict[str, Any]:
    """The line as a mapping of the keys that are known. Raises ParseError."""
    document = read_json(record, "command")
    if not isinstance(document, dict):
        raise ParseError(f"command: {record[:60]!r} is not a JSON object")
    unknown = document.keys() - _KEYS
    if unknown:
        allowed = ", ".join(sorted(_KEYS))
        raise ParseError(f"command: key {min(unknown)[:40]!r} is not known; known are {allowed}")
    return document


def _value(name: str, value: object) -> float | None:
    """A reading: a finite number, or null. Raises ParseError."""
    return None if value is None else _number(value, f"the value of {name[:63]}")


def _time_s(document: dict[str, Any]) -> float | None:
    time = document.get("time")
    return None if time is None else _number(time, "time")


def _number(value: object, what: str) -> float:
    try:
        number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ParseError(f"command: {what} is {str(value)[:40]}, not a finite number")
    return number


DRIVER = Command
