# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that commands share: the same name, placeholder and words everywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from linewatt.errors import InvalidInput


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
        metavar="ID", help="Id of a result, its beginning, 'last', or baseline:NAME.", autocompletion=_ids
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document, units in key names.")]

JSON_EVENTS = typer.Option(False, "--json", help="One JSON event per line on stdout.")
ALLOW_OPTION = typer.Option(
    False,
    "--allow-commands",
    help="Run programs that an inventory or a stored campaign names (sources of power, hooks).",
)
WAIT_OPTION = typer.Option(
    False, "--wait", help="Wait for other controllers that work on the hosts, until Ctrl-C."
)
