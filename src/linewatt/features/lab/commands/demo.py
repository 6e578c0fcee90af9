# SPDX-License-Identifier: Apache-2.0
"""``linewatt demo``: the whole chain on this machine alone, and nothing left of it but the result."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import RESULTS_FOLDER, Results

_FILE = typer.Option(None, "--campaign", metavar="FILE", help="Campaign to run in place of the one shipped.")
_OUTPUT = typer.Option(
    None, "--output", "-o", metavar="FILE", help="Report to write; left out: beside the result."
)
_RATE = typer.Option("10gbit", "--rate", metavar="RATE", help="Rate of the lab's data links.")


def demo(
    file: Path | None = _FILE,
    results: Results = RESULTS_FOLDER,
    output: Path | None = _OUTPUT,
    rate: str = _RATE,
) -> None:
    """Run the example campaign on two simulated hosts, with its report.

    A lab is brought up for it on this machine, and is gone afterwards. Needs root.
    """
    from linewatt.features.lab.commands.demo_action import run_demo

    run_demo(file=file, results=results, output=output, rate=rate)
