# SPDX-License-Identifier: Apache-2.0
"""``linewatt demo``: run and report an example on a temporary lab; only the results stay."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import RESULTS_FOLDER, Results

_FILE = typer.Option(None, "--campaign", metavar="FILE", help="Campaign to run instead of the example.")
_OUTPUT = typer.Option(
    None, "--output", "-o", metavar="FILE", help="Report to write; default: beside the result."
)
_RATE = typer.Option("10gbit", "--rate", metavar="RATE", help="Rate of the lab's data links.")


def demo(
    file: Path | None = _FILE,
    results: Results = RESULTS_FOLDER,
    output: Path | None = _OUTPUT,
    rate: str = _RATE,
) -> None:
    """Run and report the example campaign on two simulated hosts.

    Builds a lab on this machine and removes it afterwards. Needs root.
    """
    from linewatt.features.lab.commands.demo_action import run_demo

    run_demo(file=file, results=results, output=output, rate=rate)
