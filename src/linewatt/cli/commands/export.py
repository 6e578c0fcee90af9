# SPDX-License-Identifier: Apache-2.0
"""``linewatt export``: a result as files that other programs and other machines read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Json, Results, Wanted


def export(  # noqa: PLR0913  one parameter an option
    wanted: Wanted = "last",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="WHAT",
            help="csv, json: as show prints them; parquet: the same, typed; openmetrics: for Prometheus; "
            "iperf3: JSON of each trial as its client writes it; bundle: all of the result.",
        ),
    ] = None,
    bundle: Annotated[
        bool,
        typer.Option("--bundle", help="--format bundle: every file, raw output too, with checksums."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it; default ID.csv, .json …"),
    ] = None,
    trials: Annotated[
        bool, typer.Option("--trials", help="csv, parquet: a row a trial, not a case; json: trials, too.")
    ] = False,
    trial: Annotated[
        int | None,
        typer.Option("--trial", metavar="N", min=0, help="iperf3: this trial alone, as one file."),
    ] = None,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Write a result as files that other programs or machines read.

    A bundle is a tar archive in zstd, with a checksum of each file; 'linewatt import' reads it and finds
    whatever is damaged. iperf3 writes a folder with a file a trial. Files are there whole or not at all.
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
