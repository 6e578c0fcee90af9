# SPDX-License-Identifier: Apache-2.0
"""The hosts that a campaign may use, from its file or an inventory, and where each value of them stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from linewatt.campaign.campaign import PowerSource, power_config
from linewatt.campaign.entries.fields import HOST_NAME
from linewatt.campaign.entries.limits import limits_of
from linewatt.campaign.entries.schema import CampaignFile, HostEntry, InventoryHostEntry, InventoryRef
from linewatt.campaign.messages import Problem, find_problems, raise_first
from linewatt.campaign.reading.named_files import resolve_path
from linewatt.core.feature import power_source_keys
from linewatt.document import Document, KeyPath, Place, show_path, show_value
from linewatt.hosts import DataPort, HostSpec
from linewatt.hosts.inventory import InventoryHost, is_yaml, read_inventory
from linewatt.units import hz_from_ghz


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts a campaign may use, and where each value of them stands."""

    entries: Mapping[str, HostEntry]
    names: tuple[str, ...]
    base: Path
    inventory: Path | None = None
    listed: Mapping[str, InventoryHost] = field(default_factory=dict)


@dataclass(slots=True)
class Locator:
    """Finds the place of a value: in the campaign file, or for a host in the inventory it came from."""

    document: Document
    listed: Mapping[str, InventoryHost] = field(default_factory=dict)
    inventory: Path | None = None

    def __call__(self, path: KeyPath, key: bool) -> tuple[Place, str]:
        host = self.listed.get(str(path[1])) if len(path) > 1 and path[0] == "hosts" else None
        if host is not None:
            return locate_in_inventory(host, path[2:])
        if self.inventory is not None and path == ("hosts",):
            return Place(str(self.inventory)), "hosts"
        return self.document.place(path, key=key), show_path(path)

    def key(self, at: KeyPath, name: str) -> str:
        """How a key below ``at`` is written: an inventory has names and signs of its own."""
        if self.inventory is None or not at or at[0] != "hosts":
            return f"{name}: "
        return f"linewatt_{name}{': ' if is_yaml(self.inventory) else '='}"


def locate_in_inventory(host: InventoryHost, path: KeyPath) -> tuple[Place, str]:
    """Place of a host's value in its inventory, and the variable it was written as."""
    if not path:
        return host.place, host.name
    source = host.sources.get(str(path[0]))
    if source is None:
        return host.place, f"{host.name}: linewatt_{show_path(path)}"
    return source.place, f"{host.name}: {source.name}"


def hosts_of_file(
    entry: CampaignFile, path: Path, override: Path | None, host_names: set[str] | None
) -> Hosts:
    """Of a campaign file, or of the inventory that it names, or that replaces both. Raises InvalidInput."""
    if override is not None:
        return _from_inventory(override, "all", host_names)
    if isinstance(entry.hosts, dict):
        return Hosts(entry.hosts, tuple(entry.hosts), path.parent)
    reference = entry.hosts if isinstance(entry.hosts, InventoryRef) else InventoryRef(inventory=entry.hosts)
    return _from_inventory(resolve_path(path.parent, reference.inventory), reference.group, host_names)


def _from_inventory(path: Path, group: str, host_names: set[str] | None) -> Hosts:
    """Hosts of an inventory; it may hold machines that nothing names, and those are not looked at."""
    inventory_hosts = read_inventory(path, group, host_names)
    used = {name: host for name, host in inventory_hosts.items() if host_names is None or name in host_names}
    locate = Locator(Document(str(path), "", None), used, path)
    problems: list[Problem] = []
    for name, host in used.items():
        if not re.fullmatch(HOST_NAME, name, re.ASCII):
            text = (
                f"{show_value(name)} cannot be a host name here: letters, digits, dots, underscores, dashes"
            )
            problems.append(Problem(host.place, text))
        problems += find_problems(InventoryHostEntry, dict(host.values), ("hosts", name), locate)
    raise_first(problems, str(path))
    entries = {name: InventoryHostEntry.model_validate(host.values) for name, host in used.items()}
    return Hosts(entries, tuple(inventory_hosts), path.parent, path, used)


def power_of(entry: HostEntry, spec: HostSpec, base: Path) -> dict[str, PowerSource]:
    """A host's sources; what a lab's host shows is simulated, whoever says otherwise."""
    sources = {}
    for name, written in entry.power.items():
        settings = written.model_dump(mode="json", exclude_unset=True)
        driver = settings.pop("driver")
        feature_values = {
            key.key: key.load(key.read_path)(spec.name, entry, name, base)
            for key in power_source_keys()
            if settings.pop(key.key, None) is not None
        }
        for file_key in ("password_file", "ca_file"):
            if settings.get(file_key) is not None:
                settings[file_key] = path_text(base, settings[file_key])
        if spec.lab is not None:
            settings["simulated"] = True
        sources[name] = PowerSource(driver, power_config(driver, settings), feature_values)
    return sources


def spec_of(name: str, host: HostEntry, base: Path) -> HostSpec:
    """How a host is reached and which of its parts take part; files are looked for from ``base``."""
    in_lab = host if isinstance(host, InventoryHostEntry) else None
    return HostSpec(
        name=name,
        address=host.address,
        data=host.data[0],
        port=host.port,
        user=host.user,
        key_file=path_text(base, host.key_file),
        known_hosts=path_text(base, host.known_hosts),
        jump=host.jump,
        sudo=host.sudo,
        data_ipv4=host.data_ipv4 and host.data_ipv4[0],
        data_ipv6=host.data_ipv6 and host.data_ipv6[0],
        cpus=host.cpus,
        app_cpus=host.app_cpus,
        irq_cpus=host.irq_cpus,
        base_frequency_hz=None if host.base_frequency_ghz is None else hz_from_ghz(host.base_frequency_ghz),
        lab=in_lab.lab if in_lab else None,
        emulated=in_lab is not None and in_lab.emulated,
        shares_cpus_with=in_lab.shares_cpus_with if in_lab else (),
        more_ports=tuple(
            DataPort(
                data,
                host.data_ipv4 and host.data_ipv4[number],
                host.data_ipv6 and host.data_ipv6[number],
            )
            for number, data in enumerate(host.data)
            if number
        ),
        data_weights=host.data_weights,
        limits=limits_of(host.limits),
        raise_session=host.raise_session,
    )


def path_text(base: Path, text: str | None) -> str | None:
    """A file that is named from ``base``, as an absolute path."""
    return None if text is None else str(resolve_path(base, text).absolute())
