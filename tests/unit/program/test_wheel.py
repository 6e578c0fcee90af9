# SPDX-License-Identifier: Apache-2.0
"""The wheel that pip and pipx install: whole, and the program runs from it alone."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest
from tests.programs import output_of, outputs_of

from linewatt.cli.manual import PAGE, PLACES

TOP = Path(__file__).resolve().parents[3]
PACKAGE = TOP / "src" / "linewatt"
BUILD = "import sys, setuptools.build_meta as made; print(made.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made of a copy of the tree, as ``pip install .`` does, and unpacked."""
    pytest.importorskip("setuptools", "77", reason="no setuptools that can make wheels of this tree")
    tree, made = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(TOP / name, tree)
    shutil.copytree(TOP / "share", tree / "share")
    shutil.copytree(PACKAGE, tree / "src" / "linewatt", ignore=shutil.ignore_patterns("__pycache__"))
    output_of(tree / "src", "-c", BUILD, made, cwd=tree)
    (packed,) = made.glob("linewatt-*.whl")
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(made / "unpacked")
    return made / "unpacked"


def test_a_wheel_has_every_file_of_the_package_and_the_program(wheel: Path) -> None:
    ours = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {
        str(path.relative_to(wheel / "linewatt"))
        for path in (wheel / "linewatt").rglob("*")
        if path.is_file()
    }
    assert packed == ours
    (entry,) = wheel.glob("*.dist-info/entry_points.txt")
    assert "linewatt = linewatt.cli:program" in entry.read_text()


def test_a_wheel_has_the_man_page_and_the_completion_of_each_shell(wheel: Path) -> None:
    (data,) = wheel.glob("*.data/data")
    packed = {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}
    assert packed == {PAGE, *PLACES.values()}


def test_the_program_of_a_wheel_imports_shows_and_reports(wheel: Path, tmp_path: Path) -> None:
    imported = output_of(wheel, "-c", "import linewatt; print(linewatt.__file__)", cwd=tmp_path)
    assert Path(imported.strip()).is_relative_to(wheel)
    table = str(TOP / "docs" / "published" / "x64_scaling.csv")
    commands = [["import", table], ["show"], ["report", "-o", "page.html"]]
    _, shown, _ = outputs_of(wheel, commands, cwd=tmp_path)
    assert "RESULT" in shown
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert "$schema" in output_of(wheel, "-m", "linewatt", "schema", cwd=tmp_path)
