# SPDX-License-Identifier: Apache-2.0
"""An inventory as it was written: groups, the hosts in them, and variables with their places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linewatt.document import Place


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of an inventory: its name as written, its value, and where that stands."""

    name: str
    value: Any
    place: Place


@dataclass(slots=True)
class Group:
    """A group: host names, child groups with the place that names them, variables."""

    hosts: set[str] = field(default_factory=set)
    children: dict[str, Place] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


@dataclass(slots=True)
class Entry:
    """A host: where it is first named, and its own variables."""

    place: Place
    variables: dict[str, Variable] = field(default_factory=dict)


@dataclass(slots=True)
class Tree:
    """All groups and hosts, in the order of the file."""

    groups: dict[str, Group] = field(default_factory=dict)
    hosts: dict[str, Entry] = field(default_factory=dict)

    def group(self, name: str) -> Group:
        """The group of that name, made when it is new."""
        return self.groups.setdefault(name, Group())

    def add_host(self, name: str, group: str, place: Place) -> Entry:
        """The host of that name, made when it is new, now a member of ``group``."""
        self.group(group).hosts.add(name)
        return self.hosts.setdefault(name, Entry(place))

    def members(self, group: str) -> set[str]:
        """Hosts of a group and of all groups below it."""
        names: set[str] = set()
        waiting, seen = [group], {group}
        while waiting:
            current_group = self.group(waiting.pop())
            names |= current_group.hosts
            waiting += current_group.children.keys() - seen
            seen |= current_group.children.keys()
        return names
