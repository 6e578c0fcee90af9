# SPDX-License-Identifier: Apache-2.0
"""``linewatt demo``: the whole chain on this machine alone, and nothing left of it but the result."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli.options import Results
from linewatt.cli.output import RESULTS, can_be_made, put, say

_FILE = typer.Option(None, "--campaign", metavar="FILE", help="Campaign to run in place of the one shipped.")
_OUTPUT = typer.Option(
    None, "--output", "-o", metavar="FILE", help="Report to write; left out: beside the result."
)
_RATE = typer.Option("10gbit", "--rate", metavar="RATE", help="Rate of the lab's data links.")


def demo(
    file: Path | None = _FILE, results: Results = RESULTS, output: Path | None = _OUTPUT, rate: str = _RATE
) -> None:
    """Run the example campaign on two simulated hosts, with its report.

    A lab is brought up for it on this machine, and is gone afterwards. Needs root.
    """
    from linewatt.campaign.planning.plan import plan
    from linewatt.campaign.reading.file import load
    from linewatt.cli.commands.report import report
    from linewatt.cli.commands.show import show
    from linewatt.cli.execution import execute
    from linewatt.cli.output import checked_target
    from linewatt.document import read_yaml
    from linewatt.features.lab.api import LabRequest
    from linewatt.features.lab.own_lab import own_lab

    can_be_made("--results", results)
    if output is not None:
        checked_target(output)
    read_yaml(file or shipped_campaign())
    request = LabRequest(hosts=2, rate=rate)
    with own_lab("demo", request, f"two hosts on this machine, {rate} between them") as lab:
        campaign = load(file or shipped_campaign(), lab.inventory)
        ended, left_changed = execute(
            campaign, plan(campaign, campaign.seed or 0), None, results, as_json=False
        )
    if ended.done:
        put()
        show(ended.id, results)
        put()
        say("the report, one file that needs no network:")
        report(ended.id, output or results / f"{ended.id}.html", results)
    if ended.failed or ended.pending or left_changed:
        raise typer.Exit(1)


def shipped_campaign() -> Path:
    """The demo's campaign file, which is part of the package."""
    from importlib.resources import files

    return Path(str(files("linewatt.features.lab") / "demo.yaml"))
