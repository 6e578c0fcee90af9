# SPDX-License-Identifier: Apache-2.0
"""Every sensor there is, by name: what modules of this room call ``SENSOR`` or, of watts, ``DRIVER``.

Other packages add theirs by entry points of the groups ``linewatt.sensors`` and ``linewatt.power_sources``.
"""

from __future__ import annotations

from typing import Any

from linewatt import sensors
from linewatt.plugins import brought, registered
from linewatt.sensors.base import Sensor

_SENSOR_PARTS = ("name", "Config", "command", "parse", "channel")
_DRIVER_PARTS = ("name", "Config", "open")


def _by_name(constant: str, group: str, parts: tuple[str, ...], *, are_classes: bool = False) -> list[Any]:
    plugins = registered(brought(constant, sensors), group, parts, are_classes=are_classes)
    return sorted(plugins, key=lambda item: item.name)


SENSORS: dict[str, Sensor] = {
    sensor.name: sensor for sensor in _by_name("SENSOR", "linewatt.sensors", _SENSOR_PARTS)
}
POWER_DRIVERS: dict[str, type[Any]] = {
    driver.name: driver
    for driver in _by_name("DRIVER", "linewatt.power_sources", _DRIVER_PARTS, are_classes=True)
}
"""Drivers of power sources: classes that are made from their settings (see ``sensors/power/base.py``)"""
