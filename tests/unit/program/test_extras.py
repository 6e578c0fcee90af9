# SPDX-License-Identifier: Apache-2.0
"""The command that installs an optional part of the package works where it is printed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from linewatt.extras import install_command, package_install_command


def test_a_checkout_is_installed_from_its_folder(tmp_path: Path) -> None:
    package = tmp_path / "my clone/src/linewatt"
    package.mkdir(parents=True)
    (tmp_path / "my clone/pyproject.toml").touch()
    command = shlex.split(install_command("web", package))
    assert command == [sys.executable, "-m", "pip", "install", f"{tmp_path}/my clone[web]"]


def test_an_installed_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    command = install_command("meters", tmp_path / "lib/linewatt")
    assert command == f"{shlex.quote(sys.executable)} -m pip install 'linewatt[meters]'"


def test_a_package_of_no_extra_is_installed_for_the_running_python() -> None:
    assert shlex.split(package_install_command("keyring")) == [
        sys.executable,
        "-m",
        "pip",
        "install",
        "keyring",
    ]
