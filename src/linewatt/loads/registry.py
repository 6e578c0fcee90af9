# SPDX-License-Identifier: Apache-2.0
"""Every load there is, by name: each package of this room that has ``LOAD``. A new one is one package."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from linewatt import loads
from linewatt.loads.base import Load


def _loads() -> dict[str, Load]:
    packages = (one.name for one in pkgutil.iter_modules(loads.__path__) if one.ispkg)
    declared = (getattr(import_module(f"{loads.__name__}.{name}"), "LOAD", None) for name in sorted(packages))
    return {load.name: load for load in declared if isinstance(load, Load)}


LOADS: dict[str, Load] = _loads()
DEFAULT: str = next(name for name, load in LOADS.items() if load.is_default)
"""the load of campaigns that name none, also of all that were written before there was another"""
SOAKING: tuple[str, ...] = tuple(name for name, load in LOADS.items() if load.soaks)
"""loads that a soak may have beside its users"""


def of_prefix(name: str) -> tuple[Load, str] | None:
    """The load and its option that ``<load>.<option>`` names; ``None``: it names none."""
    prefix, dot, option = name.partition(".")
    return (LOADS[prefix], option) if dot and prefix in LOADS else None
