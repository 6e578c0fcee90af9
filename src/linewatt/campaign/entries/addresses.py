# SPDX-License-Identifier: Apache-2.0
"""Where a host is reached, as a campaign file says it. The checks raise ``ValueError("must be …")``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from linewatt.hosts import check_address, parse_host_ip
from linewatt.hosts.ssh import parse_jumps


def _address(text: str) -> str:
    more = "; user, port and jump are keys of their own" if re.search(r"[@/]|:[0-9]+$", text) else ""
    return check_address(text, f"must be an IP address, a DNS name, or local for this machine{more}")


def _ipv4(text: str) -> str:
    return str(parse_host_ip(text, "IPv4"))


def _ipv6(text: str) -> str:
    address = parse_host_ip(text, "IPv6")
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
