# SPDX-License-Identifier: Apache-2.0
"""Hosts from an Ansible inventory, INI or YAML, as values ready for a HostSpec.

Read from Ansible's own variables: ``ansible_host``, ``ansible_port``, ``ansible_user``,
``ansible_ssh_private_key_file``, ``ansible_become``, ``ansible_connection`` (SSH or local) and the jump host
in ``ansible_ssh_common_args`` and its like. Everything else linewatt needs is a variable of its own,
``linewatt_data``, ``linewatt_app_cpus`` and so on, which wins over Ansible's. Passwords are never read.
Groups, children, group variables and ranges (``node[01:16]``) work as in Ansible; programs that print one,
``host_vars/`` and templates (``{{ … }}``) are not read.

Source: "How to build your inventory" in the Ansible documentation.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linewatt.document import Place, read_text, show_value
from linewatt.hosts.base import HostSpec
from linewatt.hosts.inventory.ini import read_ini
from linewatt.hosts.inventory.tree import Tree, Variable
from linewatt.hosts.inventory.yaml import read_yaml_tree
from linewatt.hosts.ssh.jumps import jump_of_arguments, jump_of_command

PREFIX = "linewatt_"
HOST_KEYS = set(HostSpec.__slots__) - {"name", "base_frequency_hz", "more_ports"} | {
    "base_frequency_ghz",
    "components",
    "power",
    "psus",
    "topology",
}
"""what may follow ``linewatt_``"""

_ANSIBLE = {
    "ansible_host": "address",
    "ansible_ssh_host": "address",
    "ansible_port": "port",
    "ansible_ssh_port": "port",
    "ansible_user": "user",
    "ansible_ssh_user": "user",
    "ansible_private_key_file": "key_file",
    "ansible_ssh_private_key_file": "key_file",
    "ansible_become": "sudo",
}
_OF_PORTS = ("data", "data_ipv4", "data_ipv6")
"""one text, or one for each data port"""
_SSH = ("ssh", "smart", "paramiko", "paramiko_ssh", "libssh")
"""connections of Ansible that are SSH to a shell"""
_SSH_ARGUMENTS: dict[str, Callable[[str], str | None]] = {
    "ansible_ssh_args": jump_of_arguments,
    "ansible_ssh_common_args": jump_of_arguments,
    "ansible_ssh_extra_args": jump_of_arguments,
    "ansible_paramiko_proxy_command": jump_of_command,
}
"""variables that may name a jump host, and how it is read"""
_TRUE = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@dataclass(frozen=True, slots=True)
class InventoryHost:
    """A host of an inventory: ``values`` by the keys of a campaign's host, ``sources`` where each is from."""

    name: str
    place: Place
    values: Mapping[str, Any]
    sources: Mapping[str, Variable]


def read_inventory(
    path: Path, group: str = "all", wanted_names: Collection[str] | None = None
) -> dict[str, InventoryHost]:
    """The hosts of a group, in the order of the file; those not in ``wanted_names`` without their variables.

    Raises InvalidInput as ``file:line:col: what``.
    """
    text = read_text(path)
    top = Place(str(path))
    if text.startswith("#!"):
        raise top.error(
            "is a program; linewatt runs none: save what it prints with `ansible-inventory --list --yaml`"
        )
    tree = read_yaml_tree(text, str(path)) if is_yaml(path, text) else read_ini(text, str(path))
    depths = _depths(tree, top)
    if group not in depths:
        near = difflib.get_close_matches(group, sorted(depths), n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(depths))}"
        raise top.error(f"has no group {show_value(group)}; {hint}")
    order = sorted(depths, key=lambda name: (depths[name], name))
    members = {name: tree.members(name) for name in order}
    return {
        name: _host(tree, name, [of for of in order if name in members[of]])
        if wanted_names is None or name in wanted_names
        else InventoryHost(name, tree.hosts[name].place, {}, {})
        for name in tree.hosts
        if name in members[group]
    }


def is_yaml(path: Path, text: str | None = None) -> bool:
    """Whether an inventory is YAML: by its name, else by its ``text``, which is read if it is left out."""
    if path.suffix in (".yaml", ".yml", ".json"):
        return True
    if path.suffix in (".ini", ".cfg"):
        return False
    lines = (line.strip() for line in (read_text(path) if text is None else text).splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", ";"))), "")
    return first.startswith(("---", "{")) or first.split("#")[0].rstrip().endswith(":")


def _depths(tree: Tree, top: Place) -> dict[str, int]:
    """Groups by how deep they are below ``all``: what is deeper wins. Raises InvalidInput on a cycle."""
    everything = tree.group("all")
    parents = {child for group in tree.groups.values() for child in group.children}
    for name in list(tree.groups):
        if name != "all" and name not in parents:
            everything.children.setdefault(name, top)
    depths: dict[str, int] = {}

    def visit(name: str, depth: int, above: tuple[str, ...], place: Place) -> None:
        if name in above:
            raise place.error(f"group {show_value(name)} contains itself, through {' → '.join(above)}")
        if depths.get(name, -1) >= depth:
            return
        depths[name] = depth
        for child, at in tree.group(name).children.items():
            visit(child, depth + 1, (*above, name), at)

    visit("all", 0, (), top)
    for name, group in tree.groups.items():
        if name not in depths:  # only cycles are out of reach from all
            place = next(iter(group.children.values()), top)
            raise place.error(f"group {show_value(name)} contains itself")
    return depths


def _host(tree: Tree, name: str, groups: list[str]) -> InventoryHost:
    """The host with the variables of ``groups`` (outermost first) and its own, which win."""
    variables: dict[str, Variable] = {}
    for group in groups:
        variables |= tree.groups[group].variables
    variables |= tree.hosts[name].variables
    sources = dict(_sources(name, variables))
    values = {key: _value(name, key, variable) for key, variable in sources.items()}
    values.setdefault("address", name)
    return InventoryHost(name, tree.hosts[name].place, values, sources)


def _sources(host: str, variables: Mapping[str, Variable]) -> Iterator[tuple[str, Variable]]:
    """(key, the variable it comes from), later ones winning: linewatt's own last."""
    for name, key in _ANSIBLE.items():
        if name in variables:
            yield key, variables[name]
    yield from _connection(host, variables)
    for name, variable in variables.items():
        if not name.startswith(PREFIX):
            continue
        key = name.removeprefix(PREFIX)
        if key not in HOST_KEYS:
            near = difflib.get_close_matches(key, sorted(HOST_KEYS), n=1)
            hint = f"did you mean {PREFIX}{near[0]}?" if near else f"known: {', '.join(sorted(HOST_KEYS))}"
            raise variable.place.error(f"{host}: {show_value(name)} is not a variable of linewatt; {hint}")
        yield key, variable


def _connection(host: str, variables: Mapping[str, Variable]) -> Iterator[tuple[str, Variable]]:
    """How Ansible reaches the host: by SSH, perhaps through a jump host, or as this machine."""
    connection = variables.get("ansible_connection")
    kind = "ssh" if connection is None else str(connection.value).rpartition(".")[2]
    if connection is not None and kind == "local":
        yield "address", connection
    elif connection is not None and kind not in _SSH:
        raise connection.place.error(
            f"{host}: ansible_connection {show_value(connection.value)} is not a way that linewatt has: it "
            "reaches hosts by SSH, or is on them (local); let it reach an sshd, or take the host out"
        )
    for name, jump_of in _SSH_ARGUMENTS.items():
        arguments = variables.get(name)
        if arguments is None or kind == "local":
            continue
        text = _value(host, name, arguments)
        try:
            jump = jump_of(text) if isinstance(text, str) else None
        except ValueError as error:
            raise arguments.place.error(f"{host}: {name}: {error}") from None
        if jump is not None:
            yield "jump", Variable(name, jump, arguments.place)


def _value(host: str, key: str, variable: Variable) -> Any:
    """INI knows text only, and YAML inventories quote numbers: read the text as what the key needs."""
    value = variable.value
    if isinstance(value, str) and "{{" in value:
        raise variable.place.error(f"{host}: {variable.name}: templates are not read; write the value itself")
    if not isinstance(value, str):
        return value
    text = value.strip()
    if key == "port" and text.isdecimal() and len(text) <= 5:
        return int(text)
    if key in ("sudo", "raise_session", "emulated"):
        return _TRUE.get(text.lower(), value)
    if key == "base_frequency_ghz":
        with suppress(ValueError):
            return float(text)
    if key == "limits":
        pairs = [re.split("[:=]", part, maxsplit=1) for part in text.split(",")]
        if all(len(pair) == 2 for pair in pairs):
            return {name.strip(): setting.strip() for name, setting in pairs}
    if key == "shares_cpus_with" or (key in _OF_PORTS and "," in text):
        return [name.strip() for name in text.split(",") if name.strip()]
    if key == "data_weights":
        return [
            int(weight) if weight.isdecimal() and weight.isascii() else weight
            for weight in map(str.strip, text.split(","))
        ]
    return text
