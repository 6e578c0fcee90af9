# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise fleet``: how many servers a target needs, from measured operating points only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli import Json, Results

_Target = Annotated[
    float,
    typer.Option("--target-gbps", metavar="GBPS", help="Payload rate of all servers together, Gbps."),
]
_From = Annotated[
    str,
    typer.Option("--from", metavar="SOURCE", help="A stored result, or a table with a header line."),
]
_Series = Annotated[
    str | None,
    typer.Option("--series", metavar="WORDS", help="Select one series by words of its name."),
]
_Role = Annotated[
    str, typer.Option("--role", metavar="ROLE", help="Which end is the server: receiver or sender.")
]
_Headroom = Annotated[
    float,
    typer.Option("--headroom", metavar="RATIO", help="Unused share of each server's rate, such as 0.2."),
]
_RedundancyOption = Annotated[
    str,
    typer.Option("--redundancy", metavar="WHAT", help="n: no spares; n+1, n+2 …: 1, 2 … spares; 2n: double."),
]
_Price = Annotated[
    float | None,
    typer.Option(
        "--price-kwh", "--price-per-kwh", metavar="PRICE", help="Price of one kWh, in any currency."
    ),
]
_Pue = Annotated[
    float,
    typer.Option("--pue", metavar="RATIO", help="Building energy ÷ server energy, 1 or more."),
]
_ServerCost = Annotated[
    float | None,
    typer.Option("--server-cost", metavar="PRICE", help="Price of one server, same currency."),
]
_Years = Annotated[
    float, typer.Option("--server-years", metavar="YEARS", help="Depreciation period of a server.")
]
_Share = Annotated[
    float,
    typer.Option(
        "--load-share",
        metavar="RATIO",
        help="Share of the year under load; the rest is at measured idle.",
    ),
]
_Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance-percent", metavar="PERCENT", help="Accuracy of watts, ± %, if not in the data."
    ),
]
_Rating = Annotated[
    float | None,
    typer.Option(
        "--psu-rating-w", metavar="W", help="Rated DC output of one PSU, W; adds PSU loss to energy."
    ),
]
_Count = Annotated[int, typer.Option("--psu-count", metavar="N", help="Number of equal PSUs per server.")]
_Mode = Annotated[
    str, typer.Option("--psu-mode", metavar="WHAT", help="shared: all carry the load; standby: one is spare.")
]
_Level = Annotated[
    str | None,
    typer.Option("--psu-level", metavar="LEVEL", help="80 PLUS level of the PSUs, such as platinum."),
]
_Efficiency = Annotated[
    Path | None,
    typer.Option("--psu-table", metavar="TABLE", help="PSU efficiency: load_percent, efficiency_percent."),
]
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Also write an offline HTML page with a chart."),
]


def fleet_command(  # noqa: PLR0913  a question has this many sides
    target_gbps: _Target,
    table_or_id: _From = "last",
    series: _Series = None,
    role: _Role = "receiver",
    headroom: _Headroom = 0.0,
    redundancy: _RedundancyOption = "n",
    price_kwh: _Price = None,
    pue: _Pue = 1.0,
    server_cost: _ServerCost = None,
    server_years: _Years = 5.0,
    load_share: _Share = 1.0,
    tolerance_percent: _Tolerance = None,
    psu_rating_w: _Rating = None,
    psu_count: _Count = 2,
    psu_mode: _Mode = "shared",
    psu_level: _Level = None,
    psu_table: _Efficiency = None,
    results: Results = Path("results"),
    as_json: Json = False,
    output: _Output = None,
) -> None:
    """Compute servers, cores, watts and money for a target throughput.

    Uses measured operating points only, with 95 % CI. Names the cheapest point, how sure that is, and which
    measurement could change it most. Table columns: as for analyze; rows with the same instances are runs of
    one point. docs/advise.md explains the method.
    """
    from linewatt.features.advice.fleet_action import print_fleet_advice

    print_fleet_advice(
        target_gbps=target_gbps,
        table_or_id=table_or_id,
        series=series,
        role=role,
        headroom=headroom,
        redundancy=redundancy,
        price_kwh=price_kwh,
        pue=pue,
        server_cost=server_cost,
        server_years=server_years,
        load_share=load_share,
        tolerance_percent=tolerance_percent,
        psu_rating_w=psu_rating_w,
        psu_count=psu_count,
        psu_mode=psu_mode,
        psu_level=psu_level,
        psu_table=psu_table,
        results=results,
        as_json=as_json,
        output=output,
    )
