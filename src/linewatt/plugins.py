# SPDX-License-Identifier: Apache-2.0
"""Finding plug-ins: the modules of a room that say what they bring."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any


def brought(constant: str, *rooms: ModuleType) -> Iterator[Any]:
    """The values of ``constant`` in rooms and in all modules and packages of theirs, by module name."""
    for room in rooms:
        modules = pkgutil.walk_packages(getattr(room, "__path__", ()), f"{room.__name__}.")
        for name in (room.__name__, *sorted(one.name for one in modules)):
            module = import_module(name)
            if hasattr(module, constant):
                yield getattr(module, constant)
