# SPDX-License-Identifier: Apache-2.0
"""What is installed only where it is wanted: the commands that install it for the running Python."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_PACKAGE_FOLDER = Path(__file__).resolve().parent


def install_command(extra: str, package_folder: Path = _PACKAGE_FOLDER) -> str:
    """The shell command that installs ``linewatt[extra]``.

    In a checkout, which has ``pyproject.toml`` beside ``src/``, it installs from there.
    """
    checkout = package_folder.parent.parent
    is_checkout = package_folder.parent.name == "src" and (checkout / "pyproject.toml").is_file()
    requirement = f"{checkout if is_checkout else 'linewatt'}[{extra}]"
    return package_install_command(requirement)


def package_install_command(requirement: str) -> str:
    """The shell command that installs a package that no extra of linewatt has."""
    return shlex.join([sys.executable or "python3", "-m", "pip", "install", requirement])
