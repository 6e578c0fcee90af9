# SPDX-License-Identifier: Apache-2.0
"""Every sensor there is, by name: what modules of this room call ``SENSOR`` or, of watts, ``DRIVER``."""

from __future__ import annotations

from typing import Any

from linewatt import sensors
from linewatt.plugins import brought
from linewatt.sensors.base import Sensor


def _by_name(constant: str) -> list[Any]:
    return sorted(brought(constant, sensors), key=lambda one: one.name)


SENSORS: dict[str, Sensor] = {sensor.name: sensor for sensor in _by_name("SENSOR")}
POWER: dict[str, type[Any]] = {driver.name: driver for driver in _by_name("DRIVER")}
"""Drivers of power sources: classes that are made from their settings (see ``sensors/power/base.py``)"""
