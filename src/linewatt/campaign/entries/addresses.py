# SPDX-License-Identifier: Apache-2.0
"""Where a host is reached, as a campaign file says it. The checks raise ``ValueError("must be …")``."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, Field

from linewatt.hosts.ssh.jumps import parse_jumps

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DNS_NAME = rf"{_LABEL}(?:\.{_LABEL})*\.?"


def _address(text: str) -> str:
    if is_ip(text):
        return str(_ip(text, ""))
    name = re.fullmatch(_DNS_NAME, text, re.ASCII) and len(text) <= 253
    if not name or text.replace(".", "").isdigit():
        more = "; user, port and jump are keys of their own" if re.search(r"[@/]|:[0-9]+$", text) else ""
        raise ValueError(f"must be an IP address, a DNS name, or local for this machine{more}")
    return text


def is_ip(text: str) -> bool:
    """Whether a text is an IP address of either family."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _ip(text: str, family: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    requirement = (
        f"must be an {family} address such as {'192.0.2.10' if family == 'IPv4' else '2001:db8::10'}"
    )
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(requirement) from None
    if (family and f"IPv{address.version}" != family) or "%" in text:
        raise ValueError(requirement)
    if address.is_multicast or address.is_unspecified:
        raise ValueError("must be the address of one host, not a multicast or empty address")
    return address


def _ipv4(text: str) -> str:
    return str(_ip(text, "IPv4"))


def _ipv6(text: str) -> str:
    address = _ip(text, "IPv6")
    if address.is_link_local:
        raise ValueError("must not be link-local (fe80::/10); give the interface a global or ULA address")
    return str(address)


Address = Annotated[
    str,
    AfterValidator(_address),
    Field(examples=["192.0.2.10", "local"], json_schema_extra={"pattern": "^[A-Za-z0-9_:][A-Za-z0-9_.:-]*$"}),
]


def _jump(text: str) -> str:
    parse_jumps(text)
    return text


JumpHosts = Annotated[
    str,
    AfterValidator(_jump),
    Field(
        examples=["perf@bastion.example:22"],
        json_schema_extra={"pattern": r"^[A-Za-z0-9_\[][A-Za-z0-9_.:@,\[\] -]*$"},
    ),
]
IPv4 = Annotated[str, AfterValidator(_ipv4), Field(json_schema_extra={"format": "ipv4"})]
IPv6 = Annotated[str, AfterValidator(_ipv6), Field(json_schema_extra={"format": "ipv6"})]
