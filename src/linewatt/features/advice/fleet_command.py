# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise fleet``: how many servers a target takes, from measured operating points alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linewatt.cli.options import Json, Results
from linewatt.cli.output import print_json, print_rich
from linewatt.errors import InvalidInput
from linewatt.features.tables.sources import is_table, stored_result, trials_of_table
from linewatt.units import bps_from_gbps, ratio_from_percent

if TYPE_CHECKING:  # what is slow to import is imported when the command runs
    from linewatt.features.advice.fleet.advice import FleetAdvice
    from linewatt.features.advice.fleet.question import Question
    from linewatt.features.advice.fleet_report.sources import FleetSource
    from linewatt.features.advice.psu.supplies import Supply
    from linewatt.features.advice.psu.tables import EfficiencyTable
    from linewatt.model import Role
    from linewatt.records import Supplies

_Target = Annotated[
    float,
    typer.Option("--target-gbps", metavar="GBPS", help="What all servers together carry, Gbps of payload."),
]
_From = Annotated[
    str,
    typer.Option("--from", metavar="SOURCE", help="A stored result, or a table with a header line."),
]
_Series = Annotated[
    str | None,
    typer.Option("--series", metavar="WORDS", help="Which of several series, by words of its name."),
]
_Role = Annotated[
    str, typer.Option("--role", metavar="ROLE", help="Which end is the server: receiver or sender.")
]
_Headroom = Annotated[
    float,
    typer.Option(
        "--headroom", metavar="RATIO", help="Part of a server's rate that is left free, such as 0.2."
    ),
]
_RedundancyOption = Annotated[
    str,
    typer.Option(
        "--redundancy", metavar="WHAT", help="n: none; n+1, n+2 …: so many spare servers; 2n: twice."
    ),
]
_Price = Annotated[
    float | None,
    typer.Option(
        "--price-kwh", "--price-per-kwh", metavar="PRICE", help="Price of one kWh; money is in its unit."
    ),
]
_Pue = Annotated[
    float,
    typer.Option(
        "--pue", metavar="RATIO", help="Energy of the building per energy of its servers, 1 or more."
    ),
]
_ServerCost = Annotated[
    float | None,
    typer.Option("--server-cost", metavar="PRICE", help="Price of one server, in the same unit."),
]
_Years = Annotated[
    float, typer.Option("--server-years", metavar="YEARS", help="Years over which that price is spread.")
]
_Share = Annotated[
    float,
    typer.Option(
        "--load-share",
        metavar="RATIO",
        help="Part of the year at the operating point, the rest at measured idle.",
    ),
]
_Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance-percent", metavar="PERCENT", help="Accuracy of watts whose source says none, ± %."
    ),
]
_Rating = Annotated[
    float | None,
    typer.Option(
        "--psu-rating-w", metavar="W", help="Rating of one power supply; energy is then what goes in."
    ),
]
_Count = Annotated[
    int, typer.Option("--psu-count", metavar="N", help="How many alike power supplies a server has.")
]
_Mode = Annotated[
    str, typer.Option("--psu-mode", metavar="WHAT", help="shared: all carry the load; standby: one is spare.")
]
_Level = Annotated[
    str | None,
    typer.Option(
        "--psu-level", metavar="LEVEL", help="80 PLUS level of the power supplies, such as platinum."
    ),
]
_Efficiency = Annotated[
    Path | None,
    typer.Option("--psu-table", metavar="TABLE", help="Their efficiency: load_percent, efficiency_percent."),
]
_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Also write an HTML page with a chart; needs no network.",
    ),
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
    """Say how many servers, cores, watts and how much money a target takes.

    At each operating point that was measured, never between two of them, with 95 % intervals; which is the
    cheapest, how sure that is, and what measurement could change it most. Columns of a table are those of
    analyze; rows of the same instances are runs of one point. docs/advise.md has the method.
    """
    from linewatt.features.advice.fleet.advice import advise_fleet
    from linewatt.features.advice.fleet.question import Question, check, parse_redundancy
    from linewatt.features.advice.fleet_report.sources import choose_series

    target = _target(output)
    end = _role(role)
    supply, table = _supply(psu_rating_w, psu_count, psu_mode, psu_level, psu_table)
    question = Question(
        bps_from_gbps(target_gbps),
        headroom,
        parse_redundancy(redundancy),
        pue,
        price_kwh,
        server_cost,
        server_years,
        load_share,
        supply,
        table,
    )
    check(question)
    source = _source(table_or_id, results, end)
    chosen = choose_series(source, series)
    if supply is None and chosen.host in source.supplies:
        question = _with_declared(question, source.supplies[chosen.host])
    points = source.points(chosen, end, _tolerance(tolerance_percent))
    advice = advise_fleet(chosen.title, end, points, question)
    _print(advice, source, target, as_json=as_json)


def _print(advice: FleetAdvice, source: FleetSource, target: Path | None, *, as_json: bool) -> None:
    if target is not None:
        from linewatt.features.advice.fleet_report.printers import page
        from linewatt.report.printing.html import write

        write(target, page(advice, source))
    if as_json:
        from linewatt.features.advice.fleet_report.document import document

        print_json(document(advice, source))
    else:
        from linewatt.features.advice.fleet_report.printers import rendered

        print_rich(lambda width: rendered(advice, source, width))


def _target(output: Path | None) -> Path | None:
    from linewatt.cli.output import checked_target

    return None if output is None else checked_target(output)


def _role(word: str) -> Role:
    from linewatt.model import ENDS

    for role in ENDS:
        if word == role:
            return role
    raise InvalidInput(f"--role must be {' or '.join(ENDS)}, got {word!r}")


def _tolerance(percent: float | None) -> float | None:
    if percent is not None and not 0 < percent < 100:
        raise InvalidInput(f"--tolerance-percent must be above 0 and below 100, got {percent:g}")
    return None if percent is None else ratio_from_percent(percent)


def _source(table_or_id: str, results: Path, role: Role) -> FleetSource:
    from linewatt.features.advice.fleet_report.sources import of_result, of_trials

    if not is_table(table_or_id):
        with stored_result(results, table_or_id) as result:
            return of_result(result, role)
    source, read, lines = trials_of_table(table_or_id, figures=True)
    if role == "sender":
        raise InvalidInput(f"{source}: a table has CPU and watts of the receiver; leave out --role sender")
    return of_trials(source, read.trials, role, lines)


def _supply(
    rating_w: float | None, count: int, mode: str, level: str | None, table: Path | None
) -> tuple[Supply | None, EfficiencyTable | None]:
    """The power supplies that were named, and their efficiency. Raises InvalidInput."""
    from linewatt.features.advice.command import MOST_UNITS, check_positive, efficiency_table, one_of
    from linewatt.features.advice.psu.supplies import MODES, Supply

    check_positive({"--psu-rating-w": rating_w})
    if rating_w is None:
        if level is not None or table is not None:
            raise InvalidInput("--psu-level and --psu-table need --psu-rating-w, the rating of one unit")
        return None, None
    if not 1 <= count <= MOST_UNITS:
        raise InvalidInput(f"--psu-count must be from 1 to {MOST_UNITS}, got {count}")
    return Supply(count, rating_w, one_of("--psu-mode", mode, MODES)), efficiency_table(
        level, "230", table, "--psu-"
    )


def _with_declared(question: Question, declared: Supplies) -> Question:
    """With the power supplies that the campaign declares for this host."""
    from dataclasses import replace

    from linewatt.features.advice.psu.supplies import Supply
    from linewatt.features.advice.psu.tables import certified

    supply = Supply(declared.count, declared.rating_w, declared.mode)
    return replace(question, supply=supply, table=certified(declared.level) if declared.level else None)
