# SPDX-License-Identifier: Apache-2.0
"""Files and programs of this machine that a campaign names: where they are, and what is wrong with them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from linewatt.campaign.entries.factors import Factor, LabelEntry
from linewatt.campaign.entries.networks import NetworkEntry, as_entry
from linewatt.campaign.entries.schema import HostEntry, InventoryRef
from linewatt.campaign.reading.checks import Finding
from linewatt.document import DENIED, KeyPath, file_problem

_OF_POWER = {
    "ca_file": "name the PEM file of the certificate's authority",
    "password_file": "name the file that holds the password in its first line",
}
_OF_SSH = {
    "key_file": "name a private key of this machine, or leave it out for SSH's own",
    "known_hosts": "name a known hosts file, or leave it out for ~/.ssh/known_hosts",
}


def resolve_path(base: Path, text: str) -> Path:
    """A path of the file: ``~`` is the user's home, and relative means relative to the file."""
    return base / os.path.expanduser(text)  # noqa: PTH111  Path.expanduser raises for an unknown user


def check_inventory(hosts: object, base: Path) -> Iterator[Finding]:
    """An inventory that cannot be read."""
    if isinstance(hosts, (str, InventoryRef)):
        name = hosts if isinstance(hosts, str) else hosts.inventory
        at = ("hosts",) if isinstance(hosts, str) else ("hosts", "inventory")
        if wrong := file_problem(resolve_path(base, name)):
            yield at, f"the inventory {resolve_path(base, name)} {wrong}; name one, or the hosts themselves"


def check_network_files(networks: Sequence[str | NetworkEntry], base: Path) -> Iterator[Finding]:
    """Files of networks that cannot be read."""
    for index, written in enumerate(networks):
        entry = as_entry(written)
        if entry is None:
            continue
        at = ("networks", index)
        named: dict[KeyPath, str] = {(*at, "files", host): file for host, file in (entry.files or {}).items()}
        if entry.file is not None:
            named[at if isinstance(written, str) else (*at, "file")] = entry.file
        for path, name in named.items():
            if wrong := file_problem(resolve_path(base, name)):
                yield path, f"{resolve_path(base, name)} {wrong}; name a file with NMState documents"


def check_host_files(hosts: Mapping[str, HostEntry], base: Path, *, secrets: bool) -> Iterator[Finding]:
    """Topologies that cannot be read; with ``secrets`` also files that only a run opens."""
    for name, host in hosts.items():
        if host.topology is not None and (wrong := file_problem(resolve_path(base, host.topology))):
            text = f"{resolve_path(base, host.topology)} {wrong}; write it there with: lstopo --of xml FILE"
            yield ("hosts", name, "topology"), text
        for source, cfg in host.power.items() if secrets else ():
            for key, right in _OF_POWER.items():
                file = getattr(cfg, key, None)
                if file is not None and (wrong := file_problem(resolve_path(base, file))):
                    yield (
                        ("hosts", name, "power", source, key),
                        f"{resolve_path(base, file)} {wrong}; {right}",
                    )


def check_hooks(factors: Mapping[str, Factor]) -> Iterator[Finding]:
    """Programs of labels that are not there, or are none."""
    for name, label in factors.items():
        if isinstance(label, LabelEntry) and label.hook and shutil.which(label.hook[0]) is None:
            yield (
                ("factors", name, "hook", 0),
                f"{label.hook[0]!r} is not a program on this machine; name one by its path, and chmod +x it",
            )


def check_ssh_files(hosts: Mapping[str, HostEntry], base: Path) -> Iterator[Finding]:
    """Key and known hosts files that are of no use, each once; opens them. Hosts without SSH need none."""
    seen: set[Path] = set()
    for name, host in hosts.items():
        for key, text in (("key_file", host.key_file), ("known_hosts", host.known_hosts)):
            if text is None or host.address == "local":
                continue
            path = resolve_path(base, text).absolute()
            if path in seen:
                continue
            seen.add(path)
            if wrong := file_problem(path, or_pipe=False, denied=f"{DENIED} (a lab's keys are root's)"):
                yield ("hosts", name, key), f"{path} {wrong}; {_OF_SSH[key]}"
            elif key == "key_file" and (wrong := _no_key(path)):
                yield ("hosts", name, key), f"{path} {wrong}"


def _no_key(path: Path) -> str | None:
    """Why a file is of no use as a private key, and what to do."""
    from linewatt.hosts.ssh import key_problem

    return key_problem(path)
