# SPDX-License-Identifier: Apache-2.0
"""Ansible's YAML inventories: groups with ``hosts``, ``vars`` and ``children``."""

from __future__ import annotations

from typing import Any

from linewatt.document import FOREIGN, Document, KeyPath, Place, parse_yaml, show_path, show_value
from linewatt.hosts.inventory.ini import expand_range
from linewatt.hosts.inventory.tree import Tree, Variable


def read_yaml_tree(text: str, file: str) -> Tree:
    """Groups, hosts and variables of a YAML inventory. Raises InvalidInput as ``file:line:col: what``."""
    document = parse_yaml(text, file, foreign_tags=True)
    if not isinstance(document.value, dict):
        raise Place(file).error("is not an inventory: it must be a mapping of groups, such as `all:`")
    tree = Tree()
    for name in document.value:
        _group(document, tree, name, (name,))
    return tree


def _group(document: Document, tree: Tree, name: str, path: KeyPath) -> None:
    group = tree.group(name)
    parts = _mapping(document, path)
    for key in parts:
        if key not in ("hosts", "vars", "children"):
            place = document.place((*path, key), key=True)
            raise place.error(
                f"{show_path(path)}: {show_value(key)} is unknown here; use hosts, vars, children"
            )
    for pattern in _mapping(document, (*path, "hosts")):
        at = (*path, "hosts", pattern)
        place = document.place(at, key=True)
        variables = _variables(document, at)
        for host in expand_range(pattern, place):
            tree.add_host(host, name, place).variables.update(variables)
    group.variables.update(_variables(document, (*path, "vars")))
    for child in _mapping(document, (*path, "children")):
        at = (*path, "children", child)
        group.children.setdefault(child, document.place(at, key=True))
        _group(document, tree, child, at)


def _variables(document: Document, path: KeyPath) -> dict[str, Variable]:
    values = _mapping(document, path)
    return {
        name: Variable(name, value, document.place((*path, name)))
        for name, value in values.items()
        if value is not FOREIGN and value is not None
    }


def _mapping(document: Document, path: KeyPath) -> dict[str, Any]:
    value = document.value
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.place(path).error(f"{show_path(path)}: must be a mapping, got {show_value(value)}")
    return value
