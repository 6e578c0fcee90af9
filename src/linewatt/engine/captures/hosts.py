# SPDX-License-Identifier: Apache-2.0
"""Which host each file is of: as it is said, else by its folder, else as the file itself names it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linewatt.campaign.entries.fields import HOST_NAME
from linewatt.engine.captures.model import Found
from linewatt.errors import InvalidInput
from linewatt.foreign import one_line

LOOPBACK = re.compile(r"127\.\d+\.\d+\.\d+|::1|localhost", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hosts:
    """File → host; ``nodes`` are what files of a host call it, ``sharing`` those that are one machine."""

    of_file: Mapping[str, str]
    nodes: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.of_file.values()))

    def sharing(self, host: str) -> tuple[str, ...]:
        """Others whose files name the same machine."""
        own = self.nodes.get(host)
        return tuple(
            name for name in self.names if name != host and own is not None and self.nodes.get(name) == own
        )


def assign(found: Sequence[Found], said: Mapping[str, str]) -> Hosts:
    """The host of each file. Raises InvalidInput, one line, where none can be told or files contradict it."""
    _refuse_unknown(found, said)
    of_file = {one.file.name: _host(one, said) for one in found}
    nodes: dict[str, tuple[str, str]] = {}
    for one in found:
        host = of_file[one.file.name]
        for node in sorted(one.nodes):
            before = nodes.setdefault(host, (node, one.file.name))
            if before[0] != node:
                raise InvalidInput(
                    f"{one.file.name}: is of a host that calls itself {one_line(node)}, and {before[1]} is "
                    f"of {one_line(before[0])}; both would be {host}: keep a folder for each host"
                )
    return Hosts(of_file, {host: node for host, (node, _) in nodes.items()})


def _refuse_unknown(found: Iterable[Found], said: Mapping[str, str]) -> None:
    names = {one.file.name for one in found}
    for name in said:
        if name not in names:
            raise InvalidInput(f"--host {said[name]}={one_line(name)}: no such file is imported")


def _host(one: Found, said: Mapping[str, str]) -> str:
    name = said.get(one.file.name) or one.file.folder
    if name is not None:
        if not re.fullmatch(HOST_NAME, name, re.ASCII):
            raise InvalidInput(
                f"{one.file.name}: {one_line(name)!r} is no name of a host (letters, digits, dots, "
                "underscores, dashes)"
            )
        return name
    if len(one.nodes) > 1:
        raise InvalidInput(f"{one.file.name}: holds several hosts ({', '.join(sorted(one.nodes))}); split it")
    if not one.nodes:
        raise InvalidInput(
            f"{one.file.name}: does not say of which host it is; put it into a folder of that name, or "
            f"--host NAME={one.file.name}"
        )
    return named(next(iter(one.nodes)))


def named(text: str) -> str:
    """A name or an address as a name of a host."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text, flags=re.ASCII).strip("-._")[:63]
    return plain or "host"
