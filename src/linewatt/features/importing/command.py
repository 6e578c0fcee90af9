# SPDX-License-Identifier: Apache-2.0
"""``linewatt import``: files measured by hand, a published table, or a bundle of a result, as a stored
result."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from linewatt.cli.options import Results
from linewatt.errors import InvalidInput
from linewatt.features.importing.captures_command import Given, import_captures, is_captures

SCHEMA_VERSION = 1
_PANEL = "Files measured by hand"


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
    omit: float | None = typer.Option(
        None,
        "--omit",
        metavar="SECONDS",
        help="Of a test: left out at its start; default 0.",
        rich_help_panel=_PANEL,
    ),
    tail: float | None = typer.Option(
        None,
        "--tail",
        metavar="SECONDS",
        help="Of a test: left out at its end; default 0.",
        rich_help_panel=_PANEL,
    ),
    timezone: str | None = typer.Option(
        None,
        "--timezone",
        metavar="ZONE",
        help="That of clocks of mpstat and sar, such as +02:00 or Europe/Berlin; default: UTC, if they fit.",
        rich_help_panel=_PANEL,
    ),
    host: list[str] = typer.Option(
        [],
        "--host",
        metavar="HOST",
        help="NAME=FILE: the host that a file is of; repeatable.",
        rich_help_panel=_PANEL,
    ),
    skip: list[str] = typer.Option(
        [],
        "--skip",
        metavar="PATTERN",
        help="Files to leave out, such as '*.md'; repeatable.",
        rich_help_panel=_PANEL,
    ),
    network: str | None = typer.Option(
        None,
        "--network",
        metavar="NAME",
        help="What the load went through; default bare.",
        rich_help_panel=_PANEL,
    ),
    sender: str | None = typer.Option(
        None,
        "--sender",
        metavar="NAME",
        help="What the host is called that sends in every test.",
        rich_help_panel=_PANEL,
    ),
    receiver: str | None = typer.Option(
        None,
        "--receiver",
        metavar="NAME",
        help="What the host is called that receives in every test.",
        rich_help_panel=_PANEL,
    ),
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
    from linewatt.store.bundle.layout import is_bundle

    given_options = Given(omit, tail, timezone, host, skip, network, sender, receiver)
    path = Path(table)
    if table != "-" and not path.is_dir() and is_bundle(path):
        _refuse(given_options, "a bundle")
        _import_bundle(path, name, results, as_json=as_json)
        return
    if table != "-" and is_captures(path):
        import_captures(path, _name(name, str(path.resolve())), given_options, results, as_json=as_json)
        return
    _refuse(given_options, "a table")
    _import_table(table, name, results, as_json=as_json)


def _import_table(table: str, name: str | None, results: Path, *, as_json: bool) -> None:
    """A published table, of whichever kind its columns tell. Raises InvalidInput, StoreError."""
    from linewatt.cli.output import print_json, put, say
    from linewatt.features.tables.api import store_table

    stored = store_table(results, table, _name(name, table))
    if stored.ignored:
        say(f"not read: {', '.join(stored.ignored)}")
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": stored.path.name,
                "path": str(stored.path),
                "kind": stored.kind.name,
                "trials": stored.trials,
                "ignored_columns": list(stored.ignored),
            }
        )
    else:
        stored_words = (
            f"{stored.trials} trials of {stored.hosts} hosts"
            if stored.kind.trials
            else "published, no trials"
        )
        say(f"{stored.rows} rows of {stored.kind.name} stored as {stored_words}")
        put(stored.path.name)


def _import_bundle(bundle: Path, name: str | None, results: Path, *, as_json: bool) -> None:
    """Have the result of a bundle. Raises InvalidInput, StoreError."""
    from linewatt.cli.output import print_json, put, say
    from linewatt.store.bundle.unpack import unpack

    if name is not None:
        raise InvalidInput(f"--name {name}: the result of a bundle keeps its id")
    unpacked = unpack(bundle, results)
    contents = unpacked.contents
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "id": contents.id,
                "path": str(unpacked.path),
                "kind": "bundle",
                "files": len(contents.files),
                "bytes": contents.total_bytes,
                "was_there": unpacked.was_there,
            }
        )
        return
    done = (
        "is there already, and is the same"
        if unpacked.was_there
        else f"{len(contents.files)} files, as they were"
    )
    say(f"{contents.id}: {done}")
    put(contents.id)


def _refuse(given_options: Given, what: str) -> None:
    """Raises InvalidInput for options that are of other things to import."""
    if given_options.named:
        raise InvalidInput(
            f"{', '.join(given_options.named)}: {what} is imported, and these are of files measured by hand"
        )


def _name(chosen_name: str | None, table: str) -> str:
    """The result's name: what is asked for, else made of the file's. Raises InvalidInput."""
    from linewatt.campaign.entries.fields import HOST_NAME

    if chosen_name is not None:
        if not re.fullmatch(HOST_NAME, chosen_name, re.ASCII):
            raise InvalidInput(f"--name {chosen_name!r}: use letters, digits, dots, underscores and dashes")
        return chosen_name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(table).stem, flags=re.ASCII).strip("-._")[:63]
    return plain or "imported"
