# SPDX-License-Identifier: Apache-2.0
"""Every sensor there is, by name. A new one is one file and one line here."""

from __future__ import annotations

from typing import Any

from linewatt.sensors.base import Sensor
from linewatt.sensors.cpufreq import Cpufreq
from linewatt.sensors.link import Link
from linewatt.sensors.mpstat import Mpstat
from linewatt.sensors.netcounters import Netcounters
from linewatt.sensors.power.command import Command
from linewatt.sensors.power.estimate import Estimate
from linewatt.sensors.power.http import HttpMeter
from linewatt.sensors.power.hwmon import Hwmon
from linewatt.sensors.power.ipmi.ipmitool import Ipmitool
from linewatt.sensors.power.ipmi.lan import Ipmi
from linewatt.sensors.power.modbus import Modbus
from linewatt.sensors.power.rapl import Rapl
from linewatt.sensors.power.redfish.meter import Redfish
from linewatt.sensors.power.snmp.meter import Snmp
from linewatt.sensors.qdisc import Qdisc

_SENSORS: tuple[Sensor, ...] = (Mpstat(), Netcounters(), Cpufreq(), Link(), Qdisc())
SENSORS: dict[str, Sensor] = {sensor.name: sensor for sensor in _SENSORS}

_DRIVERS: tuple[type[Any], ...] = (
    *(Ipmi, Ipmitool, Redfish, Snmp, Modbus, HttpMeter),
    *(Rapl, Hwmon, Command, Estimate),
)
POWER: dict[str, type[Any]] = {driver.name: driver for driver in _DRIVERS}
"""Drivers of power sources: classes that are made from their settings (see ``sensors/power/base.py``)"""
