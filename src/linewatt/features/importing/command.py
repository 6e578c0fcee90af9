# SPDX-License-Identifier: Apache-2.0
"""``linewatt import``: store files measured by hand, a published table, or a bundle as a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from linewatt.cli import Results


def _of_files(name: str, metavar: str, words: str, default: list[str] | None = None) -> Any:
    """An option of files that people measured by hand, and of nothing else."""
    return typer.Option(default, name, metavar=metavar, help=words, rich_help_panel="Files measured by hand")


_OMIT = _of_files("--omit", "SECONDS", "Omit at the start of each test; default 0.")
_TAIL = _of_files("--tail", "SECONDS", "Omit at the end of each test; default 0.")
_TIMEZONE = _of_files(
    "--timezone",
    "ZONE",
    "Time zone of mpstat and sar, such as +02:00 or Europe/Berlin; default: UTC, if it fits.",
)
_HOST = _of_files("--host", "HOST", "NAME=FILE: host of a file; repeatable.", [])
_SKIP = _of_files("--skip", "PATTERN", "Files to skip, such as '*.md'; repeatable.", [])
_NETWORK = _of_files("--network", "NAME", "Network under test; default bare.")
_SENDER = _of_files("--sender", "NAME", "Name of the host that sends in all tests.")
_RECEIVER = _of_files("--receiver", "NAME", "Name of the host that receives in all tests.")


def import_command(  # noqa: PLR0913  each is an option
    table: str = typer.Argument(
        ...,
        metavar="DIR|FILE|TABLE|BUNDLE",
        help="A folder (with a subfolder per host) or file measured by hand; a published table (- reads "
        "stdin); or a bundle from 'export'.",
    ),
    name: str | None = typer.Option(
        None, "--name", metavar="NAME", help="Name of the result; default: from the file or folder."
    ),
    omit: float | None = _OMIT,
    tail: float | None = _TAIL,
    timezone: str | None = _TIMEZONE,
    host: list[str] = _HOST,
    skip: list[str] = _SKIP,
    network: str | None = _NETWORK,
    sender: str | None = _SENDER,
    receiver: str | None = _RECEIVER,
    components: list[str] = typer.Option(
        [],
        "--components",
        metavar="FILE",
        help="Components of a host, beside a table with trials: FILE, or HOST=FILE; repeatable.",
    ),
    results: Results = Path("results"),
    as_json: bool = typer.Option(False, "--json", help="Print a summary as JSON."),
) -> None:
    """Store files measured by hand, a table or a bundle as a result.

    Files: linewatt detects their format by content. JSON output of load tools becomes trials; files
    that overlap in time are instances of one trial. Readings of mpstat, sar, ipmitool and turbostat are added
    where clocks allow. Missing figures have a reason. docs/import.md has details.

    Bundle: the result keeps its id. linewatt refuses a damaged bundle and names the bad file. It also refuses
    a bundle whose id another result has. If the same result is already stored, nothing changes.

    Table: its columns determine the kind: host blocks (one row per end of a trial; also pasted as text),
    scaling (one row per number of instances), packet power of a router, components of a machine, mean ± SD,
    or summary of a soak.
    If no kind matches, the error lists the columns of each. A mean with SD is stored as such, never as runs.
    Values that the table lacks are missing, never 0. With --components, the watts of a host with trials are
    shown by part. docs/tables.md lists the columns.
    """
    from linewatt.features.importing.action import import_path
    from linewatt.features.importing.captures_command import Given

    given_options = Given(omit, tail, timezone, host, skip, network, sender, receiver)
    import_path(table, name, given_options, components, results, as_json=as_json)
