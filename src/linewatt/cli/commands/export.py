# SPDX-License-Identifier: Apache-2.0
"""``linewatt export``: a result as files for other programs and machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Json, Results, Wanted, completing

FORMATS = ("csv", "json", "parquet", "openmetrics", "iperf3", "bundle")


def export(  # noqa: PLR0913  one parameter an option
    wanted: Wanted = "last",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="WHAT",
            autocompletion=completing(FORMATS),
            help="csv, json: as show prints them; parquet: typed columns; openmetrics: for Prometheus; "
            "iperf3: JSON per trial, as iperf3 clients write it; bundle: the whole result.",
        ),
    ] = None,
    bundle: Annotated[
        bool,
        typer.Option("--bundle", help="Same as --format bundle: all files, with raw output."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Output path; default ID.csv, .json …"),
    ] = None,
    trials: Annotated[
        bool, typer.Option("--trials", help="csv, parquet: one row per trial; json: include trials.")
    ] = False,
    trial: Annotated[
        int | None,
        typer.Option("--trial", metavar="N", min=0, help="iperf3: only this trial, in one file."),
    ] = None,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Export a result for other programs or another machine.

    A bundle is a tar.zst archive with a checksum for each file; 'linewatt import' reads and verifies it.
    iperf3 writes a folder with one file per trial. Output is written atomically.
    """
    from linewatt.cli.actions.export import export_result

    export_result(
        result_id=wanted,
        form=form,
        bundle=bundle,
        output=output,
        trials=trials,
        trial=trial,
        results=results,
        as_json=as_json,
    )
