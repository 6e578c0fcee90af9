# SPDX-License-Identifier: Apache-2.0
"""Which host each file is of: as it is said, else by its folder, else as the file itself names it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.campaign.entries.fields import HOST_NAME
from linewatt.errors import InvalidInput
from linewatt.features.importing.captures.model import Found
from linewatt.foreign import one_line

LOOPBACK = re.compile(r"127\.\d+\.\d+\.\d+|::1|localhost", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hosts:
    """File → host; ``nodes`` are what files of a host call it, ``sharing`` those that are one machine.

    ``addresses`` are those of a host's own ends of tests. ``notes`` say, a line each, where files contradict
    the folders they are in.
    """

    of_file: Mapping[str, str]
    nodes: Mapping[str, str]
    addresses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.of_file.values()))

    def sharing(self, host: str) -> tuple[str, ...]:
        """Others whose files name the same machine."""
        own = self.nodes.get(host)
        return tuple(
            name for name in self.names if name != host and own is not None and self.nodes.get(name) == own
        )

    def at(self, address: str) -> str | None:
        """The host that has an address, or is called so."""
        known = (name for name in self.names if address in self.addresses.get(name, ()))
        return next(known, named(address) if address and named(address) in self.names else None)

    def renamed(self, names: Mapping[str, str]) -> Hosts:
        """The same with other names."""
        addresses: dict[str, frozenset[str]] = {}
        for host, own in self.addresses.items():
            name = names.get(host, host)
            addresses[name] = addresses.get(name, frozenset()) | own
        return replace(
            self,
            of_file={file: names.get(host, host) for file, host in self.of_file.items()},
            nodes={names.get(host, host): node for host, node in self.nodes.items()},
            addresses=addresses,
        )


def assign(found: Sequence[Found], said: Mapping[str, str], unnamed: str | None = None) -> Hosts:
    """The host of each file. ``unnamed`` is the host of a load's file that names none.

    Raises InvalidInput, one line, where none can be told or files contradict it.
    """
    _refuse_unknown(found, said)
    of_file = {one.file.name: _host(one, said, unnamed) for one in found}
    nodes: dict[str, tuple[str, Found]] = {}
    addresses: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    for one in sorted(found, key=lambda one: not one.ends):  # the name in the load's files comes first
        host = of_file[one.file.name]
        for node in sorted(one.nodes):
            before, first = nodes.setdefault(host, (node, one))
            if before == node:
                continue
            if one.ends or not first.ends:
                raise InvalidInput(
                    f"{one.file.name}: is of a host that calls itself {one_line(node)}, and "
                    f"{first.file.name} is of {one_line(before)}; both would be {host}: keep a folder for "
                    "each host"
                )
            notes.append(
                f"{one.file.name} names its host {one_line(node)}, and {first.file.name} {one_line(before)}; "
                f"both are taken to be of {host}, as their folder says; --host names another host for a file"
            )
        own = frozenset(address for end in one.ends for address in end.addresses)
        addresses[host] = addresses.get(host, frozenset()) | own
    hosts = Hosts(of_file, {host: node for host, (node, _) in nodes.items()}, addresses, tuple(notes))
    return _joined(hosts, found, {of_file[name] for name in said})


def _joined(hosts: Hosts, found: Sequence[Found], said: Collection[str]) -> Hosts:
    """Folders whose files are of one machine as one host, unless both ends of a test are in two of them.

    ``said`` are hosts that are called so by whoever imports the files: they stay.
    """
    ends: dict[str, set[str]] = {}
    for one in found:
        for end in one.ends:
            ends.setdefault(end.key, set()).add(hosts.of_file[one.file.name])
    apart = {host for both in ends.values() if len(both) > 1 for host in both}
    of_node: dict[str, list[str]] = {}
    for host in hosts.names:
        if host in hosts.nodes and host not in apart and host not in said:
            of_node.setdefault(hosts.nodes[host], []).append(host)
    for node, own in of_node.items():
        if len(own) > 1:
            name = named(node)
            taken = name in hosts.names and name not in own
            name = own[0] if taken else name
            note = (
                f"{', '.join(own)}: their files all name the machine {one_line(node)}, so they are one host, "
                f"{name}; --sender and --receiver name the ends of all tests, --host the host of a file"
            )
            renamed = hosts.renamed(dict.fromkeys(own, name))
            hosts = replace(renamed, notes=(*hosts.notes, note))
    return hosts


def _refuse_unknown(found: Iterable[Found], said: Mapping[str, str]) -> None:
    names = {one.file.name for one in found}
    for name in said:
        if name not in names:
            raise InvalidInput(f"--host {said[name]}={one_line(name)}: no such file is imported")


def _host(one: Found, said: Mapping[str, str], unnamed: str | None) -> str:
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
    if not one.nodes and (own := next((sorted(end.addresses)[0] for end in one.ends if end.addresses), None)):
        return named(own)
    if not one.nodes and one.ends and unnamed is not None:
        return unnamed
    if not one.nodes:
        by_ends = ", or name both ends (--sender, --receiver)" if one.ends else ""
        raise InvalidInput(
            f"{one.file.name}: {one.format} does not say of which host it is; put it into a folder of that "
            f"name, or --host NAME={one.file.name}{by_ends}"
        )
    return named(next(iter(one.nodes)))


def named(text: str) -> str:
    """A name or an address as a name of a host."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text, flags=re.ASCII).strip("-._")[:63]
    return plain or "host"
