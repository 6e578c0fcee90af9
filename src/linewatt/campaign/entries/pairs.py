# SPDX-License-Identifier: Apache-2.0
"""Which hosts send to which, as a campaign file says it: ``"gen -> dut"``, groups and rings."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

from linewatt.campaign.campaign import Group
from linewatt.campaign.entries.fields import HOST_NAME

_HOSTS = rf"{HOST_NAME}(?:\s*\+\s*{HOST_NAME})*"
_PAIR = rf"({_HOSTS})\s*(<?->)\s*({_HOSTS})"
_ARROWS = str.maketrans({"→": "->", "↔": "<->", "⇄": "<->"})
"""as linewatt prints them"""
_RING = rf"{HOST_NAME}(?:\s*->\s*{HOST_NAME}){{2,}}"


def parse_pair(text: str) -> tuple[str, str] | Group:
    """Sender and receiver of ``"a -> b"``; what runs at once of ``"a + b -> c"``, ``"a -> b + c"``,
    ``"a <-> b"`` and ``"a -> b -> c -> a"``. Raises ValueError."""
    text = text.translate(_ARROWS)
    if re.fullmatch(_RING, text.strip(), re.ASCII):
        return _ring([host.strip() for host in text.split("->")])
    match = re.fullmatch(_PAIR, text.strip(), re.ASCII)
    if match is None:
        raise ValueError('must be a pair of hosts, sender first: "gen -> dut"')
    senders, receivers = ([host.strip() for host in match[side].split("+")] for side in (1, 3))
    named = [*senders, *receivers]
    for host in named:
        if named.count(host) > 1:
            raise ValueError(
                f"pairs {host} with itself; name two hosts" if len(named) == 2 else f"names {host} twice"
            )
    if match[2] == "<->":
        if len(named) > 2:
            raise ValueError("both ways (<->) is between two hosts")
        return Group("both-ways", ((named[0], named[1]), (named[1], named[0])))
    if len(named) == 2:
        return named[0], named[1]
    if len(senders) > 1 and len(receivers) > 1:
        raise ValueError("sends from several hosts to several; one side must be one host")
    return Group(
        "many-to-one" if len(senders) > 1 else "one-to-many",
        tuple((sender, receiver) for sender in senders for receiver in receivers),
    )


def _ring(hosts: list[str]) -> Group:
    """Each host sends to the next one, the last to the first."""
    first, *others = hosts
    if others.pop() != first:
        raise ValueError(f"is not a ring: it ends with the host that it begins with, {first}")
    if len(others) < 2:
        raise ValueError(f'is a ring of two hosts; write "{first} <-> {others[0]}"')
    for host in others:
        if others.count(host) > 1 or host == first:
            raise ValueError(f"names {host} twice")
    return Group("ring", tuple(pairwise(hosts)))


def _pair(text: str) -> str:
    parse_pair(text)
    return " ".join(re.sub(r"(<?->|\+)", r" \1 ", text.translate(_ARROWS)).split())


_WITH_ARROWS = f"^({_PAIR}|{_RING})$".replace("<?->", "(?:<?->|[→↔⇄])").replace(r"\s*->", r"\s*(?:->|→)")
"""both ways of writing them, for editors"""
Pair = Annotated[
    str,
    AfterValidator(_pair),
    Field(
        examples=["gen -> dut", "gen1 + gen2 -> dut", "gen <-> dut", "a -> b -> c -> a"],
        json_schema_extra={"pattern": _WITH_ARROWS},
    ),
]
