# SPDX-License-Identifier: Apache-2.0
"""What the front doors of ``src/linewatt`` lead to: the names that ``__init__.pyi`` of a folder lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

Doors = Mapping[str, Mapping[str, str]]
"""package → name that other rooms may import from it → the module that has it, or is it"""


def read_doors(src: Path) -> dict[str, dict[str, str]]:
    """The front doors below ``src``. Raises SyntaxError."""
    doors = {}
    for stub in sorted(src.rglob("__init__.pyi")):
        package = ".".join(stub.parent.relative_to(src).parts)
        imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
        doors[package] = {
            alias.name: f"{package}.{node.module or alias.name}" for node in imports for alias in node.names
        }
    return doors


def imported_modules(source: str, doors: Doors) -> Iterator[str]:
    """Modules that a source imports, or may import names of; behind a door, the module that has the name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                yield doors.get(node.module, {}).get(alias.name) or f"{node.module}.{alias.name}"
