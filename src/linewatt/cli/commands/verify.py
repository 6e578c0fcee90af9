# SPDX-License-Identifier: Apache-2.0
"""``linewatt verify``: whether a result is as it was stored."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Results, Wanted
from linewatt.cli.output import print_json, put, say


def verify(
    wanted: Wanted = "last",
    results: Results = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Check a stored result against its checksums.

    Exit 1 if anything is not as it was.
    """
    from linewatt.foreign import one_line
    from linewatt.store.read import find
    from linewatt.store.verify import verify as verified

    found = verified(find(results, wanted))
    if as_json:
        print_json(
            {
                "schema_version": 1,
                "id": found.id,
                "files": found.files,
                "has_checksums": found.has_checksums,
                "problems": [
                    {"kind": one.kind, "name": one.name, "reason": one.why} for one in found.problems
                ],
            }
        )
    else:
        for one in found.problems:
            put(one_line(f"{one.kind}  {one.name}: {one.why}"))
        if not found.has_checksums:
            say(f"{found.id}: was stored without checksums; all that can be told is whether it can be read")
        counts = Counter(one.kind for one in found.problems)
        tally = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        say(f"{found.id}: {tally or 'nothing damaged, missing or foreign'}; {found.files} files looked at")
    if found.problems:
        raise typer.Exit(1)
