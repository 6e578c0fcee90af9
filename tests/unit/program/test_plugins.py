# SPDX-License-Identifier: Apache-2.0
"""Every registered plug-in is documented, has captures, and keeps to its protocol."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from linewatt.loads.registry import LOADS
from linewatt.sensors.registry import POWER_DRIVERS, SENSORS
from linewatt.tuning.registry import TUNING_KNOBS

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "tests" / "captures"
SOURCES: dict[str, Any] = {**SENSORS, **POWER_DRIVERS}
REGISTRIES: dict[str, tuple[Mapping[str, object], str]] = {
    "sensors": (SOURCES, "sensors.md"),
    "loads": (LOADS, "loads.md"),
    "tuning": (TUNING_KNOBS, "knobs.md"),
}
PLUGINS = [
    pytest.param(room, name, page, id=f"{room}-{name}")
    for room, (registry, page) in REGISTRIES.items()
    for name in registry
]


@pytest.mark.parametrize(("room", "name", "page"), PLUGINS)
def test_each_plugin_has_a_section_in_the_docs(room: str, name: str, page: str) -> None:
    headings = re.findall(r"^##+ (.+)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    assert name in headings, f"docs/{page} has no section {name!r} for {room}/{name}.py"


@pytest.mark.parametrize("name", [*SOURCES, *LOADS])
def test_each_source_of_numbers_has_captures(name: str) -> None:
    cases = list((CAPTURES / name).glob("*/expected.json"))
    assert cases, f"tests/captures/{name}/<case>/expected.json: none"


@pytest.mark.parametrize(("room", "name", "page"), PLUGINS)
def test_each_plugin_is_called_as_its_file_or_its_package_is(room: str, name: str, page: str) -> None:
    plugin: Any = REGISTRIES[room][0][name]
    module = inspect.getmodule(plugin if isinstance(plugin, type) else type(plugin))
    assert module is not None
    assert name in module.__name__.split(".")[-2:]
    assert plugin.name == name


@pytest.mark.parametrize("name", SOURCES)
def test_each_setting_of_a_sensor_is_in_its_docs(name: str) -> None:
    page = (ROOT / "docs" / "sensors.md").read_text()
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    (own,) = (part for part in section if part.startswith(f"{name}\n"))
    for setting in SOURCES[name].Config.model_fields:
        assert f"| `{setting}` |" in own


@pytest.mark.parametrize(("room", "name", "page"), PLUGINS)
def test_no_plugin_does_any_io(room: str, name: str, page: str) -> None:
    plugin: Any = REGISTRIES[room][0][name]
    source = inspect.getsource(sys.modules[plugin.__module__])
    imported = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
    }
    assert not imported & {"subprocess", "os", "socket", "asyncio", "pathlib", "shutil"}, name
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "open" not in calls


WRITE_FORMATS = (
    *("cli/actions/export.py", "cli/commands/export.py", "report/data/__init__.py"),
    "report/data/iperf3.py",
)
"""what writes results in the format of iperf3's JSON, whichever load they are of"""


@pytest.mark.parametrize("load", LOADS)
def test_nothing_outside_its_package_names_a_load(load: str) -> None:
    """Whoever needs to know something of a load asks it; a format that others read has its name."""
    own = ROOT / "src" / "linewatt" / "loads" / load
    sources = [
        path for path in (ROOT / "src" / "linewatt").rglob("*") if path.suffix in (".py", ".j2", ".sh")
    ]
    naming = {path for path in sources if own not in path.parents and load in path.read_text().lower()}
    assert naming <= {ROOT / "src" / "linewatt" / path for path in WRITE_FORMATS}
