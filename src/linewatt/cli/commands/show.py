# SPDX-License-Identifier: Apache-2.0
"""``linewatt show``: what a stored result says."""

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
        bool, typer.Option("--effects", help="With --csv: a row for each effect of a factor.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All tables and findings, not only the answer.")
    ] = False,
    as_md: Annotated[
        bool, typer.Option("--md", help="As Markdown, to paste into a pull request; --full: all of it.")
    ] = False,
    detail: Annotated[
        bool, typer.Option("--detail", help="Each end of each case in full, as host matrices print it.")
    ] = False,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="RATE",
            help="Watts at a throughput such as 5G, of cases at several rates or load levels.",
        ),
    ] = None,
    feature_option: FeatureOption | None = None,
) -> None:
    """Show a result: how fast, limited by what, at what cost, how sure.

    The answer on one screen; --full has every table and finding.
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
