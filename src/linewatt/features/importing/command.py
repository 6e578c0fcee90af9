# SPDX-License-Identifier: Apache-2.0
"""``linewatt import``: files measured by hand, a published table, or a bundle of a result, as a stored
result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from linewatt.cli import Results


def _of_files(name: str, metavar: str, words: str, default: list[str] | None = None) -> Any:
    """An option of files that people measured by hand, and of nothing else."""
    return typer.Option(default, name, metavar=metavar, help=words, rich_help_panel="Files measured by hand")


_OMIT = _of_files("--omit", "SECONDS", "Of a test: left out at its start; default 0.")
_TAIL = _of_files("--tail", "SECONDS", "Of a test: left out at its end; default 0.")
_TIMEZONE = _of_files(
    "--timezone",
    "ZONE",
    "That of clocks of mpstat and sar, such as +02:00 or Europe/Berlin; default: UTC, if they fit.",
)
_HOST = _of_files("--host", "HOST", "NAME=FILE: the host that a file is of; repeatable.", [])
_SKIP = _of_files("--skip", "PATTERN", "Files to leave out, such as '*.md'; repeatable.", [])
_NETWORK = _of_files("--network", "NAME", "What the load went through; default bare.")
_SENDER = _of_files("--sender", "NAME", "What the host is called that sends in every test.")
_RECEIVER = _of_files("--receiver", "NAME", "What the host is called that receives in every test.")


def import_command(  # noqa: PLR0913  each is an option
    table: str = typer.Argument(
        ...,
        metavar="DIR|FILE|TABLE|BUNDLE",
        help="A folder (a folder in it for each host) or a file of what was measured by hand; a published "
        "table, of which - reads stdin; or a bundle that 'export' wrote.",
    ),
    name: str | None = typer.Option(
        None, "--name", metavar="NAME", help="Name of the result; default that of the file or folder."
    ),
    omit: float | None = _OMIT,
    tail: float | None = _TAIL,
    timezone: str | None = _TIMEZONE,
    host: list[str] = _HOST,
    skip: list[str] = _SKIP,
    network: str | None = _NETWORK,
    sender: str | None = _SENDER,
    receiver: str | None = _RECEIVER,
    results: Results = Path("results"),
    as_json: bool = typer.Option(False, "--json", help="Print what was stored as JSON."),
) -> None:
    """Store files measured by hand, a table, or a bundle, as a result.

    Of a folder, every file is told by what is in it: what a load wrote as JSON at clients and servers makes
    trials (files that overlap in time are instances of one), as flent's do; readings of mpstat, sar, ipmitool
    and turbostat are put beside them where clocks allow. What is not in the files is missing, with its
    reason. docs/import.md says how.

    A bundle keeps the id that its result has. One that is damaged is refused with the name of the file, and
    so is one whose id another result has; one that is there already, and the same, is left as it is.

    The columns of a table tell which kind it is: host blocks (a row per end of a trial), scaling (a row
    per number of instances), packet power of a router, components of a machine, mean ± SD, or the summary
    of a soak; where they fit none, the message lists the columns of each. A mean with its SD is stored as
    such, never as runs. What the table does not say is missing in the result, never 0. docs/tables.md has
    the columns.
    """
    from linewatt.features.importing.action import import_path
    from linewatt.features.importing.captures_command import Given

    given_options = Given(omit, tail, timezone, host, skip, network, sender, receiver)
    import_path(table, name, given_options, results, as_json=as_json)
