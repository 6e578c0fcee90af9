# SPDX-License-Identifier: Apache-2.0
"""Every sensor there is, by name. A new one is one file and one line here."""

from __future__ import annotations

from typing import Any

from linewatt.sensors.base import Sensor
from linewatt.sensors.command import Command
from linewatt.sensors.cpufreq import Cpufreq
from linewatt.sensors.estimate import Estimate
from linewatt.sensors.http import HttpMeter
from linewatt.sensors.hwmon import Hwmon
from linewatt.sensors.ipmi import Ipmi
from linewatt.sensors.ipmitool import Ipmitool
from linewatt.sensors.link import Link
from linewatt.sensors.modbus import Modbus
from linewatt.sensors.mpstat import Mpstat
from linewatt.sensors.netcounters import Netcounters
from linewatt.sensors.qdisc import Qdisc
from linewatt.sensors.rapl import Rapl
from linewatt.sensors.redfish import Redfish
from linewatt.sensors.snmp import Snmp

_SENSORS: tuple[Sensor, ...] = (Mpstat(), Netcounters(), Cpufreq(), Link(), Qdisc())
SENSORS: dict[str, Sensor] = {sensor.name: sensor for sensor in _SENSORS}

_DRIVERS: tuple[type[Any], ...] = (
    *(Ipmi, Ipmitool, Redfish, Snmp, Modbus, HttpMeter),
    *(Rapl, Hwmon, Command, Estimate),
)
POWER: dict[str, type[Any]] = {driver.name: driver for driver in _DRIVERS}
"""Drivers of power sources: classes that are made from their settings (see :mod:`linewatt.sensors.power`)."""
