# SPDX-License-Identifier: Apache-2.0
"""``linewatt calibrate``: one meter of a host against another, over a staircase of load."""

from __future__ import annotations

from typing import Annotated

import typer

from linewatt.cli import ALLOW_OPTION, RESULTS_FOLDER, WAIT_OPTION, Hosts, Json, Results

FileOrId = Annotated[
    str,
    typer.Argument(
        metavar="FILE|ID",
        help="A campaign file, whose load is run; or a stored result with both meters.",
        show_default=False,
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="SOURCE",
        help="The source of power that is trusted; SOURCE:SCOPE: that part of it.",
    ),
]
Meter = Annotated[
    str | None,
    typer.Option(
        "--meter", metavar="SOURCE", help="The one that is held against it; default: the other one."
    ),
]
Host = Annotated[
    str | None,
    typer.Option("--host", metavar="HOST", help="Whose they are; default: the one that has several."),
]
Tolerance = Annotated[
    str, typer.Option("--tolerance", metavar="PERCENT", help="What the meter is to be within, as it reads.")
]


def calibrate(  # noqa: PLR0913  one parameter an option
    file_or_id: FileOrId,
    reference: Reference = None,
    meter: Meter = None,
    host: Host = None,
    tolerance: Tolerance = "5%",
    hosts: Hosts = None,
    results: Results = RESULTS_FOLDER,
    wait: bool = WAIT_OPTION,
    as_json: Json = False,
    allow_commands: bool = ALLOW_OPTION,
) -> None:
    """Hold one meter of a host against another: gain, offset, delay.

    Of a campaign file the first test of a pair with the host is run at full rate, then up and down a
    staircase of loads. Both meters are read all through; the result says what one reads above the other, how
    much later, and where it is within the tolerance. Nothing is corrected by it unless a source of power
    names it in a later campaign (calibration: RESULT).

    Exit codes: 0 gain and offset are told; 4 the readings do not carry them; 1 trials failed.
    """
    from linewatt.features.calibration.action import calibrate_meters

    calibrate_meters(
        file_or_id=file_or_id,
        reference=reference,
        meter=meter,
        host=host,
        tolerance=tolerance,
        hosts=hosts,
        results=results,
        wait=wait,
        as_json=as_json,
        allow_commands=allow_commands,
    )
