# SPDX-License-Identifier: Apache-2.0
"""What users install besides linewatt: its licences, its hashes, and the list of it for other programs."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
import tomllib
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import licences

ROOT = Path(__file__).parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FILES = {"docs": "docs", "lint": "lint", "test": "test"}
"""an extra → its file in requirements/; extras.txt for the others"""
ROW = re.compile(r"^\| ([a-z0-9.-]+) \| (\S+) \| ([^|]+) \| ([^|]+) \| (\S*) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str, str, str]]:
    """Package, version, licence, extras and home of each row of the page."""
    table = licences.PAGE.read_text().partition("| --- |")[2]
    return ROW.findall(table.partition("\n")[2])


def hashes(name: str) -> dict[str, set[str]]:
    """Package → the hashes of its files, of a file in requirements/."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    pins = re.split(r"^([\w.-]+)==\S+", text, flags=re.MULTILINE)[1:]
    return {
        canonicalize_name(package): set(re.findall(r"--hash=sha256:([0-9a-f]{64})", block))
        for package, block in zip(pins[::2], pins[1::2], strict=True)
    }


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_is_locked_with_the_hashes_of_its_files(extra: str) -> None:
    locked = hashes(FILES.get(extra, "extras"))
    assert [text for text in EXTRAS[extra] if canonicalize_name(Requirement(text).name) not in locked] == []
    assert [package for package, files in locked.items() if not files] == []


def test_users_install_the_versions_and_files_that_tests_use() -> None:
    core, extras, test = hashes("core"), hashes("extras"), hashes("test")
    assert core.items() <= extras.items()
    assert extras.items() <= test.items()
    assert "pytest-xdist" in test.keys() - extras.keys()


def test_the_page_of_licences_has_each_package_in_its_locked_version() -> None:
    assert {package: version for package, version, *_ in rows()} == licences.pinned()


def test_the_page_of_licences_is_what_installed_packages_say() -> None:
    installed = {
        canonicalize_name(package.name): package.version for package in importlib.metadata.distributions()
    }
    if different := licences.pinned().items() - installed.items():
        pytest.skip(f"not installed in the locked versions: {sorted(different)}")
    assert licences.PAGE.read_text() == licences.page(), "run `make licences`"


def test_no_dependency_binds_users_to_the_gpl() -> None:
    refused = {package for package, _, licence, *_ in rows() if licences.permitted(licence) is None}
    assert refused == licences.PROGRAMS


def test_a_package_under_the_gpl_is_never_imported() -> None:
    modules = {"virtme", "virtme_ng"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert modules.isdisjoint(name.split(".")[0] for name in names), path


def test_the_licence_chosen_for_asyncssh_is_stated() -> None:
    (offered,) = (licence for package, _, licence, *_ in rows() if package == "asyncssh")
    assert licences.permitted(offered) == "EPL-2.0"
    assert "asyncssh is used under EPL-2.0" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        ("MIT", "MIT"),
        ("EPL-2.0 OR GPL-2.0-or-later", "EPL-2.0"),
        ("GPL-3.0-only OR MIT", "MIT"),
        ("MIT AND PSF-2.0", "MIT AND PSF-2.0"),
        ("MIT AND GPL-2.0-only", None),
        ("AGPL-3.0-only", None),
        ("LGPL-2.1-or-later", None),
    ],
)
def test_an_expression_is_permitted_by_an_alternative_of_allowed_licences(
    expression: str, permitted: str | None
) -> None:
    assert licences.permitted(expression) == permitted


def test_a_package_without_an_exact_licence_is_refused() -> None:
    metadata = Message()
    metadata["Classifier"] = "License :: OSI Approved :: BSD License"
    with pytest.raises(ValueError, match=r"thing: no exact licence"):
        licences.licence("thing", metadata)


def test_the_bill_of_materials_is_valid_and_has_each_package_with_its_hashes(tmp_path: Path) -> None:
    pytest.importorskip("cyclonedx_py", reason="cyclonedx-bom is not installed: make sbom installs it")
    recipe = (ROOT / "Makefile").read_text().partition("\nsbom:")[2].partition("\n\n")[0]
    words = shlex.split(recipe.partition("cyclonedx-py ")[2].replace("\\\n", " "))
    path = tmp_path / "sbom.json"
    words[words.index("--output-file") + 1] = str(path)
    command = [sys.executable, "-m", "cyclonedx_py", *words, "--validate"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    bill = json.loads(path.read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "linewatt"
    listed = {
        canonicalize_name(component["name"]): {
            file_hash["content"] for where in component["externalReferences"] for file_hash in where["hashes"]
        }
        for component in bill["components"]
    }
    assert listed == hashes("extras")
    versions = {component["name"]: component["version"] for component in bill["components"]}
    assert {canonicalize_name(name): version for name, version in versions.items()} == licences.pinned()
