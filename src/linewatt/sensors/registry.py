# SPDX-License-Identifier: Apache-2.0
"""Every sensor there is, by name. A new one is one file and one line here."""

from __future__ import annotations

from linewatt.sensors.base import Sensor
from linewatt.sensors.mpstat import Mpstat
from linewatt.sensors.netcounters import Netcounters

SENSORS: dict[str, Sensor] = {sensor.name: sensor for sensor in (Mpstat(), Netcounters())}
