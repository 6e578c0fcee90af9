# SPDX-License-Identifier: Apache-2.0
"""IPMI sensor records and readings: bytes to sensors, choices, channels and values. Pure.

A full sensor record (type 01h) has the name, the unit, and the factors by which the byte of a reading becomes
a value; a sensor can show 256 values, so its step and its largest value are known. Sources: IPMI 2.0 rev.
1.1, 35.14 (Get Sensor Reading), 36.3 (conversion), 43 (records); DCMI 1.5, 6.6.1 (Get Power Reading).

:func:`reading` makes watts of bytes; ``engine/measuring/window_power.py`` says what a window took by them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from linewatt.errors import InvalidInput
from linewatt.missing import Missing
from linewatt.model import Channel
from linewatt.sensors.power.ipmi.names import DCMI, DCMI_SCOPE, scope_of_sensor, scopes_of_sensors

BMC_ADDRESS = 0x20
HEADER_BYTES = 5  # record number (2), version, type, length of the rest
DCMI_REQUEST = (0xDC, 0x01, 0x00, 0x00)  # group, mode: system power statistics, reserved
DCMI_MAXIMUM_W = 0xFFFF
USABLE = ("W", "rpm", "V", "A", "ratio", "°C")

ABSENT = (0xCB, 0xCC, 0xCD)
"""completion codes of a sensor that is in the records and not in the machine"""

_FULL, _COMPACT = 0x01, 0x02
_FULL_NAME_AT, _COMPACT_NAME_AT = 47, 31
_UNITS = {
    1: "°C",
    2: "degrees F",
    4: "V",
    5: "A",
    6: "W",
    7: "J",
    9: "VA",
    17: "CFM",
    18: "rpm",
    19: "Hz",
}
_STATES = "states, not a number"
_NOTHING = 0xFF
"""the byte of a reading that BMCs give for a sensor that is not there, though they say that they scan it"""
_SCANNING, _UNAVAILABLE = 0x40, 0x20
_DCMI_ACTIVE = 0x40
_NUMBER = re.compile(r"([0-9A-Fa-f]{2})[hH]")
_MOST_NAMED = 60

# IPMI 2.0, table 5-2
_SAID = {
    0xC0: "it is busy",
    0xC1: "it does not know this command",
    0xC3: "it timed out",
    0xC9: "a number is out of range",
    0xCA: "it cannot return so many bytes",
    0xCB: "there is no such sensor or record",
    0xCC: "the request has a field it does not take",
    0xCD: "it cannot do this for this sensor",
    0xCE: "it has no answer now",
    0xD0: "its records are being updated",
    0xD1: "its firmware is being updated",
    0xD2: "it is starting",
    0xD3: "what it would ask is not there",
    0xD4: "the user's privilege is too low",
    0xD5: "it cannot do this in its present state",
    0xD6: "this is switched off",
}

_LINEARIZATION: tuple[Callable[[float], float], ...] = (
    lambda x: x,
    math.log,
    math.log10,
    math.log2,
    math.exp,
    lambda x: 10.0**x,
    lambda x: 2.0**x,
    lambda x: 1 / x,
    lambda x: x**2,
    lambda x: x**3,
    math.sqrt,
    math.cbrt,
)


@dataclass(frozen=True)
class Sensor:
    """A sensor as its record describes it; ``unit`` is one of USABLE, or says why there is no number to use.

    ``factors``: M, B, K1 (exponent of B), K2 (exponent of the result). ``accuracy_ratio``: ± of a reading,
    ``None`` where the record does not say.
    """

    name: str
    number: int
    owner: int
    lun: int
    unit: str
    factors: tuple[int, int, int, int] = (1, 0, 0, 0)
    signed: int = 0
    linearization: int = 0
    accuracy_ratio: float | None = None

    def value(self, raw: int) -> float | None:
        """What the byte of a reading means, in ``unit``; ``None`` where the formula has no result."""
        m, b, b_exponent, exponent = self.factors
        if raw >= 0x80 and self.signed:
            raw -= 0x100 if self.signed == 2 else 0xFF  # 2: two's complement, 1: one's
        try:
            linear = (m * raw + b * 10.0**b_exponent) * 10.0**exponent
            result = _LINEARIZATION[self.linearization](linear)
        except (ValueError, ZeroDivisionError, OverflowError, IndexError):
            return None
        return result / 100 if self.unit == "ratio" else result

    @property
    def step(self) -> float | None:
        """The smallest difference it can show; it has one only if it is linear."""
        m, _, _, exponent = self.factors
        if self.linearization != 0:
            return None
        return abs(m) * 10.0**exponent / (100 if self.unit == "ratio" else 1)

    @cached_property
    def maximum(self) -> float | None:
        """The largest value it can show."""
        return max((value for raw in range(0x100) if (value := self.value(raw)) is not None), default=None)

    @property
    def obstacle(self) -> str | None:
        """Why it cannot be read; ``None`` if it can."""
        if self.unit not in USABLE:
            return f"is in {self.unit}; W, rpm, V, A, % and °C can be read"
        if self.linearization >= len(_LINEARIZATION):
            return f"is not linear in a way of its own ({self.linearization:#x}), which is not supported"
        if self.owner != BMC_ADDRESS:
            return f"belongs to another controller ({self.owner:#x}) behind the BMC, which is not supported"
        return None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sensor that is read, under the name of its channel."""

    channel: Channel
    sensor: Sensor


def said(code: int) -> str:
    """A completion code in words, of the BMC."""
    return f"{_SAID.get(code, 'no')} (completion code {code:#04x})"


def decode(record: bytes) -> Sensor | None:
    """The sensor of a record with its header; ``None`` for records of other things, or damaged ones."""
    kind = record[3] if len(record) > HEADER_BYTES else 0
    name_at = {_FULL: _FULL_NAME_AT, _COMPACT: _COMPACT_NAME_AT}.get(kind)
    if name_at is None or len(record) <= name_at:
        return None
    name = _text(record[name_at], record[name_at + 1 :])
    owner, lun, number = record[5], record[6] & 0x03, record[7]
    if kind == _COMPACT or record[20] >> 6 == 3:
        return Sensor(name, number, owner, lun, _STATES)
    m_low, m_high, b_low, b_high, accuracy, exponents = record[24:30]
    return Sensor(
        name=name,
        number=number,
        owner=owner,
        lun=lun,
        unit=_unit(record),
        factors=(
            _signed(m_low | (m_high & 0xC0) << 2, 10),
            _signed(b_low | (b_high & 0xC0) << 2, 10),
            _signed(exponents & 0x0F, 4),
            _signed(exponents >> 4, 4),
        ),
        signed=record[20] >> 6,
        linearization=record[23] & 0x7F,
        accuracy_ratio=_accuracy((b_high & 0x3F) | (accuracy & 0xF0) << 2, (accuracy & 0x0C) >> 2),
    )


def reading(sensor: Sensor, data: bytes) -> float | Missing:
    """The value in a response of Get Sensor Reading."""
    if len(data) < 2:
        return Missing("the answer is cut off")
    if not data[1] & _SCANNING:
        return Missing("the BMC does not scan this sensor now")
    if data[1] & _UNAVAILABLE:
        return Missing("the BMC has no reading of it now")
    if _is_nothing(sensor, data):
        maximum = f" ({sensor.maximum:g} {sensor.unit})" if sensor.maximum is not None else ""
        return Missing(f"the BMC returned FFh: no reading, or more than it can show{maximum}")
    value = sensor.value(data[0])
    return Missing(f"byte {data[0]:#04x} is not covered by the sensor's formula") if value is None else value


def is_absent(sensor: Sensor, code: int, data: bytes) -> bool:
    """Whether the response of Get Sensor Reading is that of an empty slot, and not just of a bad moment."""
    if code:
        return code in ABSENT
    return len(data) >= 2 and (not data[1] & _SCANNING or _is_nothing(sensor, data))


def _is_nothing(sensor: Sensor, data: bytes) -> bool:
    return data[0] == _NOTHING and not sensor.signed


def dcmi_reading(data: bytes) -> float | Missing:
    """The current power in a response of DCMI Get Power Reading."""
    if len(data) < 18 or data[0] != DCMI_REQUEST[0]:
        return Missing("the answer is not a DCMI answer")
    if not data[17] & _DCMI_ACTIVE:
        return Missing("the BMC does not measure power now")
    watts = int.from_bytes(data[1:3], "little")
    return float(watts) if watts else Missing("the BMC returned 0 W, as BMCs without a power sensor do")


def dcmi_channel() -> Channel:
    return Channel(DCMI, "W", "gauge", DCMI_SCOPE, method="IPMI DCMI", step=1.0, maximum=DCMI_MAXIMUM_W)


def choose(
    sensors: Sequence[Sensor], wanted_names: Sequence[str] | None, dcmi: bool, where: str
) -> list[Chosen]:
    """The sensors to read: those that ``wanted_names`` lists, else those whose names say what they measure.

    Raises InvalidInput for a name that no sensor has (the message lists those there are), that several have,
    or whose sensor cannot be read.
    """
    if wanted_names is None:
        usable = [
            sensor
            for sensor in sensors
            if sensor.obstacle is None and scope_of_sensor(sensor.name, sensor.unit)
        ]
    else:
        named = {at for name in wanted_names for at in _positions_of_name(sensors, name, where)}
        usable = [sensor for at, sensor in enumerate(sensors) if at in named]
    covered = scopes_of_sensors([(sensor.name, sensor.unit) for sensor in usable], dcmi)
    chosen = [
        Chosen(_channel(sensor, _label(sensor, sensors), scope), sensor)
        for sensor, scope in zip(usable, covered, strict=True)
        if wanted_names is not None or not scope.startswith("other:")
    ]
    return sorted(
        chosen, key=lambda chosen_sensor: chosen_sensor.sensor.unit == "°C"
    )  # no watt is later for a temperature


def _channel(sensor: Sensor, label: str, scope: str) -> Channel:
    return Channel(
        label,
        sensor.unit,
        "gauge",
        scope,
        method=f"IPMI sensor {sensor.number:02X}h",
        step=sensor.step,
        tolerance_ratio=sensor.accuracy_ratio,
        maximum=sensor.maximum,
    )


def _label(sensor: Sensor, sensors: Sequence[Sensor]) -> str:
    """The name of a sensor's channel, with the sensor's number if several have the same name."""
    alone = sum(same_named.name == sensor.name for same_named in sensors) == 1
    return sensor.name if alone else f"{sensor.name} ({sensor.number:02X}h)"


def _positions_of_name(sensors: Sequence[Sensor], name: str, where: str) -> list[int]:
    """Positions of the sensors that an entry of the settings names. Raises InvalidInput."""
    exactly = [at for at, sensor in enumerate(sensors) if sensor.name == name]
    if len(exactly) > 1:
        numbers = [f"{sensors[at].number:02X}h" for at in exactly]
        raise InvalidInput(
            f"{where}: {len(exactly)} sensors are called {name!r}: {', '.join(numbers)}; "
            f"name the one you mean by its number, such as {numbers[0]}"
        )
    number = _NUMBER.fullmatch(name)
    matching = exactly or [
        at
        for at, sensor in enumerate(sensors)
        if fnmatchcase(sensor.name, name) or (number and sensor.number == int(number[1], 16))
    ]
    if not matching:
        raise InvalidInput(f"{where}: no sensor is called {name!r}; {there(sensors)}")
    usable = [at for at in matching if sensors[at].obstacle is None]
    if not usable:
        raise InvalidInput(f"{where}: sensor {sensors[matching[0]].name!r} {sensors[matching[0]].obstacle}")
    return usable


def no_power(chosen: Sequence[Chosen], sensors: Iterable[Sensor]) -> str | None:
    """Why sensors that were chosen by their names measure no power, without DCMI; ``None``: they do."""
    if any(chosen_sensor.sensor.unit == "W" for chosen_sensor in chosen):
        return None
    kinds = {"rpm": "fans", "ratio": "fans", "°C": "temperatures"}
    usable = " and ".join(
        dict.fromkeys(
            kinds[chosen_sensor.sensor.unit] for chosen_sensor in chosen if chosen_sensor.sensor.unit in kinds
        )
    )
    return (
        f"{f'only {usable} are usable' if usable else 'nothing is usable'}: the name of no sensor says that "
        f"it measures power, and there is no DCMI; name some under sensors: {there(sensors)}"
    )


def there(sensors: Iterable[Sensor]) -> str:
    """A list of readable sensors for a message, power sensors first."""
    usable = [sensor for sensor in sensors if sensor.obstacle is None]
    names = list(
        dict.fromkeys(
            sensor.name
            for sensor in sorted(usable, key=lambda usable_sensor: USABLE.index(usable_sensor.unit))
        )
    )
    if not names:
        return "there is none that can be read"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"there are {', '.join(names[:_MOST_NAMED])}{more}"


def _unit(record: bytes) -> str:
    """The unit in words; a percentage becomes a ratio."""
    flags, base, modifier = record[20], record[21], record[22]
    if flags & 0x01 and base == 0:
        return "ratio"
    name = _UNITS.get(base, f"units of code {base}")
    if flags & 0x3E or flags & 0x01:
        return f"{name} with a rate or a second unit ({modifier})"
    return name


def _accuracy(hundredths: int, exponent: int) -> float | None:
    """± of a reading from hundredths of a percent; 0 means that the record does not say."""
    ratio = hundredths * 10.0**exponent / 10_000
    return ratio if 0 < ratio <= 0.5 else None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _text(kind_and_length: int, data: bytes) -> str:
    """A name by its type/length byte (IPMI 2.0, 43.15)."""
    kind, text = kind_and_length >> 6, data[: kind_and_length & 0x1F]
    if kind == 1:
        digits = "0123456789 -.:,_"
        return "".join(digits[byte >> 4] + digits[byte & 0x0F] for byte in text).strip()
    if kind == 2:  # six bits each, the first in the lowest
        bits = int.from_bytes(text, "little")
        return "".join(chr(0x20 + (bits >> 6 * at & 0x3F)) for at in range(len(text) * 8 // 6)).strip()
    return text.decode("utf-8" if kind == 0 else "latin-1", errors="replace").strip("\0 ")
