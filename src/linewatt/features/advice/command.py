# SPDX-License-Identifier: Apache-2.0
"""``linewatt advise``: what could be built differently, from figures that are there. Measures nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from linewatt.cli.help import Command, Group
from linewatt.cli.options import Json
from linewatt.cli.output import print_json, put, say
from linewatt.errors import InvalidInput
from linewatt.features.advice.fleet_command import fleet_command
from linewatt.units import ratio_from_percent

if TYPE_CHECKING:
    from linewatt.features.advice.psu.advice import Advice, Option
    from linewatt.features.advice.psu.supplies import Measured, Operation, Supply
    from linewatt.features.advice.psu.tables import EfficiencyTable

Word = TypeVar("Word", bound=str)

SCHEMA_VERSION = 1
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
    from linewatt.features.advice.psu.advice import Question, advise
    from linewatt.features.advice.psu.supplies import MODES, Supply

    check_positive({"--rating-w": rating_w, "--load-w": load_w, "--peak-w": peak_w})
    check_positive({"--in-w": in_w, "--out-w": out_w, "--tolerance-percent": tolerance_percent})
    check_positive({"--price-per-kwh": price_per_kwh})
    if not 1 <= count <= MOST_UNITS:
        raise InvalidInput(f"--count must be from 1 to {MOST_UNITS}, got {count}")
    if (in_w is None) != (out_w is None):
        raise InvalidInput("--in-w and --out-w belong together: give both or neither")
    load = out_w if load_w is None else load_w
    if load is None:
        raise InvalidInput("--load-w is missing: give the W of DC output, or the measured --in-w and --out-w")
    supply = Supply(count, rating_w, one_of("--mode", mode, MODES))
    readings = _readings(supply, in_w, out_w, tolerance_percent)
    peak = load if peak_w is None else peak_w
    _print(
        advise(Question(supply, load, peak, efficiency_table(level, mains, table), readings, price_per_kwh)),
        as_json=as_json,
    )


def _readings(
    supply: Supply, in_w: float | None, out_w: float | None, tolerance_percent: float | None
) -> Measured | None:
    """What was measured of a supply, if anything was."""
    from linewatt.features.advice.psu.supplies import measured

    if in_w is None or out_w is None:
        return None
    off = None if tolerance_percent is None else ratio_from_percent(tolerance_percent)
    return measured(supply, in_w, out_w, off)


def _print(advice: Advice, *, as_json: bool) -> None:
    for warning in advice.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json(document(advice))
    else:
        from linewatt.features.advice.psu_report import lines

        put("\n".join(lines(advice)))


def check_positive(values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise InvalidInput(f"{name} must be more than 0 and finite, got {value:g}")


def one_of(name: str, text: str, choices: Iterable[Word]) -> Word:
    for choice in choices:
        if text == choice:
            return choice
    raise InvalidInput(f"{name} must be {' or '.join(choices)}, got {text!r}")


def efficiency_table(
    level: str | None, mains: str, file: Path | None, prefix: str = "--"
) -> EfficiencyTable | None:
    """The certified table, the user's own, or none; the names of both options begin with ``prefix``."""
    from linewatt.document import read_bytes
    from linewatt.features.advice.psu.tables import CERTIFIED, certified, read_efficiency_table

    voltage = one_of("--mains", mains, CERTIFIED)
    if level is not None and file is not None:
        raise InvalidInput(f"{prefix}level and {prefix}table exclude each other: leave out the level")
    if file is None:
        return None if level is None else certified(level, voltage)
    source = str(file) if str(file).isprintable() else repr(str(file))
    try:
        data = read_bytes(file)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InvalidInput(f"{source}: cannot be read: {why}") from None
    return read_efficiency_table(data, source)


def document(advice: Advice) -> dict[str, Any]:
    """The advice as JSON: SI, shares as ratios, missing is null beside its reason."""
    question = advice.question
    return {
        "schema_version": SCHEMA_VERSION,
        **_operation(advice.operation),
        "peak_w": question.peak_w,
        "redundant": advice.redundant,
        "table": None if question.table is None else asdict(question.table),
        "measured": None if question.measured is None else asdict(question.measured),
        "price_per_kwh": question.price_per_kwh,
        "options": [_option(option) for option in advice.options],
        "warnings": list(advice.warnings),
    }


def _operation(operation: Operation) -> dict[str, Any]:
    """A supply under a load. What follows from a table is an estimate, whoever measured the table."""
    return {**asdict(operation), "provenance": "estimate"}


def _option(option: Option) -> dict[str, Any]:
    saved = {
        "saved_w": option.saved_w,
        "saved_kwh_per_year": option.saved_kwh_per_year,
        "saved_cost_per_year": option.saved_cost_per_year,
        "saved_reason": option.reason,
    }
    return {"change": option.change, **_operation(option.operation), **saved}
