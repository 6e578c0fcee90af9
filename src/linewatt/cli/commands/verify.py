# SPDX-License-Identifier: Apache-2.0
"""``linewatt verify``: whether a stored result is unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Results, Wanted


def verify(
    wanted: Wanted = "last",
    results: Results = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a stored result against its checksums.

    Exit 1 if there is any difference.
    """
    from linewatt.cli.actions.verify import verify_result

    verify_result(result_id=wanted, results=results, as_json=as_json)
