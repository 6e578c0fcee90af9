# SPDX-License-Identifier: Apache-2.0
"""A campaign from its beginning."""

from __future__ import annotations

from pathlib import Path

from linewatt.campaign import resolve_campaign
from linewatt.campaign.planning import plan_campaign, refuse_listed, seed_of_campaign
from linewatt.campaign.reading import load_campaign
from linewatt.cli.execution import can_be_stored, execute, finish, run_kind
from linewatt.engine import plan_kind


def run_campaign(
    *, file: Path, hosts: Path | None, results: Path, wait: bool, as_json: bool, allow_commands: bool
) -> None:
    """Run a campaign: each trial is stored before the next begins."""
    campaign = resolve_campaign(load_campaign(file, hosts, will_connect=True), results)
    if not allow_commands:
        refuse_listed(campaign)
    can_be_stored(results)
    if kind := plan_kind(campaign):
        run_kind(campaign, kind.plan(campaign), None, results, as_json, wait=wait)
        return
    planned = plan_campaign(campaign, seed_of_campaign(campaign))
    finish(*execute(campaign, planned, None, results, as_json, wait=wait), results, as_json)
