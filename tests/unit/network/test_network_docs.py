# SPDX-License-Identifier: Apache-2.0
"""The page on networks says what there is: every type, every key, and figures that the code gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from linewatt.campaign.reading.hosts import Locator
from linewatt.campaign.reading.networks import parse_networks
from linewatt.document import parse_yaml
from linewatt.network.framing import Encapsulation, Framing, goodput_bps, payload_bytes
from linewatt.network.paths import NetworkPath, path_between
from linewatt.network.schema import INTERFACES, InterfaceBase, RouteEntry

PAGE = (Path(__file__).parents[3] / "docs" / "networks.md").read_text()
LINE_BPS = 100e9
STACKS = {
    "bare": (1500, ()),
    "bare, jumbo": (9000, ()),
    "VLAN": (1500, (Encapsulation("vlan"),)),
    "VXLAN over IPv4": (1450, (Encapsulation("vxlan"),)),
    "VXLAN over IPv6": (1430, (Encapsulation("vxlan", "ipv6"),)),
    "VXLAN over IPv4, jumbo": (8950, (Encapsulation("vxlan"),)),
    "Geneve over IPv4": (1450, (Encapsulation("geneve"),)),
}


def rows(heading: str) -> dict[str, str]:
    """Rows of the first table behind a line, by their first cell."""
    lines = PAGE.partition(heading)[2].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| ---")) + 1
    table = [line for line in lines[start:] if line.startswith("|") or not line][: len(lines)]
    table = table[: next((i for i, line in enumerate(table) if not line), len(table))]
    return {line.split("|")[1].strip().strip("`"): line for line in table}


def keys(model: type[BaseModel]) -> Iterator[str]:
    """Keys of what a type is made of, of all mappings below it."""
    for name, field in model.model_fields.items():
        yield field.alias or name
        for inner in _models(field.annotation):
            yield from keys(inner)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)


def test_every_type_is_in_the_table_and_no_other() -> None:
    assert list(rows("## What of NMState is set up")) == list(INTERFACES)


@pytest.mark.parametrize("kind", INTERFACES)
def test_every_key_of_a_type_is_in_its_row(kind: str) -> None:
    own = set(keys(INTERFACES[kind])) - set(keys(InterfaceBase)) - {"type"}
    row = rows("## What of NMState is set up")[kind]
    assert {key for key in own if f"`{key}`" not in row} == set()


def test_every_key_of_all_interfaces_and_of_routes_is_named() -> None:
    section = PAGE.partition("## What of NMState is set up")[2].partition("## What is refused")[0]
    named = set(re.findall(r"`([a-z0-9-]+)[`:]", section))
    assert set(keys(InterfaceBase)) | set(keys(RouteEntry)) <= named


def test_the_example_is_a_network_with_a_way() -> None:
    example = PAGE.partition("```yaml\nhosts:")[2].partition("```")[0]
    document = parse_yaml("hosts:" + example, "networks.md")
    locate = Locator(document)
    found = parse_networks(document.value["hosts"], ("hosts",), locate, ["gen", "dut"])
    assert isinstance(path_between(found["gen"], found["dut"], "ipv4"), NetworkPath)


def figures(name: str) -> str:
    """The row of a network in the table of line rates."""
    mtu, encapsulations = STACKS[name]
    framing = Framing(mtu, encapsulations)
    cells = [name, str(mtu)]
    cells += [f"{goodput_bps(LINE_BPS, 'tcp', family, framing) / 1e9:.2f}" for family in ("ipv4", "ipv6")]
    cells += [
        f"{goodput_bps(LINE_BPS, 'udp-1500', family, framing) / 1e9:.2f} "
        f"({payload_bytes('udp-1500', family, framing)})"
        for family in ("ipv4", "ipv6")
    ]
    cells.append(f"{goodput_bps(LINE_BPS, 'udp-60', 'ipv4', framing) / 1e9:.2f}")
    return f"| {' | '.join(cells)} |"


def test_the_table_of_line_rates_is_what_the_code_gives() -> None:
    assert list(rows("| network | MTU |").values()) == [figures(name) for name in STACKS]
