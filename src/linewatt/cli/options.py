# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that commands on stored results share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Results = Annotated[
    Path,
    typer.Option(
        "--results", envvar="LINEWATT_RESULTS", help="Directory that holds the results.", metavar="DIR"
    ),
]
Wanted = Annotated[str, typer.Argument(metavar="ID", help="Id of a result, its beginning, or 'last'.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document, units in key names.")]
