# SPDX-License-Identifier: Apache-2.0
"""Sweeps of meters on the network that linewatt reads from the controller: Redfish, SNMP, Modbus, HTTP.

Each server is a process of its own on loopback: wall time has its answer in it, CPU time has not. In front of
real devices the wall time is theirs; the CPU time is what is to be learnt here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.cost import ByHand, by_hand, sweep_rows
from bench.power_servers import served, snmpd
from bench.rows import Row
from linewatt.sensors.power.snmp.profiles import PROFILES
from linewatt.sensors.registry import POWER_DRIVERS

Ready = Mapping[str, Any]
HERE = "127.0.0.1"
TIMES_BY_HAND = 10
_REDFISH_POWER = "/redfish/v1/Chassis/1/Power"


@dataclass(frozen=True, slots=True)
class Kind:
    """A driver, what it must be told of a server, and how someone reads the same by hand."""

    name: str
    library: str
    settings: Callable[[Ready], dict[str, Any]]
    tool: str | None = None
    argv: Callable[[Ready, Path], list[str]] | None = None
    agent: Callable[[], str | None] | None = None
    """where the server is, if it is none of ours"""


def _redfish_settings(ready: Ready) -> dict[str, Any]:
    told = {key: ready[key] for key in ("url", "user", "ca_file")}
    return {**told, "password_env": "NOT_READ_HERE"}


def _curl_redfish(ready: Ready, folder: Path) -> list[str]:
    """The one resource that a sweep asks for; user and password are in a file."""
    secret = folder / "curl"
    secret.touch(mode=0o600)
    secret.write_text(f'user = "{ready["user"]}:{ready["password"]}"\n')
    return [*_curl(ready["url"] + _REDFISH_POWER), "--cacert", ready["ca_file"], "--config", str(secret)]


def _curl(url: str) -> list[str]:
    return ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", url]


def _snmpget(ready: Ready, _: Path) -> list[str]:
    names = [column.oid.format(pdu=1) for column in PROFILES["apc-rpdu2"].pdu]
    return ["snmpget", "-v", "2c", "-c", "public", "-On", f"{HERE}:{ready['port']}", *names]


KINDS = (
    Kind("redfish", "httpx", _redfish_settings, "curl", _curl_redfish),
    Kind(
        "snmp",
        "pysnmp",
        lambda ready: {"address": HERE, "port": ready["port"], "profile": "apc-rpdu2"},
        "snmpget",
        _snmpget,
        snmpd,
    ),
    Kind(
        "modbus",
        "pymodbus",
        lambda ready: {"address": HERE, "port": ready["port"], "channels": ready["channels"]},
    ),
    Kind(
        "http",
        "httpx",
        lambda ready: {"address": HERE, "port": ready["port"], "profile": "shelly-gen2"},
        "curl",
        lambda ready, _: _curl(f"{ready['url']}/rpc/Switch.GetStatus?id=0"),
    ),
)


def meter_rows(folder: Path, sweeps: int) -> tuple[list[Row], list[str]]:
    """The rows of all that can be served here, and why others cannot."""
    rows, left_out = [], []
    for kind in KINDS:
        reason = missing(kind)
        if reason is None:
            rows += _rows(kind, folder / kind.name, sweeps)
        else:
            left_out.append(f"{kind.name} is not timed: {reason}")
    return rows, left_out


def missing(kind: Kind) -> str | None:
    """What is not installed and would be needed, if anything is."""
    if find_spec(kind.library) is None:
        return f"{kind.library} is not installed; pip install 'linewatt[meters]'"
    if kind.agent is not None and kind.agent() is None:
        return "snmpd is not installed"
    return None


def _rows(kind: Kind, folder: Path, sweeps: int) -> list[Row]:
    driver = POWER_DRIVERS[kind.name]
    with served(kind.name, folder) as ready:
        cfg = driver.Config(**kind.settings(ready))
        other = _peer(kind, ready, folder)
        return sweep_rows(kind.name, lambda: driver(cfg), ready.get("password"), sweeps, other)


def _peer(kind: Kind, ready: Ready, folder: Path) -> ByHand | None:
    if kind.tool is None or kind.argv is None or shutil.which(kind.tool) is None:
        return None
    environment = {**os.environ, "MIBS": ""}  # names are numbers; snmpget need not read MIBs
    return by_hand(kind.tool, kind.argv(ready, folder), TIMES_BY_HAND, environment)
