# SPDX-License-Identifier: Apache-2.0
"""``linewatt report``: a result as one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linewatt.cli.options import Results, Wanted
from linewatt.cli.output import checked_target, print_json, put, results_near
from linewatt.core.feature import report_formats
from linewatt.errors import InvalidInput

if TYPE_CHECKING:
    from linewatt.store.read import Result


CORE_FORMATS = {"html": "", "md": "Markdown", "pdf": "printed by a Chromium"}


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
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="WHAT",
            help="; ".join(f"{word}: {what}" if what else word for word, what in formats().items()) + ".",
        ),
    ] = "html",
) -> None:
    """Write a report: one file that needs no network."""
    from linewatt.report.printing.html import write
    from linewatt.store import read

    if form not in formats():
        raise InvalidInput(f"--format {form}: not a format; choose {', '.join(formats())}")
    path = read.find(results_near(results), wanted)
    of_features = report_formats()
    suffix = of_features[form].suffix if form in of_features else form
    target = checked_target(output or Path(f"{path.name}.{suffix}"))
    make = _made_by(form)
    with read.readable(path):
        content = make(read.load(path))
    write(target, content)
    if as_json:
        print_json({"schema_version": 1, "id": path.name, "path": str(target)})
    else:
        put(str(target))


def _made_by(form: str) -> Callable[[Result], bytes]:
    """What makes a report of a result. Raises InvalidInput where it cannot be made here."""
    from linewatt.report.full_result import page_of

    if form == "md":
        from linewatt.report.printing.markdown_report import render

        return lambda result: render(result).encode()
    if form in report_formats():
        make: Callable[[Result], bytes] = report_formats()[form].load()
        return make
    if form == "pdf":
        from linewatt.report.printing import pdf

        browser = pdf.browser()
        return lambda result: pdf.printed(page_of(result), browser)
    return lambda result: page_of(result).encode()
