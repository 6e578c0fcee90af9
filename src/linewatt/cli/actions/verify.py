# SPDX-License-Identifier: Apache-2.0
"""A stored result against its checksums."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import typer

from linewatt.cli.output import print_json, put_lines, say
from linewatt.foreign import one_line
from linewatt.store import find_result
from linewatt.store import verify_result as verified

MOST_PROBLEMS = 20
"""lines on a terminal; JSON has all"""


def verify_result(*, result_id: str, results: Path, as_json: bool) -> None:
    """Check a stored result against its checksums."""
    verification = verified(find_result(results, result_id))
    if as_json:
        print_json(
            {
                "schema_version": 1,
                "id": verification.id,
                "files": verification.files,
                "has_checksums": verification.has_checksums,
                "problems": [
                    {"kind": problem.kind, "name": problem.name, "reason": problem.why}
                    for problem in verification.problems
                ],
            }
        )
    else:
        problems = verification.problems
        put_lines(
            one_line(f"{problem.kind}  {problem.name}: {problem.why}") for problem in problems[:MOST_PROBLEMS]
        )
        if len(problems) > MOST_PROBLEMS:
            put_lines([f"and {len(problems) - MOST_PROBLEMS} more: linewatt verify {verification.id} --json"])
        if not verification.has_checksums:
            say(
                f"{verification.id}: was stored without checksums; all that can be told is whether "
                f"it can be read"
            )
        counts = Counter(problem.kind for problem in verification.problems)
        tally = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        say(
            f"{verification.id}: {tally or 'nothing damaged, missing or foreign'}; "
            f"{verification.files} files looked at"
        )
    if verification.problems:
        raise typer.Exit(1)
