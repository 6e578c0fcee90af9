# SPDX-License-Identifier: Apache-2.0
"""``linewatt run``: a campaign from its beginning."""

from __future__ import annotations

from linewatt.cli.commands.plan import with_stored
from linewatt.cli.execution import can_be_stored, execute, finish, run_kind
from linewatt.cli.options import ALLOW, JSON_EVENTS, WAIT, File, Hosts, Results
from linewatt.cli.output import RESULTS


def run(
    file: File,
    hosts: Hosts = None,
    results: Results = RESULTS,
    wait: bool = WAIT,
    as_json: bool = JSON_EVENTS,
    allow_commands: bool = ALLOW,
) -> None:
    """Run a campaign: each trial is stored before the next begins.

    Ctrl-C undoes every change and keeps what was measured; resume continues it.
    """
    import random

    from linewatt.campaign.planning.plan import plan
    from linewatt.campaign.planning.programs import refuse_listed
    from linewatt.campaign.reading.file import load
    from linewatt.engine.plan_kinds import plan_kind

    campaign = with_stored(load(file, hosts, will_connect=True), results)
    if not allow_commands:
        refuse_listed(campaign)
    can_be_stored(results)
    if kind := plan_kind(campaign):
        run_kind(campaign, kind.plan(campaign), None, results, as_json, wait=wait)
        return
    seed = random.SystemRandom().getrandbits(32) if campaign.seed is None else campaign.seed
    finish(*execute(campaign, plan(campaign, seed), None, results, as_json, wait=wait), results, as_json)
