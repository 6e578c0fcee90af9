# SPDX-License-Identifier: Apache-2.0
"""``linewatt schema``: JSON Schema of campaign files, and of all JSON that linewatt writes."""

from __future__ import annotations

from typing import Annotated

import typer

from linewatt.cli.output import print_json, put_lines


def _names(begun: str) -> list[str]:
    """Names of schemas, for a shell to complete."""
    from linewatt.schemas import NAMES

    return [name for name in NAMES if name.startswith(begun)]


def schema_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="campaign: campaign files, for editors; show, events, trial …: see --list.",
            autocompletion=_names,
        ),
    ] = "campaign",
    lists_names: Annotated[bool, typer.Option("--list", help="List all schemas, one per line.")] = False,
) -> None:
    """Print the JSON Schema of campaign files or JSON output.

    Also covers result files and the columns of samples.
    """
    from linewatt.schemas import NAMES, SCHEMAS, schema_of

    if not lists_names:
        print_json(schema_of(what))
        return
    width = max(map(len, NAMES))
    put_lines(
        [
            f"{'campaign':<{width}}  campaign files, for editors",
            *(f"{name:<{width}}  {schema.of.replace('`', '')}" for name, schema in SCHEMAS.items()),
        ],
        hang=width + 2,
    )
