# SPDX-License-Identifier: Apache-2.0
"""A stored result as one file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from linewatt.cli.commands.report import formats
from linewatt.cli.output import checked_target, print_json, put, results_near
from linewatt.core.feature import report_formats
from linewatt.errors import InvalidInput
from linewatt.report import page_of_result
from linewatt.report.printing import write_page
from linewatt.store import Result, find_result, load_result, reading_results


def write_report(*, result_id: str, output: Path | None, results: Path, as_json: bool, form: str) -> None:
    """Write a report as one file that works offline."""
    if form not in formats():
        raise InvalidInput(f"--format {form}: not a format; choose {', '.join(formats())}")
    path = find_result(results_near(results), result_id)
    of_features = report_formats()
    suffix = of_features[form].suffix if form in of_features else form
    target = checked_target(output or Path(f"{path.name}.{suffix}"))
    make = _made_by(form)
    with reading_results(path):
        content = make(load_result(path))
    write_page(target, content)
    if as_json:
        print_json({"schema_version": 1, "id": path.name, "path": str(target)})
    elif sys.stdout.isatty():
        put(target.absolute().as_uri())  # which terminals open
    else:
        put(str(target))


def _made_by(form: str) -> Callable[[Result], bytes]:
    """What makes a report of a result. Raises InvalidInput where it cannot be made here."""
    if form == "md":
        from linewatt.report.printing import render_markdown

        return lambda result: render_markdown(result).encode()
    if form in report_formats():
        make: Callable[[Result], bytes] = report_formats()[form].load()
        return make
    if form == "pdf":
        from linewatt.report.printing import find_browser, print_pdf

        browser = find_browser()
        return lambda result: print_pdf(page_of_result(result), browser)
    return lambda result: page_of_result(result).encode()
