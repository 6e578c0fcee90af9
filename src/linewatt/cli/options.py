# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that several commands share: same name, metavar and help text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from linewatt.errors import InvalidInput


def completing(words: Iterable[str]) -> Callable[[str], list[str]]:
    """What completes one of these words in a shell."""

    def complete(begun: str) -> list[str]:  # typer looks at the type of the parameter
        return [word for word in words if word.startswith(begun)]

    return complete


def _ids(begun: str) -> list[str]:
    """Ids of stored results, the newest first, for a shell to complete."""
    root = Path(os.environ.get("LINEWATT_RESULTS") or "results")
    ids = sorted((path.parent.name for path in root.glob("*/manifest.json")), reverse=True)
    named = [f"baseline:{name}" for name in baseline_names("")]
    return [name for name in (*ids, "last", *named) if name.startswith(begun)]


def baseline_names(begun: str) -> list[str]:
    """Names of baselines, for a shell to complete."""
    root = Path(os.environ.get("LINEWATT_RESULTS") or "results")
    return sorted(path.stem for path in root.glob("baselines/*.json") if path.stem.startswith(begun))


File = Annotated[Path, typer.Argument(metavar="FILE", help="The campaign file (YAML).", show_default=False)]
Hosts = Annotated[
    Path | None,
    typer.Option("--hosts", metavar="INVENTORY", help="Take the hosts from this Ansible inventory."),
]


def _on_disk(results: Path) -> Path:
    """Raises InvalidInput for a store that a command would write to, or wants more of than documents."""
    if str(results).startswith("s3:/"):
        raise InvalidInput(
            f"--results {results}: only list, show and sql read results on S3; copy them into a directory"
        )
    return results


Results = Annotated[
    Path,
    typer.Option(
        "--results",
        envvar="LINEWATT_RESULTS",
        help="Directory that holds the results.",
        metavar="DIR",
        callback=_on_disk,
    ),
]
Read = Annotated[
    Path,
    typer.Option(
        "--results",
        envvar="LINEWATT_RESULTS",
        help="Directory that holds the results, or s3://BUCKET/PREFIX.",
        metavar="DIR",
    ),
]
Wanted = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Id of a result or its prefix, 'last', or baseline:NAME.", autocompletion=_ids
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, with units in key names.")]

JSON_EVENTS = typer.Option(False, "--json", help="Print one JSON event per line.")
ALLOW_OPTION = typer.Option(
    False,
    "--allow-commands",
    help="Allow programs from an inventory or stored campaign (sources of power, hooks).",
)
WAIT_OPTION = typer.Option(False, "--wait", help="Wait until other controllers release the hosts, or Ctrl-C.")
