# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add this module's commands to the program."""
