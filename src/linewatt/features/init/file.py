# SPDX-License-Identifier: Apache-2.0
"""The text of a first campaign, with a word on what each line means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linewatt.features.init.looked import Address, Looked, Port, Way
from linewatt.units import format_rate

_PLAIN = r"[A-Za-z][A-Za-z0-9_.-]*|[0-9]{1,3}(\.[0-9]{1,3}){3}"
_MOST_NAME = 64
"""characters of a campaign's name"""
_COLUMN = 33
"""where remarks begin"""


@dataclass(frozen=True, slots=True)
class Login:
    """How a host is logged in to, and what it is called in the file."""

    name: str
    address: str
    user: str | None
    port: int | None


def name_of_campaign(file: Path) -> str:
    """What a campaign in a file is called: as the file, as far as a campaign can be."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).strip("._-")
    return name[:_MOST_NAME].rstrip("._-") or "two-hosts"


def text_of_campaign(name: str, logins: tuple[Login, Login], looked: tuple[Looked, Looked], way: Way) -> str:
    """A campaign of two minutes over one way between two hosts."""
    sender, receiver = logins
    roles = ("sends", "receives; the device under test")
    ports = ((way.sender, way.sender_address), (way.receiver, way.receiver_address))
    ends = zip(logins, looked, ports, roles, strict=True)
    blocks = [line for end in ends for line in _host(*end)]
    return "\n".join(
        (
            "# Made by `linewatt init`. All keys: docs/campaign.md; what it would do: linewatt plan.",
            f"name: {_value(name)}",
            "hosts:",
            *blocks,
            _line(f'pairs: ["{sender.name} -> {receiver.name}"]', "add the other way, or write: all"),
            *(["families: [ipv6]"] if way.sender_address.version == 6 else []),
            _line("tests: [tcp]", "also udp-1500, udp-60, or any size"),
            _line("instances: [1, 4]", "load processes, each on a CPU of its own if there are enough"),
            _line("trials: 3", "of each case; compare needs 4 or more, a figure to publish 10"),
            _line("window: {seconds: 10, omit: 2, tail: 1.5}", "what is measured; load before and after it"),
            "",
        )
    )


def _host(login: Login, looked: Looked, end: tuple[Port, Address], role: str) -> Iterator[str]:
    port, address = end
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
    yield f"    data_ipv{address.version}: {json.dumps(str(address.ip))}"
    meters = {
        "bmc: {driver: ipmitool}": "of its BMC, through /dev/ipmi0" if looked.bmc else None,
        "cpu: {driver: rapl}": "of its CPUs" if looked.rapl else None,
    }
    power = {key: what for key, what in meters.items() if what}
    if power:
        yield _line(f"    power: {{{', '.join(power)}}}", f"watts {' and '.join(power.values())}")
    else:
        yield "#   power: {bmc: {driver: ipmi, address: 192.0.2.110, user: root, password_env: BMC_PW}}"


def _of_port(port: Port, ports: Sequence[Port]) -> str:
    speed = "" if port.speed_bps is None else f", {format_rate(port.speed_bps)}"
    ssh = "; SSH uses it, too: no other is in one subnet with the other host" if port.of_ssh else ""
    further_names = [further_port.name for further_port in ports if further_port is not port]
    more = f"; other interfaces: {', '.join(further_names)}" if further_names else ""
    return f"{', '.join(map(str, port.addresses))}{speed}{ssh}{more}"


def _line(text: str, remark: str) -> str:
    return f"{text:<{_COLUMN}} # {remark}"


def _value(text: str) -> str:
    """As YAML takes it for text."""
    return text if re.fullmatch(_PLAIN, text, re.ASCII) and text.lower() not in _WORDS else json.dumps(text)


_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""that YAML has for other values than text"""
