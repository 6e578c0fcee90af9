# SPDX-License-Identifier: Apache-2.0
"""``linewatt report``: a result as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linewatt.cli.options import Results, Wanted, completing
from linewatt.core.feature import report_formats

CORE_FORMATS = {"html": "", "md": "Markdown", "pdf": "printed by Chromium"}


def formats() -> dict[str, str]:
    """Word of each format of a report → what it is."""
    return CORE_FORMATS | {word: form.help for word, form in report_formats().items()}


def report(
    wanted: Wanted = "last",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; default ID.html, .md, .pdf …", metavar="FILE"),
    ] = None,
    results: Results = Path("results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print id and path as JSON.")] = False,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="WHAT",
            autocompletion=completing(formats()),
            help="; ".join(f"{word}: {what}" if what else word for word, what in formats().items()) + ".",
        ),
    ] = "html",
) -> None:
    """Write a report as one file that works offline."""
    from linewatt.cli.actions.report import write_report

    write_report(result_id=wanted, output=output, results=results, as_json=as_json, form=form)
