# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise``: what could be built differently, from figures that are there. Measures nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli import Command, Group, Json
from linewatt.features.advice.fleet_command import fleet_command

MOST_UNITS = 16
advise_app = typer.Typer(
    cls=Group, help="Say what could be built differently, from figures that are there.", no_args_is_help=True
)


@advise_app.callback()
def _commands() -> None: ...


advise_app.command("fleet", cls=Command)(fleet_command)


_Rating = Annotated[
    float, typer.Option("--rating-w", metavar="W", help="Rating of one unit, W of DC output.")
]
_Load = Annotated[
    float | None,
    typer.Option(
        "--load-w",
        metavar="W",
        help="What the server draws from its units, W of DC output; left out: --out-w.",
    ),
]
_Count = Annotated[
    int,
    typer.Option("--count", metavar="N", help=f"How many alike units there are, 1 to {MOST_UNITS}."),
]
_Mode = Annotated[
    str, typer.Option("--mode", metavar="WHAT", help="shared: all carry the load; standby: one is spare.")
]
_Level = Annotated[
    str | None,
    typer.Option(
        "--level", metavar="LEVEL", help="80 PLUS level: bronze, silver, gold, platinum or titanium."
    ),
]
_Mains = Annotated[
    str,
    typer.Option("--mains", metavar="WHAT", help="Certificate: 230 (V, redundant) or 115 (V, internal)."),
]
_Efficiency = Annotated[
    Path | None,
    typer.Option(
        "--table", metavar="TABLE", help="Efficiency of your unit: load_percent, efficiency_percent."
    ),
]
_Peak = Annotated[
    float | None,
    typer.Option("--peak-w", metavar="W", help="The most the server ever draws, W; left out: the load."),
]
_In = Annotated[
    float | None, typer.Option("--in-w", metavar="W", help="Measured: W into all units together (AC).")
]
_Out = Annotated[
    float | None, typer.Option("--out-w", metavar="W", help="Measured: W out of all units together (DC).")
]
_Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance-percent",
        metavar="PERCENT",
        help="Accuracy of both readings, ± %; left out: 5, below 20 % load 15.",
    ),
]
_Price = Annotated[float | None, typer.Option("--price-per-kwh", metavar="PRICE", help="Price of one kWh.")]


@advise_app.command("psu", cls=Command)
def psu_command(  # noqa: PLR0913  a question has this many sides
    rating_w: _Rating,
    load_w: _Load = None,
    count: _Count = 2,
    mode: _Mode = "shared",
    level: _Level = None,
    mains: _Mains = "230",
    table: _Efficiency = None,
    peak_w: _Peak = None,
    in_w: _In = None,
    out_w: _Out = None,
    tolerance_percent: _Tolerance = None,
    price_per_kwh: _Price = None,
    as_json: Json = False,
) -> None:
    """Say how far power supplies are loaded, and what others would save.

    Other units, or hot standby of those there are.

    Efficiency comes from the minimums that a level certifies, or from a table of your own. Both hold between
    their first and last load only: outside there is no number. docs/power.md explains the figures.
    """
    from linewatt.features.advice.action import print_psu_advice

    print_psu_advice(
        rating_w=rating_w,
        load_w=load_w,
        count=count,
        mode=mode,
        level=level,
        mains=mains,
        table=table,
        peak_w=peak_w,
        in_w=in_w,
        out_w=out_w,
        tolerance_percent=tolerance_percent,
        price_per_kwh=price_per_kwh,
        as_json=as_json,
    )
