# SPDX-License-Identifier: Apache-2.0
"""Every load there is, by name: each package of this room that has ``LOAD``. A new one is one package.

Other packages add theirs by entry points of the group ``linewatt.loads``.
"""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from linewatt import loads
from linewatt.errors import InvalidInput
from linewatt.loads.base import Load
from linewatt.model import TestName
from linewatt.plugins import registered


def _loads() -> dict[str, Load]:
    packages = (module.name for module in pkgutil.iter_modules(loads.__path__) if module.ispkg)
    declared = (getattr(import_module(f"{loads.__name__}.{name}"), "LOAD", None) for name in sorted(packages))
    shipped = [load for load in declared if isinstance(load, Load)]
    parts = ("name", "tests", "client_command", "server_command", "parse", "is_default", "soaks")
    return {load.name: load for load in registered(shipped, "linewatt.loads", parts)}


LOADS: dict[str, Load] = _loads()
DEFAULT_LOAD: str = next(name for name, load in LOADS.items() if load.is_default)
"""the load of campaigns that name none, also of all that were written before there was another"""
SOAKING_LOADS: tuple[str, ...] = tuple(name for name, load in LOADS.items() if load.soaks)
"""loads that a soak may have beside its users"""


class _Foreign(Load):
    """A load that others ran and linewatt does not: its figures can be read, and nothing is known of it."""

    package: ClassVar[str] = ""
    version_pattern: ClassVar[re.Pattern[str]] = re.compile(r"(\d+(?:\.\d+)*)")
    tests: ClassVar[tuple[TestName, ...]] = ()

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]  # of this one alone

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise InvalidInput(f"{self.name}: unknown load; there are {', '.join(LOADS)}")

    server_command = client_command = parse = try_server = try_client = try_problem = _refuse


@cache
def load_of(name: str | None) -> Load:
    """The load that a case names, also one that only imported results have; ``None``: the usual one."""
    return LOADS.get(name or DEFAULT_LOAD) or _Foreign(str(name))


def load_of_prefix(name: str) -> tuple[Load, str] | None:
    """The load and its option that ``<load>.<option>`` names; ``None``: it names none."""
    prefix, dot, option = name.partition(".")
    return (LOADS[prefix], option) if dot and prefix in LOADS else None
