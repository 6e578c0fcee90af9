# SPDX-License-Identifier: Apache-2.0
"""``linewatt lab kernels``: compare kernels on temporary guests, in one campaign."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import RESULTS_FOLDER, Results

_SHAPE_MIB = 768


def kernels(  # noqa: PLR0913 - one parameter an option
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="Campaign file; its hosts and pairs are replaced. Default: built in."
    ),
    kernel: list[str] = typer.Option(
        [], "--kernel", metavar="FILE", help="Kernel image, at least two; the first is the base."
    ),
    nic: list[str] = typer.Option([], "--nic", metavar="MODEL", help="Data NIC per guest, as in lab up."),
    cpus: int = typer.Option(2, "--cpus", metavar="N", help="CPUs of each guest."),
    memory: int = typer.Option(_SHAPE_MIB, "--memory", metavar="MIB", help="Memory of each guest."),
    rate: str = typer.Option("1gbit", "--rate", metavar="RATE", help="Rate of the lab's data links."),
    factor: str | None = typer.Option(
        None, "--factor", metavar="RATIO", help="Ignore changes below this, e.g. 3%; default 1 %."
    ),
    results: Results = RESULTS_FOLDER,
) -> None:
    """Compare kernels on guests of this machine, in one campaign.

    One guest generates load for one guest per kernel, in alternating trials. Only the result stays at the
    end. Needs root.
    """
    from linewatt.features.lab.commands.kernels_action import compare_kernels

    compare_kernels(
        file=file, kernel=kernel, nic=nic, cpus=cpus, memory=memory, rate=rate, factor=factor, results=results
    )
