# SPDX-License-Identifier: Apache-2.0
"""The texts a lab's BMCs are made of: sensor records, ``ipmi_sim``'s configuration, its value files (pure).

A simulator is described by two files: ``lan.conf`` (address, users; ipmi_lan(5)) and a list of commands that
make its sensors (ipmi_sim_cmd(5)). A sensor reads its value from a place in a file, in whole watts, rpm or
°C. Checked with ipmi_sim 2.0.33.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Literal

from linewatt.features.lab.power_model import PSUS, ServerPower

PORT = 623  # asf-rmcp; IPMI 2.0, 13.1.2
USER = "admin"
CIPHER_SUITE = 3  # RAKP-HMAC-SHA1, HMAC-SHA1-96, AES-CBC-128: the one that every BMC has
POLL_MS = 200
SYSTEM_INTERFACE = ("127.0.0.1", 9002)
"""In the network namespace of a guest: where its QEMU finds the BMC behind the guest's KCS interface."""

BEAT = ".beat"
"""Beside the values files: its time stamp says when they were last looked after, changed or not."""

TRUTH = ".truth"
"""Behind the name of a values file: what a slow BMC does not show. Unix seconds, and joules out of all
supplies since the feeder began; rewritten in place."""

PLUG = ".plug"
"""Behind the name of a values file: watts at the plug, as they are drawn."""

BUSY = ".busy"
"""Behind the name of a values file: how busy the CPUs are taken to be, 0 to 1, where somebody writes it."""

FANS = ".fans"
"""Behind the name of a values file: rpm that the fans turn at no less, where somebody writes it."""

READ_PLUG = (
    'while sleep "$LINEWATT_INTERVAL_S"; do read -r watts <"$1" && '
    'echo "{\\"channel\\": \\"wall\\", \\"value\\": $watts}"; done'
)
"""For a shell on the host, whose first argument is the file of its plug."""

Unit = Literal["W", "rpm", "°C"]

_ENTITY = {"processor": 0x03, "supply": 0x0A, "fan": 0x1D, "memory": 0x20}  # IPMI 2.0, table 43-13
_UNIT = {"W": 0x06, "rpm": 0x12, "°C": 0x01}  # table 43-15
_TYPE = {"W": 0x0B, "rpm": 0x04, "°C": 0x01}  # table 42-3: other units-based sensor, fan, temperature
_MAX_NAME = 16
_MAX_MULTIPLIER = 0x1FF  # ten bits, signed
_FIELD = 8  # bytes of a value


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor of a BMC. One step of its reading is ``step`` units; it has 256 of them."""

    name: str
    unit: Unit
    step: int
    entity: tuple[str, int]
    reading: Callable[[ServerPower], float]


SENSORS = (
    Sensor("PSU1 Power In", "W", 4, ("supply", 1), lambda power: power.psu_in_w),
    Sensor("PSU1 Power Out", "W", 4, ("supply", 1), lambda power: power.psu_out_w),
    Sensor("PSU2 Power In", "W", 4, ("supply", 2), lambda power: power.psu_in_w),
    Sensor("PSU2 Power Out", "W", 4, ("supply", 2), lambda power: power.psu_out_w),
    Sensor("CPU_Power", "W", 1, ("processor", 1), lambda power: power.cpu_w),
    Sensor("Memory_Power", "W", 1, ("memory", 1), lambda power: power.memory_w),
    Sensor("FAN1", "rpm", 100, ("fan", 1), lambda power: power.fan_rpm),
    Sensor("FAN2", "rpm", 100, ("fan", 2), lambda power: power.fan_rpm),
    Sensor("CPU Temp", "°C", 1, ("processor", 1), lambda power: power.cpu_c),
)
"""Named and stepped as common server boards do it: supplies in 4 W, to reach 1020 W with a byte."""


def sensor_record(number: int, name: str, unit: Unit, step: int, entity: tuple[str, int]) -> bytes:
    """A full sensor record of a linear, unsigned sensor without thresholds or events.

    Raises ValueError for what the format cannot hold. Source: IPMI 2.0, table 43-1.
    """
    text = name.encode("ascii")
    if not 0 < len(text) <= _MAX_NAME or not 0 < step <= _MAX_MULTIPLIER or not 0 < number < 0xFF:
        raise ValueError(f"no sensor record can hold number {number}, name {name!r}, step {step}")
    kind, instance = entity
    key = [0x20, 0x00, number]
    about = [_ENTITY[kind], instance, 0x7F, 0x43, _TYPE[unit], 0x01]  # 0x43: sends no events
    masks = [0x00] * 6
    units = [0x00, _UNIT[unit], 0x00, 0x00]
    factors = [step & 0xFF, step >> 8 << 6, 0x00, 0x00, 0x00, 0x00]
    limits = [0x00, 0x00, 0x00, 0x00, 0xFF, *[0x00] * 11]
    body = bytes([*key, *about, *masks, *units, *factors, *limits, 0x00, 0xC0 | len(text)]) + text
    return bytes([0x00, 0x00, 0x51, 0x01, len(body)]) + body


def lan_conf(name: str, address: str, password: str, *, in_band: bool = False) -> str:
    """``lan.conf``: one administrator, one address, and no console, which would ask for no password.

    ``in_band``: it is also behind the system interface of a guest (channel 15, codec VM; ipmi_lan(5)).
    """
    place, port = SYSTEM_INTERFACE
    system = f"serial 15 {place} {port} codec VM\n" if in_band else ""
    guid = b"linewatt" + bytes(4) + bytes(int(part) for part in address.split("."))
    return f"""name "{name}"
set_working_mc 0x20
startlan 1
  addr {address} {PORT}
  priv_limit admin
  allowed_auths_admin md5
  guid {guid.hex()}
endlan
{system}user 2 true "{USER}" "{password}" admin 10 md5
"""


def commands(values: Path) -> str:
    """Commands that make the sensors, which read ``values``."""
    lines = [
        "mc_setbmc 0x20",
        "mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02",
        "sel_enable 0x20 1000 0x0a",
    ]
    for at, sensor in enumerate(SENSORS):
        number = at + 1
        record = sensor_record(number, sensor.name, sensor.unit, sensor.step, sensor.entity)
        place = f'"{values}" offset={at * _FIELD} div={sensor.step} base=10'
        none = "0" * 15
        lines += [
            f"main_sdr_add 0x20 {' '.join(f'0x{byte:02x}' for byte in record)}",
            f"sensor_add 0x20 0 {number} 0x{_TYPE[sensor.unit]:02x} 0x01 poll {POLL_MS} file {place}",
            f"sensor_set_event_support 0x20 0 {number} enable scanning none {none} {none} {none} {none}",
        ]
    return "\n".join([*lines, "mc_enable 0x20"]) + "\n"


@dataclass(frozen=True, slots=True)
class Meters:
    """What a lab's BMCs do to the watts of supplies, and whether hosts have a plug that shows these as drawn.

    Readings are held for ``refresh_s``, means over ``average_s`` and ``delay_s`` late; a supply reads
    ``gain_ratio`` more than it draws, and its share of ``offset_w`` beyond that.
    """

    refresh_s: float = 0.0
    average_s: float = 0.0
    gain_ratio: float = 0.0
    offset_w: float = 0.0
    delay_s: float = 0.0
    plug: bool = False

    @property
    def as_drawn(self) -> bool:
        """Whether BMCs show all of it, at once."""
        return self == Meters(plug=self.plug)

    def shown(self, power: ServerPower) -> ServerPower:
        """What a BMC makes of one moment."""
        of_one_w = self.offset_w / PSUS
        return replace(
            power,
            psu_in_w=max(0.0, power.psu_in_w * (1 + self.gain_ratio) + of_one_w),
            psu_out_w=max(0.0, power.psu_out_w * (1 + self.gain_ratio) + of_one_w),
        )


def feeder_arguments(
    values: Path, hosts: Mapping[str, Sequence[int]], meters: Meters | None = None
) -> list[str]:
    """What the feeder is called with: where the values go, what meters make of them, and for each file the
    CPUs it is about."""
    files = (f"{name}={','.join(map(str, cpus))}" for name, cpus in hosts.items())
    return [str(values), ",".join(f"{value:g}" for value in astuple(meters or Meters())), *files]


def meters_of(word: str) -> Meters:
    """The meters that an argument of the feeder says."""
    refresh_s, average_s, gain_ratio, offset_w, delay_s, plug = (float(number) for number in word.split(","))
    return Meters(refresh_s, average_s, gain_ratio, offset_w, delay_s, bool(plug))


def values_line(power: ServerPower, sensors: Sequence[Sensor] | None = None) -> str:
    """What a values file holds: the reading of each sensor at its place, rounded to its step.

    The simulator would cut it off there, which makes supplies read half a step too little.
    A value is eight bytes, aligned: no processor shows a reader half of an old and half of a new one.
    """
    return "".join(
        f"{sensor.step * round(sensor.reading(power) / sensor.step):0{_FIELD - 1}d} "
        for sensor in sensors or SENSORS
    )


def plug_line(power_w: float) -> str:
    """What a plug's file holds: watts into all supplies. Eight bytes, as in :func:`values_line`."""
    return f"{power_w:7.1f}\n"


def truth_line(time_s: float, energy_j: float) -> str:
    """What a truth file holds."""
    return f"{time_s:018.6f} {energy_j:018.3f}\n"
