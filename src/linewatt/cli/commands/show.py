# SPDX-License-Identifier: Apache-2.0
"""``linewatt show``: print a stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.feature_options import with_feature_options
from linewatt.cli.options import Json, Read, Wanted
from linewatt.core.feature import FeatureOption


@with_feature_options("show")
def show(  # noqa: PLR0913  one parameter an option
    wanted: Wanted = "last",
    results: Read = Path("results"),
    as_json: Json = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="One CSV row per case, units in column names.")
    ] = False,
    trials: Annotated[bool, typer.Option("--trials", help="Every trial too (CSV: a row per trial).")] = False,
    effects: Annotated[
        bool, typer.Option("--effects", help="With --csv: one row per effect of a factor.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print all tables and findings.")] = False,
    as_md: Annotated[
        bool, typer.Option("--md", help="Print Markdown for a pull request; with --full, everything.")
    ] = False,
    detail: Annotated[bool, typer.Option("--detail", help="Print both ends of each case in full.")] = False,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="RATE",
            help="Watts at a throughput (5G), from cases at several rates or load levels.",
        ),
    ] = None,
    feature_option: FeatureOption | None = None,
) -> None:
    """Show a result: throughput, limits, CPU, watts, and confidence.

    Prints one screen; --full prints all tables and findings.
    """
    from linewatt.cli.actions.show import show_result

    show_result(
        result_id=wanted,
        results=results,
        as_json=as_json,
        as_csv=as_csv,
        trials=trials,
        effects=effects,
        full=full,
        as_md=as_md,
        detail=detail,
        at=at,
        feature_option=feature_option,
    )
