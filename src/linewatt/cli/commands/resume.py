# SPDX-License-Identifier: Apache-2.0
"""``linewatt resume``: what a stored result still lacks is run."""

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

    Trials that it lacks are run, none is lost or repeated; of a soak, what is left of its time.
    """
    from linewatt.cli.actions.resume import resume_result

    resume_result(
        result_id=result_id, results=results, wait=wait, as_json=as_json, allow_commands=allow_commands
    )
