# SPDX-License-Identifier: Apache-2.0
"""``linewatt demo``: the whole chain on this machine alone, and nothing left of it but the result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from linewatt.cli.options import Results
from linewatt.cli.output import RESULTS, can_be_made, put, say

if TYPE_CHECKING:
    from linewatt.lab import Lab

_PREFIX = "demo-"
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
    from linewatt.cli.run import execute
    from linewatt.cli.show import checked_target, report, show
    from linewatt.document import read_yaml

    can_be_made("--results", results)
    if output is not None:
        checked_target(output)
    read_yaml(file or shipped_campaign())
    with _lab(rate) as lab:
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

    return Path(str(files("linewatt.lab") / "demo.yaml"))


@contextmanager
def _lab(rate: str) -> Iterator[Lab]:
    """A lab of this process; what demos that were killed left behind goes first."""
    from linewatt import lab

    for name in lab.names():
        owner = name.removeprefix(_PREFIX)
        if name.startswith(_PREFIX) and owner.isdigit() and not Path("/proc", owner).exists():
            say(f"removing lab {name}, left by a demo that was killed")
            lab.down(name)
    name = f"{_PREFIX}{os.getpid()}"
    say(f"bringing up lab {name}: two hosts on this machine, {rate} between them")
    try:
        yield lab.up(lab.LabRequest(name=name, hosts=2, rate=rate))
    finally:
        if lab.down(name):
            say(f"lab {name} is down, nothing is left of it")
