# SPDX-License-Identifier: Apache-2.0
"""Addresses as files write them. The checks raise ``ValueError("must be …")``. Pure."""

from __future__ import annotations

import ipaddress
import re
from typing import Literal

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Family = Literal["IP", "IPv4", "IPv6"]
"""of an address; ``IP``: either"""

_EXAMPLES = {"IP": "198.18.100.1", "IPv4": "192.0.2.10", "IPv6": "2001:db8::10"}
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DNS_NAME = rf"{_LABEL}(?:\.{_LABEL})*\.?"


def is_ip(text: str) -> bool:
    """Whether a text is an IP address of either family, without a zone (%)."""
    try:
        parse_ip(text)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    """Whether a name is ``localhost`` or a loopback address."""
    return name == "localhost" or (is_ip(name) and parse_ip(name).is_loopback)


def parse_ip(text: str, family: Family = "IP") -> IpAddress:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        address = None
    if address is None or "%" in text or family not in ("IP", f"IPv{address.version}"):
        raise ValueError(f"must be an {family} address such as {_EXAMPLES[family]}")
    return address


def parse_host_ip(text: str, family: Family = "IP") -> IpAddress:
    """The address of one host."""
    address = parse_ip(text, family)
    if address.is_multicast or address.is_unspecified:
        raise ValueError("must be the address of one host, not a multicast or empty address")
    return address


def check_address(text: str, expectation: str) -> str:
    """The IP address of a host in its usual form, or a DNS name; ``expectation`` is said of anything else."""
    if is_ip(text):
        return str(parse_host_ip(text))
    is_name = re.fullmatch(_DNS_NAME, text, re.ASCII) and len(text) <= 253
    if not is_name or text.replace(".", "").isdigit():
        raise ValueError(expectation)
    return text
