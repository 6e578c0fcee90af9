# SPDX-License-Identifier: Apache-2.0
"""``linewatt calibrate``: compare two meters of a host over several load levels."""

from __future__ import annotations

from typing import Annotated

import typer

from linewatt.cli import ALLOW_OPTION, RESULTS_FOLDER, WAIT_OPTION, Hosts, Json, Results

FileOrId = Annotated[
    str,
    typer.Argument(
        metavar="FILE|ID",
        help="A campaign file to run, or a stored result with both meters.",
        show_default=False,
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="SOURCE",
        help="The trusted source of power; SOURCE:SCOPE names a part of it.",
    ),
]
Meter = Annotated[
    str | None,
    typer.Option("--meter", metavar="SOURCE", help="The source to compare with it; default: the other one."),
]
Host = Annotated[
    str | None,
    typer.Option("--host", metavar="HOST", help="Host of both sources; default: the one with both."),
]
Tolerance = Annotated[
    str, typer.Option("--tolerance", metavar="PERCENT", help="Required accuracy of the meter, uncorrected.")
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
    """Compare two meters of a host: gain, offset, delay.

    With a campaign file, linewatt runs the first test of the first pair that includes the host: at full
    rate, then up and down several load levels. It reports gain, offset and delay, and where the meter is
    within the tolerance. Later campaigns are corrected only if a source of power names the result
    (calibration: RESULT).

    Exit codes: 0 gain and offset are known; 4 the readings do not show them; 1 trials failed.
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
