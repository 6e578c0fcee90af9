# SPDX-License-Identifier: Apache-2.0
"""``linewatt run``: a campaign from its beginning."""

from __future__ import annotations

from linewatt.cli.options import ALLOW_OPTION, JSON_EVENTS, WAIT_OPTION, File, Hosts, Results
from linewatt.cli.output import RESULTS_FOLDER


def run(
    file: File,
    hosts: Hosts = None,
    results: Results = RESULTS_FOLDER,
    wait: bool = WAIT_OPTION,
    as_json: bool = JSON_EVENTS,
    allow_commands: bool = ALLOW_OPTION,
) -> None:
    """Run a campaign: each trial is stored before the next begins.

    Ctrl-C undoes all changes and keeps stored data; resume continues the run.
    """
    from linewatt.cli.actions.run import run_campaign

    run_campaign(
        file=file, hosts=hosts, results=results, wait=wait, as_json=as_json, allow_commands=allow_commands
    )
