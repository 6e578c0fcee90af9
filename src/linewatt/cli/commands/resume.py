# SPDX-License-Identifier: Apache-2.0
"""``linewatt resume``: what a stored result still lacks is run."""

from __future__ import annotations

from linewatt.cli.options import ALLOW, JSON_EVENTS, WAIT, Results, Wanted
from linewatt.cli.output import RESULTS


def resume(
    result_id: Wanted,
    results: Results = RESULTS,
    wait: bool = WAIT,
    as_json: bool = JSON_EVENTS,
    allow_commands: bool = ALLOW,
) -> None:
    """Continue an interrupted campaign or soak.

    Trials that it lacks are run, none is lost or repeated; of a soak, what is left of its time.
    """
    from linewatt.cli.actions.resume import resume_result

    resume_result(
        result_id=result_id, results=results, wait=wait, as_json=as_json, allow_commands=allow_commands
    )
