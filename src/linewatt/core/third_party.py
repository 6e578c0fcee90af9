# SPDX-License-Identifier: Apache-2.0
"""What other packages add through entry points, imported when it is needed."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from linewatt.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ThirdPartyObject:
    """An object that an entry point names, and the distribution that it is of."""

    name: str
    path: str
    value: Any
    distribution: str
    version: str


def load(path: str, what: str) -> Any:
    """The object at ``module:name``; ``what`` it is goes into the message. Raises InvalidInput."""
    try:
        return pkgutil.resolve_name(path)
    except (Exception, SystemExit) as error:  # a package may raise anything while it is imported
        message = " ".join(str(error).split())
        reason = message if isinstance(error, ImportError) else f"{type(error).__name__}: {message}"
        raise InvalidInput(
            f"{what}: {path} cannot be imported ({reason}); mend or uninstall its package"
        ) from error


def third_party_objects(group: str) -> Iterator[ThirdPartyObject]:
    """Objects of a group of entry points, by name. Raises InvalidInput for one that cannot be imported."""
    kind = group.rpartition(".")[2].removesuffix("s")
    for entry_point in sorted(entry_points(group=group), key=lambda entry_point: entry_point.name):
        value = load(entry_point.value, f"{kind} {entry_point.name!r}")
        distribution = entry_point.dist
        name, version = (distribution.name, distribution.version) if distribution else ("unknown", "unknown")
        yield ThirdPartyObject(entry_point.name, entry_point.value, value, name, version)
