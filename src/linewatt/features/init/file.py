# SPDX-License-Identifier: Apache-2.0
"""The text of a first campaign, with a word on what each line means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linewatt.features.init.looked import Looked, Port, Way
from linewatt.units import format_rate

_PLAIN = r"[A-Za-z][A-Za-z0-9_.-]*|[0-9]{1,3}(\.[0-9]{1,3}){3}"
_COLUMN = 34
"""where remarks begin"""


@dataclass(frozen=True, slots=True)
class Login:
    """How a host is logged in to, and what it is called in the file."""

    name: str
    address: str
    user: str | None
    port: int | None


def text_of_campaign(logins: tuple[Login, Login], looked: tuple[Looked, Looked], way: Way) -> str:
    """A campaign of two minutes over one way between two hosts."""
    sender, receiver = logins
    roles = ("sends", "receives; the device under test")
    ends = zip(logins, looked, (way.sender, way.receiver), roles, strict=True)
    blocks = [line for end in ends for line in _host(*end)]
    return "\n".join(
        (
            "# Made by `linewatt init`. All keys: docs/campaign.md; what it would do: linewatt plan.",
            f"name: {sender.name}-to-{receiver.name}",
            "hosts:",
            *blocks,
            _line(f'pairs: ["{sender.name} -> {receiver.name}"]', "add the other way, or write: all"),
            _line("tests: [tcp]", "also udp-1500, udp-60, or any size"),
            _line("instances: [1, 4]", "load processes, each on a CPU of its own"),
            _line("trials: 3", "of each case; 10 for a figure to publish"),
            _line("window: {seconds: 10s, omit: 2s, tail: 2s}", "what is measured; load before and after it"),
            "",
        )
    )


def _host(login: Login, looked: Looked, port: Port, role: str) -> Iterator[str]:
    yield _line(f"  {login.name}:", role)
    yield f"    address: {_value(login.address)}"
    if login.port is not None:
        yield f"    port: {login.port}"
    if login.user is not None:
        yield f"    user: {_value(login.user)}"
    if looked.sudo and not looked.is_root:
        yield _line("    sudo: true", "without a password: so it was when this was written")
    if not looked.sudo and not looked.is_root:
        yield _line("#   sudo: true", "once sudo works there without a password: it places interrupts")
    yield _line(f"    data: {_value(port.name)}", _of_port(port, looked.ports))
    power = [
        *(["bmc: {driver: ipmitool}"] if looked.bmc else []),
        *(["cpu: {driver: rapl}"] if looked.rapl else []),
    ]
    if power:
        yield _line(f"    power: {{{', '.join(power)}}}", "watts: of its BMC through /dev/ipmi0, of its CPUs")
    else:
        yield "#   power: {bmc: {driver: ipmi, address: 192.0.2.110, user: root, password_env: BMC_PW}}"


def _of_port(port: Port, ports: Sequence[Port]) -> str:
    speed = "" if port.speed_bps is None else f", {format_rate(port.speed_bps)}"
    ssh = "; SSH uses it, too: no other is in one subnet with the other host" if port.of_ssh else ""
    others = [other.name for other in ports if other is not port]
    more = f"; there are {', '.join(others)}" if others else ""
    return f"{port.addresses[0]}{speed}{ssh}{more}"


def _line(text: str, remark: str) -> str:
    return f"{text:<{_COLUMN}}# {remark}"


def _value(text: str) -> str:
    """As YAML takes it for text."""
    return text if re.fullmatch(_PLAIN, text, re.ASCII) and text.lower() not in _WORDS else json.dumps(text)


_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""that YAML has for other values than text"""
