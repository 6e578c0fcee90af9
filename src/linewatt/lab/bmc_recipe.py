# SPDX-License-Identifier: Apache-2.0
"""The texts a lab's BMCs are made of: sensor records, ``ipmi_sim``'s configuration, its value files (pure).

A simulator is described by two files: ``lan.conf`` (address, users; ipmi_lan(5)) and a list of commands that
make its sensors (ipmi_sim_cmd(5)). A sensor reads its value from a place in a file, in whole watts or rpm.
Checked with ipmi_sim 2.0.33.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from linewatt.lab.power_model import ServerPower

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

Unit = Literal["W", "rpm"]

_ENTITY = {"processor": 0x03, "supply": 0x0A, "fan": 0x1D, "memory": 0x20}  # IPMI 2.0, table 43-13
_UNIT = {"W": 0x06, "rpm": 0x12}  # table 43-15
_TYPE = {"W": 0x0B, "rpm": 0x04}  # table 42-3: other units-based sensor, fan
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


def feeder_arguments(
    values: Path, hosts: Mapping[str, Sequence[int]], refresh_s: float = 0.0, average_s: float = 0.0
) -> list[str]:
    """What the feeder is called with: where the values go, how often and over how long they are taken, and
    for each file the CPUs it is about."""
    files = (f"{name}={','.join(map(str, cpus))}" for name, cpus in hosts.items())
    return [str(values), f"{refresh_s:g}", f"{average_s:g}", *files]


def values_line(power: ServerPower) -> str:
    """What a values file holds: the reading of each sensor at its place.

    A value is eight bytes, aligned: no processor shows a reader half of an old and half of a new one.
    """
    return "".join(f"{round(sensor.reading(power)):0{_FIELD - 1}d} " for sensor in SENSORS)


def truth_line(time_s: float, energy_j: float) -> str:
    """What a truth file holds."""
    return f"{time_s:018.6f} {energy_j:018.3f}\n"
