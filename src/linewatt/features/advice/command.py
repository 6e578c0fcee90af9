# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise``: fleet sizing and power supplies, from existing figures. Measures nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli import Command, Group, Json, Results
from linewatt.features.advice.fleet_command import fleet_command

MOST_UNITS = 16
advise_app = typer.Typer(
    cls=Group, help="Advise on fleet size and power supplies from existing figures.", no_args_is_help=True
)


@advise_app.callback()
def _commands() -> None: ...


advise_app.command("fleet", cls=Command)(fleet_command)


_Rating = Annotated[
    float | None,
    typer.Option(
        "--rating-w",
        metavar="W",
        help="Rated DC output of one unit, W; default: the units that the host of --from declares.",
    ),
]
_From = Annotated[
    str | None,
    typer.Option("--from", metavar="SOURCE", help="Take load, peak and input of a host of a stored result."),
]
_Host = Annotated[
    str | None, typer.Option("--host", metavar="HOST", help="Host of that result; default: the only one.")
]
_Load = Annotated[
    float | None,
    typer.Option(
        "--load-w",
        metavar="W",
        help="DC load of all units together, W; default: --out-w, or that of --from.",
    ),
]
_Count = Annotated[
    int,
    typer.Option("--count", metavar="N", help=f"Number of equal units, 1 to {MOST_UNITS}."),
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
    typer.Option("--peak-w", metavar="W", help="Highest load of the server, W; default: the load."),
]
_In = Annotated[float | None, typer.Option("--in-w", metavar="W", help="Measured AC input of all units, W.")]
_Out = Annotated[
    float | None, typer.Option("--out-w", metavar="W", help="Measured DC output of all units, W.")
]
_Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance-percent",
        metavar="PERCENT",
        help="Accuracy of readings, ± %; default 5, or 15 below 20 % load.",
    ),
]
_Price = Annotated[float | None, typer.Option("--price-per-kwh", metavar="PRICE", help="Price of one kWh.")]
_UnitPrice = Annotated[
    list[str],
    typer.Option(
        "--unit-price",
        metavar="PRICE",
        help="Price of one new unit, for the years until it is paid; W=PRICE: of that rating; repeatable.",
    ),
]
_Currency = Annotated[
    str, typer.Option("--currency", metavar="WORD", help="Printed behind amounts of money, such as EUR.")
]


@advise_app.command("psu", cls=Command)
def psu_command(  # noqa: PLR0913  a question has this many sides
    rating_w: _Rating = None,
    load_w: _Load = None,
    result_id: _From = None,
    host: _Host = None,
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
    unit_price: _UnitPrice = [],  # noqa: B006  typer's own way to have an option several times
    currency: _Currency = "",
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Show the load of power supplies, and what a change would save.

    A change means other units, hot standby, or both.

    Efficiency comes from the certified minimums of a level, or from your own table. Below their load range
    there are only bounds, marked as extrapolated. docs/power.md explains the figures.
    """
    from linewatt.features.advice.action import print_psu_advice

    print_psu_advice(
        rating_w=rating_w,
        load_w=load_w,
        result_id=result_id,
        host=host,
        results=results,
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
        unit_price=unit_price,
        currency=currency,
        as_json=as_json,
    )
