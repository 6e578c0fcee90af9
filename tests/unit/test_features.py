# SPDX-License-Identifier: Apache-2.0
"""Features: what is installed, what each adds, and what a broken one leads to."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from linewatt.core import feature as feature_module
from linewatt.core.feature import Feature, FeatureCommand, feature_commands, installed_features
from linewatt.errors import InvalidInput

FOLDERS = sorted(
    path.name
    for path in Path(import_module(feature_module.SHIPPED).__path__[0]).iterdir()
    if (path / "__init__.py").exists()
)

CAMPAIGN = Path(__file__).parents[2] / "examples" / "two-hosts.yaml"


@pytest.fixture(autouse=True)
def _read_anew() -> Iterator[None]:
    installed_features.cache_clear()
    yield
    installed_features.cache_clear()


def install(folder: Path, entry_point: str, source: str, package: str = "thirdparty") -> None:
    """A distribution of one module in a folder of ``sys.path``."""
    (folder / f"{package}.py").write_text(source)
    metadata = folder / f"{package}-3.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 3.1\n")
    (metadata / "entry_points.txt").write_text(f"[linewatt.features]\n{entry_point}\n")


GREETING = """
from linewatt.core.feature import Feature, FeatureCommand
FEATURE = Feature(
    name="greeting", summary="says hello", commands=(FeatureCommand("hello", "thirdparty:hello", "Tools"),)
)
def hello() -> None:
    "Say hello."
    print("hello from a package")
"""


def linewatt(*words: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from linewatt.cli import program; program()", *words]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join([str(path), *sys.path])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_each_folder_of_features_is_a_feature_of_its_name() -> None:
    shipped = [item.feature.name for item in installed_features() if item.distribution == "linewatt"]
    assert shipped == FOLDERS
    assert shipped


@pytest.mark.parametrize("word", feature_commands())
def test_each_command_of_a_feature_can_be_loaded(word: str) -> None:
    assert callable(feature_commands()[word].load())


@pytest.mark.parametrize("name", FOLDERS)
def test_a_feature_is_read_without_importing_what_it_does(name: str) -> None:
    code = (
        f"import sys, linewatt.features.{name}\n"
        "print(*sorted(n for n in sys.modules if n.startswith('linewatt.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shared = {"linewatt.core", "linewatt.core.feature", "linewatt.errors", "linewatt.features"}
    assert set(done.stdout.split()) == {*shared, f"linewatt.features.{name}"}


def test_another_package_adds_a_command_and_is_listed_with_its_version(tmp_path: Path) -> None:
    install(tmp_path, "greeting = thirdparty:FEATURE", GREETING)
    assert linewatt("hello", path=tmp_path).stdout == "hello from a package\n"
    help_lines = [line.split() for line in linewatt("--help", path=tmp_path).stdout.splitlines()]
    assert ["hello", "Say", "hello."] in help_lines
    listed = linewatt("features", path=tmp_path).stdout.splitlines()
    assert listed[-1].split() == ["greeting", "thirdparty", "3.1", "says", "hello", "(hello)"]
    document = json.loads(linewatt("features", "--json", path=tmp_path).stdout)
    assert document["features"][-1] == {
        "name": "greeting",
        "summary": "says hello",
        "package": "thirdparty",
        "version": "3.1",
        "commands": ["hello"],
    }


@pytest.mark.parametrize(
    ("entry_point", "source", "message"),
    [
        (
            "broken = thirdparty:FEATURE",
            "import not_there",
            "cannot be imported (No module named 'not_there')",
        ),
        ("broken = thirdparty:FEATURE", "", "thirdparty:FEATURE cannot be imported"),
        ("broken = thirdparty:FEATURE", "FEATURE = 1", "is no linewatt.core.feature.Feature"),
        (
            "broken = thirdparty:FEATURE",
            GREETING.replace('"greeting"', f'"{FOLDERS[0]}"'),
            f"feature '{FOLDERS[0]}' is in two packages, linewatt and thirdparty",
        ),
        (
            "broken = thirdparty:FEATURE",
            GREETING.replace('"hello"', f'"{next(iter(feature_commands()))}"'),
            "is in two packages, linewatt and thirdparty; uninstall one of them",
        ),
    ],
)
def test_a_broken_package_is_one_line_and_core_commands_work(
    tmp_path: Path, entry_point: str, source: str, message: str
) -> None:
    install(tmp_path, entry_point, source)
    refused = linewatt("hello", path=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert linewatt("schema", "--help", path=tmp_path).returncode == 0


@pytest.mark.parametrize("name", FOLDERS)
def test_the_core_works_without_the_folder_of_a_feature(tmp_path: Path, name: str) -> None:
    source = Path(feature_module.__file__).parents[1]
    shutil.copytree(source, tmp_path / "linewatt", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "linewatt" / "features" / name)
    words = [
        command.word
        for item in installed_features()
        for command in item.feature.commands
        if item.feature.name == name
    ]
    help_text = linewatt("--help", path=tmp_path)
    assert help_text.returncode == 0
    shown = [
        line.split()[0] for line in help_text.stdout.splitlines() if line.startswith("  ") and line.strip()
    ]
    assert "run" in shown
    assert not set(words) & set(shown)
    planned = linewatt("plan", str(CAMPAIGN), path=tmp_path)
    assert (planned.returncode, planned.stderr) == (0, "")
    for word in words:
        refused = linewatt(word, path=tmp_path)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert refused.stderr.startswith(f"linewatt: No such command '{word}'")


def test_a_command_whose_path_leads_nowhere_is_named() -> None:
    command = FeatureCommand("hello", "linewatt.features:hello", "Tools")
    with pytest.raises(InvalidInput, match=r"command 'hello': linewatt.features:hello cannot be imported"):
        command.load()


def test_a_feature_adds_nothing_that_it_does_not_name() -> None:
    assert Feature(name="x", summary="y").commands == ()


NAMED = """
from linewatt.core.feature import Feature, FeatureDocument, ResultName
from linewatt.errors import StoreError
FEATURE = Feature(
    name="nights",
    summary="results by their night",
    documents=(FeatureDocument("night", "`night --json`", "A night.", 3, "thirdparty:schema"),),
    result_names=(ResultName("night", "thirdparty:find"),),
)
def schema():
    return {"type": "object", "properties": {}}
def find(root, name):
    raise StoreError(f"{name}: no such night below {root}")
"""


def test_another_package_adds_names_of_results_and_a_document(tmp_path: Path) -> None:
    install(tmp_path, "nights = thirdparty:FEATURE", NAMED)
    shown = linewatt("show", "night:monday", path=tmp_path)
    assert (shown.returncode, shown.stderr) == (1, "linewatt: night:monday: no such night below results\n")
    schema = json.loads(linewatt("schema", "night", path=tmp_path).stdout)
    assert (schema["title"], schema["type"]) == ("linewatt night", "object")


def test_a_name_with_a_colon_that_no_feature_has_is_the_id_of_a_result(tmp_path: Path) -> None:
    assert feature_module.named_result(tmp_path, "a:b") is None
    assert feature_module.named_result(tmp_path, "baseline") is None
