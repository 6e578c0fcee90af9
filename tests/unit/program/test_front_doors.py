# SPDX-License-Identifier: Apache-2.0
"""Rooms use of each other what front doors list, and each door lists what others use: ``__init__.pyi``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from scripts.front_doors import Doors, read_doors

SRC = Path(__file__).parents[3] / "src"
DOORS = read_doors(SRC)
WITHOUT = {"api", "core", "features", "model", "schemas"}
"""rooms whose ``__init__.py`` imports what it exports, or whose modules are doors: each feature has few"""


def room_of(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[1:3] if parts[1:2] == ["features"] else parts[1:2])


def modules(src: Path) -> dict[str, str]:
    """Module → its source."""
    paths = {path: ".".join(path.relative_to(src).with_suffix("").parts) for path in src.rglob("*.py")}
    return {name.removesuffix(".__init__"): path.read_text() for path, name in sorted(paths.items())}


def imports(sources: dict[str, str], *, of_own_room: bool) -> Iterator[tuple[str, str, str]]:
    """Importer, and what it imports of its own room, or of others: package or module, and name."""
    for importer, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("linewatt."):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    room = room_of(whole if whole in sources else node.module or "")
                    if (room == room_of(importer)) == of_own_room:
                        yield importer, node.module or "", alias.name


def past_doors(sources: dict[str, str], doors: Doors) -> list[str]:
    """Imports that go past the front door of a room that has one."""
    rooms = {package.split(".")[1] for package in doors}
    return [
        f"{importer}: from {package} import {name}"
        for importer, package, name in imports(sources, of_own_room=False)
        if package.split(".")[1] in rooms and name not in doors.get(package, {})
        if f"{package}.{name}" not in doors  # the door of a folder, as a namespace
    ]


def through_own_door(sources: dict[str, str], doors: Doors) -> list[str]:
    """Imports through a front door of the importer's own room."""
    return [
        f"{importer}: from {package} import {name}"
        for importer, package, name in imports(sources, of_own_room=True)
        if doors.get(package, {}).get(name, f"{package}.{name}") != f"{package}.{name}"
    ]


def unused(sources: dict[str, str], doors: Doors) -> list[str]:
    """What doors list and no other room imports; what a namespace lists is used where that is."""
    used = {(package, name) for _, package, name in imports(sources, of_own_room=False)}
    namespaces = {f"{package}.{name}" for package, name in used} & set(doors)
    return [
        f"{package}: {name}"
        for package, names in doors.items()
        for name in names
        if (package, name) not in used and package not in namespaces
    ]


def test_rooms_use_of_each_other_what_front_doors_list() -> None:
    assert past_doors(modules(SRC), DOORS) == []


def test_within_a_room_modules_import_from_the_module_itself() -> None:
    assert through_own_door(modules(SRC), DOORS) == []


def test_front_doors_list_what_other_rooms_use_and_nothing_else() -> None:
    assert unused(modules(SRC), DOORS) == []


def test_every_room_has_a_front_door() -> None:
    rooms = {path.parent.name for path in SRC.glob("linewatt/*/__init__.py")}
    assert {package.split(".")[1] for package in DOORS if package.count(".") == 1} == rooms - WITHOUT


@pytest.mark.parametrize("package", DOORS)
def test_what_a_front_door_lists_is_there(package: str) -> None:
    door = import_module(package)
    assert door.__doc__
    assert sorted(door.__all__) == sorted(DOORS[package])
    for name, module in DOORS[package].items():
        owner = import_module(module)
        is_module = module == f"{package}.{name}"
        assert getattr(door, name) is (owner if is_module else vars(owner)[name])


def test_no_name_at_a_front_door_is_that_of_a_module_behind_it() -> None:
    """The package's attribute of this name would be the module, as soon as something imports that."""
    known = modules(SRC)
    assert [
        f"{package}.{name}"
        for package, names in DOORS.items()
        for name, module in names.items()
        if f"{package}.{name}" in known and module != f"{package}.{name}"
    ] == []


A, B, C = "linewatt.a", "linewatt.b", "linewatt.b.inner"
EXAMPLE: dict[str, str] = {A: "", "linewatt.a.user": "", B: "", C: "", "linewatt.b.inner.part": ""}


@pytest.mark.parametrize(
    ("source", "goes_past"),
    [
        (f"from {B} import name", False),
        (f"from {B} import inner", False),
        (f"from {C} import part", True),
        (f"from {C}.part import name", True),
        (f"from {B} import other", True),
        (f"def f():\n    from {C} import other", True),
        ("from linewatt.a.more import anything", False),
        ("from json import loads", False),
    ],
)
def test_an_import_past_a_front_door_is_found(source: str, *, goes_past: bool) -> None:
    doors = {B: {"name": f"{C}.part"}, C: {}}
    assert bool(past_doors(EXAMPLE | {"linewatt.a.user": source}, doors)) is goes_past


@pytest.mark.parametrize(
    ("source", "is_own"),
    [
        (f"from {B} import name", True),
        (f"from {B} import inner", False),
        (f"from {C}.part import name", False),
        ("from linewatt.a import name", False),
    ],
)
def test_an_import_through_the_door_of_the_own_room_is_found(source: str, *, is_own: bool) -> None:
    doors = {"linewatt.a": {"name": "linewatt.a.user"}, B: {"name": f"{C}.part", "inner": C}}
    assert bool(through_own_door(EXAMPLE | {"linewatt.b.inner.part": source}, doors)) is is_own


def test_a_name_that_nobody_uses_any_more_is_found() -> None:
    doors = {B: {"name": f"{C}.part", "old": f"{C}.part"}}
    sources = EXAMPLE | {"linewatt.a.user": f"from {B} import name", C: f"from {B} import old"}
    assert unused(sources, doors) == [f"{B}: old"]
