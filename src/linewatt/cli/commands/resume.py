# SPDX-License-Identifier: Apache-2.0
"""``linewatt resume``: run the missing trials of a stored result."""

from __future__ import annotations

from linewatt.cli.options import ALLOW_OPTION, JSON_EVENTS, WAIT_OPTION, Results, Wanted
from linewatt.cli.output import RESULTS_FOLDER


def resume(
    result_id: Wanted,
    results: Results = RESULTS_FOLDER,
    wait: bool = WAIT_OPTION,
    as_json: bool = JSON_EVENTS,
    allow_commands: bool = ALLOW_OPTION,
) -> None:
    """Continue an interrupted campaign or soak.

    Runs the missing trials; none is lost or repeated. A soak runs for its remaining time.
    """
    from linewatt.cli.actions.resume import resume_result

    resume_result(
        result_id=result_id, results=results, wait=wait, as_json=as_json, allow_commands=allow_commands
    )
