# SPDX-License-Identifier: Apache-2.0
"""``linewatt lab kernels``: kernels measured in turn in one campaign, compared, and nothing left but that."""

from __future__ import annotations

from pathlib import Path

import typer

from linewatt.cli import RESULTS_FOLDER, Results

_SHAPE_MIB = 768


def kernels(  # noqa: PLR0913 - one parameter an option
    file: Path | None = typer.Argument(
        None, metavar="FILE", help="What is measured, its hosts and pairs aside; left out: one shipped."
    ),
    kernel: list[str] = typer.Option(
        [], "--kernel", metavar="FILE", help="A kernel image, two or more; the first is the base."
    ),
    nic: list[str] = typer.Option([], "--nic", metavar="MODEL", help="A data NIC of each guest, as for up."),
    cpus: int = typer.Option(2, "--cpus", metavar="N", help="CPUs of each guest."),
    memory: int = typer.Option(_SHAPE_MIB, "--memory", metavar="MIB", help="Memory of each guest."),
    rate: str = typer.Option("1gbit", "--rate", metavar="RATE", help="Rate of the lab's data links."),
    factor: str | None = typer.Option(
        None, "--factor", metavar="RATIO", help="Ignore smaller changes, such as 3%; default 1 %."
    ),
    results: Results = RESULTS_FOLDER,
) -> None:
    """Compare kernels on guests of this machine: one campaign, measured in turn.

    A guest generates the load, one for each kernel answers it. All are gone at the end, the result stays.
    Needs root.
    """
    from linewatt.features.lab.commands.kernels_action import compare_kernels

    compare_kernels(
        file=file, kernel=kernel, nic=nic, cpus=cpus, memory=memory, rate=rate, factor=factor, results=results
    )
