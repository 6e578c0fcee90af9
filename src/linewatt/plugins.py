# SPDX-License-Identifier: Apache-2.0
"""Registries of sensors, sources of power, loads and knobs: those of linewatt, and of other packages.

Modules of a room say what they bring by a constant; other packages by entry points.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from linewatt.core.third_party import third_party_objects
from linewatt.errors import InvalidInput


def brought(constant: str, *rooms: ModuleType) -> Iterator[Any]:
    """The values of ``constant`` in rooms and in all modules and packages of theirs, by module name."""
    for room in rooms:
        modules = pkgutil.walk_packages(getattr(room, "__path__", ()), f"{room.__name__}.")
        for name in (room.__name__, *sorted(module.name for module in modules)):
            module = import_module(name)
            if hasattr(module, constant):
                yield getattr(module, constant)


def registered(
    shipped: Iterable[Any], group: str, needed: Iterable[str] = ("name",), *, are_classes: bool = False
) -> list[Any]:
    """Objects that linewatt ships, then those of other packages from a group of entry points.

    Raises InvalidInput for an object that lacks one of the ``needed`` attributes, is a class where instances
    are needed or the reverse, or whose name is not text or is taken.
    """
    objects = list(shipped)
    packages = dict.fromkeys((item.name for item in objects), "linewatt")
    for item in third_party_objects(group):
        where = f"{group}: {item.path} of {item.distribution} {item.version}"
        missing = [attribute for attribute in needed if not hasattr(item.value, attribute)]
        if missing:
            raise InvalidInput(f"{where} has no {', '.join(missing)}; mend or uninstall that package")
        if isinstance(item.value, type) != are_classes:
            kind, needed_kind = ("an instance", "a class") if are_classes else ("a class", "an instance")
            raise InvalidInput(f"{where} is {kind}, not {needed_kind}; mend or uninstall that package")
        if not isinstance(item.value.name, str):
            raise InvalidInput(f"{where} has a name that is not text; mend or uninstall that package")
        if item.value.name in packages:
            owner = packages[item.value.name]
            raise InvalidInput(f"{where}: {owner} has a {item.value.name!r} already; uninstall one of them")
        packages[item.value.name] = item.distribution
        objects.append(item.value)
    return objects
