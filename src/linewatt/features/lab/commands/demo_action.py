# SPDX-License-Identifier: Apache-2.0
"""Run the example campaign on a temporary lab."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.campaign.planning import plan_campaign
from linewatt.campaign.reading import load_campaign
from linewatt.cli import can_be_made, checked_target, execute, put, report, say, show
from linewatt.document import read_yaml
from linewatt.features.lab.api import LabRequest
from linewatt.features.lab.own_lab import own_lab

SHIPPED = Path(__file__).parents[1] / "demo.yaml"
"""the demo's campaign, which is part of the package"""


def run_demo(*, file: Path | None, results: Path, output: Path | None, rate: str) -> None:
    """Run and report the example campaign on two simulated hosts."""
    can_be_made("--results", results)
    if output is not None:
        checked_target(output)
    read_yaml(file or SHIPPED)
    request = LabRequest(hosts=2, rate=rate)
    with own_lab("demo", request, f"two hosts on this machine, {rate} between them") as lab:
        campaign = load_campaign(file or SHIPPED, lab.inventory)
        ended, left_changed = execute(
            campaign, plan_campaign(campaign, campaign.seed or 0), None, results, as_json=False
        )
    if ended.done:
        put()
        show(ended.id, results)
        put()
        say("the report, one file that needs no network:")
        report(ended.id, output or results / f"{ended.id}.html", results)
    if ended.failed or ended.pending or left_changed:
        raise typer.Exit(1)
