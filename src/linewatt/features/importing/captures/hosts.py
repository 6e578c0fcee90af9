# SPDX-License-Identifier: Apache-2.0
"""Which host each file is of: as it is said, else by its folder, else as the file itself names it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linewatt.campaign.entries import fields
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
        node = self.nodes.get(host)
        return tuple(
            name for name in self.names if name != host and node is not None and self.nodes.get(name) == node
        )

    def at(self, address: str) -> str | None:
        """The host that has an address, or is called so."""
        holders = (name for name in self.names if address in self.addresses.get(name, ()))
        return next(holders, named(address) if address and named(address) in self.names else None)

    def renamed(self, names: Mapping[str, str]) -> Hosts:
        """The same with other names."""
        addresses: dict[str, frozenset[str]] = {}
        for host, host_addresses in self.addresses.items():
            name = names.get(host, host)
            addresses[name] = addresses.get(name, frozenset()) | host_addresses
        return replace(
            self,
            of_file={file: names.get(host, host) for file, host in self.of_file.items()},
            nodes={names.get(host, host): node for host, node in self.nodes.items()},
            addresses=addresses,
        )


def assign(captures: Sequence[Found], host_options: Mapping[str, str], unnamed: str | None = None) -> Hosts:
    """The host of each file. ``unnamed`` is the host of a load's file that names none.

    Raises InvalidInput, one line, where none can be told or files contradict it.
    """
    _refuse_unknown(captures, host_options)
    of_file = {capture.file.name: _host(capture, host_options, unnamed) for capture in captures}
    nodes: dict[str, tuple[str, Found]] = {}
    addresses: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    for capture in sorted(
        captures, key=lambda capture: not capture.ends
    ):  # the name in the load's files comes first
        host = of_file[capture.file.name]
        for node in sorted(capture.nodes):
            before, first = nodes.setdefault(host, (node, capture))
            if before == node:
                continue
            if capture.ends or not first.ends:
                raise InvalidInput(
                    f"{capture.file.name}: is of a host that calls itself {one_line(node)}, and "
                    f"{first.file.name} is of {one_line(before)}; both would be {host}: keep a folder for "
                    "each host"
                )
            notes.append(
                f"{capture.file.name} names its host {one_line(node)}, and {first.file.name} "
                f"{one_line(before)}; "
                f"both are taken to be of {host}, as their folder says; --host names another host for a file"
            )
        end_addresses = frozenset(address for end in capture.ends for address in end.addresses)
        addresses[host] = addresses.get(host, frozenset()) | end_addresses
    hosts = Hosts(of_file, {host: node for host, (node, _) in nodes.items()}, addresses, tuple(notes))
    return _joined(hosts, captures, {of_file[name] for name in host_options})


def _joined(hosts: Hosts, captures: Sequence[Found], fixed_hosts: Collection[str]) -> Hosts:
    """Folders whose files are of one machine as one host, unless both ends of a test are in two of them.

    ``fixed_hosts`` are hosts that are called so by whoever imports the files: they stay.
    """
    ends: dict[str, set[str]] = {}
    for capture in captures:
        for end in capture.ends:
            ends.setdefault(end.key, set()).add(hosts.of_file[capture.file.name])
    separate_hosts = {host for end_hosts in ends.values() if len(end_hosts) > 1 for host in end_hosts}
    of_node: dict[str, list[str]] = {}
    for host in hosts.names:
        if host in hosts.nodes and host not in separate_hosts and host not in fixed_hosts:
            of_node.setdefault(hosts.nodes[host], []).append(host)
    for node, node_hosts in of_node.items():
        if len(node_hosts) > 1:
            name = named(node)
            taken = name in hosts.names and name not in node_hosts
            name = node_hosts[0] if taken else name
            note = (
                f"{', '.join(node_hosts)}: their files all name the machine {one_line(node)}, so "
                f"they are one host, "
                f"{name}; --sender and --receiver name the ends of all tests, --host the host of a file"
            )
            renamed = hosts.renamed(dict.fromkeys(node_hosts, name))
            hosts = replace(renamed, notes=(*hosts.notes, note))
    return hosts


def _refuse_unknown(captures: Iterable[Found], host_options: Mapping[str, str]) -> None:
    names = {capture.file.name for capture in captures}
    for name in host_options:
        if name not in names:
            raise InvalidInput(f"--host {host_options[name]}={one_line(name)}: no such file is imported")


def _host(capture: Found, host_options: Mapping[str, str], unnamed: str | None) -> str:
    name = host_options.get(capture.file.name) or capture.file.folder
    if name is not None:
        if not re.fullmatch(fields.HOST_NAME, name, re.ASCII):
            raise InvalidInput(
                f"{capture.file.name}: {one_line(name)!r} is not a name of a host (letters, digits, dots, "
                "underscores, dashes)"
            )
        return name
    if len(capture.nodes) > 1:
        raise InvalidInput(
            f"{capture.file.name}: holds several hosts ({', '.join(sorted(capture.nodes))}); split it"
        )
    if not capture.nodes and (
        address := next((sorted(end.addresses)[0] for end in capture.ends if end.addresses), None)
    ):
        return named(address)
    if not capture.nodes and capture.ends and unnamed is not None:
        return unnamed
    if not capture.nodes:
        by_ends = ", or name both ends (--sender, --receiver)" if capture.ends else ""
        raise InvalidInput(
            f"{capture.file.name}: {capture.format} does not say of which host it is; put it into "
            f"a folder of that "
            f"name, or --host NAME={capture.file.name}{by_ends}"
        )
    return named(next(iter(capture.nodes)))


def named(text: str) -> str:
    """A name or an address as a name of a host."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text, flags=re.ASCII).strip("-._")[:63]
    return plain or "host"
