# SPDX-License-Identifier: Apache-2.0
"""Networks of a campaign: NMState documents read and checked, with the place of whatever is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from linewatt.campaign.entries.networks import NetworkEntry, as_entry
from linewatt.campaign.messages import Locate, find_problems, problem, raise_first, refuse, suggest
from linewatt.campaign.reading.hosts import Locator
from linewatt.campaign.reading.named_files import resolve_path
from linewatt.document import AboutKey, Document, KeyPath, read_yaml, show_value
from linewatt.errors import InvalidInput
from linewatt.network import (
    Finding,
    HostNetwork,
    NetworkState,
    check_hosts,
    check_state,
    describe_network,
    find_templates,
    find_unsupported,
)

Checked = dict[str, tuple[NetworkState, KeyPath]]


def read_networks(
    entries: Sequence[str | NetworkEntry],
    document: Document,
    hosts: Collection[str],
    further_hosts: Collection[str],
) -> dict[str, dict[str, HostNetwork]]:
    """Network → host → what it shows; ``bare`` is in none. Paths are relative to the campaign's file.

    Raises InvalidInput naming file and line.
    """
    networks = {}
    base = Path(document.file).parent
    for index, written in enumerate(entries):
        entry, at = as_entry(written), ("networks", index)
        if entry is None:
            continue
        if entry.hosts is not None:
            value = entry.hosts
            networks[entry.name] = parse_networks(
                value, (*at, "hosts"), Locator(document), hosts, further_hosts
            )
        elif entry.file is not None:
            networks[entry.name] = read_network(resolve_path(base, entry.file), hosts, further_hosts)
        else:
            networks[entry.name] = _read_each(entry.files or {}, at, document, hosts, further_hosts)
    return networks


def _read_each(
    files: Mapping[str, str],
    at: KeyPath,
    document: Document,
    hosts: Collection[str],
    further_hosts: Collection[str],
) -> dict[str, HostNetwork]:
    """A file for each host."""
    locate = Locator(document)
    refuse(_check_names(files, (*at, "files"), hosts, further_hosts), locate)
    base = Path(document.file).parent
    networks = {name: read_host_network(resolve_path(base, files[name]), name) for name in hosts}
    twice = check_addresses(networks)
    refuse((((*at, "files", host), text) for host, text in twice), locate)
    return networks


def read_network(
    path: Path, hosts: Collection[str], further_hosts: Collection[str] = ()
) -> dict[str, HostNetwork]:
    """What each of ``hosts`` is to show, from a file with ``hosts: {name: <NMState document>}``.

    ``further_hosts`` are further hosts that the file may describe; they are left out. Raises InvalidInput
    with one line, ``file:line:col: path: what, and what is right``.
    """
    document = read_yaml(path)
    value, locate = document.value, Locator(document)
    if not isinstance(value, dict) or not isinstance(value.get("hosts"), dict):
        raise _no_hosts(document)
    unknown_key = AboutKey("unknown key; the file holds `hosts:` alone")
    refuse((((name,), unknown_key) for name in value if name != "hosts"), locate)
    return parse_networks(value["hosts"], ("hosts",), locate, hosts, further_hosts)


def read_host_network(path: Path, host: str) -> HostNetwork:
    """What one host is to show, from a file with its NMState document. Raises InvalidInput."""
    document = read_yaml(path)
    locate = Locator(document)
    state = _state(document.value, (), locate)
    refuse(check_state(state), locate)
    return describe_network(state, host)


def parse_networks(
    value: object,
    path: KeyPath,
    locate: Locate,
    hosts: Collection[str] | None = None,
    further_hosts: Collection[str] = (),
) -> dict[str, HostNetwork]:
    """What each host is to show, from a mapping of names to NMState documents that stands at ``path``.

    ``hosts`` are those that must be there, None for whichever are; ``further_hosts`` may be there and are
    left out. Raises InvalidInput with the place that ``locate`` gives.
    """
    if not isinstance(value, dict) or not value:
        text = f"must be a mapping of hosts to NMState documents, got {show_value(value)}"
        raise _error(locate, path, text)
    if hosts is not None:
        refuse(_check_names(value, path, hosts, further_hosts), locate)
    documents = {name: document for name, document in value.items() if hosts is None or name in hosts}
    states: Checked = {
        name: (_state(document, (*path, name), locate), (*path, name)) for name, document in documents.items()
    }
    findings = (check_state(state, at) for state, at in states.values())
    refuse(itertools.chain(*findings, check_hosts(states)), locate)
    return {name: describe_network(state, name) for name, (state, _) in states.items()}


def check_addresses(networks: Mapping[str, HostNetwork]) -> Iterator[tuple[str, str]]:
    """Host and what is wrong: addresses that two hosts would have, where each has a document of its own."""
    first: dict[str, str] = {}
    for host, network in networks.items():
        for address in (*network.addresses("ipv4"), *network.addresses("ipv6")):
            first_host = first.setdefault(address.address, host)
            if first_host != host:
                yield host, f"{address.address} is also an address of host {first_host}; give each its own"


def _state(value: Any, at: KeyPath, locate: Locate) -> NetworkState:
    if not isinstance(value, dict):
        refuse(find_templates(value, at), locate)
        text = f"must be an NMState document with `interfaces:`, got {show_value(value)}"
        raise _error(locate, at, text)
    refuse(find_unsupported(value, at), locate)
    raise_first(find_problems(NetworkState, value, at, locate), locate.document.file)
    return NetworkState.model_validate(value)


def _check_names(
    value: Mapping[str, Any], path: KeyPath, hosts: Collection[str], further_hosts: Collection[str]
) -> Iterator[Finding]:
    all_hosts = list(dict.fromkeys([*hosts, *further_hosts]))
    strange = [name for name in value if name not in all_hosts]
    for name in strange:
        text = f"there is no host {name} in the campaign; {suggest(name, all_hosts)}"
        yield (*path, name), AboutKey(text)
    for name in hosts if not strange else ():  # a name that is written wrong is missing, too
        if name not in value:
            yield (
                path,
                f"{name} is missing; add what this host shows, or `{name}: {{}}` for nothing of its own",
            )


def _error(locate: Locate, at: KeyPath, text: str) -> InvalidInput:
    located_problem = problem(locate, at, text)
    return located_problem.place.error(located_problem.message)


def _no_hosts(document: Document) -> InvalidInput:
    text = "must be a mapping with `hosts:`, the NMState document of each host below its name"
    if isinstance(document.value, dict) and "interfaces" in document.value:
        text += "; this is the document of one host"
    return document.place(()).error(text)
