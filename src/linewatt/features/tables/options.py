# SPDX-License-Identifier: Apache-2.0
"""Arguments shared by the commands for tables."""

from __future__ import annotations

from typing import Annotated

import typer

TableOrId = Annotated[
    str,
    typer.Argument(
        metavar="TABLE|ID", help="A table with a header line (- reads stdin), or a stored result."
    ),
]
