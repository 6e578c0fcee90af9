# SPDX-License-Identifier: Apache-2.0
"""``linewatt verify``: whether a result is as it was stored."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Results, Wanted


def verify(
    wanted: Wanted = "last",
    results: Results = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Check a stored result against its checksums.

    Exit 1 if anything is not as it was.
    """
    from linewatt.cli.actions.verify import verify_result

    verify_result(result_id=wanted, results=results, as_json=as_json)
